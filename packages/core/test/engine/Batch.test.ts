import * as Settlement from "@settle/core/engine/Settlement"
import * as Tool from "@settle/core/model/Tool"
import { FaultyTranscript, Recorder, Script, Tools } from "@settle/testing"
import * as MemoryTranscript from "@settle/core/standard/MemoryTranscript"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Story from "./Story.ts"

const call = Script.call
const three = [call("c1", "a"), call("c2", "b"), call("c3", "a")]
const propose = () =>
  Settlement.make(call("c1", "t"), {
    callId: "c1",
    tool: "t",
    arguments: "{}",
    idempotency: "unknown",
    operationId: "own"
  })

describe("one call at a time", () => {
  it.effect("L-TOOL-01 L-TOOL-04 L-TOOL-07 calls run one after another in the model's order, each a batch of one", () =>
    Effect.gen(function* () {
      const tools = Tools.make([
        Tools.tool("a", Tools.after("3 seconds", Tools.answer("a"))),
        Tools.tool("b", Tools.after("1 second", Tools.answer("b")))
      ])
      const told = yield* Story.tell({ script: [Script.callTools(...three), Script.say("ok")], tools }).pipe(
        Story.passing
      )
      assert.deepStrictEqual(
        tools.batches.map((batch) => batch.map((one) => one.callId)),
        [["c1"], ["c2"], ["c3"]]
      )
      for (const [index, ran] of tools.ran.entries()) {
        const before = tools.ran[index - 1]
        if (before !== undefined) assert.isAtLeast(ran.startedAt, before.finishedAt ?? Infinity)
      }
      assert.strictEqual(told.outcome.outcome, "completed")
    })
  )

  it.effect("L-TOOL-02 L-TOOL-03 L-TOOL-05 envelope, start, provider, tool message, settle, result", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const memory = yield* MemoryTranscript.make()
      const tools = Tools.make([
        Tools.tool("a", () =>
          Effect.map(memory.lines, (lines) => {
            seen.push(...Story.lineTypes(lines))
            return Tool.answered("A")
          })
        )
      ])
      const told = yield* Story.tell({
        script: [Script.callTools(call("c1", "a")), Script.say("ok")],
        tools,
        transcript: memory
      })
      assert.deepStrictEqual(seen, ["message", "message", "tool-dispatched"])
      assert.deepStrictEqual(Story.lineTypes(yield* memory.lines), [
        "message",
        "message",
        "tool-dispatched",
        "message",
        "tool-settled",
        "message"
      ])
      const at = told.tags.indexOf("ToolCall")
      assert.deepStrictEqual(told.tags.slice(at, at + 3), ["ToolCall", "ToolStarted", "ToolResult"])
    })
  )

  it.effect(
    "T4 L-TOOL-06 L-CANC-05 L-CANC-06 L-CANC-07 L-CANC-08 a cancel reaches the call in flight; those behind are known not to have run",
    () =>
      Effect.gen(function* () {
        const tools = Tools.make([
          Tools.tool("a", Tools.answer("first")),
          Tools.tool("b", Tools.after("10 seconds", Tools.answer("late")))
        ])
        const on = yield* Story.stage({ script: [Script.callTools(...three)], tools, transcript: true })
        const told = yield* Story.play(on, undefined, {
          meanwhile: (run) =>
            Effect.gen(function* () {
              yield* tools.began(1)
              yield* run.cancel
              yield* run.outcome
              yield* TestClock.adjust("20 seconds")
            })
        })
        assert.strictEqual(told.outcome.outcome, "cancelled")
        const abandoned = Recorder.all(told.recording, "ToolAbandoned")
        assert.deepStrictEqual(
          abandoned.map((e) => [e.id, e.reason, e.dispatched]),
          [
            ["c2", "cancelled", true],
            ["c3", "cancelled", false]
          ]
        )
        assert.deepStrictEqual(
          Recorder.all(told.recording, "ToolResult").map((e) => e.id),
          ["c1"]
        )
        assert.include(told.outcome.messages[3]?.content, "whether it took effect is unknown")
        assert.include(told.outcome.messages[4]?.content, "it did not run")
        for (const entry of told.replay?.entries ?? []) assert.isUndefined(entry.isError)
        assert.deepStrictEqual(
          tools.ran.map((ran) => ran.callId),
          ["c1", "c2"]
        )
        assert.strictEqual(told.tags.at(-1), "RunCancelled")
      })
  )

  it.effect("L-TOOL-08 a question about call 3 is asked after calls 1 and 2 have run", () =>
    Effect.gen(function* () {
      const order: Array<string> = []
      const note = (what: string) => Effect.sync(() => void order.push(what))
      const tools = Tools.make([
        Tools.tool("a", (one) => Effect.as(note(`ran ${one.callId}`), "ok")),
        Tools.tool(
          "b",
          Tools.asking({ tool: "b" }, Effect.as(note("asked"), "yes"), () => Tools.answer("ok"))
        )
      ])
      yield* Story.tell({
        script: [Script.callTools(call("c1", "a"), call("c2", "a"), call("c3", "b")), Script.say("ok")],
        tools
      })
      assert.deepStrictEqual(order, ["ran c1", "ran c2", "asked"])
    })
  )

  it.effect("L-TOOL-09 a provider that throws is one error for its call, not the end of the run", () =>
    Effect.gen(function* () {
      const tools = Tools.make([Tools.tool("a", Tools.die(new Error("kaputt"))), Tools.tool("b", Tools.answer("fine"))])
      const told = yield* Story.tell({
        script: [Script.callTools(call("c1", "a"), call("c2", "b")), Script.say("ok")],
        tools,
        transcript: true
      })
      const results = Recorder.all(told.recording, "ToolResult")
      assert.deepStrictEqual(
        results.map((e) => [e.isError, e.content]),
        [
          [true, "The tool a broke: kaputt"],
          [false, "fine"]
        ]
      )
      assert.strictEqual(told.outcome.final, "ok")
    })
  )

  it.effect("L-TOOL-10 a missing result is answered for as an error", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({
        script: [Script.callTools(call("c1", "a")), Script.say("ok")],
        tools: Tools.make([Tools.tool("a", Tools.short)])
      })
      const [result] = Recorder.all(told.recording, "ToolResult")
      assert.deepStrictEqual(
        [result?.isError, result?.content],
        [true, "The tool a answered without a result for this call."]
      )
    })
  )

  it.effect("L-TOOL-11 a lazily made answer is read inside the supervised call", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({
        script: [Script.callTools(call("c1", "a")), Script.say("ok")],
        provider: {
          list: Effect.succeed([{ name: "a", parameters: { type: "object" } }]),
          execute: () =>
            Effect.succeed([
              {
                _tag: "Answered" as const,
                isError: false,
                get content(): string {
                  throw new Error("thrown while reading")
                }
              }
            ])
        }
      })
      const [result] = Recorder.all(told.recording, "ToolResult")
      assert.deepStrictEqual([result?.isError, result?.content], [true, "The tool a broke: thrown while reading"])
      assert.strictEqual(told.outcome.outcome, "completed")
    })
  )

  it.effect.each([`{"a":1`, `[1]`, `"text"`, `7`, `{"a":NaN}`])(
    "D9 arguments %s never reach a tool; the model is told what to send",
    (args) =>
      Effect.gen(function* () {
        const tools = Tools.make([Tools.tool("a", Tools.echo)])
        const told = yield* Story.tell({
          script: [Script.callTools(call("c1", "a", args), call("c2", "a", {})), Script.say("ok")],
          tools,
          transcript: true
        })
        assert.deepStrictEqual(
          tools.ran.map((ran) => ran.callId),
          ["c2"]
        )
        assert.deepStrictEqual(
          told.replay?.settled.map((one) => [one.outcome, one.reason]),
          [
            ["failed", "not-accepted"],
            ["completed", undefined]
          ]
        )
        assert.include(told.outcome.messages[2]?.content, "did not run: its arguments are not a JSON object")
      })
  )

  it.effect("L-ROUND-15 every call is announced before the first is dispatched", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({
        script: [Script.callTools(...three), Script.say("ok")],
        tools: Tools.make([Tools.tool("a", Tools.echo), Tools.tool("b", Tools.echo)])
      })
      const at = told.tags.indexOf("ToolCall")
      assert.deepStrictEqual(told.tags.slice(at, at + 5), [
        "ToolCall",
        "ToolCall",
        "ToolCall",
        "ToolStarted",
        "ToolResult"
      ])
    })
  )

  it.effect("L-ROUND-16 L-ROUND-17 an answer under another id is filed under the model's, and said", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({
        script: [Script.callTools(call("c1", "a")), Script.say("ok")],
        tools: Tools.make([Tools.tool("a", Tools.answer("x", { callId: "other" }))]),
        transcript: true
      })
      assert.strictEqual(told.outcome.messages[2]?.toolCallId, "c1")
      const [log] = Recorder.all(told.recording, "Log")
      assert.strictEqual(log?.level, "warning")
      assert.deepInclude(log?.data, { tool: "a", callId: "c1", providerId: "other" })
    })
  )
})

