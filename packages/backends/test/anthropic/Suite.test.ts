import * as Anthropic from "../../src/anthropic/Backend.ts"
import * as Playing from "../Playing.ts"
import { ended, start, toolUse, words } from "./Reading.ts"

Playing.suite("Anthropic", (baseUrl) => Anthropic.make({ baseUrl, model: "m" }), {
  refusal: (message) => ({ type: "error", error: { type: "x", message } }),
  begin: ({ toolCalls = [], usage }, texts) =>
    start({ usage: { input_tokens: usage?.promptTokens ?? 1, output_tokens: 1 } }) +
    (texts.length === 0 ? "" : words(0, ...texts)) +
    toolCalls.map((call, n) => toolUse(n + 1, call.id, call.name, call.arguments)).join(""),
  end: ({ toolCalls = [], usage }) =>
    ended(toolCalls.length > 0 ? "tool_use" : "end_turn", { output_tokens: usage?.completionTokens ?? 1 })
})
