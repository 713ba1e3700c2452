/**
 * A JSON schema as this provider takes it: objects must be closed, and numbers, lengths and patterns are not enforced there. What
 * is taken out is said in the description instead; whoever reads the reply still checks it against the whole schema. Pure.
 */
import * as Json from "@settle/core/model/Json"
import * as Notes from "../Notes.ts"

// prettier-ignore
const unsupported: ReadonlySet<string> = new Set([
  "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "maxItems",
  "uniqueItems", "contains", "minContains", "maxContains", "minProperties", "maxProperties", "patternProperties",
  "propertyNames", "dependentRequired", "dependentSchemas", "if", "then", "else", "not", "$schema", "examples", "default"
])

/** Keywords under which a name stands for a schema of its own. */
const named: ReadonlySet<string> = new Set(["properties", "$defs", "definitions"])

const silent: ReadonlySet<string> = new Set(["$schema", "examples", "default"])

export const schema = (given: Json.Json): Json.Json => {
  if (Array.isArray(given)) return given.map(schema)
  if (!Json.isObject(given)) return given
  const kept: Array<readonly [string, Json.Json]> = []
  const notes: Array<string> = []
  for (const [key, value] of Object.entries(given)) {
    if (key === "const" || key === "enum" || key === "required") kept.push([key, value])
    else if (key === "minItems" && (value === 0 || value === 1)) kept.push([key, value])
    else if (unsupported.has(key) || key === "minItems") {
      if (!silent.has(key)) notes.push(`${key}: ${JSON.stringify(value)}`)
    } else if (named.has(key) && Json.isObject(value)) kept.push([key, inner(value)])
    else if (key !== "additionalProperties" && key !== "description") kept.push([key, schema(value)])
  }
  const described = Notes.description(given["description"], notes)
  if (described !== undefined) kept.push(["description", described])
  if (given["type"] === "object" || Json.isObject(given["properties"])) kept.push(["additionalProperties", false])
  return Object.fromEntries(kept)
}

const inner = (schemas: Json.JsonObject): Json.JsonObject =>
  Object.fromEntries(Object.entries(schemas).map(([name, value]) => [name, schema(value)]))
