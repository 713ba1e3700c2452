/**
 * Every backend of the chain had its turn and none answered: compact once, or stop (L-PRE-08, -09, L-LEN-04, L-CTXEX).
 *
 * C1. At most one forced compaction a round, and only when every backend refused because of its window (K1).
 * C2. After it the chain is walked once more, and only with a conversation that became smaller (L-CTXEX-04).
 * C3. A backend's 400 that is really a window joins the others in asking for a compaction; without a compactor it stays the failure
 *     it was, told by the attempts and by no reason (L-FAIL-09).
 */
import * as Data from "effect/Data"

/** How one backend's turn ended: no room by arithmetic or by its own length, no room by its error text, or any other way. */
export type LinkEnd = "window" | "overflow" | "failed"

export type Chain = Data.TaggedEnum<{
  Compact: {}
  ContextExhausted: {}
  /** The attempts say it all. */
  Spent: {}
}>
export const Chain = Data.taggedEnum<Chain>()

export interface Facts {
  /** One for each backend, in order. */
  readonly ends: ReadonlyArray<LinkEnd>
  readonly hasCompactor: boolean
  /** This round has forced a compaction already. */
  readonly compacted: boolean
}

export const decide = (facts: Facts): Chain => {
  if (facts.ends.length === 0 || facts.ends.includes("failed")) return Chain.Spent()
  if (facts.hasCompactor && !facts.compacted) return Chain.Compact()
  return facts.compacted || facts.ends.every((end) => end === "window") ? Chain.ContextExhausted() : Chain.Spent()
}

export interface PassFacts {
  readonly exhausted: boolean
  readonly tokensBefore: number
  readonly tokensAfter: number
}

/** Is the chain worth another walk after this forced pass? */
export const mayWalkAgain = (pass: PassFacts): boolean => !pass.exhausted && pass.tokensAfter < pass.tokensBefore

/** The refusals in the order they came, and what to do. */
export const exhaustedText = (
  refusals: ReadonlyArray<string>,
  facts: Pick<Facts, "hasCompactor" | "compacted">
): string => {
  const tried = facts.compacted
    ? "it was compacted once and still does not fit"
    : facts.hasCompactor
      ? "it cannot be made smaller"
      : "there is no compactor to make it smaller"
  return `the conversation does not fit any backend, and ${tried}: ${refusals.join("; ")}. Use a model with a larger window, or start a new conversation`
}
