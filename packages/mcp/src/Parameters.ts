/**
 * A tool's input schema, made acceptable to every backend. Pure and total: whatever a server sends becomes a JSON schema of an
 * object, and what it may have lost on the way is only ever a restriction, never an argument.
 *
 * P1. The result has `type: "object"` and `properties`, and no `anyOf`, `oneOf` or `allOf` at its top.
 * P2. It holds no `$ref`: a local one is replaced by what it names, a cycle or a foreign one by a schema that accepts anything.
 * P3. It is bounded in depth and in size, and every string in it is well-formed Unicode.
 * P4. Every key of its `properties` matches [A-Za-z0-9_.-]{1,64}; `keys` leads from such a key to the server's own.
 */
import * as Canonical from "@settle/core/model/Canonical"
import * as Json from "@settle/core/model/Json"

export interface Parameters {
  readonly schema: Json.JsonObject
  /** Renamed top-level properties: published name to the server's. Usually empty. */
  readonly keys: ReadonlyMap<string, string>
}

export const empty: Json.JsonObject = { type: "object", properties: {} }

const maxDepth = 32
const maxNodes = 5_000
const maxText = 1_024
const maxValue = 16_384

export const repair = (given: unknown): Parameters => {
  if (!Json.isObject(given)) return { schema: empty, keys: new Map() }
  const root = Json.fromUnknown(given)
  if (!Json.isObject(root)) return { schema: empty, keys: new Map() }
  const walk: Walk = { root, left: maxNodes }
  const cleaned = node(walk, root, [], 0)
  return Json.isObject(cleaned) ? rename(topLevel(cleaned)) : { schema: empty, keys: new Map() }
}

interface Walk {
  readonly root: Json.JsonObject
  /** Schemas that may still be copied: refs can name each other so that the copy grows without end. */
  left: number
}

/** Members whose value is a schema, a list of schemas, or a record of schemas. */
const single = new Set(["items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"])
const lists = new Set(["anyOf", "oneOf", "allOf", "prefixItems"])
const records = new Set(["properties", "patternProperties", "dependentSchemas"])
/** Names of the document, of no use once refs are resolved. */
const dropped = new Set([
  "$schema",
  "$id",
  "$anchor",
  "$ref",
  "$defs",
  "definitions",
  "$comment",
  "$dynamicRef",
  "$dynamicAnchor"
])

const anything: Json.JsonObject = {}

const node = (walk: Walk, given: Json.Json, refs: ReadonlyArray<string>, depth: number): Json.Json => {
  if (given === true) return anything
  if (given === false) return { not: {} }
  if (!Json.isObject(given)) return anything
  if (depth > maxDepth || walk.left-- <= 0) return anything
  const ref = given["$ref"]
  const resolved = typeof ref === "string" ? follow(walk, ref, refs) : undefined
  if (typeof ref === "string" && resolved === undefined) return describe(given)
  const trail = typeof ref === "string" ? [...refs, ref] : refs
  const out = new Map<string, Json.Json>()
  for (const [key, value] of [...Object.entries(resolved ?? {}), ...Object.entries(given)]) {
    if (dropped.has(key) || isHuge(key, value)) continue
    // what stands beside a ref belongs to this place, what the ref names may lie deeper in a cycle: both keep the trail
    out.set(key, member(walk, key, value, trail, depth + 1))
  }
  const inner = resolved?.["$ref"]
  if (typeof inner === "string") {
    const next = node(walk, { $ref: inner }, trail, depth + 1)
    if (Json.isObject(next)) for (const [key, value] of Object.entries(next)) if (!out.has(key)) out.set(key, value)
  }
  if (out.get("type") === "array" && !out.has("items")) out.set("items", anything)
  if (out.get("type") === "object" && !out.has("properties")) out.set("properties", {})
  return Object.fromEntries(out)
}

/** A list of every country, a default of a megabyte: left out, since the server checks its arguments anyway. */
const isHuge = (key: string, value: Json.Json): boolean =>
  !single.has(key) && !lists.has(key) && !records.has(key) && JSON.stringify(value).length > maxValue

const member = (walk: Walk, key: string, value: Json.Json, refs: ReadonlyArray<string>, depth: number): Json.Json => {
  if (key === "items" && Array.isArray(value)) {
    const kinds = value.map((item) => node(walk, item, refs, depth))
    return kinds.length === 0 ? anything : kinds.length === 1 ? (kinds[0] ?? anything) : { anyOf: kinds }
  }
  if (key === "additionalProperties" && typeof value === "boolean") return value
  if (single.has(key)) return node(walk, value, refs, depth)
  if (lists.has(key)) return Array.isArray(value) ? value.map((item) => node(walk, item, refs, depth)) : []
  if (records.has(key)) {
    if (!Json.isObject(value)) return {}
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, node(walk, item, refs, depth)]))
  }
  if ((key === "description" || key === "title") && typeof value === "string") return bounded(value, maxText)
  return value
}

