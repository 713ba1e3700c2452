import * as ReplayServer from "@settle/testing/servers/ReplayServer"
import * as OpenAiChat from "../../src/openai-chat/Backend.ts"
import * as Playing from "../Playing.ts"

Playing.suite("OpenAiChat", (baseUrl) => OpenAiChat.make({ baseUrl, model: "m" }), {
  refusal: (message) => ({ error: { message } }),
  begin: ({ toolCalls = [] }, text) =>
    ReplayServer.events({
      text,
      calls: toolCalls.map(({ id, name, arguments: text }) => ({ id, name, arguments: [text] })),
      finish: null,
      done: false
    }),
  end: ({ toolCalls = [], usage }) =>
    ReplayServer.events({
      finish: toolCalls.length > 0 ? "tool_calls" : "stop",
      usage: { prompt_tokens: usage?.promptTokens ?? 1, completion_tokens: usage?.completionTokens ?? 1 }
    })
})
