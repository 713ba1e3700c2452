/** What a reply says about usage (F5). Absent stays absent; what the model wrote is without its thoughts, as it is sent. */
import * as Json from "@settle/core/model/Json"
import type { Usage } from "@settle/core/model/Usage"

const names: ReadonlyArray<readonly [keyof Usage, string]> = [
  ["promptTokens", "promptTokenCount"],
  ["completionTokens", "candidatesTokenCount"],
  ["totalTokens", "totalTokenCount"],
  ["cachedPromptTokens", "cachedContentTokenCount"],
  ["reasoningTokens", "thoughtsTokenCount"]
]

/** `undefined` when the account names nothing that is known. */
export const decode = (given: Json.Json | undefined): Usage | undefined => {
  if (!Json.isObject(given)) return undefined
  const known = names.flatMap(([ours, theirs]) => {
    const value = given[theirs]
    return typeof value === "number" && Number.isFinite(value) && value >= 0 ? [[ours, value] as const] : []
  })
  return known.length === 0 ? undefined : Object.fromEntries(known)
}
