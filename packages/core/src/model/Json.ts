/**
 * Plain JSON, and the total ways into it.
 *
 * J1. `render` never throws and never answers `undefined`: whatever a tool returns becomes text (X-SAFE-01).
 * J2. What could not be kept is named in the text, in square brackets, where it stood.
 * J3. Every string that leaves here is well-formed Unicode.
 */
export type Json = null | boolean | number | string | ReadonlyArray<Json> | JsonObject
export interface JsonObject {
  readonly [key: string]: Json
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Lone surrogates become U+FFFD; a provider refuses a request that holds one (X-SAFE-01, J10). */
export const wellFormed = (text: string): string => (text.isWellFormed() ? text : text.toWellFormed())

/** Parses text, or answers `undefined`. JSON has no `undefined`, so the two cannot be confused. */
export const parse = (text: string): Json | undefined => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Any value as JSON. Total: cycles, throwing getters, BigInt, NaN and symbols become bracketed text. */
export const fromUnknown = (value: unknown): Json => convert(value, new Set(), 0)

/** What a tool returned, as the text a model reads: a string as it is, everything else as compact JSON (X-SAFE-01). */
export const render = (value: unknown): string => {
  if (typeof value === "string") return wellFormed(value)
  if (value === undefined) return "[undefined]"
  return JSON.stringify(fromUnknown(value))
}

const maxDepth = 200

const convert = (value: unknown, above: Set<object>, depth: number): Json => {
  switch (typeof value) {
    case "string":
      return wellFormed(value)
    case "number":
      return Number.isFinite(value) ? value : `[${value}]`
    case "boolean":
      return value
    case "bigint":
      return `[bigint ${value}]`
    case "undefined":
      return "[undefined]"
    case "symbol":
      return "[symbol]"
    case "function":
      return "[function]"
    case "object":
      return value === null ? null : convertObject(value, above, depth)
  }
}

const convertObject = (value: object, above: Set<object>, depth: number): Json => {
  if (above.has(value)) return "[cycle]"
  if (depth >= maxDepth) return `[nested deeper than ${maxDepth}]`
  above.add(value)
  try {
    // By index: a hole is a value that could not be kept, and `map` would pass it over.
    if (Array.isArray(value))
      return Array.from({ length: value.length }, (_, i) => property(value, `${i}`, above, depth))
    if (value instanceof Error) return `[${value.name}: ${wellFormed(value.message)}]`
    const toJson: unknown = Reflect.get(value, "toJSON")
    if (typeof toJson === "function") return convert(Reflect.apply(toJson, value, []), above, depth + 1)
    if (value instanceof Map) return convert([...value], above, depth + 1)
    if (value instanceof Set) return convert([...value], above, depth + 1)
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
    return Object.fromEntries(Object.keys(value).map((key) => [wellFormedKey(key), property(value, key, above, depth)]))
  } catch (cause) {
    return `[unreadable: ${saidBy(cause)}]`
  } finally {
    above.delete(value)
  }
}

/** Two keys that differ stay two keys: a lone surrogate is named, where U+FFFD would make them one. */
const wellFormedKey = (key: string): string =>
  key.isWellFormed()
    ? key
    : [...key].map((c) => (c.isWellFormed() ? c : `[U+${c.charCodeAt(0).toString(16).toUpperCase()}]`)).join("")

/** What was thrown may throw in its turn. */
const saidBy = (cause: unknown): string => {
  try {
    const message: unknown = cause instanceof Error ? cause.message : undefined
    return typeof message === "string" ? wellFormed(message) : "threw"
  } catch {
    return "threw"
  }
}

const property = (owner: object, key: string, above: Set<object>, depth: number): Json => {
  try {
    return convert(Reflect.get(owner, key), above, depth + 1)
  } catch {
    return "[getter threw]"
  }
}
