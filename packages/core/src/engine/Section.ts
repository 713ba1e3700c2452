/**
 * The stretches of a run that may be ended from outside: a stream, a backoff, the wait for a tool, a park. The driver itself is
 * never interrupted; it starts a section and is told how it ended (X-CANC-01).
 *
 * N1. One section at a time. What ends it first decides: a result that is there wins over a stop in the same tick (L-DL-13).
 * N2. A stop does not wait for the section's finalizers; they stay an open work section, so `drained` waits for them.
 * N3. After a cancel no further section starts.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type * as Work from "./Work.ts"

export type StopReason = "cancelled" | "deadline" | "timeout"

export type Ended<A, E> =
  | { readonly _tag: "Finished"; readonly exit: Exit.Exit<A, E> }
  | { readonly _tag: "Stopped"; readonly reason: StopReason }

export interface Sections {
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<Ended<A, E>>
  /** Ends the current section, if one is open. */
  readonly stop: (reason: StopReason) => void
  /** True for the first request only. */
  readonly cancel: () => boolean
  readonly isCancelled: () => boolean
  /** Completes when a cancel is requested. */
  readonly cancelled: Effect.Effect<void>
}

export const make = (work: Work.Work): Sections => {
  const signal = Deferred.makeUnsafe<void>()
  let requested = false
  let current: ((reason: StopReason) => void) | undefined

  const run = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<Ended<A, E>> =>
    Effect.suspend(() => {
      if (requested) return Effect.succeed<Ended<A, E>>({ _tag: "Stopped", reason: "cancelled" })
      const ended = Deferred.makeUnsafe<Ended<A, E>>()
      const settle = (how: Ended<A, E>) => Deferred.doneUnsafe(ended, Exit.succeed(how))
      return Effect.flatMap(Effect.forkDetach(effect, { startImmediately: true }), (fiber) => {
        open(fiber, settle)
        return Effect.ensuring(
          Deferred.await(ended),
          Effect.sync(() => {
            current = undefined
          })
        )
      })
    })

  const open = <A, E>(fiber: Fiber.Fiber<A, E>, settle: (how: Ended<A, E>) => boolean): void => {
    work.begin()
    current = (reason) => {
      if (settle({ _tag: "Stopped", reason })) fiber.interruptUnsafe()
    }
    fiber.addObserver((exit) => {
      settle({ _tag: "Finished", exit })
      work.end()
    })
    // A cancel that came while the section was starting found nothing to stop.
    if (requested) current("cancelled")
  }

  return {
    run,
    stop: (reason) => current?.(reason),
    cancel: () => {
      if (requested) return false
      requested = true
      Deferred.doneUnsafe(signal, Exit.void)
      current?.("cancelled")
      return true
    },
    isCancelled: () => requested,
    cancelled: Deferred.await(signal)
  }
}
