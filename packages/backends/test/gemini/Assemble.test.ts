/** Gemini streams by hand: every odd shape, and what is concluded from it. */
import { assert, describe, it } from "@effect/vitest"
import type { Declaration } from "@settle/core/model/Tool"
import { call, chunk, ended, event, failure, reply, streamed, text, words } from "./Reading.ts"

const needsPath: Declaration = {
  name: "read",
  parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] }
}

const calling = (...fields: ReadonlyArray<object>): string =>
  fields.map((functionCall) => chunk([{ functionCall }])).join("")

const patched = (...patches: ReadonlyArray<object>): string =>
  calling(
    { name: "write", willContinue: true },
    ...patches.map((patch) => ({ partialArgs: [patch], willContinue: true })),
    {}
  ) + ended("STOP")

const argumentsOf = (body: string): unknown => JSON.parse(reply(text(body)).toolCalls[0]?.arguments ?? "null")

describe("calls", () => {
  it("D2 D1 calls without ids are calls of their own, in order, under ids of ours", () => {
    const body = chunk([call("look", { at: "a" }), call("look", { at: "b" })]) + ended("STOP")
    const { finish, finishReason, toolCalls, warnings } = reply(text(body))
    assert.deepStrictEqual(toolCalls, [
      { id: "call_fresh_0", name: "look", arguments: '{"at":"a"}' },
      { id: "call_fresh_1", name: "look", arguments: '{"at":"b"}' }
    ])
    assert.deepStrictEqual([finish, finishReason, warnings], ["tool-calls", "STOP", []])
  })

  it("D11 an id that the server gave is kept, unless the conversation has it", () => {
    const body = calling({ name: "look", id: "fc-1", args: {} }) + ended("STOP")
    assert.strictEqual(reply(text(body)).toolCalls[0]?.id, "fc-1")
    const again = reply(text(body, { taken: new Set(["fc-1"]) }))
    assert.strictEqual(again.toolCalls[0]?.id, "call_fresh_0")
    assert.deepStrictEqual(again.replay?.data, { parts: [{ call: 0, id: "fc-1" }] })
  })

  it("D9 a call without args is an empty object, unless its tool needs some", () => {
    const body = chunk([call("read")]) + ended("STOP")
    assert.strictEqual(reply(text(body)).toolCalls[0]?.arguments, "{}")
    assert.strictEqual(reply(text(body, { tools: [needsPath] })).toolCalls[0]?.arguments, "null")
  })

  it("D7 patched arguments: strings go on, places are made, values are what they are", () => {
    const body = patched(
      { jsonPath: "$.path", stringValue: "a/", willContinue: true },
      { jsonPath: "$.path", stringValue: "b", willContinue: true },
      { jsonPath: "$.path", stringValue: "" },
      { jsonPath: "$.lines[0].text", stringValue: "one" },
      { jsonPath: "$.lines[1]['a key']", numberValue: 2 },
      { jsonPath: '$["done"]', boolValue: true },
      { jsonPath: "$.none", nullValue: "NULL_VALUE" },
      { jsonPath: "$.path2", stringValue: "x" },
      { jsonPath: "$.path2", stringValue: "y" }
    )
    assert.deepStrictEqual(argumentsOf(body), {
      path: "a/b",
      lines: [{ text: "one" }, { "a key": 2 }],
      done: true,
      none: null,
      path2: "y"
    })
  })

  it("D7 args and patches may come together, and names from outside are only names", () => {
    const body =
      calling(
        { name: "write", args: { mode: "w" }, willContinue: true },
        { partialArgs: [{ jsonPath: "$.__proto__.polluted", stringValue: "no" }] }
      ) + ended("STOP")
    const text_ = reply(text(body)).toolCalls[0]?.arguments
    assert.strictEqual(text_, '{"mode":"w","__proto__":{"polluted":"no"}}')
    assert.isUndefined(Reflect.get({}, "polluted"))
  })

  it("D10 a patch for a place that cannot be read makes the reply malformed, and never a guess", () => {
    const cases = ["path", "$..a", "$.a[*]", "$", "$.a[99999999]", "$.a[0]b"]
    for (const jsonPath of cases) {
      const { reason } = failure(text(patched({ jsonPath, stringValue: "x" })))
      assert.include(reason.message, `the call of write cannot be read`, jsonPath)
      assert.isTrue(reason.message.endsWith(`for a place that cannot be read: ${jsonPath}`))
    }
    const through = patched({ jsonPath: "$.a", stringValue: "x" }, { jsonPath: "$.a.b", stringValue: "y" })
    assert.include(failure(text(through)).reason.message, "cannot be read")
  })

  it("D10 X-WIRE-03 a call that was still open is partial where a length cut it, and no reply otherwise", () => {
    const open = calling(
      { name: "write", willContinue: true },
      { partialArgs: [{ jsonPath: "$.path", stringValue: "to be con", willContinue: true }], willContinue: true }
    )
    const { finish, partialCalls, toolCalls } = reply(text(open + ended("MAX_TOKENS")))
    assert.deepStrictEqual([finish, toolCalls], ["length", []])
    assert.strictEqual(partialCalls[0]?.arguments, '{"path":"to be con"')
    assert.strictEqual(failure(text(open + ended("STOP"))).reason.message, "a tool call was never closed")
    const next = open + calling({ name: "look", args: {} }) + ended("STOP")
    assert.strictEqual(failure(text(next)).reason.message, "the call of write was never closed before the next one")
  })

  it("D10 S13 arguments nested without end are a fault that is told, and nothing breaks", () => {
    const deep = `{"functionCall":{"name":"look","args":${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}}}`
    const body = `data: {"candidates":[{"content":{"parts":[${deep}]}}]}\n\n${ended("STOP")}`
    const told = "the call of look cannot be read: its arguments are nested deeper than 200"
    assert.strictEqual(failure(text(body)).reason.message, told)
    const path = patched({ jsonPath: `$${".a".repeat(20_000)}`, stringValue: "x" })
    assert.include(failure(text(path)).reason.message, "cannot be read")
  })

  it("D4 pieces that belong to no call are no call", () => {
    const stray = calling({ partialArgs: [{ jsonPath: "$.a", stringValue: "x" }] }) + ended("STOP")
    assert.strictEqual(failure(text(stray)).reason.message, "a tool call came without a name")
    assert.lengthOf(reply(text(calling({}) + words("a") + ended("STOP"))).toolCalls, 0)
  })
})

