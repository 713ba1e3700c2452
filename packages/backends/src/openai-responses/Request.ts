/**
 * The body of a request, as responses want it. Pure but for what it keeps of the last round.
 *
 * R1. Nothing is stored at the provider: the whole conversation goes out, with the reasoning as it was encrypted (F8).
 */
import * as Json from "@settle/core/model/Json"
import type * as Backend from "@settle/core/port/Backend"
import * as Listing from "../Listing.ts"
import { join } from "../Sides.ts"
import * as Wire from "./Wire.ts"

export interface Options {
  readonly model: string
  readonly maxTokens: number | undefined
  readonly encryptedReasoning: boolean
  /** Further members of the body: reasoning, temperature, service_tier. */
  readonly params: Json.JsonObject
}

const reserved = new Set(["model", "input", "tools", "stream", "store", "include", "text", "max_output_tokens"])

const encrypted = "reasoning.encrypted_content"

/** What was asked for, and the reasoning. */
const includeOf = ({ encryptedReasoning, params }: Options): Json.JsonObject => {
  const { include } = params
  const asked: ReadonlyArray<Json.Json> = Array.isArray(include) ? include : []
  const all = [...new Set([...asked, ...(encryptedReasoning ? [encrypted] : [])])]
  return all.length === 0 ? {} : { include: all }
}

const textOf = (given: Json.Json | undefined, schema: Backend.Request["schema"]): Json.JsonObject => {
  const own = Json.isObject(given) ? given : {}
  if (schema === undefined) return Object.keys(own).length === 0 ? {} : { text: own }
  const format = { type: "json_schema", name: Wire.toolName(schema.name), schema: schema.schema, strict: false }
  return { text: { ...own, format } }
}

export class Encoder extends Listing.Encoder {
  constructor(options: Options) {
    const { maxTokens, model, params } = options
    const further = Listing.members(Object.fromEntries(Object.entries(params).filter(([key]) => !reserved.has(key))))
    const fixed = Listing.members({ stream: true, store: false, ...includeOf(options) })
    super({
      opening: `{"model":${JSON.stringify(Json.wellFormed(model))},"input":[`,
      message: (message, calls) => join(Wire.items(message, calls)),
      tools: Wire.tools,
      closing: (request, tools) => {
        const cap = Listing.capOf(maxTokens, request.maxTokens)
        const rest = Listing.members({
          ...(cap === undefined ? {} : { max_output_tokens: cap }),
          ...textOf(params["text"], request.schema)
        })
        return `${tools === undefined ? "" : `,"tools":${tools}`}${fixed}${rest}${further}`
      }
    })
  }
}
