/** Messages streams by hand: every odd shape, and what is concluded from it. */
import type { Declaration } from "@settle/core/model/Tool"
import { assert, describe, it } from "@effect/vitest"
import { block, ended, event, failure, reply, start, streamed, text, toolUse, words } from "./Reading.ts"

const needsPath: Declaration = {
  name: "read",
  parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] }
}

describe("calls", () => {
  it("D9 a call without arguments brings an empty fragment only, and is an empty object", () => {
    const read = text(start() + toolUse(0, "toolu_1", "look", "") + ended("tool_use"))
    assert.deepStrictEqual(reply(read).toolCalls, [{ id: "toolu_1", name: "look", arguments: "{}" }])
    const required = text(start() + toolUse(0, "toolu_1", "read", "") + ended("tool_use"), { tools: [needsPath] })
    assert.strictEqual(reply(required).toolCalls[0]?.arguments, "null")
  })

  it("D7 arguments come in pieces, or whole with the block's start, and are what they are", () => {
    const pieces = toolUse(1, "toolu_1", "read", "", '{"pa', 'th": "a', '.txt"}')
    const inStart = block(2, { type: "tool_use", id: "toolu_2", name: "read", input: { path: "b" } })
    const read = text(start() + words(0, "Let me look.") + pieces + inStart + ended("tool_use"))
    assert.deepStrictEqual(
      reply(read).toolCalls.map((call) => [call.id, call.arguments]),
      [
        ["toolu_1", '{"path": "a.txt"}'],
        ["toolu_2", '{"path":"b"}']
      ]
    )
    assert.deepStrictEqual(
      read.chunks.filter((chunk) => chunk._tag === "ToolArguments"),
      [{ _tag: "ToolArguments", index: 0, name: "read", text: '{"path": "a.txt"}' }]
    )
  })

  it("D11 D2 an id that is taken, missing or illegal is replaced by one of ours", () => {
    const body = start() + toolUse(0, "toolu_1", "a", "{}") + toolUse(1, "", "b", "{}") + ended("tool_use")
    const ids = reply(text(body, { taken: new Set(["toolu_1"]) })).toolCalls.map((call) => call.id)
    assert.deepStrictEqual(ids, ["call_fresh_0", "call_fresh_1"])
  })

  it("F3 X-WIRE-03 what max_tokens cut is partial, and says length", () => {
    const cut =
      start() + words(0, "I write") + toolUse(1, "toolu_1", "write", '{"content":"to be con') + ended("max_tokens")
    const { finish, partialCalls, toolCalls } = reply(text(cut))
    assert.deepStrictEqual([finish, toolCalls, partialCalls[0]?.arguments], ["length", [], '{"content":"to be con'])
  })

  it("D10 a call that was never closed is no call, whatever the stop reason says", () => {
    const open = event("content_block_start", { index: 0, content_block: { type: "tool_use", id: "t", name: "look" } })
    const { reason } = failure(text(start() + open + ended("tool_use")))
    assert.strictEqual(reason.message, "a tool call was never closed")
  })

  it("F1 whole calls are calls under any word", () => {
    assert.lengthOf(reply(text(start() + toolUse(0, "toolu_1", "look", "{}") + ended("end_turn"))).toolCalls, 1)
  })
})

