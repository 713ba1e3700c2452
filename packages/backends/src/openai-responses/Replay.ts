/**
 * What must go back with a turn: reasoning the server keeps no copy of, the phase of a message, what its own tools did (F8, F9). Pure.
 *
 * P1. The turn's own calls are kept by their place among its calls, and its texts must still be the message's: what was changed
 *     since is sent plainly.
 * P2. Reasoning goes back only as the server can read it, encrypted or in full, and only before what it led to: an orphan is
 *     refused.
 * P3. Ids of messages and calls stay behind: nothing is stored under them.
 */
import * as Json from "@settle/core/model/Json"
import * as Message from "@settle/core/model/Message"
import * as Items from "./Items.ts"

/** The name under which this protocol keeps what it must send back. */
export const protocol = "openai-responses"

const contentOf = (item: Items.Item): ReadonlyArray<Json.JsonObject> => [
  ...Items.parts(item, "text").map((text) => ({ type: "output_text", text })),
  ...Items.parts(item, "refusal").map((refusal) => ({ type: "refusal", refusal }))
]

const reasoning = ({ fields }: Items.Item): Json.JsonObject | undefined => {
  const encrypted = Items.text(fields["encrypted_content"])
  const content = Items.objects(fields["content"])
  if (encrypted === "" && content.length === 0) return undefined
  return {
    type: "reasoning",
    ...(Items.text(fields["id"]) === "" ? {} : { id: Items.text(fields["id"]) }),
    summary: Items.objects(fields["summary"]),
    ...(content.length === 0 ? {} : { content }),
    ...(encrypted === "" ? {} : { encrypted_content: encrypted })
  }
}

const entry = (item: Items.Item, call: number): Json.JsonObject | undefined => {
  const phase = Items.text(item.fields["phase"])
  switch (item.type) {
    case "function_call":
      return { call }
    case "custom_tool_call":
      return { call, custom: true }
    case "reasoning":
      return reasoning(item)
    case "message": {
      const content = contentOf(item)
      if (content.length === 0) return undefined
      return { type: "message", role: "assistant", content, ...(phase === "" ? {} : { phase }) }
    }
    default:
      return item.open ? undefined : item.fields
  }
}

const isReasoning = (kept: Json.JsonObject): boolean => kept["type"] === "reasoning"

/** Plain text, then calls: the message says it all. */
const isPlain = (kept: ReadonlyArray<Json.JsonObject>): boolean =>
  kept.every(
    (one, at) =>
      ("call" in one && one["custom"] === undefined) ||
      (at === 0 && one["type"] === "message" && one["phase"] === undefined)
  )

export const of = (items: ReadonlyArray<Items.Item>): Message.Replay | undefined => {
  let calls = 0
  const kept = items.map((item) => entry(item, Items.isCall(item) ? calls++ : -1)).filter((one) => one !== undefined)
  const last = kept.findLastIndex((one) => !isReasoning(one))
  const led = kept.slice(0, last + 1)
  return isPlain(led) ? undefined : { protocol, data: Json.fromUnknown({ items: led }) }
}

/** How a turn's own call goes out. */
export type Call = (call: Message.ToolCall, custom: boolean) => Json.JsonObject

const kept = (message: Message.Message): ReadonlyArray<Json.JsonObject> => {
  const data = message.replay?.protocol === protocol ? message.replay.data : undefined
  return Json.isObject(data) ? Items.objects(data["items"]) : []
}

/** Was the n-th call of this turn one of free text? */
export const isCustom = (message: Message.Message, n: number): boolean =>
  kept(message).some((one) => one["call"] === n && one["custom"] === true)

/** The items of a turn as they came; `undefined` where the message was changed since, or nothing was kept. */
export const items = (message: Message.Message, call: Call): ReadonlyArray<Json.JsonObject> | undefined => {
  const own = kept(message)
  if (own.length === 0) return undefined
  const calls = Message.callsOf(message)
  const out: Array<Json.JsonObject> = []
  let said = ""
  let called = 0
  for (const one of own) {
    if (!("call" in one)) {
      out.push(one)
      if (one["type"] !== "message") continue
      for (const part of Items.objects(one["content"])) said += Items.text(part["text"]) + Items.text(part["refusal"])
      continue
    }
    const given = calls[called++]
    if (given === undefined) return undefined
    out.push(call(given, one["custom"] === true))
  }
  return called === calls.length && said.trim() === message.content.trim() ? out : undefined
}
