/**
 * What a run asks of the completion bus. A bus that throws is taken for an empty one, with a log: the run ends rather than hangs
 * or crashes (L-PARK-02).
 */
import * as Effect from "effect/Effect"
import type * as Completion from "../model/Completion.ts"
import * as Live from "./Live.ts"

export const state = (live: Live.Live): Effect.Effect<Completion.BusState> =>
  orElse(live, live.bus.state, { operation: "state", empty: { outstanding: 0, queued: 0 } })

export const drain = (live: Live.Live): Effect.Effect<ReadonlyArray<Completion.Deliverable>> =>
  orElse(live, live.bus.drain, { operation: "drain", empty: [] })

export const outstanding = (live: Live.Live): Effect.Effect<ReadonlyArray<Completion.Outstanding>> =>
  orElse(live, live.bus.outstanding, { operation: "outstanding", empty: [] })

export const closeAll = (live: Live.Live): Effect.Effect<ReadonlyArray<Completion.Outstanding>> =>
  orElse(live, live.bus.closeAll, { operation: "closeAll", empty: [] })

/** A wake-up that broke is a look at the pace of the poll: never a spin. */
export const paced = (live: Live.Live, wakeUp: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.catchCause(wakeUp, () => Effect.sleep(live.settings.parkPollMs))

const orElse = <A>(
  live: Live.Live,
  asked: Effect.Effect<A>,
  { empty, operation }: { readonly operation: string; readonly empty: A }
): Effect.Effect<A> =>
  Effect.catchCause(asked, (cause) =>
    Effect.sync(() => {
      Live.log(live, "error", { message: "the completion bus failed", operation, error: Live.describe(cause) })
      return empty
    })
  )