const describe = (given: Json.JsonObject): Json.JsonObject => {
  const text = given["description"]
  return typeof text === "string" ? { description: bounded(text, maxText) } : anything
}

/** What a local ref names; `undefined` for a foreign one, a broken one and one that is being followed already. */
const follow = (walk: Walk, ref: string, refs: ReadonlyArray<string>): Json.JsonObject | undefined => {
  if (!ref.startsWith("#") || refs.includes(ref)) return undefined
  let at: Json.Json = walk.root
  for (const step of ref.slice(1).split("/").slice(1)) {
    const key = unescape(step)
    if (Array.isArray(at)) at = at[Number(key)] ?? null
    else if (Json.isObject(at) && Object.hasOwn(at, key)) at = at[key] ?? null
    else return undefined
  }
  return Json.isObject(at) ? at : undefined
}

const unescape = (step: string): string => {
  const text = step.replaceAll("~1", "/").replaceAll("~0", "~")
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Text of at most `limit` characters that says how much is missing. */
export const bounded = (text: string, limit: number): string =>
  text.length <= limit
    ? Json.wellFormed(text)
    : `${Json.wellFormed(text.slice(0, limit))}… [${text.length - limit} more characters]`

const topLevel = (schema: Json.JsonObject): Json.JsonObject => {
  const { anyOf, oneOf, allOf } = schema
  const rest = without(schema, [
    "anyOf",
    "oneOf",
    "allOf",
    "required",
    "type",
    "enum",
    "const",
    "not",
    "if",
    "then",
    "else"
  ])
  const own = shape(schema)
  const all = variants(allOf).map(shape)
  const one = [...variants(anyOf), ...variants(oneOf)].map(shape)
  const properties = new Map<string, Json.Json>()
  for (const part of [own, ...all, ...one]) for (const [key, value] of part.properties) add(properties, key, value)
  // a name is required when every way to fill the schema requires it
  const common = [...(one[0]?.required ?? [])].filter((key) => one.every((part) => part.required.has(key)))
  const required = new Set([...own.required, ...all.flatMap((part) => [...part.required]), ...common])
  const kept = [...required].filter((key) => properties.has(key))
  return {
    ...rest,
    type: "object",
    properties: Object.fromEntries(properties),
    ...(kept.length === 0 ? {} : { required: kept })
  }
}

const without = (schema: Json.JsonObject, names: ReadonlyArray<string>): Json.JsonObject =>
  Object.fromEntries(Object.entries(schema).filter(([key]) => !names.includes(key)))

interface Shape {
  readonly properties: ReadonlyMap<string, Json.Json>
  readonly required: ReadonlySet<string>
}

const shape = (schema: Json.JsonObject): Shape => ({
  properties: new Map(Json.isObject(schema["properties"]) ? Object.entries(schema["properties"]) : []),
  required: new Set(
    Array.isArray(schema["required"]) ? schema["required"].filter((key): key is string => typeof key === "string") : []
  )
})

const variants = (value: Json.Json | undefined): ReadonlyArray<Json.JsonObject> =>
  Array.isArray(value) ? value.filter(Json.isObject) : []

const add = (into: Map<string, Json.Json>, key: string, value: Json.Json): void => {
  const there = into.get(key)
  if (there === undefined) {
    into.set(key, value)
    return
  }
  const known = Json.isObject(there) && Array.isArray(there["anyOf"]) ? there["anyOf"] : [there]
  const text = Canonical.json(value)
  if (!known.some((item) => Canonical.json(item) === text)) into.set(key, { anyOf: [...known, value] })
}

const legalKey = /^[A-Za-z0-9_.-]{1,64}$/

const rename = (schema: Json.JsonObject): Parameters => {
  const properties = Json.isObject(schema["properties"]) ? schema["properties"] : {}
  const keys = new Map<string, string>()
  const names = new Map<string, string>()
  for (const key of Object.keys(properties)) {
    const name = legalKey.test(key) ? key : alias(key, 64, /[^A-Za-z0-9_.-]+/g)
    names.set(key, name)
    if (name !== key) keys.set(name, key)
  }
  if (keys.size === 0) return { schema, keys }
  const required = Array.isArray(schema["required"]) ? schema["required"] : []
  return {
    schema: {
      ...schema,
      properties: Object.fromEntries(Object.entries(properties).map(([key, value]) => [names.get(key) ?? key, value])),
      ...(required.length === 0
        ? {}
        : { required: required.map((key) => (typeof key === "string" ? (names.get(key) ?? key) : key)) })
    },
    keys
  }
}

/** A legal name for an illegal or too long one: as much of it as fits, and eight digits of the digest of the whole (M11). */
export const alias = (name: string, limit: number, illegal: RegExp): string => {
  const digits = Canonical.textDigest(name).slice(0, 8)
  const stem = name
    .normalize("NFKD")
    .replace(illegal, "_")
    .slice(0, Math.max(0, limit - 9))
  return `${stem}_${digits}`.slice(-limit)
}
