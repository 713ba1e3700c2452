/**
 * What must go back with a turn: signatures on the parts they came with, ids of calls, results of the server's own tools (F8, F9). Pure.
 *
 * P1. The turn's own calls are kept by their place among its calls, and its texts must still be the message's: what was changed
 *     since is sent plainly.
 * P2. Thoughts without a signature are for people and stay behind.
 */
import * as Json from "@settle/core/model/Json"
import * as Message from "@settle/core/model/Message"
import type { Part } from "./Parts.ts"
import { text } from "./Parts.ts"

/** The name under which this protocol keeps what it must send back. */
export const protocol = "gemini"

const signed = (signature: string | undefined): Json.JsonObject =>
  signature === undefined ? {} : { thoughtSignature: signature }

const entry = (part: Part): Json.JsonObject | undefined => {
  switch (part._tag) {
    case "Said":
      if (part.thought && part.signature === undefined) return undefined
      return { text: part.text, ...(part.thought ? { thought: true } : {}), ...signed(part.signature) }
    case "Call":
      return { call: part.position, ...(part.id === undefined ? {} : { id: part.id }), ...signed(part.signature) }
    case "Other":
      return part.fields
  }
}

/** Plain text, then calls: the message says it all. */
const isPlain = (kept: ReadonlyArray<Json.JsonObject>): boolean =>
  kept.every((part, at) => Object.keys(part).length === 1 && ("call" in part || ("text" in part && at === 0)))

export const of = (parts: ReadonlyArray<Part>): Message.Replay | undefined => {
  const kept = parts.map(entry).filter((part) => part !== undefined)
  return isPlain(kept) ? undefined : { protocol, data: Json.fromUnknown({ parts: kept }) }
}

const kept = (message: Message.Message): ReadonlyArray<Json.JsonObject> => {
  const data = message.replay?.protocol === protocol ? message.replay.data : undefined
  const parts = Json.isObject(data) ? data["parts"] : undefined
  return Array.isArray(parts) ? parts.filter(Json.isObject) : []
}

/** The id that the server gave the n-th call of this turn, when it gave one. */
export const wireId = (message: Message.Message, n: number): string | undefined =>
  text(kept(message).find((part) => part["call"] === n)?.["id"]) || undefined

/** How the n-th call of a turn goes out. */
export type Call = (call: Message.ToolCall, n: number) => Json.JsonObject

/** The parts of a turn as they came; `undefined` where the message was changed since, or nothing was kept. */
export const parts = (message: Message.Message, call: Call): ReadonlyArray<Json.JsonObject> | undefined => {
  const own = kept(message)
  if (own.length === 0) return undefined
  const calls = Message.callsOf(message)
  const out: Array<Json.JsonObject> = []
  let said = ""
  let called = 0
  for (const part of own) {
    if (!("call" in part)) {
      if (part["thought"] !== true) said += text(part["text"])
      out.push(part)
      continue
    }
    const given = calls[called]
    if (given === undefined) return undefined
    out.push({ ...call(given, called++), ...signed(text(part["thoughtSignature"]) || undefined) })
  }
  return called === calls.length && said.trim() === message.content.trim() ? out : undefined
}
