/**
 * The body of a request: bytes kept from the last round plus what is new. Pure apart from that memory, which holds nothing alive.
 *
 * Q1. A message becomes bytes once for as long as its conversation only grows, a tool list once for as long as it is the same array.
 * Q2. While a conversation only grows, the body of a round begins with the bytes of the round before it, up to the end of its
 *     messages; only the marks for the prompt cache move.
 * Q3. Marks stand behind what is stable: the system text or the tools, the last message, and the end of the request before it, so
 *     that each request finds what the last one wrote. What is only true now comes behind all of them (L-CTX-01).
 * Q4. Calls in the conversation want tools in the request: where none are offered any more, the ones that were called are declared
 *     and none may be chosen.
 * Q5. The two sides take turns, and a user begins: neighbours of one side are one message, results of calls first.
 */
import * as Canonical from "@settle/core/model/Canonical"
import * as Json from "@settle/core/model/Json"
import * as Message from "@settle/core/model/Message"
import type { Declaration } from "@settle/core/model/Tool"
import type * as Backend from "@settle/core/port/Backend"
import type * as Streaming from "../Streaming.ts"
import * as Constrain from "./Constrain.ts"
import * as Wire from "./Wire.ts"

export interface Options {
  readonly model: string
  readonly maxTokens: number
  readonly params: Json.JsonObject
  readonly promptCache: boolean
  readonly replayThinking: "unchanged" | "always" | "never"
}

export interface Encoder {
  readonly prepare: (request: Backend.Request) => Streaming.Prepared
}

/** What the protocol itself sets cannot be overruled by parameters. */
const reserved = new Set(["model", "messages", "system", "tools", "stream", "max_tokens"])

const mark = `,"cache_control":{"type":"ephemeral"}`
/** Said for a user who has said nothing yet: the provider wants a user to begin. */
const silence = JSON.stringify({ type: "text", text: "(no message yet)" })

/** The growing bytes of one conversation: every message so far, without a closing of the last one and without marks. */
interface Growing {
  readonly revision: number
  readonly given: Array<Message.Message>
  source: ReadonlyArray<Message.Message>
  readonly callIds: Set<string>
  /** Tools that were called, by the names that went out. */
  readonly called: Set<string>
  readonly system: Array<Json.JsonObject>
  buffer: Buffer
  end: number
  side: "user" | "assistant" | undefined
  /** Where the last block of each user message ends, before its closing brace. */
  readonly ends: Array<number>
  /** Digest of `given`. */
  prefix: string
}

const write = (self: Growing, text: string): void => {
  const needed = self.end + text.length * 3
  if (needed > self.buffer.length) {
    const grown = Buffer.allocUnsafeSlow(needed * 2)
    self.buffer.copy(grown, 0, 0, self.end)
    self.buffer = grown
  }
  self.end += self.buffer.write(text, self.end)
}

const opening = (side: "user" | "assistant"): string => `{"role":"${side}","content":[`

const append = (self: Growing, { blocks, role }: Wire.Encoded): void => {
  if (blocks.length === 0) return
  if (self.side === undefined && role === "assistant") append(self, { role: "user", blocks: [JSON.parse(silence)] })
  const joins = self.side === role
  write(self, joins ? "," : `${self.side === undefined ? "" : "]},"}${opening(role)}`)
  write(self, Wire.join(blocks))
  self.side = role
  if (role === "assistant") return
  if (joins) self.ends.pop()
  self.ends.push(self.end - 1)
}

const smallest = 2048

const fresh = ({ messages, revision }: Backend.Request["conversation"]): Growing => ({
  revision,
  given: [],
  source: messages,
  callIds: new Set(),
  called: new Set(),
  system: [],
  buffer: Buffer.allocUnsafeSlow(smallest),
  end: 0,
  side: undefined,
  ends: [],
  prefix: Canonical.textDigest("")
})

/** Does this memory hold a prefix of these messages? The same array only grows; another array is compared one by one. */
const fits = (self: Growing | undefined, { messages, revision }: Backend.Request["conversation"]): self is Growing => {
  if (self === undefined || self.revision !== revision || self.given.length > messages.length) return false
  if (self.source === messages) return self.given.at(-1) === messages[self.given.length - 1] || self.given.length === 0
  return self.given.every((message, index) => message === messages[index])
}

