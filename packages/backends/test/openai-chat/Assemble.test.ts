import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type * as BodyReader from "../../src/BodyReader.ts"
import * as Assemble from "../../src/openai-chat/Assemble.ts"
import { call, content, delta, done, event, failure, finished, read, reply, streamed, text } from "./Reading.ts"

const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 }
const used = { promptTokens: 10, completionTokens: 2, totalTokens: 12 }

const wholeCall = call({ index: 0, id: "call_1", function: { name: "f", arguments: '{"a":1}' } })

describe("ends", () => {
  it("S8 X-WIRE-01 text, then EOF without a finish reason: cut, with the usage that came", () => {
    const got = failure(text(content("Hello") + event({ choices: [], usage })))
    assert.deepStrictEqual([got.reason._tag, got.usage], ["BadResponse", used])
    assert.strictEqual(got.reason.message, "the stream ended after 5 characters, without a finish reason or [DONE]")
  })

  it("S8 X-WIRE-01 metadata only, a whole call, and nothing at all, then EOF: all cut", () => {
    for (const body of [delta({ role: "assistant" }), wholeCall, "", ": ping\n\n"]) {
      const { reason } = failure(text(body))
      assert.deepStrictEqual([reason._tag, reason._tag === "BadResponse" && reason.problem], ["BadResponse", "cut"])
    }
  })

  it("S8 [DONE] without a finish reason is an end: the reason is derived, with one warning", () => {
    const plain = reply(text(content("Hello") + done))
    assert.deepStrictEqual([plain.text, plain.finish, plain.finishReason], ["Hello", "stop", undefined])
    assert.deepStrictEqual(plain.warnings, ["the stream ended with [DONE] and no finish reason"])
    const calling = reply(text(wholeCall + done))
    assert.deepStrictEqual([calling.finish, calling.toolCalls.length], ["tool-calls", 1])
  })

  it("S8 a call that is not whole before such a [DONE] stays partial", () => {
    const got = reply(text(call({ index: 0, id: "c", function: { name: "f", arguments: '{"a":' } }) + done))
    assert.deepStrictEqual(got.toolCalls, [])
    assert.deepStrictEqual(got.partialCalls, [{ id: "c", name: "f", arguments: '{"a":' }])
  })

  it("S8 a finish reason and EOF is an end that is not plain", () => {
    const got = reply(text(content("Hello") + delta({}, "stop")))
    assert.deepStrictEqual(got.warnings, ["the stream ended without [DONE]"])
  })

  it("X-WIRE-01 a connection that breaks after the finish reason is still a cut; after [DONE] it is not", () => {
    const ending: BodyReader.Ending = { _tag: "Broken", detail: "h:1 closed the connection in the middle" }
    const cut = failure(text(content("Hello") + delta({}, "stop"), { ending }))
    assert.include(cut.reason.message, "the connection broke after 5 characters: h:1 closed")
    assert.strictEqual(reply(text(content("Hello") + finished("stop"), { ending })).text, "Hello")
  })

  it("F1 calls come with whatever finish reason there was", () => {
    for (const [word, finish] of [
      ["stop", "stop"],
      ["other", "unknown"],
      ["tool_calls", "tool-calls"]
    ] as const) {
      const got = reply(text(wholeCall + finished(word)))
      assert.deepStrictEqual([got.finish, got.finishReason, got.toolCalls.length], [finish, word, 1])
    }
  })

  it("F3 X-WIRE-03 length, content_filter and error are told apart from a proper end", () => {
    for (const [word, finish] of [
      ["length", "length"],
      ["content_filter", "content-filter"],
      ["error", "error"],
      ["insufficient_system_resource", "error"],
      ["model_context_window_exceeded", "context-window"],
      ["eos", "stop"],
      ["function_call", "tool-calls"],
      ["something_new", "unknown"]
    ] as const) {
      assert.strictEqual(Assemble.finishOf(word), finish)
      assert.strictEqual(reply(text(wholeCall + finished(word))).finish, finish)
    }
  })

  it("F2 a finish of tool_calls without a call is reported as it is", () => {
    const got = reply(text(delta({ content: "" }) + finished("tool_calls")))
    assert.deepStrictEqual([got.text, got.toolCalls, got.finish], ["", [], "tool-calls"])
  })
})

