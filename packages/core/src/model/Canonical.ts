/**
 * One text for one value: sorted keys, compact JSON; and digests over it.
 *
 * C1. Equal values have equal text, whatever the order of their keys; 1 and 1.0 are one number, -0 is 0.
 * C2. Total: nothing throws.
 * C3. Keys from outside are never put on a plain object (X-SAFE-02): text is written, no object is built.
 */
import { hash } from "node:crypto"
import * as Json from "./Json.ts"

export const json = (value: unknown): string => write(Json.fromUnknown(value ?? null))

const write = (value: Json.Json): string => {
  if (Array.isArray(value)) return `[${value.map(write).join(",")}]`
  if (Json.isObject(value)) {
    const keys = Object.keys(value).sort()
    return `{${keys.map((key) => `${JSON.stringify(key)}:${write(value[key] ?? null)}`).join(",")}}`
  }
  return Object.is(value, -0) ? "0" : JSON.stringify(value)
}

/**
 * The comparison text of a call's arguments (L-IDENT-01, -08): an object or array text is reparsed and sorted, any other text
 * stays verbatim, `undefined` is the empty string.
 */
export const callArguments = (given: unknown): string => {
  if (given === undefined) return ""
  if (typeof given !== "string") return json(given)
  const start = given.trimStart().charAt(0)
  if (start !== "{" && start !== "[") return given
  const parsed = Json.parse(given)
  return parsed === undefined ? given : json(parsed)
}

/** SHA-256 of a text's UTF-8 bytes, in hex. */
export const textDigest = (text: string): string => hash("sha256", text, "hex")

/** SHA-256 of the canonical JSON of a value, in hex. */
export const digest = (value: unknown): string => textDigest(json(value))
