/** The body of a request, as chat completions want it. Pure but for what it keeps of the last round. */
import * as Json from "@settle/core/model/Json"
import type { Message } from "@settle/core/model/Message"
import type * as Backend from "@settle/core/port/Backend"
import { Once } from "../Given.ts"
import * as Listing from "../Listing.ts"
import type { Dialect } from "./Dialect.ts"
import * as Wire from "./Wire.ts"

export interface Options {
  readonly model: string
  readonly dialect: Dialect
  readonly maxTokens: number | undefined
  /** Further members of the body: temperature, stop, seed. What the protocol itself sets cannot be overruled here. */
  readonly params: Json.JsonObject
}

const reserved = new Set(["model", "messages", "tools", "stream", "stream_options", "response_format"])

const formatOf = (schema: Backend.Request["schema"]): Json.JsonObject =>
  schema === undefined
    ? {}
    : {
        response_format: {
          type: "json_schema",
          json_schema: { name: Wire.toolName(schema.name), schema: schema.schema, strict: false }
        }
      }

export class Encoder extends Listing.Encoder {
  constructor({ dialect, maxTokens, model, params }: Options) {
    const further = Listing.members(
      Object.fromEntries(Object.entries(params).filter(([key]) => !reserved.has(key) && key !== dialect.capField))
    )
    const texts = new Once((message: Message) => Wire.message(message, dialect))
    super({
      opening: `{"model":${JSON.stringify(Json.wellFormed(model))},"messages":[`,
      message: (message) => texts.of(message),
      between: (results) => Wire.pictures(results, dialect),
      tools: Wire.tools,
      closing: (request, tools) => {
        const cap = Listing.capOf(maxTokens, request.maxTokens)
        const rest = Listing.members({
          stream: true,
          ...(dialect.includeUsage ? { stream_options: { include_usage: true } } : {}),
          ...(cap === undefined ? {} : { [dialect.capField]: cap }),
          ...formatOf(request.schema)
        })
        return `${tools === undefined ? "" : `,"tools":${tools}`}${rest}${further}`
      }
    })
  }
}
