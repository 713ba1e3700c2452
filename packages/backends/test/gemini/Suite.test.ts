import * as Gemini from "../../src/gemini/Backend.ts"
import * as Playing from "../Playing.ts"
import { call, chunk, ended, words } from "./Reading.ts"

Playing.suite("Gemini", (baseUrl) => Gemini.make({ baseUrl, model: "m" }), {
  refusal: (message) => ({ error: { code: 400, message } }),
  begin: ({ toolCalls = [] }, texts) =>
    words(...texts) +
    (toolCalls.length === 0 ? "" : chunk(toolCalls.map((one) => call(one.name, JSON.parse(one.arguments))))),
  end: ({ usage }) =>
    ended("STOP", {
      promptTokenCount: usage?.promptTokens ?? 1,
      candidatesTokenCount: usage?.completionTokens ?? 1
    })
})