describe("frames", () => {
  it("S4 a comment as data is a counted warning, fatal only if nothing valid follows", () => {
    const got = reply(text("data: : PROCESSING\n\n" + content("a") + "data: : PROCESSING\n\n" + finished("stop")))
    assert.deepStrictEqual([got.text, got.warnings], ["a", ["2 frames of the stream were not JSON and were skipped"]])
    assert.include(
      failure(text(content("a") + "data: : PROCESSING\n\n")).reason.message,
      "1 of its frames could not be read"
    )
    const last = failure(text(content("a") + delta({}, "stop") + "data: {bro\n\n"))
    assert.strictEqual(last.reason.message, "the last frame of the stream could not be read")
  })

  it("S4 a lost frame beside tool calls is never a reply: the hole may be in their arguments", () => {
    const hole = 'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"argum\n\n'
    const got = failure(text(wholeCall + hole + finished("tool_calls")))
    assert.include(got.reason.message, "may have held a piece of a tool call")
    assert.strictEqual(reply(text(content("a") + hole + finished("stop"))).text, "a")
  })

  it("S11 a read of nothing but comments is a sign of life, one with content is its content", () => {
    const got = read([": x\n\n", content("a"), ": y\n\n: z\n\n", finished("stop")].map((part) => Buffer.from(part)))
    assert.deepStrictEqual(
      got.chunks.map((chunk) => chunk._tag),
      // the event that ends the reply brings nothing to show
      ["Alive", "Text", "Alive", "Alive"]
    )
  })

  it("S13 chunks without choices, with null and with empty ones are metadata", () => {
    const odd =
      event({ id: "x" }) + event({ choices: null, usage }) + event({ choices: [] }) + event({ choices: [null] })
    const got = reply(text(odd + content("a") + event({ choices: [{ index: 0 }] }) + finished("stop")))
    assert.deepStrictEqual([got.text, got.usage, got.warnings], ["a", used, []])
  })

  it("S6 an event or a reply beyond its bound is too large", () => {
    const event = failure(text(content("x".repeat(2000)) + finished("stop"), { maxEventSize: 1000 }))
    assert.match(event.reason.message, /longer than 1000 characters\. Raise maxEventSize/)
    const whole = failure(text(content("x".repeat(600)).repeat(2) + finished("stop"), { maxReplySize: 1000 }))
    assert.strictEqual(whole.reason.message, "the reply is longer than 1000 characters")
  })

  it("S6 calls and kept details are bounded as well", () => {
    const calls = Array.from({ length: 5000 }, (_, index) =>
      call({ index, id: `c${index}`, function: { name: "f", arguments: "{}" } })
    )
    assert.strictEqual(
      failure(text(calls.join("") + finished("tool_calls"))).reason.message,
      "the reply holds more than 4096 tool calls"
    )
    const detail = delta({ reasoning_details: [{ type: "reasoning.encrypted", data: "z".repeat(400) }] })
    assert.strictEqual(
      failure(text(detail.repeat(5) + finished("stop"), { maxReplySize: 1000 })).reason.message,
      "the reply is longer than 1000 characters"
    )
  })

  it("S3 a body that ends inside a character is cut", () => {
    const body = Buffer.from(content("a") + "data: 🙂")
    assert.include(failure(read([body.subarray(0, body.length - 1)])).reason.message, "ended inside a character")
  })

  it("X-SAFE-01 no chunk and no text holds half a character, however the halves came", () => {
    const pieces = [content("a\ud83d"), content("\ude42b"), content("\ud83d"), finished("stop")]
    const got = read(pieces.map((piece) => Buffer.from(piece)))
    assert.strictEqual(reply(got).text, "a🙂b\uFFFD")
    assert.strictEqual(streamed(got), "a🙂b\uFFFD")
    for (const chunk of got.chunks) assert.isTrue(chunk._tag !== "Text" || chunk.text.isWellFormed())
  })

  it("n=2: only choice 0 counts", () => {
    const other = event({ choices: [{ index: 1, delta: { content: "X" }, finish_reason: null }] })
    assert.strictEqual(reply(text(content("a") + other + content("b") + other + finished("stop"))).text, "ab")
  })
})

