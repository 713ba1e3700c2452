/**
 * Follows one run to its end: shows or prints its events, passes a signal on as a cancel, waits until nothing of it can touch the
 * world any more, and says how it ended.
 *
 * D1. `events` and `json` write nothing to stdout but what they promise; the terminal event is the last line (L-ROUND-20).
 * D2. A signal cancels the run; the process leaves when the run is drained, or after `grace` (L-DRAIN-02).
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import type * as Run from "@settle/core/engine/Run"
import * as RunEvent from "@settle/core/model/RunEvent"
import type { RunOutcome } from "@settle/core/model/RunOutcome"
import type { Output } from "./commands/Flags.ts"
import * as Figures from "./Figures.ts"
import * as Out from "./Out.ts"
import * as Render from "./Render.ts"
import * as Screen from "./Screen.ts"
import * as Stop from "./Stop.ts"

/** How long a run that ended may keep the process waiting for calls that have not come back. */
export const grace = "5 seconds"

export interface Options {
  readonly output: Output
  readonly render: Render.Render
  /** Said with the outcome, so that the next command can name it. */
  readonly session: { readonly name: string; readonly path: string } | undefined
}

/** Fails as the run failed. A cancel by signal is `RunCancelled`. */
export const drive = Effect.fn("Drive.drive")(function* (run: Run.Run, options: Options) {
  const out = yield* Out.Out
  const stop = yield* Stop.Stop
  yield* stop.claim
  yield* Effect.forkScoped(Effect.andThen(Effect.raceFirst(stop.requested, out.gone), run.cancel))
  const watcher = yield* Effect.forkScoped(watch(run, options))
  const outcome = yield* run.outcome
  yield* Fiber.join(watcher)
  const drained = yield* Effect.timeoutOption(run.drained, grace)
  if (options.output === "json") yield* out.stdout.write(`${JSON.stringify(asJson(outcome, options))}\n`)
  if (options.output === "text") yield* say(farewell(outcome, options))
  if (Option.isNone(drained))
    yield* say("A call has not come back and was left behind; whether it took effect is unknown.")
  return yield* run.result
}, Effect.scoped)

const watch = (run: Run.Run, { output, render }: Options) => {
  switch (output) {
    case "json":
      return Stream.runDrain(run.events)
    case "events":
      return Effect.flatMap(Out.Out, ({ stdout }) =>
        Stream.runForEach(run.events, (event) => stdout.write(`${JSON.stringify(RunEvent.toJson(event))}\n`))
      )
    case "text":
      return Effect.scoped(onScreen(run, render))
  }
}

const onScreen = Effect.fnUntraced(function* (run: Run.Run, render: Render.Render) {
  let screen = Screen.empty
  yield* Effect.forkScoped(Effect.repeat(render.tick, Schedule.spaced("1 second")))
  yield* Stream.runForEach(run.events, (event) => {
    const [next, shows] = Screen.step(screen, event)
    screen = next
    return Effect.forEach(shows, render.show, { discard: true })
  })
})

/** A quiet line on stderr. */
export const say = (text: string) =>
  Effect.flatMap(Out.Out, ({ stderr }) =>
    text === "" ? Effect.void : stderr.write(`${Render.toned(stderr, "quiet", text)}\n`)
  )

const asJson = (outcome: RunOutcome, { session }: Options) =>
  session === undefined ? outcome : { ...outcome, session: session.path }

const farewell = (outcome: RunOutcome, { session }: Options): string => {
  const spend = Figures.spend(outcome.rounds, outcome.spent)
  return session === undefined ? spend : `${spend} · session ${session.name}`
}
