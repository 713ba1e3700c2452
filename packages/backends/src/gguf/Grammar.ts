/**
 * A JSON schema as the grammar it can be held to. Pure.
 *
 * G1. Every value the grammar lets through is one the schema allows, but for what a grammar cannot say (patterns, ranges).
 * G2. Where a schema says nothing that is understood, any JSON is let through; references are followed, some levels deep.
 * G3. A grammar writes every property it knows. Of an object with optional ones there are two forms: all of them, or the required.
 */
import * as Json from "@settle/core/model/Json"
import type { GbnfJsonSchema, GbnfJsonSchemaImmutableType } from "node-llama-cpp"

const deepest = 12

const scalars: ReadonlyArray<GbnfJsonSchemaImmutableType> = ["string", "number", "boolean", "null"]

const anything: GbnfJsonSchema = {
  oneOf: [{ type: scalars }, { type: "object", additionalProperties: true }, { type: "array" }]
}

export const of = (schema: Json.Json): GbnfJsonSchema => new Reader(schema).read(schema, 0)

type Literal = string | number | boolean | null

const isLiteral = (value: Json.Json): value is Literal => typeof value !== "object" || value === null

const list = (value: Json.Json | undefined): ReadonlyArray<Json.Json> | undefined =>
  Array.isArray(value) ? value : undefined

const count = (value: Json.Json | undefined): number | undefined =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 256 ? value : undefined

const optional = <K extends string>(key: K, value: number | undefined): { readonly [P in K]?: number } | object =>
  value === undefined ? {} : { [key]: value }

class Reader {
  readonly #root: Json.Json

  constructor(root: Json.Json) {
    this.#root = root
  }

  read(schema: Json.Json | undefined, depth: number): GbnfJsonSchema {
    if (!Json.isObject(schema) || depth > deepest) return anything
    const { $ref: reference, allOf } = schema
    if (typeof reference === "string") return this.read(this.#follow(reference), depth + 1)
    if (schema["const"] !== undefined && isLiteral(schema["const"])) return { const: schema["const"] }
    const literals = list(schema["enum"])
    if (literals !== undefined && literals.length > 0 && literals.every(isLiteral)) return { enum: literals }
    const choices = list(schema["anyOf"]) ?? list(schema["oneOf"])
    if (choices !== undefined && choices.length > 0) {
      return { oneOf: choices.map((choice) => this.read(choice, depth + 1)) }
    }
    const [only, ...more] = list(allOf) ?? []
    if (only !== undefined && more.length === 0) return this.read(only, depth + 1)
    const types = list(schema["type"])
    if (types !== undefined) {
      return { oneOf: types.map((type) => this.#typed({ ...schema, type }, depth)) }
    }
    return this.#typed(schema, depth)
  }

  #typed(schema: Json.JsonObject, depth: number): GbnfJsonSchema {
    switch (schema["type"]) {
      case "string": {
        const { format } = schema
        return format === "date-time" || format === "date" || format === "time"
          ? { type: "string", format }
          : {
              type: "string",
              ...optional("minLength", count(schema["minLength"])),
              ...optional("maxLength", count(schema["maxLength"]))
            }
      }
      case "number":
      case "integer":
      case "boolean":
      case "null":
        return { type: schema["type"] }
      case "array":
        return {
          type: "array",
          ...(schema["items"] === undefined ? {} : { items: this.read(schema["items"], depth + 1) }),
          ...optional("minItems", count(schema["minItems"])),
          ...optional("maxItems", count(schema["maxItems"]))
        }
      case "object":
        return this.#object(schema, depth)
      default:
        return schema["properties"] === undefined ? anything : this.#object(schema, depth)
    }
  }

  #object(schema: Json.JsonObject, depth: number): GbnfJsonSchema {
    const { additionalProperties: more, properties } = schema
    const named = Object.entries(Json.isObject(properties) ? properties : {}).map(
      ([key, value]) => [key, this.read(value, depth + 1)] as const
    )
    if (named.length === 0) {
      return more === false
        ? { type: "object" }
        : { type: "object", additionalProperties: Json.isObject(more) ? this.read(more, depth + 1) : true }
    }
    const required = new Set(list(schema["required"]) ?? [])
    const needed = named.filter(([key]) => required.has(key))
    const all: GbnfJsonSchema = { type: "object", properties: Object.fromEntries(named) }
    if (needed.length === named.length) return all
    return { oneOf: [{ type: "object", properties: Object.fromEntries(needed) }, all] }
  }

  /** What `#/a/b` points at. */
  #follow(reference: string): Json.Json | undefined {
    if (!reference.startsWith("#")) return undefined
    let at: Json.Json | undefined = this.#root
    for (const key of reference.slice(1).split("/").slice(1)) {
      const name = key.replaceAll("~1", "/").replaceAll("~0", "~")
      at = Json.isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined
    }
    return at
  }
}
