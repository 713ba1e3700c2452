/**
 * One entry of a conversation, in no provider's dialect. A message is never changed once made: writers keep what they derived
 * from it (wire bytes, digests) by its identity.
 */
import * as Schema from "effect/Schema"
import * as Canonical from "./Canonical.ts"

/** A call as the model asked for it. `id` is unique within the conversation; `arguments` is always the text of a JSON value. */
export const ToolCall = Schema.Struct({ id: Schema.String, name: Schema.String, arguments: Schema.String })
export type ToolCall = typeof ToolCall.Type

/** Something a message carries beside its text; `content` always says in words that it is there. */
export const Part = Schema.TaggedUnion({
  Image: { mimeType: Schema.String, data: Schema.String },
  Audio: { mimeType: Schema.String, data: Schema.String },
  ResourceLink: {
    uri: Schema.String,
    name: Schema.optionalKey(Schema.String),
    mimeType: Schema.optionalKey(Schema.String)
  }
})
export type Part = typeof Part.Type

/** What the backend of one protocol must send back unchanged with this turn: signed thinking, item ids, reasoning (F8, F9). */
export const Replay = Schema.Struct({ protocol: Schema.String, data: Schema.Json })
export type Replay = typeof Replay.Type

export const Role = Schema.Literals(["system", "user", "assistant", "tool"])
export type Role = typeof Role.Type

export const Message = Schema.Struct({
  role: Role,
  content: Schema.String,
  toolCalls: Schema.optionalKey(Schema.Array(ToolCall)),
  toolCallId: Schema.optionalKey(Schema.String),
  sticky: Schema.optionalKey(Schema.Boolean),
  sysprompt: Schema.optionalKey(Schema.Boolean),
  depth: Schema.optionalKey(Schema.Int),
  parts: Schema.optionalKey(Schema.Array(Part)),
  replay: Schema.optionalKey(Replay)
})
export type Message = typeof Message.Type

export const system = (content: string): Message => ({ role: "system", content })
export const user = (content: string): Message => ({ role: "user", content })
export const assistant = (content: string, toolCalls: ReadonlyArray<ToolCall> = []): Message =>
  toolCalls.length === 0 ? { role: "assistant", content } : { role: "assistant", content, toolCalls }
export const tool = (toolCallId: string, content: string): Message => ({ role: "tool", content, toolCallId })

/** A sticky message survives every compaction. */
export const isSticky = (message: Message): boolean =>
  message.sticky === true || message.sysprompt === true || message.depth !== undefined

export const callsOf = (message: Message): ReadonlyArray<ToolCall> => message.toolCalls ?? []

const digests = new WeakMap<Message, string>()

/** Digest of what survives a round trip through the transcript (L-SEED-01). Computed once for each message. */
export const digest = (message: Message): string => {
  const known = digests.get(message)
  if (known !== undefined) return known
  const made = Canonical.digest({
    role: message.role,
    content: message.content,
    sticky: message.sticky === true,
    sysprompt: message.sysprompt === true,
    ...(message.depth === undefined ? {} : { depth: message.depth }),
    ...(message.toolCallId === undefined ? {} : { toolCallId: message.toolCallId }),
    ...(callsOf(message).length === 0
      ? {}
      : { toolCalls: callsOf(message).map((c) => [c.id, c.name, Canonical.callArguments(c.arguments)]) })
  })
  digests.set(message, made)
  return made
}
