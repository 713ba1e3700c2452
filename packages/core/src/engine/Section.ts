/**
 * The stretches of a run that may be ended from outside: a stream, a backoff, the wait for a tool, a park. The driver itself is
 * never interrupted; it starts a section and is told how it ended (X-CANC-01).
 *
 * N1. One section at a time. What ends it first decides: a result that is there wins over a stop in the same tick (L-DL-13).
 * N2. A stop does not wait for the section's finalizers; they stay an open work section, so `drained` waits for them.
 * N3. After a cancel no further section starts.
 * N4. A watch belongs to its section: it begins when the section can be stopped, and ends with it.
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
  /** What `watch` answers ends the section with that reason. */
  readonly run: <A, E>(effect: Effect.Effect<A, E>, watch?: Effect.Effect<StopReason>) => Effect.Effect<Ended<A, E>>
  /** True for the first request only. */
  readonly cancel: () => boolean
  readonly isCancelled: () => boolean
}

export const make = (work: Work.Work): Sections => {
  let requested = false
  let current: ((reason: StopReason) => void) | undefined

  const run: Sections["run"] = Effect.fnUntraced(function* <A, E>(
    effect: Effect.Effect<A, E>,
    watch?: Effect.Effect<StopReason>
  ) {
    if (requested) return { _tag: "Stopped", reason: "cancelled" } as const
    const ended = Deferred.makeUnsafe<Ended<A, E>>()
    const fiber = yield* Effect.forkDetach(effect, { startImmediately: true })
    const stop = open(fiber, (how) => Deferred.doneUnsafe(ended, Exit.succeed(how)))
    const isOver = watch === undefined || Deferred.isDoneUnsafe(ended)
    const watching = isOver ? undefined : yield* Effect.forkDetach(Effect.map(watch, stop))
    const how = yield* Deferred.await(ended)
    current = undefined
    watching?.interruptUnsafe()
    return how
  })

  const open = <A, E>(fiber: Fiber.Fiber<A, E>, settle: (how: Ended<A, E>) => boolean) => {
    work.begin()
    const stop = (reason: StopReason): void => {
      if (settle({ _tag: "Stopped", reason })) fiber.interruptUnsafe()
    }
    current = stop
    fiber.addObserver((exit) => {
      settle({ _tag: "Finished", exit })
      work.end()
    })
    // A cancel that came while the section was starting found nothing to stop.
    if (requested) stop("cancelled")
    return stop
  }

  return {
    run,
    cancel: () => {
      if (requested) return false
      requested = true
      current?.("cancelled")
      return true
    },
    isCancelled: () => requested
  }
}
