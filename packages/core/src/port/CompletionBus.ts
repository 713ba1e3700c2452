/** Where background work reports (L-PARK). The loop reads it and drains it; it never opens or settles (L-PARK-18). */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { BusState, Deliverable, Outstanding } from "../model/Completion.ts"

export interface CompletionBus {
  /** Outstanding and queued, read as one. */
  readonly state: Effect.Effect<BusState>
  /** First in, first out; what it answers is gone. */
  readonly drain: Effect.Effect<ReadonlyArray<Deliverable>>
  readonly outstanding: Effect.Effect<ReadonlyArray<Outstanding>>
  /** Closes every outstanding operation; the queue stays. */
  readonly closeAll: Effect.Effect<ReadonlyArray<Outstanding>>
  /** Completes at the next change of state after the call. */
  readonly changed: Effect.Effect<void>
}

export const none: CompletionBus = {
  state: Effect.succeed({ outstanding: 0, queued: 0 }),
  drain: Effect.succeed([]),
  outstanding: Effect.succeed([]),
  closeAll: Effect.succeed([]),
  changed: Effect.never
}

/** Optional part: the default is always quiet, so nothing ever parks (L-PARK-01). */
export const CompletionBus: Context.Reference<CompletionBus> = Context.Reference<CompletionBus>(
  "@settle/core/port/CompletionBus",
  { defaultValue: () => none }
)
