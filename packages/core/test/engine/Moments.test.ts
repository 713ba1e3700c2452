/** Moments between two steps: what runs at once inside a wake-up, a cancel while a line is written, calls of a dead process. */
import * as Message from "@settle/core/model/Message"
import * as Operation from "@settle/core/model/Operation"
import type * as Transcript from "@settle/core/port/Transcript"
import * as MemoryTranscript from "@settle/core/standard/MemoryTranscript"
import { FaultyTranscript, Recorder, Script, Tools } from "@settle/testing"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as Story from "./Story.ts"

const call = Script.call

describe("what runs at once inside a wake-up", () => {
  it.effect("L-MARK-07 an acknowledgement that comes late spoils the handoff like one that comes at once", () =>
    Effect.gen(function* () {
      const tools = Tools.make([Tools.tool("bg", Tools.after("10 millis", Tools.background("started")))])
      const told = yield* Story.passing(
        Story.tell({
          script: [Script.callTools(call("c1", "bg")), Script.say(""), Script.say("")],
          tools,
          settings: { handoffAfterToolRounds: 3 }
        })
      )
      assert.strictEqual(told.outcome.reason, "empty-completion")
      assert.isUndefined(told.outcome.retrieval_handoff)
    })
  )

  it.effect("L-SHIM-05 L-CANC-09 the answer to a question is told before the cancelled run ends", () =>
    Effect.gen(function* () {
      const answer = yield* Deferred.make<string>()
      const tools = Tools.make([
        Tools.tool(
          "asks",
          Tools.asking({ tool: "asks" }, Deferred.await(answer), () => Tools.echo)
        )
      ])
      const on = yield* Story.stage({ script: [Script.callTools(call("c1", "asks"))], tools, transcript: true })
      const told = yield* Story.play(on, undefined, {
        meanwhile: (run, recorder) =>
          Effect.gen(function* () {
            yield* recorder.seen("AskPending")
            yield* run.cancel
            yield* Deferred.succeed(answer, "yes")
          })
      })
      assert.strictEqual(told.outcome.outcome, "cancelled")
      assert.deepStrictEqual(
        Recorder.all(told.recording, "AskAnswered").map((event) => event.answer),
        ["yes"]
      )
    })
  )

  it.effect("L-RUN-06 L-RUN-04 whoever has the result finds the run done", () =>
    Effect.gen(function* () {
      const on = yield* Story.stage({ script: [{ content: "ok", delay: "1 second" }] })
      const run = yield* on.loop.run(Story.ask())
      const done = yield* Effect.forkChild(Effect.andThen(run.result, run.isDone))
      yield* on.script.arrived(0)
      yield* TestClock.adjust("1 second")
      assert.isTrue(yield* Fiber.join(done))
    })
  )
})

describe("a cancel between two steps", () => {
  it.effect("T8 X-CANC-01 a cancel while the dispatched line is written keeps the tool from starting", () =>
    Effect.gen(function* () {
      const memory = yield* MemoryTranscript.make()
      const writing = yield* Deferred.make<void>()
      const written = yield* Deferred.make<void>()
      const transcript: Transcript.Transcript = {
        ...memory,
        append: (drafts) =>
          drafts.some((draft) => draft.type === "tool-dispatched")
            ? Deferred.succeed(writing, undefined).pipe(
                Effect.andThen(Deferred.await(written)),
                Effect.andThen(memory.append(drafts))
              )
            : memory.append(drafts)
      }
      const tools = Tools.make([Tools.tool("echo", Tools.echo)])
      const on = yield* Story.stage({
        script: [Script.callTools(call("c1", "echo"), call("c2", "echo"))],
        tools,
        transcript
      })
      const told = yield* Story.play(on, undefined, {
        meanwhile: (run) =>
          Effect.gen(function* () {
            yield* Deferred.await(writing)
            yield* run.cancel
            yield* Deferred.succeed(written, undefined)
          })
      })
      assert.strictEqual(told.outcome.outcome, "cancelled")
      assert.strictEqual(tools.ran.length, 0)
      assert.isFalse((yield* memory.replay).pending.length > 0)
      const settled = (yield* memory.replay).settled.map((one) => [one.outcome, one.reason])
      assert.deepStrictEqual(settled, [["outcome-unknown", "cancelled"]])
      assert.include(told.outcome.messages[3]?.content, "it did not run")
    })
  )

  it.effect("X-CANC-02 a call that was interrupted has not answered late, and no log says so", () =>
    Effect.gen(function* () {
      const tools = Tools.make([Tools.tool("stoppable", Tools.never, { interruption: "interrupt" })])
      const told = yield* Story.passing(
        Story.tell({
          script: [Script.callTools(call("c1", "stoppable")), Script.say("ok")],
          tools,
          settings: { toolDeadline: "1 second" }
        })
      )
      assert.strictEqual(tools.ran[0]?.end, "interrupted")
      assert.deepStrictEqual(Recorder.all(told.recording, "Log"), [])
    })
  )
})

