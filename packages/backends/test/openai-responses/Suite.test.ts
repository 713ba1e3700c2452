import * as OpenAiResponses from "../../src/openai-responses/Backend.ts"
import * as Playing from "../Playing.ts"
import { ended, start, toolCall, words } from "./Reading.ts"

Playing.suite("OpenAiResponses", (baseUrl) => OpenAiResponses.make({ baseUrl, model: "m" }), {
  refusal: (message) => ({ error: { message } }),
  begin: ({ toolCalls = [] }, texts) =>
    start() +
    (texts.length === 0 ? "" : words(0, ...texts)) +
    toolCalls.map((call, n) => toolCall(n + 1, call, call.arguments)).join(""),
  end: ({ usage }) =>
    ended({ usage: { input_tokens: usage?.promptTokens ?? 1, output_tokens: usage?.completionTokens ?? 1 } })
})
