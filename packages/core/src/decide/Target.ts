/**
 * How small a forced compaction must make a conversation, in the units of one counter (L-PRE-08, L-LEN-09, L-CTX-10).
 *
 * T1. The target is strictly below the request that was refused: the one retry is never the same doomed send.
 * T2. It travels with the counter that produced it. Numbers of different counters are compared by their ratio to the request, never
 *     as numbers.
 */
import * as Preflight from "./Preflight.ts"

/** How far a counter may be wrong before a provider is believed instead (L-LEN-06). */
export const tolerance = 0.25

/** One backend that refused. `usable` is what a whole request may weigh there. */
export interface Refusal<Counter> {
  readonly counter: Counter
  readonly parts: Preflight.Parts
  readonly usable: number
}

export interface Target<Counter> {
  /** For the conversation alone. */
  readonly tokens: number
  readonly counter: Counter
}

/** After a preflight: the counter is believed. */
export const afterPreflight = (request: number, window: Preflight.Window): number =>
  below(request, Preflight.usable(window))

/**
 * After a provider showed that the counter was too low: the counted size that would still fit if it were as wrong as it may be, or as
 * wrong as the provider's own prompt tokens say. Without a declared window only the counted request itself can be scaled down.
 */
export const afterProvider = (
  request: number,
  window: Preflight.Window | undefined,
  promptTokens: number | undefined
): number => {
  const least = 1 + tolerance
  if (window === undefined) return below(request, Math.floor(request / least))
  const needed = Preflight.needed(request, window)
  const seen = promptTokens !== undefined && promptTokens > 0 && needed > 0 ? promptTokens / needed : 0
  const room = Math.floor((window.contextWindow - window.reserve) / Math.max(least, seen)) - window.margin
  return below(request, room)
}

const below = (request: number, room: number): number => Math.max(0, Math.min(room, request - 1))

/**
 * The largest conversation that any of these backends would take; `undefined` when nothing was counted for them: then the compactor
 * follows its own target.
 */
export const best = <Counter>(refusals: ReadonlyArray<Refusal<Counter>>): Target<Counter> | undefined => {
  const [first, ...rest] = refusals.filter(({ parts }) => parts.request > 0)
  if (first === undefined) return undefined
  const oneUnit = rest.every((refusal) => refusal.counter === first.counter)
  const size = (refusal: Refusal<Counter>): number =>
    oneUnit ? refusal.usable : refusal.usable / Math.max(1, refusal.parts.request)
  const chosen = rest.reduce((best, refusal) => (size(refusal) > size(best) ? refusal : best), first)
  return { counter: chosen.counter, tokens: Math.max(0, chosen.usable - beside(chosen.parts)) }
}

/** What is not history. A calibrated counter hides it inside its count of the messages: then the parts are believed. */
const beside = (parts: Preflight.Parts): number => Math.max(parts.request - parts.messages, parts.tools + parts.context)
