import * as Wording from "@settle/core/decide/Wording"
import * as Limits from "@settle/core/decide/Limits"
import * as Conversation from "@settle/core/model/Conversation"
import * as Settings from "@settle/core/model/Settings"
import { Recorder, Script, Tools } from "@settle/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as Story from "./Story.ts"

const call = Script.call
const echo = () => Tools.make([Tools.tool("echo", Tools.echo), Tools.tool("lock_acquire", Tools.answer("busy"))])
const same = (n: number, name = "echo", from = 0) =>
  Array.from({ length: n }, (_, i) => call(`${name}-${from + i}`, name, { path: "a" }))
const settings = (input: Settings.Input) => Result.getOrThrow(Settings.make(input))

describe("limits, and the turn they discard", () => {
  it.effect(
    "L-LIM-01 L-LIM-02 L-LIM-05 a limit discards the turn, says its sentence, switches tools off and asks again",
    () =>
      Effect.gen(function* () {
        const told = yield* Story.tell({
          script: [
            Script.callTools(call("c1", "echo")),
            Script.callTools(call("c2", "echo")),
            Script.say("short of it")
          ],
          tools: echo(),
          transcript: true,
          settings: { maxToolRounds: 1 }
        })
        assert.strictEqual(
          Wording.limitReached,
          "Tool call limit reached. Do not call tools again. Answer using the information already available, and state if more tool work would be needed."
        )
        const system = told.outcome.messages.at(-2)
        assert.deepStrictEqual([system?.role, system?.content], ["system", Wording.limitReached])
        assert.strictEqual(told.outcome.final, "short of it")
        const at = told.tags.indexOf("LimitReached")
        assert.deepStrictEqual(told.tags.slice(at, at + 3), ["LimitReached", "TurnDiscarded", "RoundStarted"])
        const [limit] = Recorder.all(told.recording, "LimitReached")
        assert.deepStrictEqual([limit?.limit, limit?.count, limit?.max], ["tool-rounds", 1, 1])
        assert.strictEqual(Recorder.all(told.recording, "TurnDiscarded")[0]?.reason, "limit")
      })
  )

  it.effect("L-LIM-03 L-LIM-04 leaves no trace of the discarded turn", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({
        script: [{ content: "let me look", toolCalls: [call("c1", "echo")] }, Script.say("fine")],
        tools: echo(),
        transcript: true,
        settings: { maxToolCalls: 0 }
      })
      assert.strictEqual(Recorder.all(told.recording, "AssistantMessage").length, 1)
      assert.isFalse((yield* told.transcript!.lines).some((line) => line.includes("let me look")))
      assert.isTrue(Conversation.isWellFormed(told.outcome.messages))
      assert.strictEqual(told.tools.ran.length, 0)
    })
  )

  it("L-LIM-06 tool-rounds trips at the maximum, tool-calls and identical-calls above it", () => {
    const bounds = settings({ maxToolRounds: 2, maxToolCalls: 3, maxIdenticalCalls: 2 })
    const tally = (rounds: number, calls: number) => ({ ...Limits.empty, rounds, calls })
    const one = [call("a", "t")]
    assert.strictEqual(Limits.check(tally(1, 0), one, bounds)._tag, "Allowed")
    assert.deepStrictEqual(
      Limits.check(tally(2, 0), one, bounds),
      Limits.Verdict.Reached({ limit: "tool-rounds", count: 2, max: 2 })
    )
    assert.strictEqual(Limits.check(tally(0, 2), one, bounds)._tag, "Allowed")
    assert.deepStrictEqual(
      Limits.check(tally(0, 3), one, bounds),
      Limits.Verdict.Reached({ limit: "tool-calls", count: 4, max: 3 })
    )
    assert.strictEqual(Limits.check(Limits.empty, same(2, "t"), bounds)._tag, "Allowed")
    assert.deepStrictEqual(
      Limits.check(Limits.empty, same(3, "t"), bounds),
      Limits.Verdict.Reached({ limit: "identical-calls", count: 3, max: 2 })
    )
  })

  it.effect("L-LIM-07 after a limit the tools stay off for the rest of the run", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({
        script: [Script.callTools(call("c1", "echo")), { content: "one more", toolCalls: [call("c2", "echo")] }],
        tools: echo(),
        settings: { maxToolCalls: 0 }
      })
      assert.deepStrictEqual(told.script.requests[1]?.tools, [])
      assert.strictEqual(told.outcome.final, "one more")
      assert.isUndefined(told.outcome.messages.at(-1)?.toolCalls)
      assert.strictEqual(told.tools.ran.length, 0)
    })
  )

  it.effect("L-EMPTY-01 L-LIM-07 L-GEN-04 a reply of nothing but calls where no tool is offered is an empty one", () =>
    Effect.gen(function* () {
      const calls = Script.callTools(call("c1", "echo"))
      const limited = yield* Story.passing(
        Story.tell({ script: [calls, calls, calls], tools: echo(), transcript: true, settings: { maxToolCalls: 0 } })
      )
      assert.strictEqual(limited.outcome.reason, "empty-completion")
      assert.include(
        limited.outcome.error,
        "the model answered with nothing but a tool call, and no tool was offered (finish reason tool-calls)"
      )
      assert.deepStrictEqual(Story.rolesOf(limited.outcome.messages), ["user", "system"])
      const bare = yield* Story.passing(Story.tell({ script: [calls, Script.say("words")] }))
      assert.strictEqual(bare.outcome.final, "words")
    })
  )

  it.effect("L-LIM-08 L-STEER-04 the round a limit restarts is a full boundary: steers are asked again", () =>
    Effect.gen(function* () {
      let pulls = 0
      const told = yield* Story.tell({
        script: [Script.callTools(call("c1", "echo")), Script.say("ok")],
        tools: echo(),
        settings: { maxToolCalls: 0 },
        steers: { pull: Effect.sync(() => (++pulls === 2 ? ["hurry"] : [])) }
      })
      assert.strictEqual(pulls, 2)
      assert.deepStrictEqual(
        told.outcome.messages.map((m) => m.content),
        ["go", Wording.limitReached, "hurry", "ok"]
      )
    })
  )
})

