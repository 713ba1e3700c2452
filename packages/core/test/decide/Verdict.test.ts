import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as Suspect from "../../src/decide/Suspect.ts"
import * as Verdict from "../../src/decide/Verdict.ts"

const call = { id: "c1", name: "fs_write", arguments: '{"path":"a"}' }
const reply = (over: Partial<Verdict.Reply>): Verdict.Reply => ({
  text: "",
  toolCalls: [],
  partialCalls: [],
  finish: "stop",
  ...over
})
const judge = (over: Partial<Verdict.Reply>, more: Partial<Verdict.Facts> = {}) =>
  Verdict.judge({
    reply: reply(over),
    window: { contextWindow: 100_000, reserve: 0, margin: 0 },
    request: 100,
    maxTokens: 256,
    takesCalls: true,
    ...more
  })
const tag = (over: Partial<Verdict.Reply>, more: Partial<Verdict.Facts> = {}) => judge(over, more)._tag
const long = "word ".repeat(400)

const suspect = (verdict: Verdict.Verdict, over: Partial<Suspect.Facts> = {}) =>
  Suspect.decide({
    verdict,
    spent: false,
    attempt: 1,
    maxRetries: 3,
    jitterMs: 0,
    backoffCapMs: 30_000,
    ...over
  })

describe("Verdict", () => {
  it("F1 whole calls beside `stop` or an unknown reason are a tool round", () => {
    assert.strictEqual(tag({ toolCalls: [call, call, call], finish: "stop" }), "Turn")
    assert.strictEqual(tag({ toolCalls: [call], finish: "unknown", finishReason: "other" }), "Turn")
    assert.strictEqual(tag({ text: "hello" }), "Turn")
  })

  it("F2 L-EMPTY-01 `tool-calls` without a call, and white space alone, are empty", () => {
    assert.deepStrictEqual(
      judge({ finish: "tool-calls", finishReason: "tool_calls" }),
      Verdict.Verdict.Empty({ finishReason: "tool_calls", ignoredCalls: 0 })
    )
    assert.strictEqual(tag({ text: " \n\t" }), "Empty")
  })

  it("F7 L-EMPTY-03 reasoning alone is no answer", () => {
    assert.strictEqual(tag({ reasoning: "let me think" }), "ReasoningOnly")
    assert.strictEqual(tag({ reasoning: "let me think", text: "42" }), "Turn")
  })

  it("F3 X-WIRE-03 length, content-filter and error never yield a turn, whole call or not", () => {
    for (const finish of ["length", "content-filter", "error", "context-window"] as const) {
      assert.notStrictEqual(tag({ finish, toolCalls: [call], text: "done" }), "Turn", finish)
    }
    assert.strictEqual(tag({ finish: "content-filter", toolCalls: [call] }), "Filtered")
    assert.strictEqual(tag({ finish: "error", text: "half" }), "ErrorFinish")
    assert.strictEqual(tag({ finish: "length", toolCalls: [call] }), "Length")
  })

  it("L-LEN-01 reads the finish reason and no text", () => {
    assert.strictEqual(tag({ finish: "length", finishReason: "max_tokens", text: long }), "Length")
    assert.strictEqual(tag({ finish: "stop", text: "Hit max tokens: finish_reason length" }), "Turn")
  })

  it("L-LEN-20 an empty length is an empty completion and keeps its reason", () => {
    assert.deepStrictEqual(
      judge({ finish: "length", finishReason: "MAX_TOKENS" }),
      Verdict.Verdict.Empty({ finishReason: "MAX_TOKENS", ignoredCalls: 0 })
    )
    assert.strictEqual(tag({ finish: "length", partialCalls: [call] }), "Length")
    assert.strictEqual(tag({ finish: "length", reasoning: "hm" }), "Length")
    assert.strictEqual(tag({ finish: "length", usage: { completionTokens: 256 } }), "Length")
    assert.strictEqual(tag({ finish: "length" }, { request: 90_000 }), "Length")
    assert.strictEqual(tag({ finish: "context-window" }), "Length")
  })

  it("F4 L-CLIP-01 L-CLIP-05 a completion billed at the cap is truncated, one token short is finished", () => {
    const billed = (completionTokens: number) => ({ toolCalls: [call], usage: { promptTokens: 50, completionTokens } })
    assert.strictEqual(tag({ ...billed(255), finish: "tool-calls" }), "Turn")
    assert.strictEqual(tag({ ...billed(256), finish: "tool-calls" }), "Clipped")
    assert.strictEqual(tag({ ...billed(300), finish: "tool-calls" }), "Clipped")
    assert.strictEqual(tag({ text: "prose", usage: { completionTokens: 256 } }), "Clipped")
  })

  it("L-CLIP-02 L-CLIP-03 a clip takes the verdict of a reported length", () => {
    const usage = { promptTokens: 99_800, completionTokens: 256 }
    const near = judge({ text: "x", usage })
    assert.strictEqual(near._tag === "Clipped" ? near.length._tag : "", "NearWindow")
    const small = judge({ text: "x", usage: { promptTokens: 12, completionTokens: 256 } })
    assert.strictEqual(small._tag === "Clipped" ? small.length._tag : "", "CompletionCap")
    assert.strictEqual(suspect(near)._tag, "WindowRefusal")
    assert.strictEqual(suspect(small)._tag, "End")
  })

  it("L-CLIP-04 the warning names the reported reason, the bill and the cap", () => {
    const clipped = judge({ toolCalls: [call], finish: "tool-calls", usage: { completionTokens: 256 } })
    assert.strictEqual(
      clipped._tag === "Clipped" ? clipped.warning : "",
      "the answer is truncated although its finish reason is tool-calls: 256 completion tokens were billed and max_tokens is 256"
    )
  })

  it("L-CLIP-06 without usage, or without a cap, nothing is clipped", () => {
    assert.strictEqual(tag({ text: long }), "Turn")
    assert.strictEqual(tag({ text: long, usage: { completionTokens: 9999 } }, { maxTokens: undefined }), "Turn")
  })

  it("D10 a call that is still incomplete at a good end fails the attempt instead of vanishing", () => {
    const broken = judge({ text: "ok", partialCalls: [{ ...call, arguments: '{"a' }] })
    assert.strictEqual(broken._tag, "BrokenCall")
    assert.strictEqual(
      broken._tag === "BrokenCall" ? broken.detail : "",
      "the answer ended (finish reason stop) with incomplete arguments of a call to fs_write"
    )
  })

  it("L-LEN-14 counts text and the names and arguments of whole and partial calls in bytes", () => {
    const measured = reply({
      text: "é😀",
      toolCalls: [call],
      partialCalls: [{ id: "x", name: "ab", arguments: "{" }]
    })
    assert.strictEqual(Verdict.outputBytes(measured), 6 + 8 + 12 + 2 + 1)
  })

  it.prop(
    "L-LEN-22 L-CLIP-08 X-WIRE-03 nothing but a plainly ended, unclipped reply is a turn",
    {
      finish: Schema.Literals(["stop", "tool-calls", "length", "content-filter", "context-window", "error", "unknown"]),
      text: Schema.Literals(["", " ", "hello"]),
      calls: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 })),
      completionTokens: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 512 }))
    },
    ({ calls, completionTokens, finish, text }) => {
      const verdict = judge({
        finish,
        text,
        toolCalls: Array.from({ length: calls }, () => call),
        usage: { promptTokens: 1, completionTokens }
      })
      const expected =
        (finish === "stop" || finish === "tool-calls" || finish === "unknown") &&
        completionTokens < 256 &&
        (calls > 0 || text === "hello")
      assert.strictEqual(verdict._tag === "Turn", expected)
      assert.strictEqual(suspect(verdict)._tag === "Commit", expected)
    }
  )
})

