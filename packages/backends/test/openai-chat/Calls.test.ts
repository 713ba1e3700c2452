import type { Declaration } from "@settle/core/model/Tool"
import { assert, describe, it } from "@effect/vitest"
import { call, content, delta, done, event, failure, finished, read, reply, text } from "./Reading.ts"
import type * as Reading from "./Reading.ts"

const calls = (body: string, how: Reading.How = {}) => reply(text(body + finished("tool_calls"), how)).toolCalls
const named = (given: ReturnType<typeof calls>) => given.map((one) => [one.id, one.name, one.arguments])

const fn = (name: string | null | undefined, args: unknown) => ({ function: { name, arguments: args } })

describe("which call a fragment belongs to", () => {
  it("D1 two parallel calls without an index", () => {
    const got = calls(
      call({ id: "a", ...fn("f", '{"x":') }) +
        call({ function: { arguments: "1}" } }) +
        call({ id: "b", ...fn("g", '{"y":2') }) +
        call({ id: "b", function: { arguments: "}" } })
    )
    assert.deepStrictEqual(named(got), [
      ["a", "f", '{"x":1}'],
      ["b", "g", '{"y":2}']
    ])
  })

  it("D1 indexes 1 and 3 leave no holes", () => {
    const got = calls(
      call({ index: 1, id: "a", ...fn("f", "{") }, { index: 3, id: "b", ...fn("g", "{") }) +
        call({ index: 3, function: { arguments: '"y":2}' } }, { index: 1, function: { arguments: '"x":1}' } })
    )
    assert.deepStrictEqual(named(got), [
      ["a", "f", '{"x":1}'],
      ["b", "g", '{"y":2}']
    ])
  })

  it("D1 index 0 again with another id is another call", () => {
    const got = calls(
      call({ index: 0, id: "a", ...fn("f", '{"x":1}') }) +
        call({ index: 0, id: "b", ...fn("f", '{"x":') }) +
        call({ index: 0, function: { arguments: "2}" } })
    )
    assert.deepStrictEqual(named(got), [
      ["a", "f", '{"x":1}'],
      ["b", "f", '{"x":2}']
    ])
  })

  it("D1 neither id nor index: the latest call goes on, a name after a whole one begins another", () => {
    const got = calls(
      call(fn("f", '{"x":')) + call(fn(undefined, "1}")) + call(fn("f", '{"x":2}')) + call(fn("g", "{}"))
    )
    assert.deepStrictEqual(
      got.map((one) => [one.name, one.arguments]),
      [
        ["f", '{"x":1}'],
        ["f", '{"x":2}'],
        ["g", "{}"]
      ]
    )
  })

  it("D1 one id on two indexes is two calls", () => {
    const got = calls(call({ index: 0, id: "c", ...fn("f", "{}") }) + call({ index: 1, id: "c", ...fn("g", "{}") }))
    assert.deepStrictEqual(
      got.map((one) => one.name),
      ["f", "g"]
    )
    assert.notStrictEqual(got[0]?.id, got[1]?.id)
  })

  it("D4 a repeated name is taken once, another one is malformed", () => {
    const same = call({ index: 0, id: "a", ...fn("f", '{"x":') }) + call({ index: 0, id: "a", ...fn("f", "1}") })
    assert.deepStrictEqual(named(calls(same)), [["a", "f", '{"x":1}']])
    const other = call({ index: 0, id: "a", ...fn("f", '{"x":') }) + call({ index: 0, id: "a", ...fn("g", "1}") })
    const { reason } = failure(text(other + finished("tool_calls")))
    assert.strictEqual(reason.message, 'one tool call carries two names, "f" and "g"')
    assert.strictEqual(
      failure(text(call({ index: 0, id: "a", function: { arguments: "{}" } }) + done)).reason.message,
      "a tool call came without a name"
    )
  })

  it("D5 null and empty are absent everywhere", () => {
    const body =
      delta({ role: "", content: "t", tool_calls: null, refusal: null, reasoning: null, function_call: null }) +
      call({ index: 0, id: "a", type: null, ...fn("f", null) }) +
      call({ index: 0, id: null, type: null, ...fn(null, '{"x":1}') }) +
      call({ index: 0, id: "", ...fn("", "") }) +
      delta({ tool_calls: [null, 7, {}] })
    const got = reply(text(body + finished("tool_calls")))
    assert.strictEqual(got.text, "t")
    assert.deepStrictEqual(named(got.toolCalls), [["a", "f", '{"x":1}']])
  })

  it("a legacy function_call is a call", () => {
    const body =
      delta({ function_call: { name: "f", arguments: '{"x"' } }) + delta({ function_call: { arguments: ":1}" } })
    const got = reply(text(body + finished("function_call")))
    assert.deepStrictEqual(
      got.toolCalls.map((one) => [one.name, one.arguments]),
      [["f", '{"x":1}']]
    )
    assert.strictEqual(got.finish, "tool-calls")
  })
})

