/**
 * A reply that ran out of room: out of the window, out of its completion cap, or out of neither (L-LEN).
 *
 * V1. A provider's own numbers need no tolerance; a counted number has to clear the window by more than a quarter of itself (L-LEN-06).
 * V2. Only usage confirms a completion cap; without it the text says that nothing was verified (L-LEN-12).
 * V3. Bytes of output bound its tokens from above only where no reasoning was hidden or shortened (L-LEN-14, -15).
 */
import * as Data from "effect/Data"
import type { Usage } from "../model/Usage.ts"
import * as Preflight from "./Preflight.ts"
import { tolerance } from "./Target.ts"

export type LengthVerdict = Data.TaggedEnum<{
  NearWindow: { readonly evidence: string }
  CompletionCap: { readonly evidence: string }
  Unexplained: { readonly evidence: string }
}>
export const LengthVerdict = Data.taggedEnum<LengthVerdict>()

export interface Facts {
  /** `undefined`: no profile describes the backend. */
  readonly window: Preflight.Window | undefined
  /** Counted size of the whole request; 0 where nothing counts. */
  readonly request: number
  /** Completion cap the request carried, where it carried one. */
  readonly cap: number | undefined
  readonly usage: Usage | undefined
  /** UTF-8 bytes of text and of the names and arguments of every call, whole or partial. */
  readonly outputBytes: number
  readonly hasReasoning: boolean
  /** The provider named the window as the reason. */
  readonly saysWindow: boolean
}

/** A usable completion cap: above zero. */
export const cap = (maxTokens: number | undefined): number | undefined =>
  maxTokens !== undefined && maxTokens > 0 ? maxTokens : undefined

/** True when the provider billed a completion that reached the cap, whatever it says the reason was (L-CLIP-01). */
export const billedAtCap = (usage: Usage | undefined, cap: number | undefined): boolean =>
  cap !== undefined && usage?.completionTokens !== undefined && usage.completionTokens >= cap

export const judge = (facts: Facts): LengthVerdict => {
  const near = nearWindow(facts)
  if (near !== undefined) return LengthVerdict.NearWindow({ evidence: near })
  const ruledOut = notTheCap(facts)
  return ruledOut === undefined
    ? LengthVerdict.CompletionCap({ evidence: capText(facts) })
    : LengthVerdict.Unexplained({ evidence: `${ruledOut}; ${windowText(facts.window)}` })
}

/** Why the window is the reason, or `undefined` when it is not. */
export const nearWindow = (facts: Facts): string | undefined => {
  const { request, usage, window } = facts
  if (facts.saysWindow) return "the provider says that the context window is full"
  if (window === undefined) return undefined
  const prompt = usage?.promptTokens ?? 0
  const completion = usage?.completionTokens ?? 0
  if (prompt > 0) {
    if (prompt + completion >= window.contextWindow) {
      return `the provider billed ${prompt} + ${completion} tokens and the window is ${window.contextWindow}`
    }
    return prompt + window.reserve > window.contextWindow
      ? `the provider billed a prompt of ${prompt} tokens, and with the reserve of ${window.reserve} that is over the window of ${window.contextWindow}`
      : undefined
  }
  if ((usage?.totalTokens ?? 0) >= window.contextWindow) {
    return `the provider billed ${usage?.totalTokens ?? 0} tokens and the window is ${window.contextWindow}`
  }
  const needed = Preflight.needed(request, window)
  const slack = Math.ceil(needed * tolerance)
  return needed + window.reserve + slack > window.contextWindow
    ? `~${needed} tokens were counted, and with the reserve of ${window.reserve} and a counting error of ${slack} that is over the window of ${window.contextWindow}`
    : undefined
}

/** What rules the completion cap out, or `undefined` when nothing does. */
const notTheCap = (facts: Facts): string | undefined => {
  if (facts.cap === undefined) return undefined
  const billed = facts.usage?.completionTokens
  if (billed !== undefined) {
    return billed < facts.cap
      ? `the provider billed ${billed} completion tokens, below the cap of ${facts.cap}`
      : undefined
  }
  return !facts.hasReasoning && facts.outputBytes < facts.cap
    ? `the provider reported no usage, and ${facts.outputBytes} bytes of output cannot hold the ${facts.cap} tokens of the cap`
    : undefined
}

const capText = (facts: Facts): string => {
  const undeclared =
    facts.window === undefined
      ? ". No profile describes this backend: if its window was full instead, declare its contextWindow"
      : ""
  if (billedAtCap(facts.usage, facts.cap)) {
    return `the answer was cut off at max_tokens: the provider billed ${facts.usage?.completionTokens ?? 0} completion tokens and the cap is ${facts.cap ?? 0}. Raise maxTokens of this backend${undeclared}`
  }
  const billed = facts.usage?.completionTokens
  const limit = facts.cap === undefined ? "this backend declares no maxTokens" : `maxTokens is ${facts.cap}`
  const told =
    billed === undefined ? "it reported no usage that would verify this" : `it billed ${billed} completion tokens`
  return `the provider stopped with a length, read as its completion cap (${limit}); ${told}, and the output is ${facts.outputBytes} bytes. Raise or set maxTokens of this backend${undeclared}`
}

const windowText = (window: Preflight.Window | undefined): string =>
  window === undefined
    ? "no profile describes this backend, so nobody could check whether its window was full: declare its contextWindow to find out"
    : `the window of ${window.contextWindow} had room`