describe("the identical-call guard", () => {
  it("L-IDENT-01 L-IDENT-02 key order does not make another call", () => {
    assert.strictEqual(
      Limits.signatureOf(call("1", "t", `{"path":"a","mode":"r"}`)),
      Limits.signatureOf(call("2", "t", `{ "mode": "r", "path": "a" }`))
    )
    assert.notStrictEqual(Limits.signatureOf(call("1", "t", "{}")), Limits.signatureOf(call("1", "u", "{}")))
  })

  it.effect("L-IDENT-03 the count covers history and the batch", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({
        script: [Script.callTools(...same(2)), Script.callTools(...same(2, "echo", 2)), Script.say("ok")],
        tools: echo(),
        settings: { maxIdenticalCalls: 3 }
      })
      const [limit] = Recorder.all(told.recording, "LimitReached")
      assert.deepStrictEqual([limit?.limit, limit?.count, limit?.max], ["identical-calls", 4, 3])
      assert.strictEqual(told.tools.ran.length, 2)
    })
  )

  it.effect("L-IDENT-04 a batch over the maximum trips before any of it runs", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({
        script: [Script.callTools(...same(4)), Script.say("ok")],
        tools: echo(),
        settings: { maxIdenticalCalls: 3 }
      })
      assert.strictEqual(told.tools.ran.length, 0)
    })
  )

  it.effect("L-IDENT-05 L-IDENT-06 unknown outcomes count and abandoned calls do not", () =>
    Effect.gen(function* () {
      const tools = Tools.make([Tools.tool("echo", Tools.sequence(Tools.never, Tools.answer("ok")))])
      const told = yield* Story.tell({
        script: [
          Script.callTools(...same(2)),
          Script.callTools(...same(1, "echo", 2)),
          Script.callTools(...same(1, "echo", 3)),
          Script.say("done")
        ],
        tools,
        provider: interruptible(tools),
        settings: { maxIdenticalCalls: 2, toolDeadline: "1 second" }
      }).pipe(Story.passing)
      // One unknown and one abandoned: the next call is the second that counts, the one after it the third.
      assert.deepStrictEqual(
        tools.ran.map((ran) => ran.callId),
        ["echo-0", "echo-2"]
      )
      const [limit] = Recorder.all(told.recording, "LimitReached")
      assert.deepStrictEqual([limit?.count, limit?.max], [3, 2])
    })
  )

  it.effect("T13 L-IDENT-07 30 identical calls pass and the 31st trips", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({
        script: [Script.callTools(...same(30)), Script.callTools(...same(1, "echo", 30)), Script.say("ok")],
        tools: echo()
      })
      assert.strictEqual(told.tools.ran.length, 30)
      const [limit] = Recorder.all(told.recording, "LimitReached")
      assert.deepStrictEqual([limit?.count, limit?.max], [31, 30])
    })
  )

  it("L-IDENT-08 arguments that are not JSON are compared verbatim", () => {
    assert.notStrictEqual(Limits.signatureOf(call("1", "t", "a b")), Limits.signatureOf(call("1", "t", "a  b")))
    assert.notStrictEqual(Limits.signatureOf(call("1", "t", `{"a":`)), Limits.signatureOf(call("1", "t", `{"a": `)))
    assert.strictEqual(Limits.signatureOf({ id: "1", name: "t", arguments: "" }), "t\u0000")
  })
})

