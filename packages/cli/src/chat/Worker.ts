/**
 * The run that works, if one does: started, followed to the end of its last call, cancelled.
 *
 * K1. Events, end and drain of a run reach the conversation in this order.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import type * as Run from "@settle/core/engine/Run"
import { Asker } from "@settle/core/port/Asker"
import * as Failure from "../Failure.ts"
import { Input } from "./Dialogue.ts"
import type { Seats } from "./Seats.ts"

export interface Working {
  readonly seats: Seats
  readonly offer: (input: Input) => void
  readonly asker: Asker
}

export const make = ({ asker, offer, seats }: Working) => {
  let run: Run.Run | undefined
  const follow = Effect.fnUntraced(function* (live: Run.Run) {
    yield* Stream.runForEach(live.events, (event) => Effect.sync(() => offer(Input.Happened({ event }))))
    const outcome = yield* live.outcome
    const result = yield* Effect.exit(live.result)
    seats.keep(outcome.messages)
    offer(Input.Ended({ outcome, failure: Exit.isFailure(result) ? Failure.ofCause(result.cause, false).text : "" }))
    yield* live.drained
    run = undefined
    offer(Input.Drained())
  })
  return {
    /** Nothing to say when the run began. */
    start: Effect.fnUntraced(function* (prompt: string) {
      const started = yield* Effect.exit(Effect.provideService(seats.run(prompt), Asker, asker))
      if (Exit.isFailure(started)) {
        return [Input.Refused({ prompt, detail: Failure.ofCause(started.cause, false).text })]
      }
      run = started.value
      yield* Effect.forkScoped(follow(started.value))
      return []
    }),
    cancel: Effect.suspend(() => run?.cancel ?? Effect.void),
    /** The record of the run is whole, or did not become so in time. */
    outcome: Effect.suspend(() =>
      run === undefined ? Effect.void : Effect.ignore(Effect.timeout(run.outcome, "1 second"))
    )
  }
}

export type Worker = ReturnType<typeof make>
