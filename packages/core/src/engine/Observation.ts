/**
 * The excerpt seam: every text that a tool or background work sends into the conversation passes here once, before its message is
 * built, so that conversation, transcript, event and digest hold the same string (L-ART-02).
 */
import * as Effect from "effect/Effect"
import * as Excerpt from "../decide/Excerpt.ts"
import * as Canonical from "../model/Canonical.ts"
import * as Json from "../model/Json.ts"
import type { ArtifactRef } from "../model/Tool.ts"
import * as Live from "./Live.ts"

export interface Observed {
  readonly content: string
  readonly artifact?: ArtifactRef
}

/** Characters; longer results are excerpted (L-ART-06). */
const defaultLimit = 16_384

export const observe = Effect.fnUntraced(function* (
  live: Live.Live,
  operationId: string,
  given: string
): Effect.fn.Return<Observed> {
  const content = Json.wellFormed(given)
  if (live.budget === undefined) return { content }
  const cut = Excerpt.cut(content, live.budget.maxObservationSize ?? defaultLimit)
  return cut === undefined ? { content } : yield* store(live, operationId, { content, cut })
})

const store = Effect.fnUntraced(function* (
  live: Live.Live,
  operationId: string,
  { content, cut }: { readonly content: string; readonly cut: Excerpt.Cut }
): Effect.fn.Return<Observed> {
  if (live.artifacts === undefined) {
    const digest = Canonical.textDigest(content)
    return { content: Excerpt.render(cut, Excerpt.Whereabouts.NoPlace({ digest })) }
  }
  const write = live.artifacts.store(operationId, content)
  const stored = yield* Live.shielded(live, "a full tool result could not be stored", write)
  if (stored === undefined) {
    const digest = Canonical.textDigest(content)
    return { content: Excerpt.render(cut, Excerpt.Whereabouts.StoreFailed({ digest })) }
  }
  return {
    content: Excerpt.render(cut, Excerpt.Whereabouts.Stored(stored)),
    artifact: { ...stored, elidedChars: cut.elidedChars }
  }
})
