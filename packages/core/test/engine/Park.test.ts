import * as Message from "@settle/core/model/Message"
import * as Bus from "@settle/core/standard/Bus"
import * as Mailbox from "@settle/core/standard/Mailbox"
import { Recorder, Script, Tools } from "@settle/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Story from "./Story.ts"

const call = Script.call
const job = (operationId = "job-1") => ({ operationId, kind: "job", label: "the job" })
const report = (body: string) => ({ report: { kind: "job-settled", body } })
const resumed = (told: { readonly recording: Recorder.Recording }) =>
  Recorder.all(told.recording, "RunResumed").map((e) => [e.reason, e.parkedSeconds])
const texts = (told: { readonly outcome: { readonly messages: ReadonlyArray<Message.Message> } }) =>
  told.outcome.messages.map((message) => message.content)

describe("steering", () => {
  it.effect("L-STEER-01 L-STEER-03 L-STEER-05 L-STEER-08 each answer is one plain user turn, in round 1 too", () =>
    Effect.gen(function* () {
      let pulls = 0
      const told = yield* Story.tell({
        script: [Script.say("ok")],
        transcript: true,
        steers: { pull: Effect.sync(() => (pulls++ === 0 ? ["one", "two", "three"] : [])) }
      })
      assert.deepStrictEqual(texts(told), ["go", "one", "two", "three", "ok"])
      const lines = (yield* told.transcript!.lines).map((text) => JSON.parse(text))
      assert.deepStrictEqual(Object.keys(lines[1].payload).sort(), ["content", "role"])
      assert.isFalse(told.tags.some((tag) => tag.includes("Steer")))
      assert.strictEqual(told.script.requests[0]?.messages.length, 4)
    })
  )

  it.effect(
    "L-STEER-02 L-STEER-07 a steer waits for the boundary and never lands between calls and their answers",
    () =>
      Effect.gen(function* () {
        const mailbox = yield* Mailbox.make
        const tools = Tools.make([
          Tools.tool("a", (one) => Effect.as(mailbox.offer(`said during ${one.callId}`), "ok"))
        ])
        const told = yield* Story.tell({
          script: [Script.callTools(call("c1", "a"), call("c2", "a")), Script.say("ok")],
          tools,
          steers: mailbox.source
        })
        assert.deepStrictEqual(Story.rolesOf(told.outcome.messages), [
          "user",
          "assistant",
          "tool",
          "tool",
          "user",
          "user",
          "assistant"
        ])
      })
  )

  it.effect(
    "L-STEER-06 L-STEER-08 L-PARK-09 a parked run asks once per poll; what it takes goes into the next round",
    () =>
      Effect.gen(function* () {
        const bus = yield* Bus.make()
        yield* bus.open(job())
        let pulls = 0
        const on = yield* Story.stage({
          script: [Script.say("waiting"), Script.say("yes?")],
          bus,
          steers: { pull: Effect.sync(() => (++pulls === 12 ? ["hello"] : [])) }
        })
        const told = yield* Story.play(on, undefined, {
          meanwhile: (_run, recorder) =>
            Effect.gen(function* () {
              yield* recorder.seen("RunParked")
              yield* TestClock.adjust("1 second")
              yield* bus.settle("job-1", { collected: true })
            })
        })
        assert.deepStrictEqual(resumed(told)[0], ["steer", 1])
        assert.deepStrictEqual(texts(told).slice(0, 4), ["go", "waiting", "hello", "yes?"])
      })
  )

  it.effect("L-PARK-09 L-STEER-08 what a park took is said once, however many rounds follow", () =>
    Effect.gen(function* () {
      const mailbox = yield* Mailbox.make
      const bus = yield* Bus.make()
      yield* bus.open(job())
      const on = yield* Story.stage({
        script: [Script.say("waiting"), Script.callTools(call("c1", "echo")), Script.say("again"), Script.say("done")],
        tools: Tools.make([Tools.tool("echo", Tools.echo)]),
        bus,
        steers: mailbox.source,
        transcript: true
      })
      const told = yield* Story.play(on, undefined, {
        meanwhile: (_run, recorder) =>
          Effect.gen(function* () {
            yield* recorder.seen("RunParked")
            yield* mailbox.offer("hurry")
            yield* on.script.arrived(2)
            yield* bus.settle("job-1", report("42"))
          })
      })
      assert.strictEqual(told.outcome.final, "done")
      assert.strictEqual(texts(told).filter((text) => text === "hurry").length, 1)
    })
  )

  it.effect("L-STEER-06 a mailbox wakes a parked run at once", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make()
      yield* bus.open(job())
      const mailbox = yield* Mailbox.make
      const on = yield* Story.stage({
        script: [Script.say("waiting"), Script.say("yes?")],
        bus,
        steers: mailbox.source
      })
      const told = yield* Story.play(on, undefined, {
        meanwhile: (_run, recorder) =>
          Effect.gen(function* () {
            yield* recorder.seen("RunParked")
            yield* mailbox.offer("hello")
            yield* recorder.seen("RunResumed")
            yield* bus.settle("job-1", { collected: true })
          })
      })
      assert.deepStrictEqual(resumed(told)[0], ["steer", 0])
    })
  )

  it.effect("L-STEER-09 L-STEER-10 a broken source and a steer that is no text cost a log, never the run", () =>
    Effect.gen(function* () {
      let pulls = 0
      const told = yield* Story.tell({
        script: [Script.callTools(call("c1", "a")), Script.say("ok")],
        tools: Tools.make([Tools.tool("a", Tools.echo)]),
        steers: {
          pull: Effect.suspend(() =>
            pulls++ === 0 ? Effect.fail(new Error("queue broke")) : Effect.succeed(["fine", 7])
          )
        }
      })
      const logs = Recorder.all(told.recording, "Log")
      assert.deepStrictEqual(
        logs.map((log) => [log.level, log.logger]),
        [
          ["error", "settle.loop"],
          ["error", "settle.loop"]
        ]
      )
      assert.deepInclude(logs[0]?.data, { error: "queue broke" })
      assert.deepInclude(logs[1]?.data, { entry: 7 })
      assert.include(texts(told), "fine")
    })
  )
})

