/**
 * A JSON schema as this provider takes it. What is taken out is said in the description instead; whoever reads the reply, or runs the
 * tool, still checks against the whole schema. Pure.
 *
 * C1. References into the schema itself are put in place; one that leads back to itself becomes any object.
 * C2. Several types, `oneOf` and null are alternatives; parts of `allOf` are joined.
 * C3. An enum is of texts; a constant text is an enum of one.
 */
import * as Json from "@settle/core/model/Json"
import * as Notes from "../Notes.ts"

// prettier-ignore
const plain: ReadonlySet<string> = new Set([
  "title", "nullable", "minItems", "maxItems", "minProperties", "maxProperties", "minLength", "maxLength", "minimum", "maximum",
  "required"
])

/** Says nothing that a model needs. */
const silent: ReadonlySet<string> = new Set([
  "$schema",
  "$id",
  "$defs",
  "definitions",
  "$comment",
  "examples",
  "default",
  "additionalProperties"
])

/** Taken care of by name. */
// prettier-ignore
const handled: ReadonlySet<string> = new Set([
  "type", "enum", "const", "properties", "items", "anyOf", "oneOf", "allOf", "$ref", "description", "format"
])

// prettier-ignore
const formats: ReadonlySet<string> = new Set(["date-time", "int32", "int64", "float", "double"])

interface Scope {
  readonly root: Json.JsonObject
  /** References being put in place. */
  readonly within: ReadonlySet<string>
}

const deepest = 12

const objects = (value: Json.Json | undefined): ReadonlyArray<Json.JsonObject> =>
  Array.isArray(value) ? value.filter(Json.isObject) : []

const target = (root: Json.JsonObject, reference: string): Json.JsonObject | undefined => {
  if (!reference.startsWith("#")) return undefined
  let at: Json.Json = root
  for (const step of reference.slice(1).split("/").slice(1)) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~")
    if (!Json.isObject(at) || !Object.hasOwn(at, key)) return undefined
    at = at[key] ?? null
  }
  return Json.isObject(at) ? at : undefined
}

/** With its reference in place and the parts of `allOf` joined. */
const whole = (given: Json.JsonObject, scope: Scope): readonly [Json.JsonObject, Scope] => {
  const reference = given["$ref"]
  if (typeof reference === "string") {
    const { $ref: _, ...rest } = given
    const found = target(scope.root, reference)
    if (found === undefined || scope.within.has(reference) || scope.within.size >= deepest) {
      return [{ type: "object", ...rest, note: `like ${reference}` }, scope]
    }
    return whole({ ...found, ...rest }, { ...scope, within: new Set([...scope.within, reference]) })
  }
  const parts = objects(given["allOf"])
  if (parts.length === 0) return [given, scope]
  const { allOf: _, ...rest } = given
  let joined: Json.JsonObject = rest
  let inner = scope
  for (const part of parts) {
    const [one, its] = whole(part, inner)
    inner = its
    joined = join(joined, one)
  }
  return [joined, inner]
}

const join = (a: Json.JsonObject, b: Json.JsonObject): Json.JsonObject => {
  const properties = { ...properties_(a), ...properties_(b) }
  const required = [...new Set([...list(a["required"]), ...list(b["required"])])]
  return {
    ...b,
    ...a,
    ...(Object.keys(properties).length === 0 ? {} : { properties }),
    ...(required.length === 0 ? {} : { required })
  }
}

const properties_ = (schema: Json.JsonObject): Json.JsonObject =>
  Json.isObject(schema["properties"]) ? schema["properties"] : {}

const list = (value: Json.Json | undefined): ReadonlyArray<Json.Json> => (Array.isArray(value) ? value : [])

const isNull = (schema: Json.JsonObject): boolean => schema["type"] === "null"