describe("tools the guard ignores", () => {
  it("L-EXEMPT-01 the list is empty by default and takes prefixes", () => {
    assert.deepStrictEqual(settings({}).identicalCallExempt, [])
    const bounds = settings({ identicalCallExempt: ["lock_*"], maxIdenticalCalls: 1 })
    assert.strictEqual(Limits.check(Limits.empty, same(3, "lock_acquire"), bounds)._tag, "Allowed")
  })

  it.effect("L-EXEMPT-02 an exempt call is neither counted nor trips", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({
        script: [Script.callTools(...same(40, "lock_acquire")), Script.say("ok")],
        tools: echo(),
        settings: { identicalCallExempt: ["lock_acquire"] }
      })
      assert.strictEqual(told.tools.ran.length, 40)
    })
  )

  it("L-EXEMPT-03 L-EXEMPT-04 the skip comes before counting, for the exempt calls alone", () => {
    const bounds = settings({ identicalCallExempt: ["lock_acquire"], maxIdenticalCalls: 2 })
    assert.strictEqual(Limits.check(Limits.empty, [...same(40, "lock_acquire"), ...same(2)], bounds)._tag, "Allowed")
    assert.deepStrictEqual(
      Limits.check(Limits.empty, [...same(40, "lock_acquire"), ...same(3)], bounds),
      Limits.Verdict.Reached({ limit: "identical-calls", count: 3, max: 2 })
    )
  })

  it("L-EXEMPT-05 rounds and calls still bound an exempt tool", () => {
    const bounds = settings({ identicalCallExempt: ["lock_*"], maxToolCalls: 2, maxToolRounds: 1 })
    assert.strictEqual(Limits.check(Limits.empty, same(3, "lock_acquire"), bounds)._tag, "Reached")
    assert.strictEqual(Limits.check({ ...Limits.empty, rounds: 1 }, same(1, "lock_acquire"), bounds)._tag, "Reached")
  })
})

/** The same tools, whose calls end when they are given up. */
const interruptible = (tools: Tools.Tools) => ({
  ...tools.provider,
  list: Effect.map(tools.provider.list, (all) => all.map((one) => ({ ...one, interruption: "interrupt" as const })))
})
