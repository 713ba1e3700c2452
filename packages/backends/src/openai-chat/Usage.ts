/** Usage under every name in use (F5). Absent stays absent; zero is what a provider said. */
import * as Json from "@settle/core/model/Json"
import type { Usage } from "@settle/core/model/Usage"

const number = (value: Json.Json | undefined): number | undefined =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined

const at = (value: Json.Json | undefined, key: string): Json.Json | undefined =>
  Json.isObject(value) ? value[key] : undefined

const first = (...values: ReadonlyArray<Json.Json | undefined>): number | undefined => {
  for (const value of values) {
    const found = number(value)
    if (found !== undefined) return found
  }
  return undefined
}

/** US dollars: a number, an object with a total, or ticks of 1e-10 dollars. */
const costOf = (self: Json.JsonObject): number | undefined => {
  const ticks = number(self["cost_in_usd_ticks"])
  return (
    first(self["cost"], at(self["cost"], "total_cost"), self["estimated_cost"], self["total_cost"]) ??
    (ticks === undefined ? undefined : ticks * 1e-10)
  )
}

/** `undefined` when the object names nothing that is known. */
export const decode = (given: Json.Json | undefined): Usage | undefined => {
  if (!Json.isObject(given)) return undefined
  const prompt = given["prompt_tokens_details"] ?? given["input_tokens_details"]
  const completion = given["completion_tokens_details"] ?? given["output_tokens_details"]
  const fields: ReadonlyArray<readonly [keyof Usage, number | undefined]> = [
    ["promptTokens", first(given["prompt_tokens"], given["input_tokens"])],
    ["completionTokens", first(given["completion_tokens"], given["output_tokens"])],
    ["totalTokens", first(given["total_tokens"])],
    [
      "cachedPromptTokens",
      first(
        at(prompt, "cached_tokens"),
        given["prompt_cache_hit_tokens"],
        given["cached_tokens"],
        given["cache_read_input_tokens"]
      )
    ],
    ["cacheWriteTokens", first(at(prompt, "cache_write_tokens"), given["cache_creation_input_tokens"])],
    ["reasoningTokens", first(at(completion, "reasoning_tokens"), given["reasoning_tokens"])],
    ["cost", costOf(given)]
  ]
  const known = fields.filter(([, value]) => value !== undefined)
  return known.length === 0 ? undefined : Object.fromEntries(known)
}
