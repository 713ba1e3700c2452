/** Parts that break their contract: the run still ends, says why, and claims nothing it does not know. */
import * as Loop from "@settle/core/agent/Loop"
import * as Message from "@settle/core/model/Message"
import type * as Tool from "@settle/core/model/Tool"
import * as Backend from "@settle/core/port/Backend"
import * as CompletionBus from "@settle/core/port/CompletionBus"
import * as Transcript from "@settle/core/port/Transcript"
import * as Bus from "@settle/core/standard/Bus"
import * as MemoryTranscript from "@settle/core/standard/MemoryTranscript"
import { FaultyTranscript, Recorder, Script, Tools } from "@settle/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Story from "./Story.ts"

const call = Script.call
const echo = () => Tools.make([Tools.tool("echo", Tools.echo)])
const job = { operationId: "job-1", kind: "job", label: "the job" }
const errors = (recording: Recorder.Recording) =>
  Recorder.all(recording, "Log").flatMap((log) => (log.level === "error" ? [log.data] : []))

describe("a completion bus that throws", () => {
  it.effect("L-PARK-02 a drain that throws delivers nothing, costs a log, and the run goes on", () =>
    Effect.gen(function* () {
      const bus = { ...CompletionBus.none, drain: Effect.die(new Error("bus down")) }
      const told = yield* Story.tell({ script: [Script.say("ok")], bus })
      assert.strictEqual(told.outcome.outcome, "completed")
      assert.include(JSON.stringify(errors(told.recording)), '"operation":"drain"')
    })
  )

  it.effect(
    "L-PARK-08 L-PARK-11 what is outstanding cannot be listed or closed: the span is balanced all the same",
    () =>
      Effect.gen(function* () {
        const real = yield* Bus.make()
        yield* real.open(job)
        const said: Array<string> = []
        const bus = {
          ...real,
          outstanding: Effect.die(new Error("no list")),
          closeAll: Effect.die(new Error("no closing"))
        }
        const on = yield* Story.stage({
          script: [Script.say("waiting")],
          bus,
          hooks: {
            onPark: () => Effect.sync(() => void said.push("park")),
            onUnpark: ({ reason }) => Effect.sync(() => void said.push(reason))
          }
        })
        const told = yield* Story.play(on, undefined, {
          meanwhile: (run, recorder) => Effect.andThen(recorder.seen("RunParked"), run.cancel)
        })
        assert.strictEqual(told.outcome.outcome, "cancelled")
        assert.deepStrictEqual(said, ["park", "cancelled"])
        const logged = JSON.stringify(errors(told.recording))
        assert.include(logged, '"operation":"outstanding"')
        assert.include(logged, '"operation":"closeAll"')
      })
  )

  it.effect("L-PARK-12 a wake-up that throws is looked for at the pace of the poll, not in a spin", () =>
    Effect.gen(function* () {
      const real = yield* Bus.make()
      yield* real.open(job)
      let looks = 0
      const bus = {
        ...real,
        state: Effect.tap(real.state, () => Effect.sync(() => void looks++)),
        changed: Effect.die(new Error("no word"))
      }
      const on = yield* Story.stage({ script: [Script.say("waiting"), Script.say("done")], bus })
      const told = yield* Story.play(on, undefined, {
        meanwhile: (_run, recorder) =>
          Effect.gen(function* () {
            yield* recorder.seen("RunParked")
            yield* TestClock.adjust("1 second")
            assert.isAtMost(looks, 40)
            yield* real.settle("job-1", { report: { kind: "job-settled", body: "42" } })
            yield* TestClock.adjust("1 second")
          })
      })
      assert.strictEqual(told.outcome.final, "done")
    })
  )
})

