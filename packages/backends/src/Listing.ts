/**
 * The body of a request whose messages are one list: bytes kept from the last round plus what is new. Pure apart from that memory,
 * which holds nothing alive.
 *
 * Q1. A message becomes bytes once for as long as its conversation only grows, a tool list once for as long as it is the same array.
 * Q2. While a conversation only grows, the body of a round begins with the bytes of the round before it, up to the end of its
 *     messages: what a provider caches by prefix stays cached.
 */
import * as Json from "@settle/core/model/Json"
import type { Message } from "@settle/core/model/Message"
import type { Declaration } from "@settle/core/model/Tool"
import type * as Backend from "@settle/core/port/Backend"
import { type Called, Memory, Once } from "./Given.ts"
import { Growing } from "./Growing.ts"
import type * as Streaming from "./Streaming.ts"

export interface Writer {
  /** Everything before the first message. */
  readonly opening: string
  /** One message as JSON texts, joined; may be empty. `calls`: those before it, by id. */
  readonly message: (message: Message, calls: ReadonlyMap<string, Called>) => string
  /** What follows the results of one turn, once all of them are told; may be empty. Default: nothing. */
  readonly between?: (results: ReadonlyArray<Message>) => string
  readonly tools: (declared: ReadonlyArray<Declaration>) => string
  /** The members behind the messages, as `members` writes them. `tools`: absent when there are none. */
  readonly closing: (request: Backend.Request, tools: string | undefined) => string
}

/** The text without its outer braces, to be put after other members; empty when there is none. */
export const members = (object: Json.JsonObject): string => {
  const text = JSON.stringify(Json.fromUnknown(object))
  return text === "{}" ? "" : `,${text.slice(1, -1)}`
}

/** The lower of two caps, where there are any. */
export const capOf = (own: number | undefined, asked: number | undefined): number | undefined =>
  own === undefined ? asked : asked === undefined ? own : Math.min(own, asked)

const none: ReadonlyMap<string, Called> = new Map()

/** Two JSON texts of a list, either of which may be empty. */
const joined = (first: string, second: string): string =>
  first === "" || second === "" ? first + second : `${first},${second}`

interface Before {
  readonly after: boolean
  readonly results: ReadonlyArray<Message>
}

export class Encoder {
  readonly #writer: Writer
  readonly #tools: Once<ReadonlyArray<Declaration>, string>
  readonly #growing = new Memory<Growing>()

  constructor(writer: Writer) {
    this.#writer = writer
    this.#tools = new Once(writer.tools)
  }

  prepare(request: Backend.Request): Streaming.Prepared {
    const { message, opening } = this.#writer
    const { conversation } = request
    const grown = this.#growing.of(conversation, () => new Growing(opening, conversation))
    const { calls, callIds } = grown.given
    grown.grow(conversation.messages, (one) => {
      const before = one.role === "tool" ? "" : this.#between(grown.results.splice(0))
      if (one.role === "tool") grown.results.push(one)
      return joined(before, message(one, calls))
    })
    const head = request.head === undefined ? "" : message(request.head, none)
    if (head === "") {
      const { bytes, release } = grown.lend(this.#closing(request, { after: !grown.isEmpty, results: grown.results }))
      return { body: bytes, callIds, release }
    }
    // what stands before the conversation and changes with every request leaves no prefix to keep
    const before = `${opening}${head}${grown.isEmpty ? "" : ","}`
    const closing = this.#closing(request, { after: true, results: grown.results })
    return { body: Buffer.concat([Buffer.from(before), grown.messages, Buffer.from(closing)]), callIds }
  }

  #between(results: ReadonlyArray<Message>): string {
    return results.length === 0 ? "" : (this.#writer.between?.(results) ?? "")
  }

  /** `after`: whether a message stands before it. */
  #closing(request: Backend.Request, { after, results }: Before): string {
    const last = request.tail === undefined ? "" : this.#writer.message(request.tail, none)
    const rest = joined(this.#between(results), last)
    const tail = rest === "" || !after ? rest : `,${rest}`
    const tools = request.tools.length === 0 ? undefined : this.#tools.of(request.tools)
    return `${tail}]${this.#writer.closing(request, tools)}}`
  }
}