export const make = (options: Options): Encoder => {
  const toolTexts = new WeakMap<ReadonlyArray<Declaration>, ReadonlyArray<Json.JsonObject>>()
  const growing = new WeakMap<object, Growing>()

  const toolsOf = (declared: ReadonlyArray<Declaration>): ReadonlyArray<Json.JsonObject> => {
    const kept = toolTexts.get(declared)
    if (kept !== undefined) return kept
    const made = Wire.tools(declared)
    toolTexts.set(declared, made)
    return made
  }

  const grown = (conversation: Backend.Request["conversation"]): Growing => {
    const { messages } = conversation
    const first = messages[0]
    const kept = growing.get(messages) ?? (first === undefined ? undefined : growing.get(first))
    const self = fits(kept, conversation) ? kept : fresh(conversation)
    self.source = messages
    for (const message of messages.slice(self.given.length)) grow(self, message, options)
    growing.set(messages, self)
    if (first !== undefined) growing.set(first, self)
    return self
  }

  return {
    prepare: (request) => {
      const self = grown(request.conversation)
      const { head, tail } = request
      const bytes = [
        Buffer.from(`{"model":${JSON.stringify(Json.wellFormed(options.model))},"messages":[`),
        ...messagesOf(self, { head, tail, marked: options.promptCache }),
        Buffer.from(`]${closing(self, request, { options, tools: toolsOf(request.tools) })}}`)
      ]
      return { body: Buffer.concat(bytes), callIds: self.callIds, kept: self.prefix }
    }
  }
}

const grow = (self: Growing, message: Message.Message, { replayThinking }: Options): void => {
  if (message.role === "system" && self.side === undefined) self.system.push(...Wire.textBlocks(message.content))
  else append(self, Wire.message(message, { unchanged: self.prefix, always: undefined, never: "" }[replayThinking]))
  self.given.push(message)
  for (const call of Message.callsOf(message)) {
    self.callIds.add(call.id)
    self.called.add(Wire.toolName(call.name))
  }
  self.prefix = Canonical.textDigest(`${self.prefix}${Message.digest(message)}`)
}

interface Around {
  readonly head: Message.Message | undefined
  readonly tail: Message.Message | undefined
  readonly marked: boolean
}

/** The messages with their marks, between a head and a tail of this request alone. */
const messagesOf = (self: Growing, { head, marked, tail }: Around): ReadonlyArray<Buffer> => {
  const before = head === undefined || head.role === "system" ? "" : Wire.join(Wire.message(head, "").blocks)
  const after = tail === undefined ? "" : Wire.join(Wire.message(tail, "").blocks)
  if (self.side === undefined) {
    const said = [before, after].filter((blocks) => blocks !== "").join(",")
    return [Buffer.from(`${opening("user")}${said === "" ? silence : said}]}`)]
  }
  const out: Array<Buffer> = []
  let from = 0
  if (before !== "") {
    // the first message is a user's
    from = opening("user").length
    out.push(Buffer.from(`${opening("user")}${before},`))
  }
  for (const end of marked ? self.ends.slice(-2) : []) {
    out.push(self.buffer.subarray(from, end), Buffer.from(mark))
    from = end
  }
  out.push(self.buffer.subarray(from, self.end))
  if (after === "") return [...out, Buffer.from("]}")]
  return [...out, Buffer.from(self.side === "user" ? `,${after}]}` : `]},${opening("user")}${after}]}`)]
}

interface Closing {
  readonly options: Options
  readonly tools: ReadonlyArray<Json.JsonObject>
}

const marking = (blocks: ReadonlyArray<Json.JsonObject>): ReadonlyArray<Json.JsonObject> =>
  blocks.map((block, i) => (i < blocks.length - 1 ? block : { ...block, cache_control: { type: "ephemeral" } }))

const closing = (self: Growing, request: Backend.Request, { options, tools }: Closing): string => {
  const { head, schema } = request
  const cap = Math.min(options.maxTokens, request.maxTokens ?? options.maxTokens)
  const now = head?.role === "system" ? Wire.textBlocks(head.content) : []
  const marked = options.promptCache
  const system = [...(marked ? marking(self.system) : self.system), ...now]
  const offered = tools.length > 0 ? tools : [...self.called].map(mention)
  const declared = marked && self.system.length === 0 ? marking(offered) : offered
  const params = Object.entries(options.params).filter(
    ([key, value]) => !reserved.has(key) && fitsCap(key, value, cap) && (key !== "tool_choice" || tools.length > 0)
  )
  const members: Json.JsonObject = {
    ...(system.length === 0 ? {} : { system }),
    ...(declared.length === 0 ? {} : { tools: declared }),
    ...(declared.length > 0 && tools.length === 0 ? { tool_choice: { type: "none" } } : {}),
    max_tokens: cap,
    stream: true,
    ...Object.fromEntries(params),
    ...(schema === undefined ? {} : { output_config: outputOf(options.params["output_config"], schema.schema) })
  }
  return `,${JSON.stringify(Json.fromUnknown(members)).slice(1, -1)}`
}

const mention = (name: string): Json.JsonObject => ({ name, input_schema: { type: "object" } })

/** A thinking budget that is not below the cap would be refused. */
const fitsCap = (key: string, value: Json.Json, cap: number): boolean => {
  const budget = key === "thinking" && Json.isObject(value) ? value["budget_tokens"] : undefined
  return typeof budget !== "number" || budget < cap
}

const outputOf = (given: Json.Json | undefined, schema: Json.JsonObject): Json.JsonObject => ({
  ...(Json.isObject(given) ? given : {}),
  format: { type: "json_schema", schema: Constrain.schema(schema) }
})
