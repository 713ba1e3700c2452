/**
 * What the loop does about a failed send (L-FAIL, L-ADV, X-WIRE-06).
 *
 * D1. A window refusal is never sent again: same bytes, same refusal (L-ADV-04, F11).
 * D2. Every other advance with nowhere to go becomes a wait and another try within the same budget (L-ADV-01).
 * D3. `maxRetries` counts every send to this backend, the first included (L-FAIL-05).
 * D4. A wait is never longer than the cap: a provider that asks for more loses its turn, or ends the run saying so (F12).
 */
import * as Data from "effect/Data"
import type * as AttemptRecord from "../model/AttemptRecord.ts"
import * as Backoff from "./Backoff.ts"
import type { Bucket } from "./Classify.ts"

export type Disposition = Data.TaggedEnum<{
  RetrySame: { readonly backoffMs: number }
  /** The next backend, at once. `note` goes behind the error text. */
  Advance: { readonly note: string }
  /** The chain stops here, this backend having refused for good. */
  Abort: {}
  /** No backend is left. `window`: this one refused because of its window, so `Chain` has a say. */
  GiveUp: { readonly window: boolean; readonly note: string }
}>
export const Disposition = Data.taggedEnum<Disposition>()

export interface Facts {
  readonly bucket: Bucket
  /** Sends to this backend in this walk, this failed one included. */
  readonly attempt: number
  readonly maxRetries: number
  readonly hasNext: boolean
  readonly retryAfterMs?: number | undefined
  readonly backoffCapMs: number
  readonly jitterMs: number
}

export const decide = (facts: Facts): Disposition => {
  switch (facts.bucket._tag) {
    case "Abort":
      return Disposition.Abort()
    case "Advance":
      return facts.bucket.overflow || facts.hasNext ? leave(facts, "") : again(facts)
    case "RetrySame":
      return again(facts)
  }
}

/** A reply cut at the edge of the window: this backend's refusal, found out the expensive way (L-LEN-03). */
export const afterWindow = (hasNext: boolean): Disposition =>
  hasNext ? Disposition.Advance({ note: "" }) : Disposition.GiveUp({ window: true, note: "" })

const again = (facts: Facts): Disposition => {
  if (facts.attempt >= facts.maxRetries) return leave(facts, "")
  const asked = facts.retryAfterMs ?? 0
  if (asked > facts.backoffCapMs) {
    return leave(
      facts,
      `it asks to wait ${seconds(asked)} s, longer than the longest wait of ${seconds(facts.backoffCapMs)} s (backoffCap)`
    )
  }
  const backoff = Backoff.ms({ attempt: facts.attempt, jitterMs: facts.jitterMs, capMs: facts.backoffCapMs })
  return Disposition.RetrySame({ backoffMs: Math.max(backoff, asked) })
}

const leave = (facts: Facts, note: string): Disposition =>
  facts.hasNext
    ? Disposition.Advance({ note })
    : Disposition.GiveUp({ window: facts.bucket._tag === "Advance" && facts.bucket.overflow, note })

const seconds = (ms: number): number => Math.ceil(ms / 1000)

/** What AttemptFailed says: the last failure of a chain is an `advance` too, only that nobody is left (L-FAIL-06, L-ADV-02). */
export const reported = (self: Disposition): AttemptRecord.Disposition => {
  switch (self._tag) {
    case "RetrySame":
      return "retry-same"
    case "Advance":
    case "GiveUp":
      return "advance"
    case "Abort":
      return "abort"
  }
}
