import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as History from "@settle/testing/History"
import * as Arbitraries from "@settle/testing/Arbitraries"
import * as Canonical from "../../src/model/Canonical.ts"
import type * as Json from "../../src/model/Json.ts"
import * as Message from "../../src/model/Message.ts"
import * as Replay from "../../src/model/Replay.ts"
import * as TranscriptLine from "../../src/model/TranscriptLine.ts"
import * as MemoryTranscript from "../../src/standard/MemoryTranscript.ts"

const line = (type: string, id: string, payload: Json.Json, more: Json.JsonObject = {}): string =>
  JSON.stringify({ v: 1, type, id, ts: "2026-01-01T00:00:00.000Z", payload, ...more })
const message = (id: string, content: string, more: Json.JsonObject = {}) =>
  line("message", id, { role: "user", content, ...more })
const dispatched = (id: string, callId = "c") => line("tool-dispatched", id, { callId, tool: "t", arguments: "{}" })
const settled = (id: string, opId: string, outcome: Json.Json = "completed") =>
  line("tool-settled", id, { opId, outcome })
const contents = (replay: Replay.Replay) => Replay.messages(replay).map((one) => one.content)
const problems = (replay: Replay.Replay) => replay.faults.map((fault) => `${fault.line} ${fault.problem}`)

