/**
 * The body of a request: bytes kept from the last round plus what is new. Pure apart from that memory, which holds nothing alive.
 *
 * Q1. A message becomes bytes once in its life, a tool list once for as long as it is the same array.
 * Q2. While a conversation only grows, the body of a round begins with the bytes of the round before it, up to the end of its
 *     messages: what a provider caches by prefix stays cached.
 * Q3. Bytes that are still on their way out are never written to: a second body at the same time gets its own.
 */
import * as Json from "@settle/core/model/Json"
import type { Message } from "@settle/core/model/Message"
import type { Declaration } from "@settle/core/model/Tool"
import type * as Backend from "@settle/core/port/Backend"
import type { Dialect } from "./Dialect.ts"
import * as Wire from "./Wire.ts"

export interface Options {
  readonly model: string
  readonly dialect: Dialect
  readonly maxTokens: number | undefined
  /** Further members of the body: temperature, stop, seed. What the protocol itself sets cannot be overruled here. */
  readonly params: Json.JsonObject
}

export interface Prepared {
  readonly body: Uint8Array
  /** Ids of every call in the conversation: a new call must have another (D11). */
  readonly callIds: ReadonlySet<string>
  /** The bytes have left, or never will. */
  readonly release: () => void
}

export interface Encoder {
  readonly prepare: (request: Backend.Request) => Prepared
}

const reserved = new Set(["model", "messages", "tools", "stream", "stream_options", "response_format"])

/** The growing bytes of one conversation: `{"model":…,"messages":[` and every message so far. */
interface Growing {
  readonly revision: number
  readonly given: Array<Message>
  source: ReadonlyArray<Message>
  readonly callIds: Set<string>
  buffer: Buffer
  end: number
  lease: object | undefined
}

const room = (self: Growing, bytes: number): void => {
  const needed = self.end + bytes
  if (self.lease === undefined && needed <= self.buffer.length) return
  const grown = Buffer.allocUnsafeSlow(needed <= self.buffer.length ? self.buffer.length : needed * 2)
  self.buffer.copy(grown, 0, 0, self.end)
  self.buffer = grown
  self.lease = undefined
}

const write = (self: Growing, text: string): void => {
  room(self, text.length * 3)
  self.end += self.buffer.write(text, self.end)
}

/** Does this memory hold a prefix of these messages? The same array only grows; another array is compared one by one. */
const fits = (self: Growing | undefined, { messages, revision }: Backend.Request["conversation"]): self is Growing => {
  if (self === undefined || self.revision !== revision || self.given.length > messages.length) return false
  if (self.source === messages) return self.given.at(-1) === messages[self.given.length - 1] || self.given.length === 0
  return self.given.every((message, index) => message === messages[index])
}

const smallest = 2048

export const make = (options: Options): Encoder => {
  const { dialect } = options
  const opening = `{"model":${JSON.stringify(Json.wellFormed(options.model))},"messages":[`
  const openingBytes = Buffer.from(opening)
  const params = Wire.members(
    Object.fromEntries(Object.entries(options.params).filter(([key]) => !reserved.has(key) && key !== dialect.capField))
  )
  const texts = new WeakMap<Message, string>()
  const toolTexts = new WeakMap<ReadonlyArray<Declaration>, string>()
  const growing = new WeakMap<object, Growing>()

  const textOf = (message: Message): string => {
    const kept = texts.get(message)
    if (kept !== undefined) return kept
    const made = Wire.message(message, dialect)
    texts.set(message, made)
    return made
  }

  const toolsOf = (tools: ReadonlyArray<Declaration>): string => {
    const kept = toolTexts.get(tools)
    if (kept !== undefined) return kept
    const made = Wire.tools(tools)
    toolTexts.set(tools, made)
    return made
  }

  const grown = (conversation: Backend.Request["conversation"]): Growing => {
    const { messages, revision } = conversation
    const first = messages[0]
    const kept = growing.get(messages) ?? (first === undefined ? undefined : growing.get(first))
    const self = fits(kept, conversation)
      ? kept
      : {
          revision,
          given: [],
          source: messages,
          callIds: new Set<string>(),
          buffer: Buffer.allocUnsafeSlow(smallest + opening.length * 3),
          end: 0,
          lease: undefined
        }
    if (self.end === 0) write(self, opening)
    self.source = messages
    for (const message of messages.slice(self.given.length)) {
      write(self, self.given.length === 0 ? textOf(message) : `,${textOf(message)}`)
      self.given.push(message)
      for (const call of message.toolCalls ?? []) self.callIds.add(call.id)
    }
    growing.set(messages, self)
    if (first !== undefined) growing.set(first, self)
    return self
  }

  const closing = (request: Backend.Request, empty: boolean): string => {
    const tail = request.tail === undefined ? "" : `${empty ? "" : ","}${Wire.message(request.tail, dialect)}`
    const tools = request.tools.length === 0 ? "" : `,"tools":${toolsOf(request.tools)}`
    const cap = capOf(options.maxTokens, request.maxTokens)
    const schema = request.schema
    const format =
      schema === undefined
        ? {}
        : {
            response_format: {
              type: "json_schema",
              json_schema: { name: Wire.toolName(schema.name), schema: schema.schema, strict: false }
            }
          }
    const rest = Wire.members({
      stream: true,
      ...(dialect.includeUsage ? { stream_options: { include_usage: true } } : {}),
      ...(cap === undefined ? {} : { [dialect.capField]: cap }),
      ...format
    })
    return `${tail}]${tools}${rest}${params}}`
  }

  const prepare = (request: Backend.Request): Prepared => {
    const self = grown(request.conversation)
    const none = self.given.length === 0
    if (request.head !== undefined) {
      const head = `${Wire.message(request.head, dialect)}${none ? "" : ","}`
      const messages = self.buffer.subarray(openingBytes.length, self.end)
      const body = Buffer.concat([openingBytes, Buffer.from(head), messages, Buffer.from(closing(request, false))])
      return { body, callIds: self.callIds, release: () => undefined }
    }
    const end = closing(request, none)
    room(self, end.length * 3)
    const length = self.end + self.buffer.write(end, self.end)
    const lease = {}
    self.lease = lease
    return {
      body: self.buffer.subarray(0, length),
      callIds: self.callIds,
      release: () => {
        if (self.lease === lease) self.lease = undefined
      }
    }
  }

  return { prepare }
}

const capOf = (own: number | undefined, asked: number | undefined): number | undefined =>
  own === undefined ? asked : asked === undefined ? own : Math.min(own, asked)
