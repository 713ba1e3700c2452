/**
 * What must go back with a turn, exactly as it came: signed thinking, encrypted results of the server's tools, citations, blocks
 * that nobody knows yet (F8, F9). Pure.
 *
 * P1. The turn's own calls are kept by their place among its calls, and its texts must still be the message's: what was changed
 *     since is sent plainly.
 * P2. A signature is bound to what it followed, so thinking remembers a digest of the messages before it.
 */
import * as Json from "@settle/core/model/Json"
import * as Message from "@settle/core/model/Message"
import type { Block } from "./Blocks.ts"
import { inputText } from "./Blocks.ts"
import { text } from "./Deltas.ts"

/** The name under which this protocol keeps what it must send back. */
export const protocol = "anthropic-messages"

export const isThinking = (type: Json.Json | undefined): boolean => type === "thinking" || type === "redacted_thinking"

export const isBlank = (value: string): boolean => value.trim() === ""

const hasCitations = ({ citations }: Json.JsonObject): boolean => Array.isArray(citations) && citations.length > 0

/** Plain text and calls need no memory: the message says it all. */
const isPlain = (block: Block): boolean =>
  block.type === "tool_use" || (block.type === "text" && !hasCitations(block.fields))

/** `prefix`: digest of the conversation that the reply answered. */
export const of = (blocks: ReadonlyArray<Block>, prefix: Json.Json): Message.Replay | undefined => {
  if (blocks.every(isPlain)) return undefined
  let calls = 0
  const kept = blocks.flatMap((block): ReadonlyArray<Json.JsonObject> => {
    switch (block.type) {
      case "tool_use":
        return [{ type: "tool_use", call: calls++ }]
      case "text": {
        const { citations: _, ...plain } = block.fields
        if (isBlank(text(block.fields["text"]))) return []
        return [hasCitations(block.fields) ? block.fields : plain]
      }
      case "thinking":
        // without its signature it was not finished, and would be refused
        return text(block.fields["signature"]) === "" ? [] : [block.fields]
      default:
        return [{ ...block.fields, ...inputOf(block) }]
    }
  })
  return { protocol, data: Json.fromUnknown({ prefix, blocks: kept }) }
}

const inputOf = (block: Block): Json.JsonObject => {
  if (block.input.length === 0) return {}
  const input = Json.parse(inputText(block))
  return { input: Json.isObject(input) ? input : {} }
}

/** The blocks of a turn as they came, with the calls as `call` writes them; `undefined` where the message was changed since. */
export const blocks = (
  message: Message.Message,
  prefix: string | undefined,
  call: (call: Message.ToolCall) => Json.JsonObject
): ReadonlyArray<Json.JsonObject> | undefined => {
  const data = message.replay?.protocol === protocol ? message.replay.data : undefined
  const kept = Json.isObject(data) ? data["blocks"] : undefined
  if (!Json.isObject(data) || !Array.isArray(kept)) return undefined
  const thinks = prefix === undefined || data["prefix"] === prefix
  const calls = Message.callsOf(message)
  const out: Array<Json.JsonObject> = []
  let said = ""
  let called = 0
  for (const block of kept) {
    if (!Json.isObject(block)) return undefined
    if (block["type"] === "tool_use") {
      const own = calls[called++]
      if (own === undefined) return undefined
      out.push(call(own))
    } else if (thinks || !isThinking(block["type"])) out.push(block)
    if (block["type"] === "text") said += text(block["text"])
  }
  return called === calls.length && said.trim() === message.content.trim() ? out : undefined
}
