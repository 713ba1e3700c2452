/**
 * The run that does not end yet: waits, with nothing in flight, for background work (L-PARK).
 *
 * P1. Whatever wakes it, one look decides, in the spec's order; a wake-up is only a reason to look again, so none can be lost.
 * P2. Every exit closes the span: hooks are balanced, RunResumed says why and how long (L-PARK-11).
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Caps from "../decide/Caps.ts"
import * as ParkStep from "../decide/ParkStep.ts"
import * as TurnEnd from "../decide/TurnEnd.ts"
import * as Completion from "../model/Completion.ts"
import * as RunFailure from "../model/RunFailure.ts"
import * as Background from "./Background.ts"
import * as Inject from "./Inject.ts"
import * as Live from "./Live.ts"

export type Woken = Data.TaggedEnum<{
  /** Nothing is owed: the turn that went quiet was the last. */
  Quiet: {}
  Again: {}
  Cancelled: {}
}>
export const Woken = Data.taggedEnum<Woken>()

type Exit = { readonly reason: "completion" | "steer" | "cancelled" | "idle"; readonly woken: Woken }

export const untilWoken = Effect.fnUntraced(function* (
  live: Live.Live
): Effect.fn.Return<Woken, RunFailure.RunFailure> {
  const end = TurnEnd.decide(yield* Background.state(live))
  if (end._tag === "Complete") return Woken.Quiet()
  if (end._tag === "Again") return Woken.Again()
  const since = live.now()
  const ops = yield* Background.outstanding(live)
  const round = live.state.round
  live.feed.emit({
    _tag: "RunParked",
    outstanding: ops.length,
    ops: ops.map(({ kind, label, meta, operationId }) => ({
      opId: operationId,
      kind,
      ...(label === undefined ? {} : { label }),
      meta
    })),
    round
  })
  yield* hook(live, "onPark", live.hooks.onPark({ round, outstanding: ops.length, ops }))
  const left = yield* Effect.exit(wait(live, since))
  const reason = left._tag === "Success" ? left.value.reason : "idle"
  const parkedSeconds = (live.now() - since) / 1000
  live.state.spend = Caps.park(live.state.spend, live.now() - since)
  yield* hook(live, "onUnpark", live.hooks.onUnpark({ round, reason, parkedSeconds }))
  live.feed.emit({ _tag: "RunResumed", reason, parkedSeconds, round })
  return left._tag === "Success" ? left.value.woken : yield* Effect.failCause(left.cause)
})

const wait = Effect.fnUntraced(function* (
  live: Live.Live,
  since: number
): Effect.fn.Return<Exit, RunFailure.RunFailure> {
  while (true) {
    const step = ParkStep.look(yield* Background.state(live), live.sections.isCancelled())
    switch (step._tag) {
      case "Deliver":
        return { reason: "completion", woken: Woken.Again() }
      case "Quiet":
        return { reason: "completion", woken: Woken.Quiet() }
      case "Cancel":
        yield* Background.closeAll(live)
        return { reason: "cancelled", woken: Woken.Cancelled() }
      case "AskSteers": {
        const steers = yield* Inject.pull(live)
        const after = ParkStep.afterPull(steers.length, live.now() - since, live.settings.parkIdleTimeoutMs)
        if (after._tag === "Steered") {
          live.state.carriedSteers = steers
          return { reason: "steer", woken: Woken.Again() }
        }
        if (after._tag === "Idle") return yield* idle(live)
        yield* stay(live, since)
      }
    }
  }
})

const idle = Effect.fnUntraced(function* (live: Live.Live) {
  const closed = yield* Background.closeAll(live)
  return yield* Effect.fail(
    RunFailure.failure(
      new RunFailure.ParkIdle({
        operations: closed.map((op) => op.operationId),
        seconds: live.settings.parkIdleTimeoutMs / 1000
      })
    )
  )
})

/** Until something may have changed. The bus is read again after the wake-up is armed: what lands in between is seen. */
const stay = (live: Live.Live, since: number) => {
  const idleLeft = Math.max(0, since + live.settings.parkIdleTimeoutMs - live.now())
  const settled = Effect.flatMap(Background.state(live), (state) =>
    state.queued > 0 || Completion.isQuiet(state) ? Effect.void : Effect.never
  )
  const steered = live.steers.arrived ?? Effect.sleep(live.settings.parkPollMs)
  const wakeUps = [Background.paced(live, live.bus.changed), Background.paced(live, steered)]
  return live.sections.run(Effect.raceAllFirst([...wakeUps, Effect.sleep(idleLeft), settled]))
}

const hook = (live: Live.Live, name: string, effect: Effect.Effect<void>) =>
  Effect.catchCause(effect, (cause) =>
    Effect.sync(
      () => void Live.log(live, "error", { message: `the host's ${name} failed`, error: Live.describe(cause) })
    )
  )
