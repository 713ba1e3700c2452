/** What a model wrote as arguments, as the object a server takes. Pure. */
import * as Json from "@settle/core/model/Json"
import * as Data from "effect/Data"
import type * as Catalogue from "./Catalogue.ts"

export type Arguments = Data.TaggedEnum<{
  Read: { readonly value: Json.JsonObject }
  /** For the model: what was wrong, and what is expected. */
  Unreadable: { readonly why: string }
}>
export const Arguments = Data.taggedEnum<Arguments>()

export const read = (entry: Catalogue.Entry, text: string): Arguments => {
  if (text.trim() === "") return Arguments.Read({ value: {} })
  const parsed = Json.parse(text)
  if (Json.isObject(parsed)) return Arguments.Read({ value: renamed(entry, parsed) })
  const got =
    parsed === undefined
      ? "text that is not JSON"
      : Array.isArray(parsed)
        ? "an array"
        : parsed === null
          ? "null"
          : `a ${typeof parsed}`
  return Arguments.Unreadable({
    why: `The arguments of ${entry.declaration.name} must be one JSON object, and were ${got}. Expected: ${expected(entry)}.`
  })
}

/** Keys that were renamed for the backends get the server's names back. */
const renamed = (entry: Catalogue.Entry, value: Json.JsonObject): Json.JsonObject =>
  entry.keys.size === 0
    ? value
    : Object.fromEntries(Object.entries(value).map(([key, each]) => [entry.keys.get(key) ?? key, each]))

const shownKeys = 20

const expected = (entry: Catalogue.Entry): string => {
  const { properties, required } = entry.declaration.parameters
  const names = Json.isObject(properties) ? Object.entries(properties) : []
  if (names.length === 0) return "an object without members"
  const must = new Set(Array.isArray(required) ? required : [])
  const shown = names.slice(0, shownKeys).map(([name, schema]) => {
    const type = Json.isObject(schema) && typeof schema["type"] === "string" ? schema["type"] : "any"
    return `${name} (${type}${must.has(name) ? ", required" : ""})`
  })
  const more = names.length > shownKeys ? ` and ${names.length - shownKeys} more` : ""
  return `an object with ${shown.join(", ")}${more}`
}
