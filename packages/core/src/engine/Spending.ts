/** The run's caps, asked where nothing is in flight (L-CAP-01). */
import * as Effect from "effect/Effect"
import * as Caps from "../decide/Caps.ts"
import type { Spent } from "../model/RunOutcome.ts"
import * as RunFailure from "../model/RunFailure.ts"
import type { Live } from "./Live.ts"

export const reached = (live: Live): Caps.Reached | undefined =>
  live.budget === undefined ? undefined : Caps.reached(live.state.spend, live.budget, live.now())

export const check = (live: Live): Effect.Effect<void, RunFailure.RunFailure> => {
  const cap = reached(live)
  return cap === undefined ? Effect.void : Effect.fail(RunFailure.failure(new RunFailure.BudgetExhausted(cap)))
}

/** Absent without a budget: "nobody was counting" and "nothing was spent" are different answers (L-CAP-06). */
export const record = (live: Live): { readonly spent?: Spent } =>
  live.budget === undefined ? {} : { spent: Caps.spent(live.state.spend, live.now()) }
