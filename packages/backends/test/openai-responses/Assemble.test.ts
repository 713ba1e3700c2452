/** Responses streams by hand: every odd shape, and what is concluded from it. */
import type { Declaration } from "@settle/core/model/Tool"
import { assert, describe, it } from "@effect/vitest"
import { ended, event, failure, reply, start, streamed, text, thought, toolCall, words } from "./Reading.ts"

const needsPath: Declaration = {
  name: "read",
  parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] }
}

const added = (output_index: number, item: object) => event("output_item.added", { output_index, item })
const done = (output_index: number, item: object) => event("output_item.done", { output_index, item })

const look = { id: "call_1", name: "look" }

describe("calls", () => {
  it("D1 D7 arguments come in pieces, side by side, and are whole when their item is", () => {
    const delta = (output_index: number, delta: string) =>
      event("function_call_arguments.delta", { output_index, item_id: `other_${delta}`, delta })
    const call = (n: number) => ({ type: "function_call", id: `fc_${n}`, call_id: `call_${n}`, name: "read" })
    const body =
      start() +
      added(0, { ...call(0), arguments: "" }) +
      added(1, { ...call(1), arguments: "" }) +
      delta(0, '{"path":') +
      delta(1, '{"path":"b') +
      delta(0, '"a"}') +
      delta(1, '"}') +
      done(1, { ...call(1), id: "fc_x", arguments: '{"path":"b"}' }) +
      done(0, { ...call(0), id: "fc_y", arguments: '{"path":"a"}' }) +
      ended()
    const { finish, finishReason, replay, toolCalls, warnings } = reply(text(body))
    assert.deepStrictEqual(
      toolCalls.map((one) => [one.id, one.arguments]),
      [
        ["call_0", '{"path":"a"}'],
        ["call_1", '{"path":"b"}']
      ]
    )
    assert.deepStrictEqual([finish, finishReason, warnings, replay], ["tool-calls", "completed", [], undefined])
  })

  it("D9 a call without pieces is what its end says: of its arguments, of its item or of the whole response", () => {
    const call = { type: "function_call", id: "fc_1", call_id: "call_1", name: "look" }
    const whole = { ...call, arguments: '{"a":1}' }
    const bodies = [
      added(0, { ...call, arguments: "" }) +
        event("function_call_arguments.done", { output_index: 0, item_id: "fc_9", arguments: '{"a":1}' }) +
        done(0, whole) +
        ended(),
      done(0, whole) + ended(),
      added(0, call) + ended({ output: [{ ...whole, id: "fc_other" }] }),
      ended({ output: [whole] })
    ]
    for (const body of bodies) {
      const read = text(start() + body)
      assert.deepStrictEqual(reply(read).toolCalls, [{ id: "call_1", name: "look", arguments: '{"a":1}' }])
      assert.deepStrictEqual(
        read.chunks.filter((chunk) => chunk._tag === "ToolArguments"),
        [{ _tag: "ToolArguments", index: 0, name: "look", text: '{"a":1}' }]
      )
    }
  })

  it("D9 a call without arguments is an empty object, unless its tool needs some", () => {
    const body = start() + toolCall(0, { id: "call_1", name: "read" }) + ended()
    assert.strictEqual(reply(text(body)).toolCalls[0]?.arguments, "{}")
    assert.strictEqual(reply(text(body, { tools: [needsPath] })).toolCalls[0]?.arguments, "null")
  })

  it("D11 D2 bare counters are ids of ours where the conversation knows them, or the reply says one twice", () => {
    const body = start() + toolCall(0, { id: "call_0", name: "a" }) + toolCall(1, { id: "call_1", name: "b" }) + ended()
    const ids = (taken: ReadonlyArray<string>) =>
      reply(text(body, { taken: new Set(taken) })).toolCalls.map((call) => call.id)
    assert.deepStrictEqual(ids([]), ["call_0", "call_1"])
    assert.deepStrictEqual(ids(["call_0"]), ["call_fresh_0", "call_1"])
    const twice = start() + toolCall(0, look, "{}") + toolCall(1, look, '{"n":1}') + ended()
    assert.deepStrictEqual(
      reply(text(twice)).toolCalls.map((call) => [call.id, call.arguments]),
      [
        ["call_1", "{}"],
        ["call_fresh_1", '{"n":1}']
      ]
    )
  })

  it("D2 D7 without an index the id ties the events, and without both the latest call", () => {
    const call = (id: string) => ({ type: "function_call", id, call_id: `call_${id}`, name: "look" })
    const bare = (type: string, data: object) => event(type, data)
    const body =
      start() +
      bare("output_item.added", { item: call("a") }) +
      bare("output_item.added", { item: call("b") }) +
      bare("function_call_arguments.delta", { item_id: "a", delta: '{"n":' }) +
      bare("function_call_arguments.delta", { delta: '{"m":2}' }) +
      bare("function_call_arguments.delta", { item_id: "a", delta: "1}" }) +
      bare("output_item.done", { item: { ...call("a"), arguments: '{"n":1}' } }) +
      bare("output_item.done", { item: { ...call("b"), arguments: '{"m":2}' } }) +
      ended()
    assert.deepStrictEqual(
      reply(text(body)).toolCalls.map((one) => [one.id, one.arguments]),
      [
        ["call_a", '{"n":1}'],
        ["call_b", '{"m":2}']
      ]
    )
  })

  it("D9 the input of a call of free text is that text, as JSON, and goes back as it was", () => {
    const item = { type: "custom_tool_call", id: "ctc_1", call_id: "call_1", name: "note" }
    const delta = (delta: string) => event("custom_tool_call_input.delta", { output_index: 0, delta })
    const given = 'line "one"\nline two'
    const body =
      start() +
      added(0, { ...item, input: "" }) +
      delta("line ") +
      delta('"one"\nline two') +
      event("custom_tool_call_input.done", { output_index: 0, input: given }) +
      done(0, { ...item, input: given }) +
      ended()
    const { replay, toolCalls } = reply(text(body))
    assert.deepStrictEqual(toolCalls, [{ id: "call_1", name: "note", arguments: JSON.stringify(given) }])
    assert.deepStrictEqual(replay?.data, { items: [{ call: 0, custom: true }] })
  })

  it("D10 X-WIRE-03 what a length cut is partial; what says that it ended and never closed its call is no reply", () => {
    const item = { type: "function_call", id: "fc_1", call_id: "call_1", name: "write" }
    const open =
      start() +
      added(0, { ...item, arguments: "" }) +
      event("function_call_arguments.delta", { output_index: 0, delta: '{"content":"to be con' })
    const cut = event("incomplete", {
      response: { status: "incomplete", incomplete_details: { reason: "max_output_tokens" }, output: [] }
    })
    const { finish, finishReason, partialCalls, toolCalls } = reply(text(open + cut))
    assert.deepStrictEqual(
      [finish, finishReason, toolCalls, partialCalls],
      ["length", "incomplete", [], [{ id: "call_1", name: "write", arguments: '{"content":"to be con' }]]
    )
    assert.strictEqual(failure(text(open + ended())).reason.message, "a tool call was never closed")
  })

  it("D7 a whole that contradicts its pieces is what counts, with a warning", () => {
    const item = { type: "function_call", id: "fc_1", call_id: "call_1", name: "look" }
    const body =
      start() +
      added(0, item) +
      event("function_call_arguments.delta", { output_index: 0, delta: '{"a": 1' }) +
      done(0, { ...item, arguments: '{"a":1}' }) +
      ended()
    const { toolCalls, warnings } = reply(text(body))
    assert.strictEqual(toolCalls[0]?.arguments, '{"a":1}')
    assert.deepStrictEqual(warnings, ["the pieces of a function_call are not what the server says it is as a whole"])
  })

  it("D9 S13 arguments may come as an object, and one nested without end breaks nothing", () => {
    const item = { type: "function_call", id: "fc_1", call_id: "call_1", name: "look", arguments: { a: 1 } }
    assert.strictEqual(reply(text(start() + done(0, item) + ended())).toolCalls[0]?.arguments, '{"a":1}')
    const deep = done(0, item).replace('{"a":1}', `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`)
    assert.lengthOf(reply(text(start() + deep + ended())).toolCalls, 1)
  })

  it("D4 a call that has no name by its end is no call", () => {
    const body = start() + done(0, { type: "function_call", call_id: "c", arguments: "{}" }) + ended()
    assert.strictEqual(failure(text(body)).reason.message, "a tool call came without a name")
  })
})

