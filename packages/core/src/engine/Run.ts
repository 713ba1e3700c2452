/**
 * One run: the handle that others hold, and the driver behind it.
 *
 * R1. `result` is kept as soon as the run ended; `drained` when nothing of it can touch the world any more (L-DRAIN).
 * R2. `cancel` asks once, never fails, and does nothing to a run that has its result (L-RUN-06).
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Stream from "effect/Stream"
import type * as RunContext from "../model/RunContext.ts"
import * as RunEvent from "../model/RunEvent.ts"
import type * as RunOutcome from "../model/RunOutcome.ts"
import * as Caps from "../decide/Caps.ts"
import type { CallScope } from "../port/CallScope.ts"
import * as CallScopes from "./CallScopes.ts"
import * as Closing from "./Closing.ts"
import * as Driver from "./Driver.ts"
import * as Feed from "./Feed.ts"
import * as Grants from "./Grants.ts"
import * as InFlight from "./InFlight.ts"
import type { Live, Parts } from "./Live.ts"
import * as NativeTurn from "./NativeTurn.ts"
import type { Opening } from "./Resume.ts"
import * as RunState from "./RunState.ts"
import * as RoutedTurn from "./RoutedTurn.ts"
import * as Section from "./Section.ts"
import * as Work from "./Work.ts"

export interface Run {
  readonly id: string
  /** The first subscriber gets the run from its start, later ones what follows; a slow one slows nobody. */
  readonly events: Stream.Stream<RunEvent.RunEvent>
  /** The outcome of a completed run; fails with RunFailed or RunCancelled, which carry theirs. */
  readonly result: Effect.Effect<RunOutcome.RunOutcome, RunOutcome.RunFailed | RunOutcome.RunCancelled>
  /** The same record however the run ended. Never fails. */
  readonly outcome: Effect.Effect<RunOutcome.RunOutcome>
  /** Completes when the last call, stream and finalizer of this run is over (L-DRAIN-02). */
  readonly drained: Effect.Effect<void>
  readonly cancel: Effect.Effect<void>
  readonly isDone: Effect.Effect<boolean>
  readonly isCancelled: Effect.Effect<boolean>
  /** What providers of this run may say while its calls are in flight. */
  readonly callScope: CallScope
  /** Publishes an event from above the loop; false for ever once the run ended. A terminal event is a bug of the caller (L-EXT). */
  readonly emit: (draft: RunEvent.Draft) => boolean
  /** Adds another run's settled spend to this one's (L-ABS). */
  readonly absorbSpend: (spent: RunOutcome.Spent) => boolean
}

export interface Start extends Opening {
  readonly runId: string
  readonly context: RunContext.RunContext
}

export interface Listener {
  readonly onResult: (runId: string) => void
  readonly onDrained: (runId: string) => void
}

/** Returns at once; all work happens behind the handle (L-RUN-01). */
export const start = Effect.fnUntraced(function* (
  parts: Parts,
  listener: Listener,
  opening: Start
): Effect.fn.Return<Run> {
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()
  const { runId } = opening
  const work = Work.make(() => listener.onDrained(runId))
  const feed = Feed.make(runId, now)
  const inFlight = InFlight.make()
  const state = RunState.make(now())
  const sections = Section.make(work)
  const live: Live = {
    ...parts,
    runId,
    context: opening.context,
    feed,
    work,
    sections,
    inFlight,
    state,
    now,
    callScope: CallScopes.make({ runId, feed, inFlight, now, isCancelled: sections.isCancelled }, () =>
      Grants.sync(live)
    )
  }
  const result = Deferred.makeUnsafe<RunOutcome.RunOutcome, RunOutcome.RunFailed | RunOutcome.RunCancelled>()
  const outcome = Deferred.makeUnsafe<RunOutcome.RunOutcome>()
  // One synchronous step: a subscriber runs later than this, so whoever sees the terminal event finds the result kept; and whoever
  // the result wakes finds the event published and the door state moved.
  const finish = (ending: Closing.Ending): void => {
    feed.close(ending.terminal)
    listener.onResult(runId)
    Deferred.doneUnsafe(result, ending.result)
    Deferred.doneUnsafe(outcome, Exit.succeed(ending.outcome))
    work.close()
    work.end()
  }
  work.begin()
  const style = parts.settings.toolRouting === "schema" ? RoutedTurn.style : NativeTurn.style
  yield* Driver.drive(live, style, opening).pipe(
    Effect.exit,
    Effect.map((exit) => Closing.ending(live, exit)),
    Effect.catchCause((cause) => Effect.succeed(Closing.crashed(live, cause))),
    Effect.map(finish),
    Effect.forkDetach
  )
  return {
    id: runId,
    events: feed.events,
    result: Deferred.await(result),
    outcome: Deferred.await(outcome),
    drained: work.drained,
    cancel: Effect.sync(() => {
      if (!feed.isClosed()) live.sections.cancel()
    }),
    isDone: Effect.sync(feed.isClosed),
    isCancelled: Effect.sync(live.sections.isCancelled),
    callScope: live.callScope,
    emit: (draft) => {
      if (RunEvent.isTerminal(draft)) throw new TypeError(`${draft._tag} ends a run: only the run itself may emit it`)
      return feed.emit(draft)
    },
    absorbSpend: (spent) => {
      if (feed.isClosed()) return false
      state.spend = Caps.absorb(state.spend, spent)
      return true
    }
  }
})