describe("ends", () => {
  const finishes = [
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["max_tokens", "length"],
    ["refusal", "content-filter"],
    ["model_context_window_exceeded", "context-window"],
    ["pause_turn", "unknown"],
    ["something_new", "unknown"]
  ] as const
  for (const [word, finish] of finishes) {
    it(`X-WIRE-04 ${word} is ${finish}`, () => {
      const { finishReason, finish: found } = reply(text(start() + words(0, "a") + ended(word)))
      assert.deepStrictEqual([found, finishReason], [finish, word])
    })
  }

  it("X-WIRE-04 a refusal without any block is a filtered reply and not an empty one", () => {
    const refused = reply(text(start() + ended("refusal")))
    assert.deepStrictEqual([refused.text, refused.finish], ["", "content-filter"])
  })

  it("S8 X-WIRE-01 text and then the end of the body is a cut, with the usage that came", () => {
    const cut = failure(text(start({ usage: { input_tokens: 9, output_tokens: 1 } }) + words(0, "partial")))
    assert.strictEqual(cut.reason.message, "the stream ended after 7 characters, without a stop reason or message_stop")
    assert.deepStrictEqual(cut.usage, { promptTokens: 9, completionTokens: 1 })
    const call = failure(text(start() + toolUse(0, "toolu_1", "look", "{}")))
    assert.isTrue(call.reason._tag === "BadResponse" && call.reason.problem === "cut")
    assert.strictEqual(failure(text("")).reason.message.slice(0, 40), "the stream ended before any event, witho")
  })

  it("S8 a stop reason without message_stop, and message_stop without one, are accepted with a warning", () => {
    const delta = event("message_delta", { delta: { stop_reason: "end_turn" } })
    assert.deepStrictEqual(reply(text(start() + words(0, "a") + delta)).warnings, [
      "the stream ended without message_stop"
    ])
    const derived = reply(text(start() + toolUse(0, "toolu_1", "look", "{}") + event("message_stop")))
    assert.deepStrictEqual(
      [derived.finish, derived.finishReason, derived.warnings],
      ["tool-calls", undefined, ["the stream ended with message_stop and no stop reason"]]
    )
    const broken = text(start() + words(0, "a") + delta, { ending: { _tag: "Broken", detail: "reset" } })
    assert.include(failure(broken).reason.message, "the connection broke after 1 characters: reset")
  })

  it("S9 X-WIRE-02 an error event is the HTTP error it names, first or after text", () => {
    const overloaded = event("error", { error: { type: "overloaded_error", message: "Overloaded" } })
    for (const before of ["", start() + words(0, "half"), start() + event("ping")]) {
      const { reason } = failure(text(before + overloaded))
      assert.strictEqual(reason._tag, "Refused")
      if (reason._tag !== "Refused") return
      assert.deepStrictEqual([reason.status, reason.inStream, reason.code], [529, true, "overloaded_error"])
    }
    const late = reply(
      text(start() + words(0, "half") + event("message_delta", { delta: { stop_reason: "max_tokens" } }) + overloaded)
    )
    assert.deepStrictEqual([late.finish, late.warnings[0]], ["length", "an error came after the end: Overloaded"])
  })

  it("S4 S11 pings and comments are life and nothing else", () => {
    const read = text(`: keep\n\n${event("ping")}`)
    assert.deepStrictEqual(read.chunks, [{ _tag: "Alive" }])
    const spoken = start() + event("ping") + words(0, "a") + event("brand_new", { x: 1 }) + ended("end_turn")
    assert.deepStrictEqual(reply(text(spoken)).warnings, [])
  })

  it("S6 a reply and an event may only be so long", () => {
    const long = start() + words(0, "x".repeat(50), "y".repeat(60)) + ended("end_turn")
    assert.include(failure(text(long, { maxReplySize: 100 })).reason.message, "longer than 100 characters")
    assert.include(failure(text(long, { maxEventSize: 60 })).reason.message, "Raise maxEventSize")
  })
})

describe("starts", () => {
  it("X-WIRE-04 the same message_start twice says nothing twice", () => {
    const twice = reply(text(start() + start() + words(0, "Hello") + ended("end_turn")))
    assert.deepStrictEqual([twice.text, twice.warnings], ["Hello", []])
  })

  it("X-WIRE-04 another message behind whole blocks goes on, its indices starting over", () => {
    const body =
      start() + words(0, "One. ") + start({ id: "msg_2" }) + words(0, "Two.") + toolUse(1, "toolu_1", "look", "{}")
    const read = text(body + ended("tool_use"))
    assert.deepStrictEqual(
      [reply(read).text, streamed(read), reply(read).toolCalls.length],
      ["One. Two.", "One. Two.", 1]
    )
    assert.deepStrictEqual(reply(read).warnings, [
      "the stream held more than one message; their blocks were put in a row"
    ])
  })

  it("X-WIRE-04 another message inside an open block is no protocol", () => {
    const open =
      event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }) +
      event("content_block_delta", { index: 0, delta: { type: "text_delta", text: "half" } })
    const { reason } = failure(text(start() + open + start({ id: "msg_2" }) + words(0, "again") + ended("end_turn")))
    assert.isTrue(reason._tag === "BadResponse" && reason.problem === "malformed")
    assert.strictEqual(reason.message, "a second message began inside a block of the first")
  })
})

describe("usage", () => {
  it("F5 the end overrules the start field by field, and a null overrules nothing", () => {
    const first = { input_tokens: 43, output_tokens: 1, cache_read_input_tokens: 7 }
    const last = { input_tokens: 61, output_tokens: 2, cache_read_input_tokens: null }
    const { usage } = reply(text(start({ usage: first }) + words(0, "pong") + ended("end_turn", last)))
    assert.deepStrictEqual(usage, { promptTokens: 68, completionTokens: 2, cachedPromptTokens: 7 })
  })

  it("F5 a reply of several iterations was billed for all of them", () => {
    const iterations = [
      { type: "compaction", input_tokens: 180_000, output_tokens: 3500, cache_read_input_tokens: 0 },
      { type: "message", input_tokens: 23_000, output_tokens: 1000, cache_read_input_tokens: 0 }
    ]
    const first = { input_tokens: 10, output_tokens: 1, cache_read_input_tokens: 55_096 }
    const last = { input_tokens: 23_000, output_tokens: 1000, cache_read_input_tokens: 0, iterations }
    const { usage } = reply(text(start({ usage: first }) + words(0, "a") + ended("end_turn", last)))
    assert.deepStrictEqual(usage, { promptTokens: 203_000, completionTokens: 4500, cachedPromptTokens: 0 })
  })

  it("F5 a provider that says nothing has not said zero", () => {
    assert.isUndefined(reply(text(start() + words(0, "a") + ended("end_turn"))).usage)
  })
})

