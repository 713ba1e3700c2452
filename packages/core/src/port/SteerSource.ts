/** Words of the user for a run in flight (L-STEER). */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

export interface SteerSource {
  /**
   * Destructive: what it answers is gone from the source. Elements that are not strings are dropped with a log; a failure or
   * defect is logged and asked again at the next boundary.
   */
  readonly pull: Effect.Effect<ReadonlyArray<unknown>, unknown>
  /** Completes when a pull would bring something; a parked run wakes on it at once. A pull-only source leaves it out. */
  readonly arrived?: Effect.Effect<void>
}

export const none: SteerSource = { pull: Effect.succeed([]), arrived: Effect.never }

/** Optional part: without one no pull happens. */
export const SteerSource: Context.Reference<SteerSource> = Context.Reference<SteerSource>(
  "@settle/core/port/SteerSource",
  { defaultValue: () => none }
)