describe("text and thoughts", () => {
  it("F9 a signature stays on its part, thoughts without one stay behind", () => {
    const body =
      chunk([{ text: "Hm.", thought: true }]) +
      words("Let ", "me") +
      chunk([{ text: " look.", thoughtSignature: "c2lnMQ==" }]) +
      words("Now") +
      chunk([call("look", {}, { thoughtSignature: "c2lnMg==" }), call("look", {})]) +
      chunk([{ text: "", thoughtSignature: "c2lnMw==" }]) +
      ended("STOP")
    const read = text(body)
    const { reasoning, replay, text: said } = reply(read)
    assert.deepStrictEqual([said, reasoning, streamed(read)], ["Let me look.Now", "Hm.", said])
    assert.deepStrictEqual(replay, {
      protocol: "gemini",
      data: {
        parts: [
          { text: "Let me" },
          { text: " look.", thoughtSignature: "c2lnMQ==" },
          { text: "Now" },
          { call: 0, thoughtSignature: "c2lnMg==" },
          { call: 1 },
          { text: "", thoughtSignature: "c2lnMw==" }
        ]
      }
    })
    assert.isUndefined(reply(text(words("a", "b") + chunk([call("look", {})]) + ended("STOP"))).replay)
  })

  it("F9 a part of another kind is kept as it came, with a warning, and is no call", () => {
    const code = { executableCode: { language: "PYTHON", code: "1+1" } }
    const { replay, toolCalls, warnings } = reply(text(chunk([code]) + words("2") + ended("STOP")))
    assert.deepStrictEqual([toolCalls, warnings], [[], ["the reply holds 1 parts that are neither text nor a call"]])
    assert.deepStrictEqual(replay?.data, { parts: [code, { text: "2" }] })
  })

  it("X-WIRE-04 only the first candidate counts", () => {
    const both = event({
      candidates: [
        { index: 1, content: { parts: [{ text: "no" }] } },
        { index: 0, content: { parts: [{ text: "yes" }] } }
      ]
    })
    assert.strictEqual(reply(text(both + ended("STOP"))).text, "yes")
  })
})

