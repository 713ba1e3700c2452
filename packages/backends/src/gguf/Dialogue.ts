/**
 * A conversation as a chat template wants it. Pure.
 *
 * D1. The result of a call stands in the call; what answers no call is the user's.
 * D2. Neighbouring turns of the model are one turn.
 */
import * as Json from "@settle/core/model/Json"
import * as Message from "@settle/core/model/Message"
import type { Declaration } from "@settle/core/model/Tool"
import type { ChatHistoryItem, ChatModelFunctionCall, ChatModelFunctions, ChatModelResponse } from "node-llama-cpp"
import * as Grammar from "./Grammar.ts"

export const history = (messages: ReadonlyArray<Message.Message>): Array<ChatHistoryItem> => {
  const out: Array<ChatHistoryItem> = []
  const open = new Map<string, ChatModelFunctionCall>()
  let turn: ChatModelResponse | undefined
  for (const message of messages) {
    const content = Json.wellFormed(message.content)
    if (message.role === "assistant") {
      if (turn === undefined) {
        turn = { type: "model", response: [] }
        out.push(turn)
      }
      if (content !== "") turn.response.push(content)
      for (const [index, call] of Message.callsOf(message).entries()) {
        const item: ChatModelFunctionCall = {
          type: "functionCall",
          name: call.name,
          params: Json.parse(call.arguments) ?? {},
          result: "",
          startsNewChunk: index === 0
        }
        open.set(call.id, item)
        turn.response.push(item)
      }
      continue
    }
    const answered = message.role === "tool" ? open.get(message.toolCallId ?? "") : undefined
    if (answered !== undefined) {
      answered.result = Json.parse(content) ?? content
      continue
    }
    turn = undefined
    out.push(message.role === "system" ? { type: "system", text: content } : { type: "user", text: content })
  }
  return out
}

/** Declarations by name: that is how a template takes them. */
export const functions = (tools: ReadonlyArray<Declaration>): ChatModelFunctions | undefined =>
  tools.length === 0
    ? undefined
    : Object.fromEntries(
        tools.map(({ description, name, parameters }) => [
          name,
          { ...(description === undefined ? {} : { description }), params: Grammar.of(parameters) }
        ])
      )
