/** A run that hands its collected results back, and the markers of one that failed behind them. */
import * as Message from "@settle/core/model/Message"
import * as MemoryTranscript from "@settle/core/standard/MemoryTranscript"
import * as Bus from "@settle/core/standard/Bus"
import * as Transcript from "@settle/core/port/Transcript"
import { Recorder, Script, Tools } from "@settle/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as Story from "./Story.ts"

const call = Script.call
const calls = (...ids: ReadonlyArray<string>) => Script.callTools(...ids.map((id) => call(id, "read", { id })))
const read = (act: Tools.Act = Tools.echo) => Tools.make([Tools.tool("read", act)])
const after = (rounds: number) => ({ settings: { handoffAfterToolRounds: rounds } })

describe("the handoff", () => {
  it.effect(
    "L-HAND-01 L-HAND-05 L-HAND-06 after N batches the run completes with its reason, an empty final and no further request",
    () =>
      Effect.gen(function* () {
        const script = [calls("c1"), calls("c2", "c3"), Script.say("on my own")]
        const told = yield* Story.tell({ script, tools: read(), transcript: true, ...after(2) })
        assert.deepStrictEqual(
          [told.outcome.outcome, told.outcome.reason, told.outcome.final],
          ["completed", "tool-round-handoff", ""]
        )
        assert.strictEqual(told.script.requests.length, 2)
        assert.deepStrictEqual(Story.rolesOf(told.outcome.messages), [
          "user",
          "assistant",
          "tool",
          "assistant",
          "tool",
          "tool"
        ])
        const [done] = Recorder.all(told.recording, "RunCompleted")
        assert.deepStrictEqual([done?.reason, done?.final, done?.messageCount], ["tool-round-handoff", "", 6])
        const off = yield* Story.tell({ script, tools: read(), ...after(0) })
        assert.deepStrictEqual([off.outcome.final, off.outcome.reason], ["on my own", undefined])
        const negative = yield* Effect.flip(Story.stage({ script: [], ...after(-1) }))
        assert.include(negative.message, "handoffAfterToolRounds: -1 is not a whole number of at least 0")
      })
  )

  it.effect("L-HAND-03 a completion bus and a handoff refuse each other", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make()
      const refused = yield* Effect.flip(Story.stage({ script: [], bus, ...after(1) }))
      assert.strictEqual(
        refused.message,
        "handoffAfterToolRounds: a completion bus is there too, and background work needs the loop to keep the run. Use one of the two"
      )
    })
  )

  it.effect(
    "L-HAND-04 L-HAND-09 at the boundary a cap stands before the handoff, and a transcript that failed before both",
    () =>
      Effect.gen(function* () {
        const paid = { ...calls("c1"), usage: { promptTokens: 1, completionTokens: 1, cost: 1 } }
        const capped = yield* Story.tell({ script: [paid], tools: read(), budget: { maxCost: 1 }, ...after(1) })
        assert.deepStrictEqual([capped.outcome.outcome, capped.outcome.reason], ["failed", "budget-exhausted"])
        const memory = yield* MemoryTranscript.make()
        const transcript: Transcript.Transcript = {
          ...memory,
          append: (drafts) =>
            drafts.some((draft) => draft.type === "tool-settled")
              ? Transcript.fail("append", "memory", new Transcript.WriteFailed({ detail: "no space left" }))
              : memory.append(drafts)
        }
        const unwritten = yield* Story.tell({ script: [calls("c1")], tools: read(), transcript, ...after(1) })
        assert.deepStrictEqual([unwritten.outcome.outcome, unwritten.outcome.reason], ["failed", "transcript-failed"])
      })
  )

  it.effect("L-HAND-04 L-HAND-09 a cancel at the boundary is a cancel", () =>
    Effect.gen(function* () {
      const on = yield* Story.stage({
        script: [calls("c1")],
        tools: read(() => Effect.as(Effect.sleep("1 second"), "late")),
        ...after(1)
      })
      const told = yield* Story.play(on, undefined, {
        meanwhile: (run) =>
          Effect.gen(function* () {
            yield* on.tools.began(0)
            yield* run.cancel
            yield* TestClock.adjust("1 second")
          })
      })
      assert.strictEqual(told.outcome.outcome, "cancelled")
    })
  )

  it.effect("L-HAND-07 L-HAND-08 a failed call of the counted batches ends incomplete, and buys no further round", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({
        script: [calls("c1"), Script.say("never")],
        tools: read(Tools.error("no")),
        ...after(1)
      })
      assert.deepStrictEqual([told.outcome.reason, told.script.requests.length], ["handoff-incomplete-tools", 1])
      assert.include(told.outcome.error, "read (c1)")
      assert.deepStrictEqual(Story.rolesOf(told.outcome.messages), ["user", "assistant", "tool"])
    })
  )

  it.effect("L-HAND-11 drained comes after the result, when no collected call can still act", () =>
    Effect.gen(function* () {
      let writes = 0
      const slow: Tools.Act = () =>
        Effect.sleep("60 seconds").pipe(Effect.andThen(Effect.sync(() => ++writes)), Effect.as("late"))
      const on = yield* Story.stage({
        script: [calls("c1")],
        tools: read(slow),
        settings: { handoffAfterToolRounds: 1, toolDeadline: "1 second" }
      })
      const run = yield* on.loop.run(Story.ask())
      yield* on.tools.began(0)
      yield* TestClock.adjust("1 second")
      const outcome = yield* run.outcome
      assert.strictEqual(outcome.reason, "handoff-incomplete-tools")
      const drained = yield* Effect.forkChild(run.drained)
      yield* TestClock.adjust("30 seconds")
      assert.isUndefined(drained.pollUnsafe())
      yield* TestClock.adjust("30 seconds")
      yield* Fiber.join(drained)
      assert.strictEqual(writes, 1)
    })
  )

  it.effect("L-HAND-12 a waiting steer stays where it is: no request follows the boundary", () =>
    Effect.gen(function* () {
      const words = ["and then?"]
      let pulls = 0
      const pull = Effect.sync(() => (pulls++ === 0 ? [] : words.splice(0)))
      const told = yield* Story.tell({ script: [calls("c1")], tools: read(), steers: { pull }, ...after(1) })
      assert.strictEqual(told.outcome.reason, "tool-round-handoff")
      assert.deepStrictEqual([pulls, words], [1, ["and then?"]])
    })
  )
})