describe("text and reasoning", () => {
  it("text comes in pieces, in the part's end, the item's or the whole response's, and once", () => {
    const message = (text: string) => ({ type: "message", id: "m", content: [{ type: "output_text", text }] })
    const delta = (delta: string) => event("output_text.delta", { output_index: 0, content_index: 0, delta })
    const bodies = [
      delta("Hel") + delta("lo") + event("output_text.done", { output_index: 0, content_index: 0, text: "Hello" }),
      delta("Hel") + event("content_part.done", { output_index: 0, part: { type: "output_text", text: "Hello" } }),
      delta("Hel") + done(0, message("Hello")),
      done(0, message("Hello")),
      ""
    ]
    for (const body of bodies) {
      const read = text(start() + body + ended({ output: [message("Hello")] }))
      assert.deepStrictEqual([reply(read).text, streamed(read)], ["Hello", "Hello"])
      assert.deepStrictEqual(reply(read).warnings, [])
    }
  })

  it("F9 summaries and raw reasoning are reasoning, and one that comes as both is told once", () => {
    const both =
      start() +
      event("reasoning_summary_text.delta", { output_index: 0, summary_index: 0, delta: "In short" }) +
      event("reasoning_text.delta", { output_index: 0, content_index: 0, delta: "At length" }) +
      words(1, "4") +
      ended()
    assert.deepStrictEqual([reply(text(both)).reasoning, reply(text(both)).text], ["In short", "4"])
    const raw = thought(0, { content: [{ type: "reasoning_text", text: "Hm." }] })
    const { reasoning, replay } = reply(text(start() + raw + words(1, "4") + ended()))
    assert.strictEqual(reasoning, "Hm.")
    assert.deepStrictEqual(replay?.data, {
      items: [
        { type: "reasoning", id: "rs_0", summary: [], content: [{ type: "reasoning_text", text: "Hm." }] },
        { type: "message", role: "assistant", content: [{ type: "output_text", text: "4" }] }
      ]
    })
  })

  it("F8 F9 encrypted reasoning and the phase of a message are kept; a thought that led to nothing is not", () => {
    const secret = thought(0, { encrypted_content: "c2VjcmV0" })
    const body = start() + secret + toolCall(1, look, "{}") + thought(2, { encrypted_content: "b3JwaGFu" }) + ended()
    assert.deepStrictEqual(reply(text(body)).replay?.data, {
      items: [{ type: "reasoning", id: "rs_0", summary: [], encrypted_content: "c2VjcmV0" }, { call: 0 }]
    })
    const unreadable = start() + thought(0) + words(1, "hi") + ended()
    assert.isUndefined(reply(text(unreadable)).replay)
    const phased = done(0, { type: "message", phase: "commentary", content: [{ type: "output_text", text: "hm" }] })
    assert.deepStrictEqual(reply(text(start() + phased + ended())).replay?.data, {
      items: [
        {
          type: "message",
          role: "assistant",
          content: [{ type: "output_text", text: "hm" }],
          phase: "commentary"
        }
      ]
    })
  })

  it("X-WIRE-04 a refusal is what the model answers, with a warning", () => {
    const body =
      start() +
      event("refusal.delta", { output_index: 0, content_index: 0, delta: "I can" }) +
      done(0, { type: "message", content: [{ type: "refusal", refusal: "I cannot." }] }) +
      ended()
    const { finish, text: said, warnings } = reply(text(body))
    assert.deepStrictEqual([said, finish], ["I cannot.", "stop"])
    assert.deepStrictEqual(warnings, ["the model refused; its words are the text of the reply"])
  })

  it("X-WIRE-04 what the server's own tools did is kept, told and never a call", () => {
    const search = { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: "q" } }
    const { replay, toolCalls, warnings } = reply(text(start() + done(0, search) + words(1, "found") + ended()))
    assert.deepStrictEqual([toolCalls, warnings], [[], ["the provider ran 1 tools of its own"]])
    assert.include(JSON.stringify(replay?.data), JSON.stringify(search))
  })
})

