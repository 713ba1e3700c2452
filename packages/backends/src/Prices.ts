/**
 * What a send cost where its provider does not say: from a price list, and always marked as computed.
 *
 * P1. A reported cost is never touched, and a computed one never looks like a reported one.
 * P2. Nothing is invented: no price for a provider that was not named by id or by address, for a model the list does not know, or for
 *     usage that does not say both prompt and completion.
 * P3. The list (2 MB) is loaded when it is asked for.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Usage } from "@settle/core/model/Usage"
import * as Backend from "@settle/core/port/Backend"

/** Whose price: the list's id of a provider, or the address its API is called at. */
export interface Source {
  readonly providerId?: string
  readonly baseUrl?: string
}

export interface Query extends Source {
  readonly model: string
  /** Milliseconds since the epoch: prices change. */
  readonly at: number
}

/** US dollars for a million tokens; of prices that rise with the length of a prompt, the lowest. */
export interface Rates {
  readonly input: number
  readonly output: number
}

export interface Prices {
  /** US dollars, or `undefined` when the list cannot tell. */
  readonly cost: (usage: Usage, query: Query) => number | undefined
  /** The usage with a computed cost, where it had none and the list can tell. */
  readonly complete: (usage: Usage, query: Query) => Usage
  readonly rates: (query: Query) => Rates | undefined
  /** Tokens, where the list says it. */
  readonly contextWindow: (query: Query) => number | undefined
}

export const load: Effect.Effect<Prices> = Effect.map(
  Effect.promise(() => import("@pydantic/genai-prices")),
  (list) => make(list)
)

type List = Pick<typeof import("@pydantic/genai-prices"), "calcPrice" | "findProvider">

const make = (list: List): Prices => {
  const look = (tokens: Record<string, number>, query: Query): ReturnType<List["calcPrice"]> => {
    const known = list.findProvider({
      ...(query.providerId === undefined ? {} : { providerId: query.providerId }),
      ...(query.baseUrl === undefined ? {} : { providerApiUrl: query.baseUrl })
    })
    if (known === undefined) return null
    return list.calcPrice(tokens, query.model, { provider: known, timestamp: new Date(query.at) })
  }
  const cost = (usage: Usage, query: Query): number | undefined => {
    const tokens = tokensOf(usage)
    return tokens === undefined ? undefined : look(tokens, query)?.total_price
  }
  return {
    cost,
    complete: (usage, query) => {
      const computed = usage.cost === undefined ? cost(usage, query) : undefined
      return computed === undefined ? usage : { ...usage, cost: computed, costComputed: true }
    },
    rates: (query) => {
      const { input_mtok: input, output_mtok: output } = look(noTokens, query)?.model_price ?? {}
      return input === undefined || output === undefined ? undefined : { input: lowest(input), output: lowest(output) }
    },
    contextWindow: (query) => look(noTokens, query)?.model.context_window
  }
}

const noTokens = { input_tokens: 0, output_tokens: 0 }

const lowest = (price: number | { readonly base: number }): number => (typeof price === "number" ? price : price.base)

/** The list's names; `undefined` when the parts contradict the whole, or a half is missing. */
const tokensOf = (usage: Usage): Record<string, number> | undefined => {
  const { cacheWriteTokens = 0, cachedPromptTokens = 0, completionTokens, promptTokens } = usage
  if (promptTokens === undefined || completionTokens === undefined) return undefined
  if (promptTokens < 0 || completionTokens < 0 || cachedPromptTokens < 0 || cacheWriteTokens < 0) return undefined
  if (cachedPromptTokens + cacheWriteTokens > promptTokens) return undefined
  return {
    input_tokens: promptTokens,
    output_tokens: completionTokens + apart(usage, promptTokens + completionTokens),
    cache_read_tokens: cachedPromptTokens,
    cache_write_tokens: cacheWriteTokens
  }
}

/** Hidden reasoning that was billed beside what the model wrote, as some providers count: only then the whole is all three. */
const apart = ({ reasoningTokens = 0, totalTokens }: Usage, halves: number): number =>
  reasoningTokens > 0 && totalTokens === halves + reasoningTokens ? reasoningTokens : 0

/** The same backend, whose bills have a computed cost where the provider reported none. */
export const priced = (backend: Backend.Backend, prices: Prices, source: Source): Backend.Backend => ({
  ...backend,
  stream: (request) =>
    Stream.unwrap(
      Effect.map(Clock.currentTimeMillis, (at) => {
        const complete = (usage: Usage): Usage => prices.complete(usage, { ...source, model: backend.model, at })
        return backend.stream(request).pipe(
          Stream.map((chunk) => finished(chunk, complete)),
          Stream.mapError((error) =>
            error.usage === undefined
              ? error
              : new Backend.BackendError({ reason: error.reason, usage: complete(error.usage) })
          )
        )
      })
    )
})

const finished = (chunk: Backend.Chunk, complete: (usage: Usage) => Usage): Backend.Chunk =>
  chunk._tag === "Finished" && chunk.reply.usage !== undefined
    ? Backend.Chunk.Finished({ reply: { ...chunk.reply, usage: complete(chunk.reply.usage) } })
    : chunk