describe("ids", () => {
  it("D2 a missing, empty or unusable id gets one of ours, and the wire's is kept beside it", () => {
    for (const id of ["", undefined, "a|b/c", "x".repeat(90)]) {
      const got = reply(text(call({ index: 0, id, ...fn("f", "{}") }) + finished("tool_calls")))
      assert.strictEqual(got.toolCalls[0]?.id, "call_fresh_0")
      const kept =
        id === "" || id === undefined
          ? undefined
          : { protocol: "openai-chat", data: { callIds: [["call_fresh_0", id]] } }
      assert.deepStrictEqual(got.replay, kept)
    }
  })

  it("D11 an id that the conversation already has is not used again", () => {
    const body = call({ index: 0, id: "call_0", ...fn("f", "{}") }, { index: 1, id: "call_1", ...fn("f", "{}") })
    const got = calls(body, { taken: new Set(["call_0"]) })
    assert.deepStrictEqual(
      got.map((one) => one.id),
      ["call_fresh_0", "call_1"]
    )
  })

  it("F9 what came with a call is kept with it, once", () => {
    const extra = { google: { thought_signature: "sig" } }
    const body = call(
      { index: 0, id: "a", extra_content: extra, ...fn("f", "{}") },
      { index: 1, id: "b", ...fn("g", "{}") }
    )
    assert.deepStrictEqual(reply(text(body + finished("tool_calls"))).replay?.data, { callExtras: [["a", extra]] })
  })

  it("D14 an id is fixed at first sight", () => {
    const body = call({ index: 0, id: "a", ...fn("f", '{"x":') }) + call({ index: 0, function: { arguments: "1}" } })
    assert.deepStrictEqual(named(calls(body)), [["a", "f", '{"x":1}']])
    const late = call({ index: 0, ...fn("f", '{"x":') }) + call({ index: 0, id: "late", function: { arguments: "1}" } })
    assert.deepStrictEqual(named(calls(late)), [["late", "f", '{"x":1}']])
  })

  it("D11 a strange id is never a property name", () => {
    const got = calls(call({ index: 0, id: "__proto__", ...fn("constructor", "{}") }))
    assert.deepStrictEqual(named(got), [["__proto__", "constructor", "{}"]])
  })
})