describe("Replay: folding what was written (R1)", () => {
  it.effect.prop(
    "L-SEED-01 gives the run's own messages back, whatever happened to them",
    { acts: Arbitraries.history },
    ({ acts }) =>
      Effect.gen(function* () {
        const transcript = yield* MemoryTranscript.make()
        const expected = yield* History.play(transcript, acts)
        const replay = Replay.fromLines(yield* transcript.lines)
        assert.deepStrictEqual(Replay.messages(replay), expected.messages)
        assert.deepStrictEqual(
          replay.entries.map((entry) => entry.id),
          expected.ids
        )
        assert.deepStrictEqual(replay.grants, expected.grants)
        assert.deepStrictEqual(
          replay.settled.map(({ callId, outcome }) => ({ callId, outcome })),
          expected.settled
        )
        assert.deepStrictEqual([replay.pending, replay.faults, replay.lines], [[], [], expected.lines])
      })
  )

  it.prop(
    "L-SEED-01 any well-formed message keeps its digest on the way through a line",
    { message: Arbitraries.plainMessage },
    ({ message: given }) => {
      const text = TranscriptLine.encode({ type: "message", message: given, extras: {} }, "id", 0)
      const [read] = Replay.messages(Replay.fromLines([text]))
      assert.strictEqual(read && Message.digest(read), Message.digest(given))
    }
  )

  it("L-ROUND-14 extras can be read and are no part of the message, even under the name of one of its keys", () => {
    const extras = {
      usage: { promptTokens: 3, cost: 0.5, costComputed: true, generationId: "g" },
      reasoning: "r",
      isError: true,
      depth: 3,
      sticky: true,
      toolCallId: "x",
      role: "system",
      content: "other"
    }
    const text = TranscriptLine.encode({ type: "message", message: Message.user("hi"), extras }, "id", 0)
    const replay = Replay.fromLines([text])
    assert.deepStrictEqual(Replay.messages(replay), [Message.user("hi")])
    assert.deepStrictEqual(replay.entries[0]?.usage, extras.usage)
    assert.isTrue(replay.entries[0]?.isError)
    assert.include(text, '"reasoning":"r"')
  })

  it("X-SAFE-01 extras of a producer that JSON cannot hold become words", () => {
    const extras = { big: 1n, ok: 1 }
    const text = TranscriptLine.encode({ type: "message", message: Message.user("hi"), extras }, "id", 0)
    assert.include(text, '"big":"[bigint 1]","ok":1')
  })

  it("knows what is marked: unknown, abandoned, injected", () => {
    const replay = Replay.fromLines([
      line("message", "1", { role: "tool", content: "?", toolCallId: "a", outcomeUnknown: true }),
      line("message", "2", { role: "tool", content: "-", toolCallId: "b", abandoned: true }),
      message("3", "report", { injected: "task", opId: "op" }),
      message("4", "report", { injected: "note" })
    ])
    assert.deepStrictEqual(
      replay.entries.map(({ injected, mark }) => mark ?? injected),
      ["outcome-unknown", "abandoned", { kind: "task", opId: "op" }, { kind: "note" }]
    )
  })

  it("L-TOOL-05 three states of a kill: not dispatched, running, settle lost", () => {
    const turn = line("message", "1", {
      role: "assistant",
      content: "",
      toolCalls: [
        { id: "a", name: "t", arguments: "{}" },
        { id: "b", name: "t", arguments: "{}" },
        { id: "c", name: "t", arguments: "{}" }
      ]
    })
    const answer = line("message", "4", { role: "tool", content: "ok", toolCallId: "b" })
    const replay = Replay.fromLines([turn, dispatched("2", "a"), dispatched("3", "b"), answer])
    assert.deepStrictEqual(
      replay.pending.map((operation) => [operation.opId, operation.callId]),
      [
        ["2", "a"],
        ["3", "b"]
      ]
    )
    const answered = replay.entries.map((entry) => entry.message.toolCallId)
    assert.deepStrictEqual(answered, [undefined, "b"], "b finished and its settle is lost; a was running; c never ran")
  })

  it("a dispatched line is the operation, with all it says (T3)", () => {
    const payload = {
      callId: "c",
      tool: "t",
      arguments: "{}",
      argumentsDigest: "d",
      idempotency: "destructive",
      runId: "r",
      round: 3
    }
    const { settled: done } = Replay.fromLines([
      line("tool-dispatched", "op", payload),
      line("tool-settled", "s", { opId: "op", outcome: "outcome-unknown", reason: "deadline" })
    ])
    assert.deepStrictEqual(done, [
      {
        opId: "op",
        ...payload,
        idempotency: "destructive",
        dispatchedAt: "2026-01-01T00:00:00.000Z",
        settledAt: "2026-01-01T00:00:00.000Z",
        outcome: "outcome-unknown",
        reason: "deadline"
      }
    ])
  })

  it("the last snapshot of grants wins, and a context's body is found by its digest", () => {
    const replay = Replay.fromLines([
      line("session-meta", "m", { name: "n" }),
      line("grants", "1", { grants: [{ a: 1 }, { b: 2 }] }),
      line("grants", "2", { grants: [{ b: 2 }] }),
      line("run-context", "3", { sections: [{ name: "s", digest: "__proto__", rendered: "x" }] }),
      line("run-context", "4", { sections: [{ name: "s", digest: "__proto__", renderedIn: "3" }] })
    ])
    assert.deepStrictEqual(replay.grants, [{ b: 2 }])
    assert.deepStrictEqual([...replay.contextCarriers], [["__proto__", "3"]])
    assert.deepStrictEqual(replay.meta, { name: "n" })
  })
})

