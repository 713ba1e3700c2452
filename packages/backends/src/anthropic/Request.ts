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
import * as Json from "@settle/core/model/Json"
import type * as Backend from "@settle/core/port/Backend"
import { Memory, Once } from "../Given.ts"
import * as Sides from "../Sides.ts"
import type * as Streaming from "../Streaming.ts"
import * as Constrain from "./Constrain.ts"
import * as Wire from "./Wire.ts"

export interface Options {
  readonly model: string
  readonly maxTokens: number
  readonly params: Json.JsonObject
  readonly promptCache: boolean
  readonly vision?: boolean
  readonly replayThinking: "unchanged" | "always" | "never"
}

export interface Encoder {
  readonly prepare: (request: Backend.Request) => Streaming.Prepared
}

/** What the protocol itself sets cannot be overruled by parameters. */
const reserved = new Set(["model", "messages", "system", "tools", "stream", "max_tokens"])

const mark = `,"cache_control":{"type":"ephemeral"}`
/** Said for a user who has said nothing yet: the provider wants a user to begin. */
const silence = { type: "text", text: "(no message yet)" }

const opening = (side: Sides.Encoded["role"]): string => `{"role":"${side}","content":[`

export const make = (options: Options): Encoder => {
  const tools = new Once(Wire.tools)
  const talks = new Memory<Sides.Talk>()
  const writer: Sides.Writer = {
    opening: { user: opening("user"), assistant: opening("assistant") },
    silence,
    system: Wire.textBlocks,
    encode: (message, { prefix }) =>
      Wire.message(message, {
        prefix: { unchanged: prefix, always: undefined, never: "" }[options.replayThinking],
        vision: options.vision ?? true
      })
  }
  return {
    prepare: (request) => {
      const { conversation, head, tail } = request
      const talk = talks.of(conversation, () => new Sides.Talk(writer, conversation))
      talk.grow(conversation.messages)
      const bytes = [
        Buffer.from(`{"model":${JSON.stringify(Json.wellFormed(options.model))},"messages":[`),
        ...talk.messages({ head, tail, mark: options.promptCache ? mark : undefined }),
        Buffer.from(`]${closing(talk, request, { options, tools: tools.of(request.tools) })}}`)
      ]
      return { body: Buffer.concat(bytes), callIds: talk.given.callIds, kept: talk.prefix }
    }
  }
}

interface Closing {
  readonly options: Options
  readonly tools: ReadonlyArray<Json.JsonObject>
}

const marking = (blocks: ReadonlyArray<Json.JsonObject>): ReadonlyArray<Json.JsonObject> =>
  blocks.map((block, i) => (i < blocks.length - 1 ? block : { ...block, cache_control: { type: "ephemeral" } }))

const closing = (self: Sides.Talk, request: Backend.Request, { options, tools }: Closing): string => {
  const { head, schema } = request
  const cap = Math.min(options.maxTokens, request.maxTokens ?? options.maxTokens)
  const now = head?.role === "system" ? Wire.textBlocks(head.content) : []
  const marked = options.promptCache
  const system = [...(marked ? marking(self.system) : self.system), ...now]
  const offered = tools.length > 0 ? tools : called(self).map(mention)
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

/** Tools that were called, by the names that went out. */
const called = (self: Sides.Talk): ReadonlyArray<string> => [
  ...new Set([...self.given.calls.values()].map((call) => Wire.toolName(call.name)))
]

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