describe("a backend that breaks its contract", () => {
  it.effect("L-RUN-08 a failed run ends although a bill is not a number", () =>
    Effect.gen(function* () {
      const usage = { promptTokens: Number.NaN, completionTokens: 1 }
      const on = yield* Story.stage({ script: [Script.say("", { usage })], settings: { maxRetries: 1 } })
      const run = yield* on.loop.run(Story.ask())
      const exit = yield* Effect.exit(run.result)
      assert.isTrue(Exit.isFailure(exit))
      assert.strictEqual((yield* run.outcome).reason, "empty-completion")
      yield* run.drained
    })
  )

  it.effect("L-STREAM-01 what a body still delivers after its attempt failed is in no token scope", () =>
    Effect.gen(function* () {
      const text = (words: string) => [Backend.Chunk.Text({ text: words })] as const
      const late: Backend.Backend = {
        model: "late",
        maxTokens: undefined,
        canConstrain: false,
        stream: () =>
          Stream.fromArray(text("early ")).pipe(
            Stream.concat(
              Stream.unwrap(
                Effect.uninterruptible(Effect.as(Effect.sleep("10 seconds"), Stream.fromArray(text("late"))))
              )
            )
          )
      }
      const good = Script.make([{ content: "ok", delay: "10 seconds" }])
      const told = yield* Story.passing(
        Story.tell({ backends: [late, good.backend], settings: { roundTripTimeout: "1 second", maxRetries: 1 } })
      )
      const tokens = Recorder.all(told.recording, "Token").map((token) => [token.attempt, token.text])
      assert.deepStrictEqual(tokens, [[1, "early "]])
    })
  )
})

describe("a body that goes on behind its end", () => {
  const whole = (then: Stream.Stream<Backend.Chunk, Backend.BackendError>): Backend.Backend => {
    const usage = { promptTokens: 10, completionTokens: 2 }
    const reply: Backend.Reply = { text: "ok", toolCalls: [], partialCalls: [], finish: "stop", usage, warnings: [] }
    const chunks = [Backend.Chunk.Text({ text: "ok" }), Backend.Chunk.Finished({ reply })] as const
    return {
      model: "whole",
      maxTokens: undefined,
      canConstrain: false,
      stream: () => Stream.concat(Stream.fromArray(chunks), then)
    }
  }
  const reset = new Backend.BackendError({ reason: new Backend.ConnectionFailed({ detail: "reset" }) })
  const settings = { roundTripTimeout: "1 second", maxRetries: 1 } as const

  for (const [what, then] of [
    ["stays open", Stream.never],
    ["breaks", Stream.fail(reset)]
  ] as const) {
    it.effect(`S12 L-TIME-02 a whole answer whose connection then ${what} is an answer`, () =>
      Effect.gen(function* () {
        const told = yield* Story.passing(Story.tell({ backends: [whole(then)], settings }))
        assert.strictEqual(told.outcome.final, "ok")
        assert.deepStrictEqual(told.outcome.attempts, [])
      })
    )
  }

  it.effect("L-CAP-12 what a cancelled answer had billed already is counted", () =>
    Effect.gen(function* () {
      const on = yield* Story.stage({ backends: [whole(Stream.never)], settings, budget: {} })
      const told = yield* Story.play(on, undefined, {
        meanwhile: (run, recorder) => Effect.andThen(recorder.seen("Token"), run.cancel)
      })
      assert.strictEqual(told.outcome.outcome, "cancelled")
      assert.strictEqual(told.outcome.spent?.totalTokens, 12)
    })
  )
})

describe("a provider that breaks its contract", () => {
  it.effect("L-TOOL-09 L-GEN-02 an answer of no known shape is an error of that call, not the end of the run", () =>
    Effect.gen(function* () {
      const answers: ReadonlyArray<unknown> = [{ content: "bare" }, 7]
      let calls = 0
      const provider = {
        list: echo().provider.list,
        // Untyped code is what is imitated here.
        execute: (): Effect.Effect<ReadonlyArray<Tool.Answer>> =>
          Effect.sync(() => JSON.parse(JSON.stringify([answers[calls++]])))
      }
      const told = yield* Story.tell({
        script: [Script.callTools(call("c1", "echo"), call("c2", "echo")), Script.say("ok")],
        provider,
        transcript: true
      })
      assert.strictEqual(told.outcome.outcome, "completed")
      const results = Recorder.all(told.recording, "ToolResult")
      assert.deepStrictEqual(
        results.map((result) => [result.id, result.isError]),
        [
          ["c1", true],
          ["c2", true]
        ]
      )
      assert.include(results[0]?.content, "echo")
    })
  )
})