describe("Replay: lines that cannot be used (R2)", () => {
  it("J4 a record without an id, and two with the same one, are named; both sides stay", () => {
    const replay = Replay.fromLines([
      message("1", "a"),
      JSON.stringify({ v: 1, type: "message", ts: "t", payload: { role: "user", content: "lost" } }),
      message("2", "b"),
      message("2", "twice"),
      message("3", "c")
    ])
    assert.deepStrictEqual(contents(replay), ["a", "b", "c"])
    assert.deepStrictEqual(problems(replay), ["2 type, id or ts is missing", "4 message: a second line with id 2"])
    assert.strictEqual(replay.lines, 3)
  })

  it("J12 an unknown type is kept for its writer, a field of the wrong type is named, and the session opens", () => {
    const replay = Replay.fromLines([
      message("1", "a"),
      line("from-the-future", "2", { x: 1 }),
      line("message", "3", { role: "user", content: 7 }),
      line("message", "4", { role: "robot", content: "x" }),
      line("message", "5", { role: "tool", content: "x" }),
      line("message", "6", { role: "assistant", content: "x", toolCalls: [{ id: 1 }] }),
      line("grants", "7", { grants: "all" }),
      line("tool-settled", "8", { opId: "1", outcome: "great" }),
      line("tool-dispatched", "9", { tool: "t" }),
      line("elision", "10", { items: [{ id: "1" }] }),
      line("run-context", "11", { sections: [1] }),
      message("12", "z")
    ])
    assert.deepStrictEqual(contents(replay), ["a", "z"])
    assert.deepStrictEqual(replay.custom, [{ id: "2", type: "from-the-future", payload: { x: 1 } }])
    assert.deepStrictEqual(problems(replay), [
      "3 message: content is not text",
      '4 message: role "robot" is not known',
      "5 message: a tool message without a toolCallId",
      "6 message: toolCalls is not a list of {id, name, arguments}",
      "7 grants: not a list of rules",
      "8 tool-settled: opId or outcome is missing",
      "9 tool-dispatched: callId or tool is missing",
      "10 elision: an item without id or stub",
      "11 run-context: a section without digest"
    ])
  })

  it("J12 a compaction that names nothing leaves the messages as they were", () => {
    const replay = Replay.fromLines([
      message("1", "a"),
      line("compaction", "2", { summary: "s", replacesThroughId: "gone", fallback: false }),
      line("compaction", "3", { replacesThroughId: "1", fallback: false }),
      line("elision", "4", { items: [{ id: "gone", stub: "x" }] }),
      message("5", "b")
    ])
    assert.deepStrictEqual(contents(replay), ["a", "b"])
    assert.deepStrictEqual(problems(replay), [
      '2 compaction: replacesThroughId "gone" names no message',
      "3 compaction: no summary",
      "4 elision: gone names no message"
    ])
  })

  it("X-STORE-03 no JSON, no object, another version: named by line number, never silent", () => {
    const replay = Replay.fromLines([
      "\u0000\u0000",
      message("1", "a"),
      '{"v":1,"type":"mess',
      "[]",
      JSON.stringify({ v: 2, type: "message", id: "9", ts: "t", payload: {} }),
      line("message", "10", []),
      message("2", "b")
    ])
    assert.deepStrictEqual(contents(replay), ["a", "b"])
    assert.deepStrictEqual(problems(replay), [
      "1 not a JSON object",
      "3 not a JSON object",
      "4 not a JSON object",
      "5 version 2 is not known to this reader",
      "6 message: payload is not an object"
    ])
  })

  it("O-TRANS-02 a second settle is named and changes nothing; neither does one of a stranger", () => {
    const replay = Replay.fromLines([
      dispatched("op"),
      settled("1", "op", "outcome-unknown"),
      settled("2", "op", "failed"),
      settled("3", "stranger")
    ])
    assert.deepStrictEqual(
      replay.settled.map((operation) => operation.outcome),
      ["outcome-unknown"]
    )
    assert.deepStrictEqual(problems(replay), [
      "3 tool-settled: op was settled before",
      "4 tool-settled: stranger was never dispatched"
    ])
  })

  it("J12 a bill of the wrong type is no bill", () => {
    const usage = { promptTokens: "7", completionTokens: 3, cost: null, costComputed: "yes", providerName: 4 }
    const replay = Replay.fromLines([message("1", "a", { usage })])
    assert.deepStrictEqual(replay.entries[0]?.usage, { completionTokens: 3 })
  })

  it.prop("every bill comes back as it was written", { usage: Arbitraries.usage }, ({ usage }) => {
    const text = TranscriptLine.encode({ type: "message", message: Message.assistant("x"), extras: { usage } }, "id", 0)
    assert.strictEqual(Canonical.json(Replay.fromLines([text]).entries[0]?.usage), Canonical.json(usage))
  })
})

