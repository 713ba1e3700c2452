/**
 * Does this request fit this window? Arithmetic, asked per backend before anything is sent (L-PRE-01, -02).
 *
 * P1. needed = counted request + margin; it fits when needed + reserve <= window.
 * P2. Every term stands in the text of a refusal, a context of zero too, and their sum is the number it names (L-PRE-04).
 */
import * as Data from "effect/Data"

/** A profile as it is used against one backend. Tokens. */
export interface Window {
  readonly contextWindow: number
  readonly reserve: number
  readonly margin: number
}

/** Structure of a profile; defaults: margin 512, reserve the backend's completion cap, else 1024 (L-PRE-11). */
export interface Profile {
  readonly contextWindow: number
  readonly completionReserve?: number
  readonly inputSafetyMargin?: number
}

export const window = (profile: Profile, maxTokens: number | undefined): Window => ({
  contextWindow: profile.contextWindow,
  reserve: profile.completionReserve ?? maxTokens ?? 1024,
  margin: profile.inputSafetyMargin ?? 512
})

/** Counts of one counter. `request` is the whole request; the others say where it comes from. */
export interface Parts {
  readonly messages: number
  readonly tools: number
  readonly context: number
  readonly request: number
}

export interface Terms extends Parts {
  /** What the request holds beside its parts. */
  readonly framing: number
}

/**
 * Parts that add up. A calibrated counter has the tools and the context inside its count of the messages already: then the
 * messages are what is left of the whole.
 */
export const terms = (parts: Parts): Terms => {
  const beside = parts.tools + parts.context
  const messages = parts.messages + beside > parts.request ? Math.max(0, parts.request - beside) : parts.messages
  return { ...parts, messages, framing: parts.request - messages - beside }
}

/** Room for the conversation, the tools and the context together. */
export const usable = (window: Window): number => Math.max(0, window.contextWindow - window.reserve - window.margin)

/** Request and margin, before any reserve. */
export const needed = (request: number, window: Window): number => request + window.margin

export type Preflight = Data.TaggedEnum<{
  Fits: { readonly needed: number }
  Refuses: { readonly needed: number; readonly window: number; readonly error: string }
}>
export const Preflight = Data.taggedEnum<Preflight>()

/** `window` undefined: no profile describes this backend, and it is never refused (L-PRE-10). */
export const check = (parts: Parts, window: Window | undefined): Preflight => {
  if (window === undefined) return Preflight.Fits({ needed: parts.request })
  const sum = needed(parts.request, window)
  return sum + window.reserve <= window.contextWindow
    ? Preflight.Fits({ needed: sum })
    : Preflight.Refuses({ needed: sum, window: window.contextWindow, error: refusal(terms(parts), window) })
}

const refusal = (terms: Terms, window: Window): string => {
  const sum = [
    `messages ${terms.messages}`,
    `tools ${terms.tools}`,
    `context ${terms.context}`,
    ...(terms.framing === 0 ? [] : [`framing ${terms.framing}`]),
    `margin ${window.margin}`,
    `reserve ${window.reserve}`
  ].join(" + ")
  const total = needed(terms.request, window) + window.reserve
  return `the request does not fit the window: it needs ~${total} tokens (${sum}) and the window is ${window.contextWindow}`
}
