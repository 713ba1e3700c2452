/**
 * Signals that ask the process to leave.
 *
 *            signal, no claim              scope of the claim closed
 * Running ------------------> Leaving
 *    |  signal, claimed          ^
 *    +-------> Stopping ---------+
 *
 * G1. Whoever holds a claim ends its own work in order; without a claim the command is interrupted.
 * G2. A second SIGINT leaves at once. SIGTERM gets no second chance: another one changes nothing.
 * G3. However slow the end is, the process is gone after `patience`.
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Exit from "./Exit.ts"

export type Signal = "SIGINT" | "SIGTERM"

export class Stop extends Context.Service<
  Stop,
  {
    /** Completes at the first signal. */
    readonly requested: Effect.Effect<Signal>
    /** Until the scope closes, a signal is answered by the holder and interrupts nothing. */
    readonly claim: Effect.Effect<void, never, Scope.Scope>
    /** Completes when a signal came that nobody claims. */
    readonly unclaimed: Effect.Effect<Signal>
  }
>()("@settle/cli/Stop") {}

/** How long an orderly end may take before the process leaves anyway. */
export const patience = "15 seconds"

/** Leaving at once is the one thing that cannot wait for a fiber. */
const leave = (): void => process.exit(Exit.cancelled)

const make = Effect.gen(function* () {
  const first = Deferred.makeUnsafe<Signal>()
  let claims = 0
  let seen: Signal | undefined
  const on = (signal: Signal) => () => {
    if (seen !== undefined) {
      if (signal === "SIGINT") leave()
      return
    }
    seen = signal
    Deferred.doneUnsafe(first, Effect.succeed(signal))
  }
  const handlers: ReadonlyArray<readonly [Signal, () => void]> = [
    ["SIGINT", on("SIGINT")],
    ["SIGTERM", on("SIGTERM")]
  ]
  yield* Effect.acquireRelease(
    Effect.sync(() => handlers.forEach(([signal, handler]) => process.on(signal, handler))),
    () => Effect.sync(() => handlers.forEach(([signal, handler]) => process.off(signal, handler)))
  )
  const requested = Deferred.await(first)
  yield* Effect.forkScoped(requested.pipe(Effect.andThen(Effect.sleep(patience)), Effect.andThen(Effect.sync(leave))))
  return Stop.of({
    requested,
    claim: Effect.acquireRelease(
      Effect.sync(() => void claims++),
      () => Effect.sync(() => void claims--)
    ),
    unclaimed: Effect.flatMap(requested, (signal) => (claims === 0 ? Effect.succeed(signal) : Effect.never))
  })
})

export const layer: Layer.Layer<Stop> = Layer.effect(Stop, make)