/** Its types without null; what is not named follows from what is. */
const typesOf = (schema: Json.JsonObject): ReadonlyArray<string> => {
  const { type } = schema
  const named = (Array.isArray(type) ? type : [type]).filter((one) => typeof one === "string" && one !== "null")
  if (named.length > 0) return named.map(String)
  if (Json.isObject(schema["properties"])) return ["object"]
  if (schema["items"] !== undefined) return ["array"]
  const values = schema["enum"] ?? (schema["const"] === undefined ? undefined : [schema["const"]])
  return Array.isArray(values) && values.some((value: Json.Json) => typeof value === "string") ? ["string"] : []
}

const isNullable = (schema: Json.JsonObject): boolean =>
  schema["nullable"] === true ||
  list(schema["type"]).includes("null") ||
  list(schema["enum"]).includes(null) ||
  [...objects(schema["anyOf"]), ...objects(schema["oneOf"])].some(isNull)

export const schema = (given: Json.JsonObject): Json.JsonObject => convert(given, { root: given, within: new Set() })

const convert = (given: Json.Json, outer: Scope): Json.JsonObject => {
  if (!Json.isObject(given)) return {}
  const [self, scope] = whole(given, outer)
  const notes: Array<string> = []
  const kept: Array<readonly [string, Json.Json]> = []
  for (const [key, value] of Object.entries(self)) {
    if (plain.has(key)) kept.push([key, value])
    else if (key === "note") notes.push(String(value))
    else if (key === "format" && formats.has(String(value))) kept.push([key, value])
    else if (!silent.has(key) && (!handled.has(key) || key === "format")) notes.push(`${key}: ${JSON.stringify(value)}`)
  }
  const types = typesOf(self)
  const choices = alternatives(self, types, scope)
  const [type] = types
  if (choices.length > 1) kept.push(["anyOf", choices])
  else if (choices.length === 0 && type !== undefined) kept.push(...ofType(self, type, { notes, scope }))
  if (isNullable(self)) kept.push(["nullable", true])
  const described = Notes.description(self["description"], notes)
  if (described !== undefined) kept.push(["description", described])
  return { ...(choices.length === 1 ? choices[0] : {}), ...Object.fromEntries(kept) }
}

/** More than one type, or alternatives: each a schema of its own. */
const alternatives = (
  self: Json.JsonObject,
  types: ReadonlyArray<string>,
  scope: Scope
): ReadonlyArray<Json.JsonObject> => {
  const named = [...objects(self["anyOf"]), ...objects(self["oneOf"])].filter((one) => !isNull(one))
  if (named.length > 0) return named.map((one) => convert(one, scope))
  if (types.length < 2) return []
  const { description: _, ...rest } = self
  return types.map((type) => convert({ ...rest, type }, scope))
}

interface Context {
  readonly notes: Array<string>
  readonly scope: Scope
}

const ofType = (
  self: Json.JsonObject,
  type: string,
  { notes, scope }: Context
): ReadonlyArray<readonly [string, Json.Json]> => {
  switch (type) {
    case "object": {
      const properties = Object.entries(properties_(self)).map(([name, one]) => [name, convert(one, scope)] as const)
      return [
        ["type", type],
        ...(properties.length === 0 ? [] : [["properties", Object.fromEntries(properties)] as const])
      ]
    }
    case "array": {
      const { items } = self
      return [
        ["type", type],
        // a list of anything has no place there: the description keeps what the model may put in
        ["items", Json.isObject(items) ? convert(items, scope) : { type: "string" }]
      ]
    }
    default: {
      const values = self["const"] === undefined ? list(self["enum"]) : [self["const"]]
      const texts = values.filter((value) => typeof value === "string")
      if (values.some((value) => typeof value !== "string" && value !== null)) {
        notes.push(`one of ${values.map((value) => JSON.stringify(value)).join(", ")}`)
      }
      return [["type", type], ...(type === "string" && texts.length > 0 ? [["enum", texts] as const] : [])]
    }
  }
}