describe("Suspect", () => {
  const empty = Verdict.Verdict.Empty({ finishReason: "stop", ignoredCalls: 0 })
  const unexplained = judge({ finish: "length", text: "short" })

  it("L-EMPTY-02 L-LEN-17 sends an empty or unexplained answer once more after the ordinary wait", () => {
    assert.deepStrictEqual(
      suspect(empty),
      Suspect.Suspect.Resend({
        reason: "empty-completion",
        error: "the model answered with nothing (finish reason stop)",
        backoffMs: 1000
      })
    )
    const again = suspect(unexplained)
    assert.strictEqual(again._tag, "Resend")
    assert.strictEqual(again._tag === "Resend" ? again.reason : "", "unexplained-length")
  })

  it("L-EMPTY-04 L-EMPTY-07 L-LEN-18 the second of either kind ends the run with its own reason", () => {
    for (const [verdict, reason] of [
      [empty, "empty-completion"],
      [unexplained, "unexplained-length"]
    ] as const) {
      const end = suspect(verdict, { spent: true, attempt: 2 })
      assert.strictEqual(end._tag === "End" ? end.reason : end._tag, reason)
    }
    const end = suspect(unexplained, { spent: true })
    assert.include(end._tag === "End" ? end.error : "", "5 bytes of output cannot hold the 256 tokens of the cap")
    assert.notInclude(end._tag === "End" ? end.error : "", "Raise")
  })

  it("L-EMPTY-05 maxRetries 1 sends once, 2 sends twice", () => {
    const one = suspect(empty, { maxRetries: 1 })
    assert.deepStrictEqual(
      one,
      Suspect.Suspect.End({
        reason: "empty-completion",
        error:
          "the model answered with nothing (finish reason stop); no attempt was left to send it once more (maxRetries 1)",
        mayHandOff: true
      })
    )
    assert.strictEqual(suspect(empty, { maxRetries: 2 })._tag, "Resend")
    assert.strictEqual(suspect(empty, { maxRetries: 2, attempt: 2 })._tag, "End")
  })

  it("L-EMPTY-03 reasoning alone ends at once and hands nothing off", () => {
    const end = suspect(Verdict.Verdict.ReasoningOnly())
    assert.strictEqual(end._tag === "End" ? end.reason : "", "empty-completion")
    assert.isFalse(end._tag === "End" && end.mayHandOff)
  })

  it("L-LEN-10 a completion cap ends at once, naming what to raise", () => {
    const end = suspect(judge({ finish: "length", text: long }))
    assert.strictEqual(end._tag === "End" ? end.reason : "", "completion-truncated")
    assert.include(end._tag === "End" ? end.error : "", "maxTokens")
  })

  it("L-LEN-03 a length at the edge is this backend's window refusal", () => {
    const refusal = suspect(judge({ finish: "length", text: "x" }, { request: 90_000 }))
    assert.strictEqual(refusal._tag, "WindowRefusal")
    assert.include(refusal._tag === "WindowRefusal" ? refusal.error : "", "the window of 100000")
  })

  it("L-LEN-23 a filtered or broken answer takes the ordinary path of a failure", () => {
    assert.deepStrictEqual(
      suspect(judge({ finish: "content-filter" })),
      Suspect.Suspect.Failed({ error: "the provider filtered the answer (finish reason content-filter)" })
    )
    assert.strictEqual(suspect(judge({ finish: "error" }))._tag, "Failed")
  })
})