describe("operations", () => {
  it("O-TRANS-01 O-TRANS-02 the loser of a race hears false, and nothing changes", () => {
    const one = propose()
    assert.isTrue(one.dispatch(0, undefined))
    assert.isFalse(one.dispatch(1, undefined))
    assert.isFalse(one.abandon("cancelled"))
    assert.isTrue(one.offer(Settlement.Verdict.GaveUp({ reason: "deadline", at: 5 })))
    assert.isFalse(one.offer(Settlement.Verdict.Spoke({ answer: Tool.answered("late"), at: 6 })))
    assert.isTrue(one.settle({ outcome: "outcome-unknown", at: 5, reason: "deadline" }))
    const settled = one.operation()
    assert.isFalse(one.settle({ outcome: "completed", at: 6 }))
    assert.strictEqual(one.operation(), settled)
  })

  it("O-TRANS-03 settling a proposed operation, or with an outcome that is none, is a bug that throws", () => {
    assert.throws(() => propose().settle({ outcome: "completed", at: 0 }), "c1 is settled before it was dispatched")
    const one = propose()
    one.dispatch(0, undefined)
    assert.throws(() => one.settle({ outcome: "abandoned" as never, at: 0 }), `"abandoned" is no outcome`)
    assert.strictEqual(one.operation()._tag, "Dispatched")
  })

  it.effect("O-ID-01 with a transcript the dispatched line's id is the operation's; without one it has its own", () =>
    Effect.gen(function* () {
      const plan = { script: [Script.callTools(call("c1", "a")), Script.say("ok")] }
      const tools = () => Tools.make([Tools.tool("a", Tools.echo)])
      const kept = yield* Story.tell({ ...plan, tools: tools(), transcript: true })
      const lines = yield* kept.transcript!.lines
      const line = lines.map((text) => JSON.parse(text)).find((one) => one.type === "tool-dispatched")
      assert.strictEqual(kept.tools.ran[0]?.operationId, line.id)
      assert.strictEqual(kept.replay?.settled[0]?.opId, line.id)
      const loose = yield* Story.tell({ ...plan, tools: tools() })
      assert.match(loose.tools.ran[0]?.operationId ?? "", /^[0-9a-f]{8}-[0-9a-f]{4}-4/)
    })
  )

  it.effect("O-IDEM-01 O-IDEM-02 O-IDEM-03 the class comes from rules, is recorded, and changes nothing else", () =>
    Effect.gen(function* () {
      const tools = Tools.make([Tools.tool("files_read", Tools.error("no")), Tools.tool("other", Tools.error("no"))])
      const told = yield* Story.tell({
        script: [Script.callTools(call("c1", "files_read"), call("c2", "other")), Script.say("ok")],
        tools,
        transcript: true,
        settings: {
          idempotencyRules: [
            { tool: "files_*", idempotency: "read-only" },
            { tool: "files_read", idempotency: "destructive" }
          ]
        }
      })
      assert.deepStrictEqual(
        told.replay?.settled.map((one) => [one.tool, one.idempotency ?? "unknown"]),
        [
          ["files_read", "read-only"],
          ["other", "unknown"]
        ]
      )
      assert.deepStrictEqual(
        tools.ran.map((ran) => ran.callId),
        ["c1", "c2"]
      )
    })
  )

  it.effect("O-OWN-01 after the process is gone pending operations are plain records of the transcript", () =>
    Effect.gen(function* () {
      const memory = yield* MemoryTranscript.make()
      const faulty = yield* FaultyTranscript.make(memory, FaultyTranscript.crash(2, "landed"))
      const on = yield* Story.doomed({
        script: [Script.callTools(call("c1", "a"))],
        tools: Tools.make([Tools.tool("a", Tools.never)]),
        transcript: faulty.transcript
      })
      yield* on.loop.run(Story.ask())
      yield* faulty.crashed
      const reopened = yield* MemoryTranscript.make({ lines: yield* memory.lines })
      const { pending } = yield* reopened.replay
      assert.deepStrictEqual(
        pending.map((one) => [one.tool, one.callId]),
        [["a", "c1"]]
      )
      assert.strictEqual(Object.getPrototypeOf(pending[0]), Object.prototype)
    })
  )

  it.effect("O-OWN-02 L-ART-02 the digest at settle describes the content the model was given", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({
        script: [Script.callTools(call("c1", "a")), Script.say("ok")],
        tools: Tools.make([Tools.tool("a", Tools.answer("the answer"))]),
        transcript: true
      })
      const lines = (yield* told.transcript!.lines).map((text) => JSON.parse(text))
      const { createHash } = yield* Effect.promise(() => import("node:crypto"))
      const digest = createHash("sha256")
        .update(told.outcome.messages[2]?.content ?? "")
        .digest("hex")
      assert.strictEqual(lines.find((one) => one.type === "tool-settled").payload.resultDigest, digest)
    })
  )

  it.effect(
    "O-STATE-06 L-DL-02 L-DL-03 L-DL-04 L-DL-05 L-DL-06 L-DL-07 a deadline leaves the outcome unknown, never failed, and the run goes on",
    () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const tools = Tools.make([
          Tools.tool("a", () => Effect.as(Deferred.await(gate), Tool.answered("wrote it"))),
          Tools.tool("b", Tools.answer("b"))
        ])
        const on = yield* Story.stage({
          script: [Script.callTools(call("c1", "a"), call("c2", "b")), Script.say("I will look")],
          tools,
          transcript: true,
          settings: { toolDeadline: "2 seconds" }
        })
        const told = yield* Story.play(on, undefined, {
          meanwhile: (run) =>
            Effect.gen(function* () {
              yield* tools.began(0)
              yield* TestClock.adjust("2 seconds")
              assert.strictEqual((yield* run.outcome).final, "I will look")
              yield* Deferred.succeed(gate, undefined)
            })
        })
        assert.deepStrictEqual(
          Recorder.all(told.recording, "ToolAbandoned").map((e) => [e.id, e.reason, e.dispatched]),
          [
            ["c1", "deadline", true],
            ["c2", "deadline", false]
          ]
        )
        assert.deepStrictEqual(Recorder.all(told.recording, "ToolResult"), [])
        assert.deepStrictEqual(
          told.replay?.settled.map((one) => [one.outcome, one.reason]),
          [["outcome-unknown", "deadline"]]
        )
        assert.notInclude(told.outcome.messages[2]?.content, "fail")
        assert.strictEqual(tools.ran.length, 1)
      })
  )
})
