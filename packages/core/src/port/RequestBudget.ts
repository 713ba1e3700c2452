/** What fits and what a run may spend (L-BUDG, L-CAP). Windows are tokens, observation sizes characters, cost US dollars. */
import * as Context from "effect/Context"
import type { TokenCounter } from "./TokenCounter.ts"

export interface Profile {
  readonly contextWindow: number
  /** Room kept for the answer; default: the backend's completion cap, else 1024 (L-PRE-11). */
  readonly completionReserve?: number
  /** Default 512. */
  readonly inputSafetyMargin?: number
  /** Default: the loop's counter. */
  readonly counter?: TokenCounter
}

export interface RequestBudget {
  readonly profiles?: ReadonlyMap<string, Profile>
  readonly defaultProfile?: Profile
  /** Longer results are excerpted. Default 16384 characters. */
  readonly maxObservationSize?: number
  readonly maxCost?: number
  readonly maxTotalTokens?: number
  /** Milliseconds of working time. */
  readonly maxWallClockMs?: number
}

export const profileFor = (self: RequestBudget, model: string): Profile | undefined =>
  self.profiles?.get(model) ?? self.defaultProfile

/** `contextBudget` alone: that window, no margin, no reserve (L-BUDG-02). */
export const forWindow = (contextWindow: number): RequestBudget => ({
  defaultProfile: { contextWindow, completionReserve: 0, inputSafetyMargin: 0 }
})

/** Optional part: `undefined` means no preflight, no excerpts, no caps (L-BUDG-01). */
export const RequestBudget: Context.Reference<RequestBudget | undefined> = Context.Reference<RequestBudget | undefined>(
  "@settle/core/port/RequestBudget",
  { defaultValue: () => undefined }
)