describe("errors that the server sends", () => {
  it("S9 X-WIRE-02 an error in a 200 stream has the status it names", () => {
    for (const [error, status, code] of [
      [{ code: "rate_limit", message: "slow down" }, 429, "rate_limit"],
      [{ type: "overloaded_error", message: "slow down" }, 529, "overloaded_error"],
      [{ type: "server_error", message: "slow down" }, 500, "server_error"],
      [{ code: "context_length_exceeded", message: "slow down" }, 400, "context_length_exceeded"],
      [{ code: "insufficient_quota", message: "slow down" }, 429, "insufficient_quota"],
      [{ code: "invalid_api_key", message: "slow down" }, 401, "invalid_api_key"],
      [{ code: 503, message: "slow down" }, 503, undefined],
      [{ status_code: 400, code: "tool_use_failed", message: "slow down" }, 400, "tool_use_failed"],
      [{ message: "slow down" }, 500, undefined]
    ] as const) {
      const { reason } = failure(text(content("a") + event({ error })))
      if (reason._tag !== "Refused") return assert.fail(reason._tag)
      assert.deepStrictEqual(
        [reason.status, reason.code, reason.detail, reason.inStream],
        [status, code, "slow down", true]
      )
    }
  })

  it("S9 an error event, an error line, bare JSON and an error in the choice are all errors", () => {
    const bodies = [
      'event: error\ndata: {"error":{"message":"boom"}}\n\n',
      'event: error\ndata: {"message":"boom"}\n\n',
      "event: error\ndata: boom\n\n",
      'error: {"detail":"boom"}\n',
      '{"error":"boom"}\n',
      event({ error: "boom" }),
      event({ object: "error", message: "boom" }),
      event({ choices: [{ index: 0, delta: { content: "" }, finish_reason: "error", error: { message: "boom" } }] })
    ]
    for (const body of bodies) {
      const { reason } = failure(text(content("a") + body + done))
      assert.deepStrictEqual([reason._tag, reason.message], ["Refused", "error in the stream, as HTTP 500: boom"], body)
    }
  })

  it("S9 usage that came before the error is kept", () => {
    assert.deepStrictEqual(failure(text(event({ choices: [], usage }) + event({ error: "x" }))).usage, used)
  })

  it("S9 an error after length says nothing new, after anything else it counts", () => {
    const error = event({ error: { code: 400, message: "Token limit reached" } })
    const got = reply(text(content("a") + delta({}, "length") + error))
    assert.deepStrictEqual([got.finish, got.text], ["length", "a"])
    assert.include(got.warnings, "an error came after the end: Token limit reached")
    assert.strictEqual(failure(text(content("a") + delta({}, "stop") + error)).reason._tag, "Refused")
  })

  it("S9 what follows [DONE] is not read", () => {
    assert.strictEqual(reply(text(content("a") + finished("stop") + event({ error: "late" }))).text, "a")
  })
})

describe("whole bodies", () => {
  it("X-WIRE-04 a whole JSON body instead of a stream is accepted", () => {
    const body = JSON.stringify({
      model: "m",
      choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
      usage
    })
    const got = text(`\n${body}`)
    assert.deepStrictEqual([reply(got).text, reply(got).usage, reply(got).warnings], ["Hi", used, []])
    assert.strictEqual(streamed(got), "Hi")
  })

  it("X-WIRE-01 a whole body that is cut, a page and nonsense are no replies", () => {
    assert.isTrue(Result.isFailure(text('{"choices":[{"message":{"content":"Hi"},"finish_re').result))
    assert.strictEqual(
      failure(text('{"hello":1}')).reason.message,
      'the server answered with JSON that is no chat completion: {"hello":1}. Check baseUrl'
    )
    assert.isTrue(Result.isFailure(text("[]").result))
    const page = failure(text("<!doctype html><html><title>502 Bad Gateway</title></html>"))
    assert.strictEqual(
      page.reason.message,
      'the server answered with an HTML page titled "502 Bad Gateway". Check baseUrl'
    )
  })

  it("X-WIRE-02 a whole error body with status 200 is refused as it says", () => {
    const { reason } = failure(text(JSON.stringify({ error: { code: "content_filter", message: "no", status: 400 } })))
    assert.deepStrictEqual(reason._tag === "Refused" && [reason.status, reason.code], [400, "content_filter"])
  })
})

