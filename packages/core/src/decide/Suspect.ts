/**
 * What a finished reply leads to, and the round's single extra send (L-EMPTY, L-LEN-17, -18).
 *
 * S1. A round sends at most one extra request for an empty answer or an unexplained length, whichever came first (L-EMPTY-04).
 * S2. It is taken from the backend's own budget of attempts (L-EMPTY-05), and a forced compaction does not renew it (L-EMPTY-06).
 * S3. A cut at the completion cap and an answer of reasoning alone are never sent again (L-LEN-10, L-EMPTY-03).
 */
import * as Data from "effect/Data"
import type { SuspectReason } from "../model/AttemptRecord.ts"
import * as Backoff from "./Backoff.ts"
import type { LengthVerdict } from "./LengthVerdict.ts"
import type { Verdict } from "./Verdict.ts"

export type Suspect = Data.TaggedEnum<{
  Commit: {}
  /** The identical request once more, after the ordinary wait. */
  Resend: { readonly reason: SuspectReason; readonly error: string; readonly backoffMs: number }
  /** The run ends. `mayHandOff` is false for an answer of reasoning alone (L-MARK-09). */
  End: { readonly reason: SuspectReason; readonly error: string; readonly mayHandOff: boolean }
  /** This backend's window refused the request (L-LEN-03): see `Disposition.afterWindow`. */
  WindowRefusal: { readonly error: string }
  /** A failure of class `response`: see `Classify`. */
  Failed: { readonly error: string }
}>
export const Suspect = Data.taggedEnum<Suspect>()

export interface Facts {
  readonly verdict: Verdict
  /** This round's extra send was used before. */
  readonly spent: boolean
  /** Sends to this backend in this walk, this one included. */
  readonly attempt: number
  readonly maxRetries: number
  readonly jitterMs: number
  readonly backoffCapMs: number
}

export const decide = (facts: Facts): Suspect => {
  const { verdict } = facts
  switch (verdict._tag) {
    case "Turn":
      return Suspect.Commit()
    case "Empty":
      return again(facts, "empty-completion", emptyText(verdict))
    case "ReasoningOnly":
      return Suspect.End({
        reason: "empty-completion",
        error: "the model answered with reasoning and nothing else: it generated, so it is not asked again",
        mayHandOff: false
      })
    case "Length":
    case "Clipped":
      return length(facts, verdict.length)
    case "Filtered":
    case "ErrorFinish":
    case "BrokenCall":
      return Suspect.Failed({ error: verdict.detail })
  }
}

const emptyText = ({ finishReason, ignoredCalls }: Extract<Verdict, { readonly _tag: "Empty" }>): string => {
  const calls = ignoredCalls === 1 ? "a tool call" : `${ignoredCalls} tool calls`
  const but = ignoredCalls === 0 ? "" : ` but ${calls}, and no tool was offered`
  return `the model answered with nothing${but} (finish reason ${finishReason})`
}

const length = (facts: Facts, verdict: LengthVerdict): Suspect => {
  switch (verdict._tag) {
    case "NearWindow":
      return Suspect.WindowRefusal({
        error: `the answer was cut at the edge of the context window: ${verdict.evidence}`
      })
    case "CompletionCap":
      return Suspect.End({ reason: "completion-truncated", error: verdict.evidence, mayHandOff: true })
    case "Unexplained":
      return again(
        facts,
        "unexplained-length",
        `the provider stopped with a length that no known limit explains: ${verdict.evidence}`
      )
  }
}

const again = (facts: Facts, reason: SuspectReason, error: string): Suspect => {
  if (facts.spent) {
    return Suspect.End({ reason, error: `${error}. It was sent once more already in this round`, mayHandOff: true })
  }
  if (facts.attempt >= facts.maxRetries) {
    const none = `no attempt was left to send it once more (maxRetries ${facts.maxRetries})`
    return Suspect.End({ reason, error: `${error}; ${none}`, mayHandOff: true })
  }
  const backoffMs = Backoff.ms({ attempt: facts.attempt, jitterMs: facts.jitterMs, capMs: facts.backoffCapMs })
  return Suspect.Resend({ reason, error, backoffMs })
}