describe("what must go back", () => {
  const thinking = block(
    0,
    { type: "thinking", thinking: "", signature: "" },
    { type: "thinking_delta", thinking: "Let me " },
    { type: "thinking_delta", thinking: "see." },
    { type: "signature_delta", signature: "c2ln" }
  )

  it("F8 thinking is shown, and kept with its signature and its place", () => {
    const read = text(start() + thinking + words(1, "Yes.") + toolUse(2, "toolu_1", "look", "{}") + ended("tool_use"))
    assert.strictEqual(reply(read).reasoning, "Let me see.")
    assert.deepStrictEqual(reply(read).replay, {
      protocol: "anthropic-messages",
      data: {
        prefix: "prefix",
        blocks: [
          { type: "thinking", thinking: "Let me see.", signature: "c2ln" },
          { type: "text", text: "Yes." },
          { type: "tool_use", call: 0 }
        ]
      }
    })
  })

  it("F8 thinking without its signature was not finished and is not kept", () => {
    const cut = block(0, { type: "thinking", thinking: "", signature: "" }, { type: "thinking_delta", thinking: "Hm" })
    assert.deepStrictEqual(reply(text(start() + cut + ended("max_tokens"))).replay?.data, {
      prefix: "prefix",
      blocks: []
    })
  })

  it("X-WIRE-04 redacted thinking, unknown blocks and unknown deltas are kept and never shown", () => {
    const body =
      start() +
      block(0, { type: "redacted_thinking", data: "AAAA" }) +
      block(
        1,
        { type: "compaction", content: "" },
        { type: "compaction_delta", content: "sum" },
        { type: "compaction_delta", content: "mary" }
      ) +
      words(2, "Hi.") +
      ended("end_turn")
    const read = text(body)
    assert.deepStrictEqual([reply(read).text, reply(read).reasoning], ["Hi.", undefined])
    assert.deepStrictEqual(reply(read).replay?.data, {
      prefix: "prefix",
      blocks: [
        { type: "redacted_thinking", data: "AAAA" },
        { type: "compaction", content: "summary" },
        { type: "text", text: "Hi." }
      ]
    })
  })

  it("X-WIRE-04 a tool of the server's is not a call of ours, and its results and citations are kept", () => {
    const body =
      start() +
      block(
        0,
        { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} },
        { type: "input_json_delta", partial_json: '{"query":"ruby"}' }
      ) +
      block(1, { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [{ encrypted_content: "E" }] }) +
      block(
        2,
        { type: "text", text: "", citations: [] },
        { type: "citations_delta", citation: { url: "u" } },
        { type: "text_delta", text: "4.0" }
      ) +
      ended("pause_turn")
    const found = reply(text(body))
    assert.deepStrictEqual([found.text, found.toolCalls, found.partialCalls], ["4.0", [], []])
    assert.deepStrictEqual(found.warnings, [
      "the provider ran 1 tools of its own",
      "the provider paused its turn; the next request lets it go on"
    ])
    assert.deepStrictEqual(found.replay?.data, {
      prefix: "prefix",
      blocks: [
        { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "ruby" } },
        { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [{ encrypted_content: "E" }] },
        { type: "text", text: "4.0", citations: [{ url: "u" }] }
      ]
    })
  })

  it("a turn of text and calls alone keeps nothing beside itself", () => {
    assert.isUndefined(reply(text(start() + words(0, "a") + toolUse(1, "t", "b", "{}") + ended("tool_use"))).replay)
  })
})

describe("bodies that are no stream", () => {
  it("X-WIRE-04 one whole message is read like a stream of it", () => {
    const body = {
      type: "message",
      id: "msg_1",
      model: "m",
      content: [
        { type: "text", text: "Hi." },
        { type: "tool_use", id: "toolu_1", name: "look", input: { a: 1 } }
      ],
      stop_reason: "tool_use",
      usage: { input_tokens: 3, output_tokens: 4 }
    }
    const read = text(JSON.stringify(body))
    assert.deepStrictEqual([reply(read).text, streamed(read)], ["Hi.", "Hi."])
    assert.deepStrictEqual(reply(read).toolCalls, [{ id: "toolu_1", name: "look", arguments: '{"a":1}' }])
    assert.deepStrictEqual(reply(read).usage, { promptTokens: 3, completionTokens: 4 })
  })

  it("S9 an error object with status 200, and a page, say what they are", () => {
    const error = failure(text('{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}')).reason
    assert.isTrue(error._tag === "Refused" && error.status === 429)
    assert.include(
      failure(text("<html><title>Welcome</title></html>")).reason.message,
      'titled "Welcome". Check baseUrl'
    )
  })

  it("S4 a frame that is no JSON is a warning, unless it may have been part of a call", () => {
    const noise = "data: : PROCESSING\n\n"
    assert.deepStrictEqual(reply(text(start() + noise + words(0, "a") + ended("end_turn"))).warnings, [
      "1 frames of the stream were not JSON and were skipped"
    ])
    const call = start() + noise + toolUse(0, "t", "look", "{}") + ended("tool_use")
    assert.include(failure(text(call)).reason.message, "may have held a piece of a tool call")
  })
})
