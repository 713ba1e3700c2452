import * as Message from "@settle/core/model/Message"
import * as RunContext from "@settle/core/model/RunContext"
import * as MemoryTranscript from "@settle/core/standard/MemoryTranscript"
import { FaultyTranscript, Recorder, Script, Tools } from "@settle/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Story from "./Story.ts"

const call = Script.call
const echo = () => Tools.make([Tools.tool("echo", Tools.echo)])

/** A transcript with one finished exchange. */
const seeded = Effect.gen(function* () {
  const memory = yield* MemoryTranscript.make()
  const first = yield* Story.tell({ script: [Script.say("hello")], transcript: memory }, Story.ask("hi"))
  return { memory, messages: first.outcome.messages }
})

/** Everything a provider would trip over and prose does not show. */
const changes = [
  { what: "role", change: (m: Message.Message) => ({ ...m, role: "system" as const }) },
  { what: "content", change: (m: Message.Message) => ({ ...m, content: "hello " }) },
  { what: "tool calls", change: (m: Message.Message) => ({ ...m, toolCalls: [call("c1", "x")] }) },
  { what: "tool-call id", change: (m: Message.Message) => ({ ...m, toolCallId: "c1" }) },
  { what: "sticky", change: (m: Message.Message) => ({ ...m, sticky: true }) },
  { what: "sysprompt", change: (m: Message.Message) => ({ ...m, sysprompt: true }) },
  { what: "depth", change: (m: Message.Message) => ({ ...m, depth: 2 }) }
]

describe("resuming a transcript", () => {
  it.effect("L-SEED-01 L-SEED-04 messages that extend the record are appended in order", () =>
    Effect.gen(function* () {
      const { memory, messages } = yield* seeded
      const copies = messages.map((message) => ({ ...message }))
      const told = yield* Story.tell({ script: [Script.say("and bye")], transcript: memory }, [
        ...copies,
        Message.user("one"),
        Message.user("two")
      ])
      assert.strictEqual(told.outcome.final, "and bye")
      assert.deepStrictEqual(
        (yield* memory.replay).entries.map((entry) => entry.message.content),
        ["hi", "hello", "one", "two", "and bye"]
      )
    })
  )

  it.effect.each(changes)(
    "L-SEED-01 L-SEED-02 another $what is refused by index, and nothing is written",
    ({ change }) =>
      Effect.gen(function* () {
        const { memory, messages } = yield* seeded
        const before = yield* memory.lines
        const altered = messages.map((message, index) => (index === 1 ? change(message) : message))
        const told = yield* Story.tell({ script: [Script.say("never")], transcript: memory }, [
          ...altered,
          Message.user("x")
        ])
        assert.deepStrictEqual(told.tags, ["RunStarted", "RunFailed"])
        assert.strictEqual(
          told.outcome.error,
          "message 1 differs from message 1 of the transcript: start from the transcript's own messages; nothing was written"
        )
        assert.isUndefined(told.outcome.reason)
        assert.deepStrictEqual(yield* memory.lines, before)
        assert.strictEqual(told.script.requests.length, 0)
      })
  )

  it.effect("L-SEED-03 a conversation shorter than the transcript is refused", () =>
    Effect.gen(function* () {
      const { memory, messages } = yield* seeded
      const told = yield* Story.tell({ script: [], transcript: memory }, messages.slice(0, 1))
      assert.strictEqual(
        told.outcome.error,
        "the conversation handed over has 1 messages and the transcript has 2: start from the transcript's own messages"
      )
    })
  )

  it.effect("L-CTX-04 L-CTX-06 one context line per run, after the seed check; two runs may differ", () =>
    Effect.gen(function* () {
      const memory = yield* MemoryTranscript.make()
      const on = yield* Story.stage({ script: [Script.say("a"), Script.say("b")], transcript: memory })
      const first = yield* Story.play(on, Story.ask(), {
        context: RunContext.make({ facts: [["day", "monday"]], tailSections: [["rules", "be brief"]] })
      })
      yield* Story.play(on, [...first.outcome.messages, Message.user("again")], {
        context: RunContext.make({ facts: [["day", "tuesday"]], tailSections: [["rules", "be brief"]] })
      })
      const lines = (yield* memory.lines).map((text) => JSON.parse(text)).filter((line) => line.type === "run-context")
      assert.strictEqual(lines.length, 2)
      assert.strictEqual(lines[0].payload.sections[0].rendered, "be brief")
      assert.strictEqual(lines[1].payload.sections[0].renderedIn, lines[0].id)
    })
  )
})

