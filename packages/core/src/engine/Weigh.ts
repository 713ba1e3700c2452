/**
 * Counts the next request in one counter's units, and keeps that counter honest (L-CTX-08, L-CAL).
 *
 * W1. A whole request is one number of its counter, never a sum made here: a counter that learned from a bill has context and tools
 *     inside it already.
 * W2. The context's own weight is found once per run and counter (L-CTX-07).
 */
import * as Calibration from "../decide/Calibration.ts"
import * as Preflight from "../decide/Preflight.ts"
import type { Usage } from "../model/Usage.ts"
import type { Backend, Request } from "../port/Backend.ts"
import * as RequestBudget from "../port/RequestBudget.ts"
import type { TokenCounter } from "../port/TokenCounter.ts"
import type { Live } from "./Live.ts"

/** One backend's window and the counter that measures for it; both absent where nothing is declared. */
export interface Scale {
  readonly window: Preflight.Window | undefined
  readonly counter: TokenCounter | undefined
}

export const scale = (live: Live, backend: Backend): Scale => {
  const profile = live.budget === undefined ? undefined : RequestBudget.profileFor(live.budget, backend.model)
  return {
    window: profile === undefined ? undefined : Preflight.window(profile, backend.maxTokens),
    counter: profile?.counter ?? live.counter
  }
}

const nothing: Preflight.Parts = { messages: 0, tools: 0, context: 0, request: 0 }

export const parts = (live: Live, backend: Backend, request: Request): Preflight.Parts => {
  const { counter, window } = scale(live, backend)
  if (counter === undefined || window === undefined) return nothing
  return {
    messages: counter.countMessages(request.conversation.messages),
    tools: counter.countTools(request.tools),
    context: context(live, counter),
    request: counter.countRequest(request)
  }
}

const context = (live: Live, counter: TokenCounter): number => {
  const known = live.state.contextWeights.get(counter)
  if (known !== undefined) return known
  const made = [live.context.head, live.context.tail].reduce(
    (sum, message) => sum + (message === undefined ? 0 : counter.countText(message.content)),
    0
  )
  live.state.contextWeights.set(counter, made)
  return made
}

/** The whole request in the loop counter's units, for the compactor's trigger; `undefined` when nobody counts (L-ROUND-08, L-CTX-09). */
export const figure = (live: Live, request: Request): number | undefined =>
  live.counter === undefined || (live.budget === undefined && live.compactor === undefined)
    ? undefined
    : live.counter.countRequest(request)

/** Another model, context or catalogue than the counter last described makes its bill worthless (L-CAL-01). */
export const align = (live: Live, backend: Backend, request: Request): void => {
  const { counter } = scale(live, backend)
  if (counter === undefined) return
  const shape = {
    model: backend.model,
    contextDigest: live.context.digest,
    catalogueDigest: Calibration.catalogueDigest(request.tools)
  }
  if (Calibration.isStale(live.state.shapes.get(counter), shape)) counter.invalidate()
  live.state.shapes.set(counter, shape)
}

/** Learns from a bill: the selected counter only (L-CAL-03). */
export const learn = (live: Live, backend: Backend, sent: { readonly count: number; readonly usage: Usage }): void => {
  const { counter } = scale(live, backend)
  if (counter === undefined || sent.usage.promptTokens === undefined) return
  counter.recordUsage({
    model: backend.model,
    promptTokens: sent.usage.promptTokens,
    completionTokens: sent.usage.completionTokens,
    messageCount: sent.count,
    prefixDigest: Calibration.prefixDigest(live.state.conversation.messages, sent.count)
  })
}