describe("background work and the park", () => {
  it.effect("L-PARK-01 without a bus nothing parks", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({ script: [Script.say("ok")] })
      assert.isFalse(told.tags.some((tag) => tag.startsWith("RunParked") || tag.startsWith("Background")))
    })
  )

  it.effect("P5 L-PARK-02 L-PARK-03 what is queued already needs no park", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make()
      yield* bus.open(job())
      const told = yield* Story.tell({
        script: [
          () => {
            Effect.runSync(bus.settle("job-1", report("42")))
            return Script.say("first")
          },
          Script.say("second")
        ],
        bus
      })
      assert.notInclude(told.tags, "RunParked")
      assert.strictEqual(told.outcome.final, "second")
    })
  )

  it.effect("L-PARK-05 L-PARK-07 collected elsewhere: the run completes with its last words", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make()
      yield* bus.open(job())
      const on = yield* Story.stage({ script: [Script.say("the last words")], bus })
      const told = yield* Story.play(on, undefined, {
        meanwhile: (_run, recorder) =>
          Effect.andThen(recorder.seen("RunParked"), bus.settle("job-1", { collected: true }))
      })
      assert.strictEqual(told.outcome.final, "the last words")
      assert.deepStrictEqual(resumed(told), [["completion", 0]])
    })
  )

  it.effect("L-PARK-08 a cancel closes what is outstanding and pulls no steer", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make()
      yield* bus.open(job())
      let pulled = 0
      const on = yield* Story.stage({
        script: [Script.say("waiting")],
        bus,
        steers: { pull: Effect.sync(() => (pulled++, [])), arrived: Effect.never }
      })
      let before = -1
      const told = yield* Story.play(on, undefined, {
        meanwhile: (run, recorder) =>
          Effect.gen(function* () {
            yield* recorder.seen("RunParked")
            yield* TestClock.adjust("1 second")
            before = pulled
            yield* run.cancel
          })
      })
      assert.strictEqual(pulled, before)
      assert.strictEqual(Recorder.all(told.recording, "RunCancelled")[0]?.stage, "parked")
      assert.deepStrictEqual(yield* bus.outstanding, [])
      assert.strictEqual(resumed(told)[0]?.[0], "cancelled")
    })
  )

  it.effect("L-PARK-10 nothing for half an hour ends the run, naming what never answered", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make()
      yield* bus.open(job("job-1"))
      yield* bus.open(job("job-2"))
      const on = yield* Story.stage({ script: [Script.say("waiting")], bus })
      const told = yield* Story.play(on, undefined, {
        meanwhile: (_run, recorder) => Effect.andThen(recorder.seen("RunParked"), TestClock.adjust("1800 seconds"))
      })
      assert.strictEqual(told.outcome.reason, "park-idle")
      assert.strictEqual(
        told.outcome.error,
        "nothing arrived for 1800 seconds; never answered: job-1, job-2; whether they took effect is unknown"
      )
      assert.deepStrictEqual(resumed(told), [["idle", 1800]])
      assert.deepStrictEqual(yield* bus.outstanding, [])
    })
  )

  it.effect("L-PARK-11 a hook that throws costs a log, and the spans stay balanced", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make()
      yield* bus.open(job())
      const spans: Array<string> = []
      const on = yield* Story.stage({
        script: [Script.say("waiting"), Script.say("done")],
        bus,
        hooks: {
          onPark: () => Effect.die(new Error("no slot")),
          onUnpark: (info) => Effect.sync(() => void spans.push(info.reason))
        }
      })
      const told = yield* Story.play(on, undefined, {
        meanwhile: (_run, recorder) => Effect.andThen(recorder.seen("RunParked"), bus.settle("job-1", report("42")))
      })
      assert.deepStrictEqual(spans, ["completion"])
      assert.include(JSON.stringify(Recorder.all(told.recording, "Log")[0]?.data), "onPark")
    })
  )

  it.effect(
    "L-PARK-13 L-PARK-14 L-PARK-15 an injected turn says it is no person, is excerpted in its body alone, and is marked",
    () =>
      Effect.gen(function* () {
        const bus = yield* Bus.make()
        yield* bus.push({
          kind: "subagent-settled",
          head: "[background event] automated: reviewer-1 has finished; the user has said nothing",
          body: "x".repeat(1000),
          tail: "t".repeat(300),
          extras: { completionOf: "reviewer-1", callId: "c7" }
        })
        const told = yield* Story.tell({
          script: [Script.say("ok")],
          bus,
          transcript: true,
          budget: { maxObservationSize: 100 }
        })
        const turn = told.outcome.messages[1]?.content ?? ""
        assert.isTrue(turn.startsWith("[background event] automated: reviewer-1"))
        assert.include(turn, "elided 900 chars")
        assert.isTrue(turn.endsWith("t".repeat(300)))
        const line = (yield* told.transcript!.lines).map((text) => JSON.parse(text))[1]
        assert.deepInclude(line.payload, {
          injected: "subagent-settled",
          completionOf: "reviewer-1",
          callId: "c7",
          role: "user"
        })
        assert.deepInclude(Recorder.all(told.recording, "BackgroundOpDelivered")[0], {
          opKind: "subagent-settled",
          messageId: line.id,
          round: 1
        })
      })
  )

  it.effect("L-PARK-16 L-PARK-17 wake rounds are no tool rounds, and a run parks again with a fresh clock", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make()
      yield* bus.open(job("a"))
      yield* bus.open(job("b"))
      const on = yield* Story.stage({
        script: [
          Script.say("1"),
          Script.say("2"),
          Script.say("3"),
          Script.callTools(call("c1", "t")),
          Script.say("end")
        ],
        bus,
        tools: Tools.make([Tools.tool("t", Tools.echo)]),
        settings: { maxToolRounds: 1 }
      })
      yield* bus.open(job("c"))
      const told = yield* Story.play(on, undefined, {
        meanwhile: (_run, recorder) =>
          Effect.gen(function* () {
            for (const [index, id] of ["a", "b", "c"].entries()) {
              yield* recorder.until(
                (e) => e._tag === "RunParked" && Recorder.all(recorder, "RunParked").length === index + 1
              )
              yield* TestClock.adjust("1000 seconds")
              yield* bus.settle(id, report(id))
            }
          })
      })
      assert.deepStrictEqual(resumed(told), [
        ["completion", 1000],
        ["completion", 1000],
        ["completion", 1000]
      ])
      assert.deepStrictEqual(
        Recorder.all(told.recording, "RunParked").map((e) => e.outstanding),
        [3, 2, 1]
      )
      assert.strictEqual(told.tools.ran.length, 1)
      assert.notInclude(told.tags, "LimitReached")
    })
  )

  it.effect("L-PARK-18 the loop opens and settles nothing", () =>
    Effect.gen(function* () {
      const inner = yield* Bus.make()
      yield* inner.open(job())
      const touched: Array<string> = []
      const bus = {
        ...inner,
        open: () => (touched.push("open"), Effect.die("no")),
        settle: () => (touched.push("settle"), Effect.die("no"))
      }
      const on = yield* Story.stage({ script: [Script.say("w"), Script.say("d")], bus })
      yield* Story.play(on, undefined, {
        meanwhile: (_run, recorder) => Effect.andThen(recorder.seen("RunParked"), inner.settle("job-1", report("x")))
      })
      assert.deepStrictEqual(touched, [])
    })
  )

  it.effect("L-PARK-19 L-CAP-10 max-wall-clock bounds working time: a park does not count", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make()
      yield* bus.open(job())
      const on = yield* Story.stage({
        script: [Script.say("w"), { content: "d", delay: "2 seconds" }],
        bus,
        budget: { maxWallClockMs: 10_000 }
      })
      const told = yield* Story.play(on, undefined, {
        meanwhile: (_run, recorder) =>
          Effect.gen(function* () {
            yield* recorder.seen("RunParked")
            yield* TestClock.adjust("100 seconds")
            yield* bus.settle("job-1", report("x"))
            yield* on.script.arrived(1)
            yield* TestClock.adjust("2 seconds")
          })
      })
      assert.strictEqual(told.outcome.outcome, "completed")
      assert.deepInclude(told.outcome.spent, { wallClock: 2, parkedSeconds: 100 })
    })
  )

  it.effect("L-PARK-12 a park of an hour with polls keeps no more than a park of a second", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make()
      yield* bus.open(job())
      let watching = 0
      let most = 0
      const counted = {
        ...bus,
        changed: Effect.suspend(() => {
          most = Math.max(most, ++watching)
          return Effect.ensuring(
            bus.changed,
            Effect.sync(() => watching--)
          )
        })
      }
      const on = yield* Story.stage({
        script: [Script.say("w"), Script.say("d")],
        bus: counted,
        steers: { pull: Effect.succeed([]) },
        settings: { parkIdleTimeout: "2 hours" }
      })
      yield* Story.play(on, undefined, {
        meanwhile: (_run, recorder) =>
          Effect.gen(function* () {
            yield* recorder.seen("RunParked")
            for (let i = 0; i < 600; i++) yield* TestClock.adjust("6 seconds")
            yield* bus.settle("job-1", report("x"))
          })
      })
      assert.strictEqual(most, 1)
    })
  )
})
