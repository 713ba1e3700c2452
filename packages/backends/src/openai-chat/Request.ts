/**
 * The body of a request: bytes kept from the last round plus what is new. Pure apart from that memory, which holds nothing alive.
 *
 * Q1. A message becomes bytes once in its life, a tool list once for as long as it is the same array.
 * Q2. While a conversation only grows, the body of a round begins with the bytes of the round before it, up to the end of its
 *     messages: what a provider caches by prefix stays cached.
 */
import type { Conversation } from "@settle/core/model/Conversation"
import * as Json from "@settle/core/model/Json"
import type { Message } from "@settle/core/model/Message"
import type { Declaration } from "@settle/core/model/Tool"
import type * as Backend from "@settle/core/port/Backend"
import type * as Streaming from "../Streaming.ts"
import type { Dialect } from "./Dialect.ts"
import { Growing } from "../Growing.ts"
import * as Wire from "./Wire.ts"

export interface Options {
  readonly model: string
  readonly dialect: Dialect
  readonly maxTokens: number | undefined
  /** Further members of the body: temperature, stop, seed. What the protocol itself sets cannot be overruled here. */
  readonly params: Json.JsonObject
}

const reserved = new Set(["model", "messages", "tools", "stream", "stream_options", "response_format"])

/** A text for each object, made once. */
class Texts<A extends object> {
  readonly #kept = new WeakMap<A, string>()
  readonly #make: (value: A) => string

  constructor(make: (value: A) => string) {
    this.#make = make
  }

  of(value: A): string {
    const kept = this.#kept.get(value)
    if (kept !== undefined) return kept
    const made = this.#make(value)
    this.#kept.set(value, made)
    return made
  }
}

const capOf = (own: number | undefined, asked: number | undefined): number | undefined =>
  own === undefined ? asked : asked === undefined ? own : Math.min(own, asked)

const formatOf = (schema: Backend.Request["schema"]): Json.JsonObject =>
  schema === undefined
    ? {}
    : {
        response_format: {
          type: "json_schema",
          json_schema: { name: Wire.toolName(schema.name), schema: schema.schema, strict: false }
        }
      }

interface Closing {
  /** Nothing stands before the tail. */
  readonly first: boolean
  readonly members: string
}

export class Encoder {
  readonly #options: Options
  readonly #opening: string
  readonly #params: string
  readonly #messages: Texts<Message>
  readonly #tools = new Texts<ReadonlyArray<Declaration>>(Wire.tools)
  readonly #growing = new WeakMap<object, Growing>()

  constructor(options: Options) {
    const { dialect, model, params } = options
    this.#options = options
    this.#opening = `{"model":${JSON.stringify(Json.wellFormed(model))},"messages":[`
    this.#params = Wire.members(
      Object.fromEntries(Object.entries(params).filter(([key]) => !reserved.has(key) && key !== dialect.capField))
    )
    this.#messages = new Texts((message) => Wire.message(message, dialect))
  }

  /** `own`: further members of this body alone. */
  prepare(request: Backend.Request, own: Json.JsonObject = {}): Streaming.Prepared {
    const grown = this.#grown(request.conversation)
    const members = Wire.members(own)
    if (request.head === undefined) {
      const { bytes, release } = grown.lend(this.#closing(request, { first: grown.isEmpty, members }))
      return { body: bytes, callIds: grown.callIds, release }
    }
    // what stands before the conversation and changes with every request leaves no prefix to keep
    const head = `${this.#opening}${this.#messages.of(request.head)}${grown.isEmpty ? "" : ","}`
    const closing = this.#closing(request, { first: false, members })
    return {
      body: Buffer.concat([Buffer.from(head), grown.messages, Buffer.from(closing)]),
      callIds: grown.callIds
    }
  }

  /** Found by the array of messages, else by the first message, for those who copy the array. */
  #grown(conversation: Conversation): Growing {
    const { messages } = conversation
    const [first] = messages
    const kept = this.#growing.get(messages) ?? (first === undefined ? undefined : this.#growing.get(first))
    const grown = kept?.fits(conversation) === true ? kept : new Growing(this.#opening, conversation)
    grown.grow(messages, (message) => this.#messages.of(message))
    this.#growing.set(messages, grown)
    if (first !== undefined) this.#growing.set(first, grown)
    return grown
  }

  #closing(request: Backend.Request, { first, members }: Closing): string {
    const { dialect, maxTokens } = this.#options
    const tail = request.tail === undefined ? "" : `${first ? "" : ","}${this.#messages.of(request.tail)}`
    const tools = request.tools.length === 0 ? "" : `,"tools":${this.#tools.of(request.tools)}`
    const cap = capOf(maxTokens, request.maxTokens)
    const rest = Wire.members({
      stream: true,
      ...(dialect.includeUsage ? { stream_options: { include_usage: true } } : {}),
      ...(cap === undefined ? {} : { [dialect.capField]: cap }),
      ...formatOf(request.schema)
    })
    return `${tail}]${tools}${rest}${this.#params}${members}}`
  }
}