describe("ends", () => {
  const finishes = [
    ["STOP", "stop"],
    ["MAX_TOKENS", "length"],
    ["SAFETY", "content-filter"],
    ["RECITATION", "content-filter"],
    ["BLOCKLIST", "content-filter"],
    ["PROHIBITED_CONTENT", "content-filter"],
    ["SPII", "content-filter"],
    ["IMAGE_SAFETY", "content-filter"],
    ["MALFORMED_FUNCTION_CALL", "error"],
    ["UNEXPECTED_TOOL_CALL", "error"],
    ["OTHER", "unknown"],
    ["SOMETHING_NEW", "unknown"]
  ] as const
  for (const [word, finish] of finishes) {
    it(`F1 X-WIRE-03 ${word} is ${finish}`, () => {
      const { finish: found, finishReason } = reply(text(words("a") + ended(word)))
      assert.deepStrictEqual([found, finishReason], [finish, word])
    })
  }

  it("X-WIRE-04 why the provider ended is told", () => {
    const candidates = [{ finishReason: "MALFORMED_FUNCTION_CALL", finishMessage: "Malformed function call: look(" }]
    assert.deepStrictEqual(reply(text(event({ candidates }))).warnings, [
      "the provider says why it ended: Malformed function call: look("
    ])
  })

  it("X-WIRE-04 a blocked prompt is a filtered failure, with its usage, and not an empty answer", () => {
    const blocked = event({ promptFeedback: { blockReason: "SAFETY" }, usageMetadata: { promptTokenCount: 4 } })
    const { reason, usage } = failure(text(blocked))
    assert.isTrue(reason._tag === "BadResponse" && reason.problem === "filtered")
    assert.strictEqual(reason.message, "the provider blocked the prompt (SAFETY) and gave no reply")
    assert.deepStrictEqual(usage, { promptTokens: 4 })
  })

  it("S8 X-WIRE-01 a body that just stops is a cut, whatever it brought", () => {
    const usage = { usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 1 } }
    const cut = failure(text(chunk([{ text: "partial" }], usage)))
    assert.strictEqual(cut.reason.message, "the stream ended after 7 characters, without a finish reason")
    assert.deepStrictEqual(cut.usage, { promptTokens: 9, completionTokens: 1 })
    const made = failure(text(chunk([call("look", {})])))
    assert.isTrue(made.reason._tag === "BadResponse" && made.reason.problem === "cut")
    assert.strictEqual(failure(text("")).reason.message, "the stream ended before any event, without a finish reason")
    const broken = failure(text(words("ab") + ended("STOP"), { ending: { _tag: "Broken", detail: "reset" } }))
    assert.strictEqual(broken.reason.message, "the connection broke after 2 characters: reset")
  })

  it("S8 [DONE] alone is an end, with a warning", () => {
    const { finish, warnings } = reply(text(words("a") + "data: [DONE]\n\n"))
    assert.deepStrictEqual([finish, warnings], ["stop", ["the stream ended with [DONE] and no finish reason"]])
  })

  it("S9 X-WIRE-02 an error in the stream is the HTTP error it names", () => {
    const error = (code: number, status: string) => event({ error: { code, message: "no", status } })
    const cases = [
      [error(503, "UNAVAILABLE"), 503],
      [error(429, "RESOURCE_EXHAUSTED"), 429],
      [`data: [${JSON.stringify({ error: { code: 500, message: "no", status: "INTERNAL" } })}]\n\n`, 500],
      [`{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT"}}`, 400]
    ] as const
    for (const [body, status] of cases) {
      const { reason } = failure(text(body.startsWith("{") ? body : words("half") + body))
      assert.strictEqual(reason._tag === "Refused" && reason.inStream ? reason.status : reason.message, status)
    }
  })

  it("S13 frames that cannot be read are told, or fatal beside a call", () => {
    const junk = "data: {broken\r\n\r\n"
    assert.deepStrictEqual(reply(text(junk + words("a") + ended("STOP"))).warnings, [
      "1 frames of the stream were not JSON and were skipped"
    ])
    const beside = failure(text(junk + chunk([call("look", {})]) + ended("STOP")))
    assert.include(beside.reason.message, "a piece of a tool call")
  })

  it("X-WIRE-04 a list of chunks, or one body, instead of a stream is the same reply", () => {
    const first = { candidates: [{ content: { parts: [{ text: "Hel" }] } }], modelVersion: "m" }
    const last = {
      candidates: [{ content: { parts: [{ text: "lo" }] }, finishReason: "STOP" }],
      usageMetadata: { promptTokenCount: 3 }
    }
    const { finish, modelUsed, text: said, usage } = reply(text(JSON.stringify([first, last], null, 1)))
    assert.deepStrictEqual([said, finish, modelUsed, usage], ["Hello", "stop", "m", { promptTokens: 3 }])
    assert.strictEqual(reply(text(JSON.stringify(last))).text, "lo")
    const cut = failure(text(JSON.stringify([first, last], null, 1).slice(0, -2))).reason
    assert.isTrue(cut._tag === "BadResponse" && cut.problem === "cut")
    const wrong = failure(text(`{"hello":"world"}`)).reason.message
    assert.strictEqual(
      wrong,
      'the server answered with JSON that is no reply of this protocol: {"hello":"world"}. Check baseUrl'
    )
  })

  it("F5 usage is the last that says anything; what the model wrote is without its thoughts", () => {
    const usage = {
      promptTokenCount: 5,
      cachedContentTokenCount: 4,
      candidatesTokenCount: 6,
      thoughtsTokenCount: 2,
      totalTokenCount: 13
    }
    const body =
      words("a") + ended("STOP", usage) + event({ candidates: [], usageMetadata: { trafficType: "ON_DEMAND" } })
    assert.deepStrictEqual(reply(text(body)).usage, {
      promptTokens: 5,
      completionTokens: 6,
      totalTokens: 13,
      cachedPromptTokens: 4,
      reasoningTokens: 2
    })
    assert.isUndefined(reply(text(words("a") + ended("STOP"))).usage)
  })

  it("X-WIRE-04 a reply that is too long is not collected for ever", () => {
    const long = text(words("x".repeat(100)) + ended("STOP"), { maxReplySize: 50 })
    assert.strictEqual(failure(long).reason.message, "the reply is longer than 50 characters")
    const patches = Array.from({ length: 9 }, () => ({ jsonPath: "$.a", stringValue: "x", willContinue: true }))
    assert.include(failure(text(patched(...patches), { maxReplySize: 200 })).reason.message, "longer than 200")
  })
})
