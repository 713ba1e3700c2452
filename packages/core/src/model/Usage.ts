/**
 * What a provider billed for one send. Absent stays absent: a provider that reports nothing has not reported zero (F5).
 * Tokens are counts; `cost` is US dollars.
 */
import * as Schema from "effect/Schema"

export const Usage = Schema.Struct({
  promptTokens: Schema.optionalKey(Schema.Finite),
  completionTokens: Schema.optionalKey(Schema.Finite),
  totalTokens: Schema.optionalKey(Schema.Finite),
  /** The part of `promptTokens` that came from a cache; never added to a total (L-CAP-09). */
  cachedPromptTokens: Schema.optionalKey(Schema.Finite),
  /** Tokens written to the provider's prompt cache, where it says so. */
  cacheWriteTokens: Schema.optionalKey(Schema.Finite),
  /** Hidden reasoning, where it is billed and named apart. */
  reasoningTokens: Schema.optionalKey(Schema.Finite),
  cost: Schema.optionalKey(Schema.Finite),
  /** True when `cost` came from a price list and not from the provider. */
  costComputed: Schema.optionalKey(Schema.Boolean),
  generationId: Schema.optionalKey(Schema.String),
  providerName: Schema.optionalKey(Schema.String)
})
export type Usage = typeof Usage.Type

/** Tokens in total: as reported, else both halves, else unknown (L-CAP-12). */
export const total = (usage: Usage): number | undefined => {
  if (usage.totalTokens !== undefined) return usage.totalTokens
  return usage.promptTokens !== undefined && usage.completionTokens !== undefined
    ? usage.promptTokens + usage.completionTokens
    : undefined
}
