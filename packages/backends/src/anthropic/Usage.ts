/**
 * What a messages stream says about usage (F5). Absent stays absent; zero is what a provider said.
 *
 * U1. A later event overrules an earlier one field by field: the start only estimates.
 * U2. `input_tokens` leaves out what was read from the cache or written to it; `promptTokens` has all three in it.
 * U3. A reply of several iterations was billed for all of them; the top level then tells of the last one only.
 */
import * as Json from "@settle/core/model/Json"
import type { Usage } from "@settle/core/model/Usage"

const number = (value: Json.Json | undefined): number | undefined =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined

const sum = (...values: ReadonlyArray<number | undefined>): number | undefined => {
  const known = values.filter((value) => value !== undefined)
  return known.length === 0 ? undefined : known.reduce((a, b) => a + b, 0)
}

/** A later account over an earlier one; a null says nothing. */
export const merge = (earlier: Json.JsonObject, later: Json.JsonObject | undefined): Json.JsonObject => ({
  ...earlier,
  ...Object.fromEntries(Object.entries(later ?? {}).filter(([, value]) => value !== null))
})

/** `undefined` when the account names nothing that is known. */
export const decode = (account: Json.JsonObject): Usage | undefined => {
  const { iterations } = account
  const rounds = Array.isArray(iterations) ? iterations.filter(Json.isObject) : []
  const accounts = rounds.length > 0 ? rounds : [account]
  const total = (field: string): number | undefined => sum(...accounts.map((one) => number(one[field])))
  const cached = total("cache_read_input_tokens")
  const written = total("cache_creation_input_tokens")
  const details = account["output_tokens_details"]
  const thinking = Json.isObject(details)
    ? (number(details["thinking_tokens"]) ?? number(details["reasoning_tokens"]))
    : undefined
  const fields: ReadonlyArray<readonly [keyof Usage, number | undefined]> = [
    ["promptTokens", sum(total("input_tokens"), cached, written)],
    ["completionTokens", total("output_tokens")],
    ["cachedPromptTokens", cached],
    ["cacheWriteTokens", written],
    ["reasoningTokens", thinking]
  ]
  const known = fields.filter(([, value]) => value !== undefined)
  return known.length === 0 ? undefined : Object.fromEntries(known)
}