describe("a transcript that throws", () => {
  for (const at of [1, 2, 3, 4]) {
    it.effect(
      `X-STORE-06 L-LIM-04 append ${at} throws: the run fails, and every call of its conversation is answered`,
      () =>
        Effect.gen(function* () {
          const memory = yield* MemoryTranscript.make()
          let appends = 0
          const transcript: Transcript.Transcript = {
            ...memory,
            append: (drafts) =>
              Effect.suspend(() =>
                appends++ < at ? memory.append(drafts) : Effect.die(new Error("the disk is on fire"))
              )
          }
          const told = yield* Story.tell({
            script: [Script.callTools(call("c1", "echo"), call("c2", "echo")), Script.say("ok")],
            tools: echo(),
            transcript
          })
          assert.strictEqual(told.outcome.reason, "transcript-failed")
          assert.include(told.outcome.error, "the disk is on fire")
          assert.include(told.outcome.error, "memory")
        })
    )
  }

  it.effect("X-STORE-06 L-CONC-08 the answers of a group that the record no longer takes are kept and all named", () =>
    Effect.gen(function* () {
      const memory = yield* MemoryTranscript.make()
      const faulty = yield* FaultyTranscript.make(memory, FaultyTranscript.fail(3, 99))
      const told = yield* Story.tell({
        script: [Script.callTools(call("c1", "echo", { n: 1 }), call("c2", "echo", { n: 2 }), call("c3", "late"))],
        tools: Tools.make([Tools.tool("echo", Tools.echo), Tools.tool("late", Tools.echo)]),
        transcript: faulty.transcript,
        settings: { concurrentTools: ["echo"] }
      })
      assert.strictEqual(told.outcome.reason, "transcript-failed")
      assert.match(told.outcome.error ?? "", /No durable settle: echo \(operation [^)]+\), echo \(operation [^)]+\);/)
      const answers = told.outcome.messages.slice(2).map((message) => message.content)
      assert.deepStrictEqual(answers.slice(0, 2), ['{"n":1}', '{"n":2}'])
      assert.include(answers[2], "it did not run")
      assert.strictEqual(told.tools.ran.length, 2)
    })
  )

  it.effect("X-STORE-06 a transcript that cannot be read is not said to be unwritable", () =>
    Effect.gen(function* () {
      const memory = yield* MemoryTranscript.make()
      const detail = "permission denied"
      const transcript: Transcript.Transcript = {
        ...memory,
        replay: Transcript.fail("read", "/notes/a.jsonl", new Transcript.Unreadable({ detail }))
      }
      const told = yield* Story.tell({ script: [], transcript })
      assert.strictEqual(told.outcome.error, "could not read the transcript /notes/a.jsonl: permission denied")
    })
  )
})

describe("a loop whose owner is gone", () => {
  it.effect("X-CANC-05 a loop whose scope is closed starts no run, and says so", () =>
    Effect.gen(function* () {
      const script = Script.make([Script.say("ok")])
      const scope = yield* Scope.make()
      const loop = yield* Loop.make({}).pipe(
        Effect.provide(Layer.succeed(Backend.Backends, { chain: [script.backend] })),
        Effect.provideService(Scope.Scope, scope)
      )
      yield* Scope.close(scope, Exit.void)
      const refused = yield* Effect.flip(loop.run([Message.user("go")]))
      assert.strictEqual(
        refused.message,
        "the scope that owns this loop is closed: build a new loop, or keep the scope (a Layer, a ManagedRuntime) open for as long as runs are started"
      )
      assert.strictEqual(script.requests.length, 0)
    })
  )

  it.effect("X-CANC-01 L-RUN-01 a host that interrupts the fiber which called run leaves the run as it is", () =>
    Effect.gen(function* () {
      const on = yield* Story.stage({ script: [{ content: "ok", delay: "1 second" }] })
      const caller = yield* Effect.forkChild(Effect.andThen(on.loop.run(Story.ask()), Effect.never))
      yield* on.script.arrived(0)
      yield* Fiber.interrupt(caller)
      const run = yield* on.loop.liveRun
      assert.strictEqual(run._tag, "Some")
      yield* TestClock.adjust("1 second")
      if (run._tag === "Some") assert.strictEqual((yield* run.value.outcome).final, "ok")
    })
  )
})