describe("Replay: hostile ids and texts (R3)", () => {
  const names = ["__proto__", "constructor", "toString", "hasOwnProperty"]

  it("X-SAFE-02 line and call ids named like properties of an object", () => {
    const replay = Replay.fromLines(names.flatMap((id) => [dispatched(id, id)]))
    assert.deepStrictEqual(
      replay.pending.map((operation) => operation.opId),
      names
    )
    const done = Replay.fromLines([
      ...names.map((id) => dispatched(id, id)),
      ...names.map((id) => settled(`s-${id}`, id))
    ])
    assert.deepStrictEqual([done.pending, done.faults, done.settled.length], [[], [], 4])
  })

  it("X-SAFE-02 compaction and elision by such an id", () => {
    const replay = Replay.fromLines([
      message("__proto__", "a"),
      line("message", "constructor", { role: "tool", content: "long", toolCallId: "c" }),
      line("elision", "1", { items: [{ id: "constructor", stub: "short" }] }),
      line("compaction", "2", { summary: "s", replacesThroughId: "__proto__", fallback: false })
    ])
    assert.deepStrictEqual(contents(replay), ["s", "short"])
    assert.deepStrictEqual(replay.faults, [])
    const none = Replay.fromLines([line("elision", "1", { items: [{ id: "toString", stub: "x" }] })])
    assert.deepStrictEqual(problems(none), ["1 elision: toString names no message"])
  })

  it("X-SAFE-02 a payload cannot reach the prototype of anything", () => {
    Replay.fromLines([
      '{"v":1,"type":"message","id":"1","ts":"t","payload":{"__proto__":{"polluted":true},"role":"user","content":"a"}}',
      '{"v":1,"type":"__proto__","id":"2","ts":"t","payload":{"constructor":{"prototype":{"polluted":true}}}}'
    ])
    assert.isUndefined(Reflect.get({}, "polluted"))
  })

  it("J10 X-SAFE-01 an old log with lone surrogates is healed on the way in", () => {
    const calls = [{ id: "a", name: "t", arguments: '"\ud800"' }]
    const replay = Replay.fromLines([
      message("1", "a\udc00"),
      line("message", "2", { role: "assistant", content: "", toolCalls: calls })
    ])
    assert.deepStrictEqual(contents(replay), ["a\ufffd", ""])
    assert.strictEqual(replay.entries[1]?.message.toolCalls?.[0]?.arguments, '"\ufffd"')
  })

  it.prop(
    "reads any JSON without throwing, and counts every line once",
    { message: Arbitraries.message, text: Arbitraries.text },
    ({ message: given, text }) => {
      const lines = [
        text,
        JSON.stringify(given),
        TranscriptLine.encode({ type: "message", message: given, extras: {} }, text, 0)
      ]
      const replay = Replay.fromLines(lines)
      assert.strictEqual(replay.lines + replay.faults.length, 3)
    }
  )
})

describe("TranscriptLine", () => {
  it("writes one line for one draft, whatever is in it", () => {
    const text = TranscriptLine.encode({ type: "message", message: Message.user("a\nb\u2028"), extras: {} }, "id", 1000)
    assert.notInclude(text, "\n")
    assert.strictEqual(
      text,
      '{"v":1,"type":"message","id":"id","ts":"1970-01-01T00:00:01.000Z","payload":{"role":"user","content":"a\\nb\u2028"}}'
    )
  })

  it("a host's own type may not be one of ours", () => {
    assert.isTrue(["session-meta", "message", "grants", "tool-settled", "run-context"].every(Replay.isBuiltIn))
    assert.isFalse(Replay.isBuiltIn("host-note"))
    assert.isFalse(Replay.isBuiltIn("__proto__"))
  })
})