describe("calls of a dead process", () => {
  /** Both calls of a group were handed over when the process died; the next one runs them one by one. */
  const died = Effect.gen(function* () {
    const memory = yield* MemoryTranscript.make()
    const faulty = yield* FaultyTranscript.make(memory, FaultyTranscript.crash(3, "landed"))
    const dead = yield* Story.doomed({
      script: [Script.callTools(call("c1", "write"), call("c2", "write"))],
      tools: Tools.make([Tools.tool("write", Tools.never)]),
      transcript: faulty.transcript,
      settings: { concurrentTools: ["write"] }
    })
    yield* dead.loop.run(Story.ask())
    yield* faulty.crashed
    const transcript = yield* MemoryTranscript.make({ lines: yield* memory.lines })
    const replay = yield* transcript.replay
    assert.strictEqual(replay.pending.length, 2)
    return { transcript, messages: replay.entries.map((entry) => entry.message) }
  })

  const claims = (messages: ReadonlyArray<Message.Message>) =>
    messages.slice(2).map((message) => (message.content.includes("is unknown") ? "unknown" : message.content))

  for (const [what, settings] of [
    ["deadline", { toolDeadline: "1 second" }],
    ["cancel", {}]
  ] as const) {
    it.effect(
      `O-STATE-04 L-TAIL-08 a ${what} leaves the calls behind it unknown where a dead process had started them`,
      () =>
        Effect.gen(function* () {
          const { messages, transcript } = yield* died
          const slow = Tools.make([Tools.tool("write", Tools.after("5 seconds", Tools.echo))])
          const on = yield* Story.stage({ script: [Script.say("ok")], tools: slow, transcript, settings })
          const run = yield* on.loop.run(messages, { resumeToolCalls: ["c1", "c2"] })
          const recorder = yield* Recorder.start(run.events)
          yield* slow.began(0)
          if (what === "cancel") yield* run.cancel
          yield* TestClock.adjust("1 second")
          const outcome = yield* run.outcome
          yield* TestClock.adjust("5 seconds")
          yield* run.drained
          assert.strictEqual(slow.ran.length, 1)
          assert.deepStrictEqual(claims(outcome.messages.slice(0, 4)), ["unknown", "unknown"])
          const replay = yield* transcript.replay
          assert.deepStrictEqual(replay.pending, [])
          const outcomes: ReadonlyArray<Operation.Outcome> = ["outcome-unknown", "outcome-unknown"]
          assert.deepStrictEqual(
            replay.settled.map((one) => one.outcome),
            outcomes
          )
          const abandoned = Recorder.all(yield* recorder.done, "ToolAbandoned")
          assert.deepStrictEqual(
            abandoned.map((event) => event.dispatched),
            [true, true]
          )
        })
    )
  }
})

describe("a question whose call is interrupted", () => {
  it.effect("L-DL-10 L-DL-12 the clock of a call goes on where it stood once its question is answered", () =>
    Effect.gen(function* () {
      const question = Effect.as(Effect.sleep("60 seconds"), "yes")
      const tools = Tools.make([
        Tools.tool(
          "asks",
          Tools.after(
            "10 seconds",
            Tools.asking({ tool: "asks" }, question, () => Tools.after("1 hour", Tools.echo))
          )
        )
      ])
      const on = yield* Story.stage({
        script: [Script.callTools(call("c1", "asks")), Script.say("ok")],
        tools,
        settings: { toolDeadline: "30 seconds" }
      })
      const run = yield* on.loop.run(Story.ask())
      const recorder = yield* Recorder.start(run.events)
      yield* tools.began(0)
      yield* Effect.repeat(TestClock.adjust("1 second"), { times: 88 })
      assert.isFalse(yield* run.isDone)
      yield* TestClock.adjust("1 second")
      const outcome = yield* run.outcome
      assert.strictEqual(outcome.final, "ok")
      assert.deepStrictEqual(
        Recorder.all(yield* recorder.done, "ToolAbandoned").map((event) => [event.reason, event.ts]),
        [["deadline", 90_000]]
      )
      yield* TestClock.adjust("1 hour")
      yield* run.drained
    })
  )

  it.effect("L-SHIM-05 the frame of a question is closed, whoever interrupts it", () =>
    Effect.gen(function* () {
      const tools = Tools.make([
        Tools.tool("asks", (one) =>
          Effect.raceFirst(
            Tools.asking({ tool: "asks" }, Effect.never, () => Tools.echo)(one),
            Tools.after("1 second", Tools.answer("nobody came"))(one)
          )
        )
      ])
      const told = yield* Story.passing(
        Story.tell({ script: [Script.callTools(call("c1", "asks")), Script.say("ok")], tools })
      )
      const answered = Recorder.all(told.recording, "AskAnswered")
      assert.strictEqual(answered.length, 1)
      assert.isFalse("answer" in (answered[0] ?? {}))
      assert.isTrue(Exit.isSuccess(yield* Effect.exit(told.run.result)))
    })
  )
})