describe("the markers of a failed closing turn", () => {
  it.effect("L-MARK-06 no marker where the run began with the calls of another one", () =>
    Effect.gen(function* () {
      const tail = [Message.user("go"), Message.assistant("", [call("c1", "read")])]
      const on = yield* Story.stage({ script: [Script.say(""), Script.say("")], tools: read(), ...after(3) })
      const told = yield* Story.passing(Story.play(on, tail, { resumeToolCalls: ["c1"] }))
      assert.strictEqual(told.outcome.reason, "empty-completion")
      assert.isUndefined(told.outcome.retrieval_handoff)
      // The same turns, asked for in this run, leave one.
      assert.isDefined((yield* collected(Script.say(""), Script.say(""))).outcome.retrieval_handoff)
    })
  )

  it.effect("L-MARK-12 no marker where the failing turn itself reached a cap", () =>
    Effect.gen(function* () {
      const usage = { totalTokens: 10 }
      const spending = (maxTotalTokens: number) =>
        Story.tell({
          script: [{ ...calls("c1"), usage }, Script.say("", { usage }), Script.say("", { usage })],
          tools: read(),
          budget: { maxTotalTokens },
          ...after(3)
        }).pipe(Story.passing)
      assert.isDefined((yield* spending(31)).outcome.retrieval_handoff)
      const capped = yield* spending(30)
      assert.strictEqual(capped.outcome.reason, "empty-completion")
      assert.isUndefined(capped.outcome.retrieval_handoff)
    })
  )

  const collected = (...closing: ReadonlyArray<Script.Entry>) =>
    Story.tell({ script: [calls("c1", "c2"), ...closing], tools: read(), transcript: true, ...after(3) }).pipe(
      Story.passing
    )

  it.effect(
    "L-MARK-01 L-MARK-02 L-MARK-10 L-MARK-14 L-MARK-16 L-MARK-17 two empty answers: failed as ever, and both markers name what is whole",
    () =>
      Effect.gen(function* () {
        const told = yield* collected(Script.say(""), Script.say(" "))
        const same = { round: 2, completed_tool_rounds: 1, completed_tool_call_ids: ["c1", "c2"] }
        const v2 = {
          version: "llm.agent.retrieval-handoff.v2",
          ...same,
          failure_reason: "empty-completion",
          failed_attempts: 2
        }
        assert.deepStrictEqual(told.outcome.retrieval_handoff, v2)
        const v1 = { version: "llm.agent.empty-retrieval-handoff.v1", ...same, empty_attempts: 2 }
        assert.deepStrictEqual(told.outcome.empty_retrieval_handoff, v1)
        const [failed] = Recorder.all(told.recording, "RunFailed")
        assert.deepStrictEqual([failed?.retrieval_handoff, failed?.empty_retrieval_handoff], [v2, v1])
        assert.deepStrictEqual(
          [told.outcome.outcome, told.outcome.reason, told.outcome.final],
          ["failed", "empty-completion", ""]
        )
        assert.deepStrictEqual(Story.rolesOf(told.outcome.messages), ["user", "assistant", "tool", "tool"])
        assert.deepStrictEqual(
          Recorder.all(told.recording, "AttemptFailed").map((e) => e.disposition),
          ["retry-same", "abort"]
        )
      })
  )

  it.effect("L-MARK-02 L-MARK-11 L-MARK-13 L-MARK-15 calls of the failed turn are neither run nor carried", () =>
    Effect.gen(function* () {
      const cut = {
        toolCalls: [call("call-nine", "read")],
        partialCalls: [call("c10", "read", '{"half')],
        finish: "length" as const
      }
      const told = yield* collected(cut)
      assert.strictEqual(told.outcome.reason, "completion-truncated")
      assert.strictEqual(told.tools.ran.length, 2)
      assert.deepInclude(told.outcome.retrieval_handoff, { failed_attempts: 1, completed_tool_call_ids: ["c1", "c2"] })
      assert.isUndefined(told.outcome.empty_retrieval_handoff)
      assert.notInclude(JSON.stringify([told.outcome.messages, yield* told.transcript!.lines]), "call-nine")
      assert.strictEqual(told.outcome.attempts.at(-1)?.reason, "completion-truncated")
    })
  )

  it.effect(
    "L-MARK-03 L-MARK-05 L-MARK-07 L-MARK-09 L-MARK-12 no marker without the handoff, in round one, behind an error or another failure",
    () =>
      Effect.gen(function* () {
        const empty = [Script.say(""), Script.say("")]
        const off = yield* Story.tell({ script: [calls("c1"), ...empty], tools: read() }).pipe(Story.passing)
        const first = yield* Story.tell({ script: empty, tools: read(), ...after(3) }).pipe(Story.passing)
        const broken = yield* Story.tell({
          script: [calls("c1"), ...empty],
          tools: read(Tools.error("no")),
          ...after(3)
        }).pipe(Story.passing)
        const mixed = yield* collected(Script.failWith(Script.http(500)), Script.say(""), Script.say(""))
        const thought = yield* collected({ content: "", reasoning: "hm" })
        for (const told of [off, first, broken, mixed, thought]) {
          assert.strictEqual(told.outcome.outcome, "failed")
          assert.isUndefined(told.outcome.retrieval_handoff)
        }
      })
  )
})
