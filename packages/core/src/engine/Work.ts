/**
 * Everything of a run that may still touch the world: the driver, detached calls, closing streams. `drained` is their end
 * (L-DRAIN-02).
 *
 * W1. `drained` completes once, when the run has its result and no section is open.
 */
import * as Deferred from "effect/Deferred"
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

export interface Work {
  readonly begin: () => void
  readonly end: () => void
  /** The run has its result: from now on the last section to end drains it. */
  readonly close: () => void
  readonly drained: Effect.Effect<void>
}

export const make = (onDrained: () => void): Work => {
  const drained = Deferred.makeUnsafe<void>()
  let sections = 0
  let closed = false
  let isDrained = false
  const settle = () => {
    if (!closed || sections > 0 || isDrained) return
    isDrained = true
    // First the door, then whoever waits: completing the Deferred may run them at once.
    onDrained()
    Deferred.doneUnsafe(drained, Exit.void)
  }
  return {
    begin: () => {
      sections++
    },
    end: () => {
      sections--
      settle()
    },
    close: () => {
      closed = true
      settle()
    },
    drained: Deferred.await(drained)
  }
}