describe("a tool-call tail", () => {
  const tail = [Message.user("hi"), Message.assistant("", [call("c1", "echo"), call("c2", "echo")])]
  const answers = [Message.tool("c1", "1"), Message.tool("c2", "2")]

  it.effect("L-TAIL-01 an answered tail is an ordinary resume", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({ script: [Script.say("ok")], tools: echo() }, [...tail, ...answers])
      assert.strictEqual(told.outcome.final, "ok")
      assert.strictEqual(told.tools.ran.length, 0)
    })
  )

  it.effect(
    "J15 L-TAIL-03 an unanswered tail that nobody named is refused before any request, with both ways out",
    () =>
      Effect.gen(function* () {
        const { loop, script } = yield* Story.stage({ script: [Script.say("never")], tools: echo() })
        const run = yield* loop.run([...tail, answers[0]!])
        const outcome = yield* run.outcome
        assert.strictEqual(
          outcome.error,
          "the conversation ends in tool calls that nothing answers: echo (c2). Either answer every open call with a tool message, or name all of them in resumeToolCalls to run them again"
        )
        assert.strictEqual(script.requests.length, 0)
        yield* run.drained
      })
  )

  it.effect("L-TAIL-03 an unanswered turn further up, or a tool message that answers nothing, is refused too", () =>
    Effect.gen(function* () {
      const { loop } = yield* Story.stage({ script: [], tools: echo() })
      const inside = yield* loop.run([...tail, Message.user("never mind")])
      assert.include((yield* inside.outcome).error, "a tool call inside the conversation is unanswered: message 1 (c1)")
      yield* inside.drained
      const orphan = yield* loop.run([Message.user("hi"), Message.tool("c9", "x")])
      assert.include((yield* orphan.outcome).error, "a tool message answers no call before it: message 1 (c9)")
      yield* orphan.drained
    })
  )

  it.effect(
    "L-TAIL-02 L-TAIL-07 L-TAIL-09 L-TAIL-10 L-TAIL-11 named calls are re-entered as round 1, ahead of any steer",
    () =>
      Effect.gen(function* () {
        const on = yield* Story.stage({
          script: [Script.say("ok")],
          tools: echo(),
          transcript: true,
          steers: { pull: Effect.succeed(["steer"]) }
        })
        const told = yield* Story.play(on, tail, { resumeToolCalls: ["c2", "c1"] })
        assert.deepStrictEqual(
          on.tools.ran.map((ran) => ran.callId),
          ["c1", "c2"]
        )
        assert.deepStrictEqual(
          told.outcome.messages.map((m) => m.role),
          ["user", "assistant", "tool", "tool", "user", "assistant"]
        )
        assert.deepStrictEqual(
          Recorder.all(told.recording, "RoundStarted").map((e) => e.round),
          [1, 2]
        )
      })
  )

  it.effect("L-TAIL-08 the open envelope of the dead process is adopted, not written twice", () =>
    Effect.gen(function* () {
      const memory = yield* MemoryTranscript.make()
      const faulty = yield* FaultyTranscript.make(memory, FaultyTranscript.crash(2, "landed"))
      const dead = yield* Story.doomed({
        script: [Script.callTools(call("c1", "echo"))],
        tools: Tools.make([Tools.tool("echo", Tools.never)]),
        transcript: faulty.transcript
      })
      yield* dead.loop.run(Story.ask())
      yield* faulty.crashed
      const reopened = yield* MemoryTranscript.make({ lines: yield* memory.lines })
      const replay = yield* reopened.replay
      assert.strictEqual(replay.pending.length, 1)
      const on = yield* Story.stage({ script: [Script.say("ok")], tools: echo(), transcript: reopened })
      yield* Story.play(
        on,
        replay.entries.map((entry) => entry.message),
        { resumeToolCalls: ["c1"] }
      )
      const after = yield* reopened.replay
      assert.deepStrictEqual(after.pending, [])
      assert.deepStrictEqual(
        after.settled.map((one) => [one.opId, one.outcome]),
        [[replay.pending[0]?.opId, "completed"]]
      )
    })
  )

  it.effect("L-TAIL-04 L-TAIL-05 L-TAIL-06 naming too few, too many, or without a provider is refused", () =>
    Effect.gen(function* () {
      const { loop } = yield* Story.stage({ script: [], tools: echo() })
      const few = yield* loop.run(tail, { resumeToolCalls: ["c1"] })
      assert.include((yield* few.outcome).error, "resumeToolCalls leaves open calls out: echo (c2)")
      yield* few.drained
      const many = yield* loop.run(tail, { resumeToolCalls: ["c1", "c2", "c7"] })
      assert.include(
        (yield* many.outcome).error,
        "resumeToolCalls names calls that are not open: no such open call (c7)"
      )
      yield* many.drained
      const bare = yield* Story.stage({ script: [] })
      const none = yield* bare.loop.run(tail, { resumeToolCalls: ["c1", "c2"] })
      assert.include((yield* none.outcome).error, "resumeToolCalls needs a tool provider to dispatch to")
      yield* none.drained
    })
  )
})

describe("a transcript that takes no more lines", () => {
  it.effect("J16 X-STORE-06 the run fails, names the operation without a settle, and the tool is not run again", () =>
    Effect.gen(function* () {
      const memory = yield* MemoryTranscript.make()
      const faulty = yield* FaultyTranscript.make(memory, FaultyTranscript.fail(3, 99))
      const told = yield* Story.tell({
        script: [Script.callTools(call("c1", "echo"), call("c2", "echo")), Script.say("never")],
        tools: echo(),
        transcript: faulty.transcript
      })
      assert.strictEqual(told.outcome.reason, "transcript-failed")
      assert.include(told.outcome.error, "No durable settle: echo (operation ")
      assert.include(told.outcome.error, "it was not run again")
      assert.strictEqual(told.tools.ran.length, 1)
      assert.deepStrictEqual(
        told.outcome.messages.map((m) => m.role),
        ["user", "assistant", "tool", "tool"]
      )
    })
  )

  it.effect("X-STORE-06 a dispatch line that cannot be written means the tool never runs", () =>
    Effect.gen(function* () {
      const memory = yield* MemoryTranscript.make()
      const faulty = yield* FaultyTranscript.make(memory, FaultyTranscript.fail(2, 99))
      const told = yield* Story.tell({
        script: [Script.callTools(call("c1", "echo")), Script.say("never")],
        tools: echo(),
        transcript: faulty.transcript
      })
      assert.strictEqual(told.outcome.reason, "transcript-failed")
      assert.strictEqual(told.tools.ran.length, 0)
      assert.include(told.outcome.messages[2]?.content, "it did not run")
    })
  )
})