describe("ends", () => {
  const incomplete = (reason: string) =>
    event("incomplete", { response: { status: "incomplete", incomplete_details: { reason }, output: [] } })

  it("X-WIRE-03 an incomplete response says why", () => {
    const finishes = [
      ["max_output_tokens", "length"],
      ["content_filter", "content-filter"],
      ["something_new", "unknown"]
    ] as const
    for (const [reason, finish] of finishes) {
      const { finish: found, warnings } = reply(text(start() + words(0, "a") + incomplete(reason)))
      assert.strictEqual(found, finish)
      const told = finish === "unknown" ? [`the response ended for a reason that is not known: ${reason}`] : []
      assert.deepStrictEqual(warnings, told)
    }
  })

  it("S8 X-WIRE-01 a body that just stops is a cut, whatever it brought", () => {
    const cut = failure(text(start() + words(0, "partial")))
    assert.strictEqual(cut.reason.message, "the stream ended after 7 characters, without response.completed or [DONE]")
    const call = failure(text(start() + toolCall(0, look, "{}")))
    assert.isTrue(call.reason._tag === "BadResponse" && call.reason.problem === "cut")
    const nothing = "the stream ended before any event, without response.completed or [DONE]"
    assert.strictEqual(failure(text("")).reason.message, nothing)
    const broken = failure(text(start() + words(0, "ab"), { ending: { _tag: "Broken", detail: "reset" } }))
    assert.strictEqual(broken.reason.message, "the connection broke after 2 characters: reset")
  })

  it("S8 [DONE] alone is an end, with a warning", () => {
    const { finish, finishReason, warnings } = reply(text(start() + words(0, "a") + "data: [DONE]\n\n"))
    assert.deepStrictEqual([finish, finishReason], ["stop", undefined])
    assert.deepStrictEqual(warnings, ["the stream ended with [DONE] and no whole response"])
  })

  it("S9 X-WIRE-02 an error event, or a response that failed, is the HTTP error it names", () => {
    const failed = (code: string) =>
      event("failed", { response: { status: "failed", error: { code, message: "no" }, usage: { input_tokens: 3 } } })
    const bare = (data: object) => `event: error\ndata: ${JSON.stringify({ type: "error", ...data })}\n\n`
    const cases = [
      [failed("server_error"), 500],
      [failed("rate_limit_exceeded"), 429],
      [failed("insufficient_quota"), 429],
      [bare({ code: "rate_limit_exceeded", message: "no" }), 429],
      [bare({ error: { type: "invalid_request_error", message: "no" } }), 400],
      [`data: {"error":{"code":503,"message":"no"}}\n\n`, 503],
      [`event: error\ndata: overloaded\n\n`, 500]
    ] as const
    for (const [body, status] of cases) {
      const { reason } = failure(text(start() + words(0, "half") + body))
      assert.strictEqual(reason._tag === "Refused" && reason.inStream ? reason.status : reason.message, status)
    }
    assert.deepStrictEqual(failure(text(start() + failed("server_error"))).usage, { promptTokens: 3 })
    const silent = failure(text(event("failed", { response: { status: "failed", error: null } })))
    assert.include(silent.reason.message, "the server says that the response was failed, and not why")
  })

  it("S2 a data line before its event line, comments and pings are read as they are meant", () => {
    const swapped = (start() + words(0, "a") + ended())
      .split("\n\n")
      .map((block) => block.split("\n").reverse().join("\n"))
      .join("\n\n")
    assert.strictEqual(reply(text(`: hi\n\n${swapped}`)).text, "a")
    const pinged = text(start() + "event: keepalive\ndata: {}\n\n" + words(0, "a") + ended())
    assert.deepStrictEqual([reply(pinged).text, reply(pinged).warnings], ["a", []])
  })

  it("S13 events that nobody knows are passed over, frames that cannot be read are told, or fatal beside a call", () => {
    const odd = event("something.new", { x: 1 })
    assert.deepStrictEqual(reply(text(start() + odd + words(0, "a") + ended())).warnings, [])
    const junk = "data: {broken\n\n"
    assert.deepStrictEqual(reply(text(start() + junk + words(0, "a") + ended())).warnings, [
      "1 frames of the stream were not JSON and were skipped"
    ])
    assert.include(
      failure(text(start() + junk + toolCall(0, look, "{}") + ended())).reason.message,
      "a piece of a tool"
    )
  })

  it("X-WIRE-04 one JSON body instead of a stream is the same reply, and one that is none says so", () => {
    const whole = {
      object: "response",
      status: "completed",
      model: "m",
      output: [{ type: "message", content: [{ type: "output_text", text: "Hi" }] }],
      usage: { input_tokens: 1, output_tokens: 2 }
    }
    const { finish, modelUsed, text: said, usage } = reply(text(JSON.stringify(whole)))
    assert.deepStrictEqual([said, finish, modelUsed], ["Hi", "stop", "m"])
    assert.deepStrictEqual(usage, { promptTokens: 1, completionTokens: 2 })
    const failed = failure(text(JSON.stringify({ error: { message: "bad", type: "invalid_request_error" } })))
    assert.isTrue(failed.reason._tag === "Refused" && failed.reason.status === 400)
    const wrong = failure(text(`{"hello":"world"}`)).reason.message
    assert.strictEqual(wrong, 'the server answered with JSON that is no response: {"hello":"world"}. Check baseUrl')
  })

  it("F5 usage is kept whatever the end, and what is absent stays absent", () => {
    const usage = {
      input_tokens: 5,
      input_tokens_details: { cached_tokens: 4 },
      output_tokens: 6,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 11
    }
    assert.deepStrictEqual(reply(text(start() + words(0, "a") + ended({ usage }))).usage, {
      promptTokens: 5,
      completionTokens: 6,
      totalTokens: 11,
      cachedPromptTokens: 4,
      reasoningTokens: 2
    })
    assert.isUndefined(reply(text(start() + words(0, "a") + ended({ usage: null }))).usage)
  })

  it("X-WIRE-04 a reply that is too long is not collected for ever", () => {
    const { reason } = failure(text(start() + words(0, "x".repeat(100)), { maxReplySize: 50 }))
    assert.strictEqual(reason.message, "the reply is longer than 50 characters")
  })
})