describe("usage", () => {
  it("F5 in the middle, in the choice, in x_groq, alone at the end: the last that says anything wins", () => {
    const last = { prompt_tokens: 11 }
    const places = [
      event({ choices: [{ index: 0, delta: {} }], usage: last }),
      event({ choices: [{ index: 0, delta: {}, usage: last }] }),
      event({ choices: [], x_groq: { usage: last } }),
      event({ choices: [], usage: last })
    ]
    for (const place of places) {
      const got = reply(
        text(
          event({ choices: [], usage }) + content("a") + place + event({ choices: [], usage: null }) + finished("stop")
        )
      )
      assert.deepStrictEqual(got.usage, { promptTokens: 11 })
    }
  })

  it("F5 absent is not zero, and zero is not absent", () => {
    assert.isUndefined(reply(text(content("a") + finished("stop"))).usage)
    assert.isUndefined(reply(text(event({ choices: [], usage: {} }) + content("a") + finished("stop"))).usage)
    const zero = reply(text(event({ choices: [], usage: { prompt_tokens: 0 } }) + finished("stop")))
    assert.deepStrictEqual(zero.usage, { promptTokens: 0 })
  })

  it("F5 cost and cached tokens under every name", () => {
    const of = (given: unknown) => reply(text(event({ choices: [], usage: given }) + finished("stop"))).usage
    assert.strictEqual(of({ cost: 0.5 })?.cost, 0.5)
    assert.strictEqual(of({ cost: { total_cost: 0.25 } })?.cost, 0.25)
    assert.closeTo(of({ cost_in_usd_ticks: 1_330_500 })?.cost ?? 0, 0.00013305, 1e-12)
    for (const cached of [
      { prompt_tokens_details: { cached_tokens: 7 } },
      { prompt_cache_hit_tokens: 7 },
      { cached_tokens: 7 },
      { cache_read_input_tokens: 7 }
    ]) {
      assert.strictEqual(of(cached)?.cachedPromptTokens, 7)
    }
    assert.strictEqual(of({ completion_tokens_details: { reasoning_tokens: 3 } })?.reasoningTokens, 3)
    assert.isUndefined(of({ prompt_tokens: -1, total_tokens: "12" }))
  })
})

describe("reasoning", () => {
  it("F8 F9 reasoning under two names at once counts once and keeps its field of origin", () => {
    const both = (part: string) =>
      delta({
        reasoning: part,
        reasoning_content: part,
        reasoning_details: [{ type: "reasoning.text", text: part, index: 0 }]
      })
    const got = reply(text(both("th") + both("ink") + content("a") + finished("stop")))
    assert.strictEqual(got.reasoning, "think")
    assert.deepStrictEqual(got.replay, {
      protocol: "openai-chat",
      data: {
        field: "reasoning_content",
        text: "think",
        details: [{ type: "reasoning.text", text: "think", index: 0 }]
      }
    })
  })

  it("F7 F8 each name alone, and thinking parts of the content, are reasoning and not text", () => {
    for (const said of [
      { reasoning: "r" },
      { reasoning_content: "r" },
      { reasoning_details: [{ type: "reasoning.summary", summary: "r" }] },
      { content: [{ type: "thinking", thinking: [{ type: "text", text: "r" }] }] }
    ]) {
      const got = text(delta(said) + finished("stop"))
      assert.deepStrictEqual([reply(got).reasoning, reply(got).text], ["r", ""])
      assert.deepStrictEqual(got.chunks, [{ _tag: "Reasoning", text: "r" }])
    }
  })

  it("F8 a reply without reasoning carries nothing to replay", () => {
    assert.isUndefined(reply(text(content("a") + finished("stop"))).replay)
  })

  it("a refusal is the text of the reply", () => {
    const got = text(delta({ content: null, refusal: "I can" }) + delta({ refusal: "not" }) + finished("stop"))
    assert.deepStrictEqual([reply(got).text, streamed(got)], ["I cannot", "I cannot"])
    assert.lengthOf(reply(got).warnings, 1)
  })
})