describe("arguments", () => {
  const one = (args: unknown, how: Reading.How = {}) =>
    calls(call({ index: 0, id: "a", ...fn("f", args) }), how)[0]?.arguments
  const strict: Declaration = { name: "f", parameters: { type: "object", required: ["x"], properties: {} } }
  const free: Declaration = { name: "f", parameters: { type: "object", properties: {} } }

  it("D9 an object is accepted", () => {
    assert.strictEqual(one({ a: 1 }), '{"a":1}')
  })

  it("D9 nothing and null mean an empty object only where the schema allows one", () => {
    for (const args of ["", "null", null, undefined, "  "]) {
      assert.strictEqual(one(args, { tools: [free] }), "{}")
      assert.strictEqual(one(args, { tools: [strict] }), "null")
    }
  })

  it("D9 one level of double encoding is decoded, with a warning", () => {
    const body = call({ index: 0, id: "a", ...fn("f", JSON.stringify('{"a":1}')) })
    const got = reply(text(body + finished("tool_calls")))
    assert.strictEqual(got.toolCalls[0]?.arguments, '{"a":1}')
    assert.deepStrictEqual(got.warnings, ["the arguments of f were encoded twice"])
  })

  it("D9 anything else stays what it is: JSON that is no object, or a text that no tool accepts", () => {
    assert.strictEqual(one("[1]"), "[1]")
    assert.strictEqual(one('{"a":NaN}'), JSON.stringify('{"a":NaN}'))
    assert.strictEqual(one('{"a":1'), JSON.stringify('{"a":1'))
  })

  it("D10 arguments cut inside an escape are never repaired, and partial when the reply was cut short", () => {
    for (const word of ["length", "content_filter", "error"]) {
      const got = reply(text(call({ index: 0, id: "a", ...fn("f", '{"p":"C:\\\\u12') }) + finished(word)))
      assert.deepStrictEqual(got.toolCalls, [])
      assert.deepStrictEqual(got.partialCalls, [{ id: "a", name: "f", arguments: '{"p":"C:\\\\u12' }])
    }
    assert.strictEqual(one('{"p":"C:\\\\Users\\\\unicorn"}'), '{"p":"C:\\\\Users\\\\unicorn"}')
  })

  it("D6 cumulative fragments are taken as such only where that was set, and never guessed", () => {
    const body = ['{"a"', '{"a":', '{"a":1}'].map((args) => call({ index: 0, id: "a", ...fn("f", args) })).join("")
    assert.strictEqual(calls(body, { cumulative: true })[0]?.arguments, '{"a":1}')
    const guess = reply(text(body + finished("tool_calls")))
    assert.deepStrictEqual([guess.toolCalls.length, guess.partialCalls.length], [0, 1])
    assert.deepStrictEqual(guess.warnings, [
      "the arguments of f look cumulative: set cumulativeArguments for this backend"
    ])
  })

  it("D7 a prefix that parses is not the call", () => {
    const body =
      call({ index: 0, id: "a", ...fn("f", '{"cmd":"ls"}') }) +
      call({ index: 0, function: { arguments: ',"cwd":"/"}' } })
    assert.strictEqual(calls(body)[0]?.arguments, JSON.stringify('{"cmd":"ls"},"cwd":"/"}'))
    const early = call({ index: 0, id: "a", ...fn("f", '{"cmd":"ls"}') }) + delta({}, "tool_calls")
    const late = early + call({ index: 1, id: "b", ...fn("g", "{}") }) + finished("tool_calls")
    assert.lengthOf(reply(text(late)).toolCalls, 2)
  })

  it("D13 a call of a tool that was never offered is passed on as it was written", () => {
    const got = calls(call({ index: 0, id: "a", ...fn("no such tool", "{}") }), { tools: [strict] })
    assert.deepStrictEqual(named(got), [["a", "no such tool", "{}"]])
  })

  it("tool arguments stream for display, under the position of their call", () => {
    const got = read([
      Buffer.from(
        content("t") +
          call({ index: 4, id: "a", ...fn("f", '{"x"') }) +
          call({ index: 4, function: { arguments: ":1}" } }) +
          call({ index: 9, id: "b", ...fn("g", "{}") }) +
          event({ choices: [] })
      )
    ])
    assert.deepStrictEqual(got.chunks, [
      { _tag: "Text", text: "t" },
      { _tag: "ToolArguments", index: 0, name: "f", text: '{"x":1}' },
      { _tag: "ToolArguments", index: 1, name: "g", text: "{}" }
    ])
  })
})
