import * as Message from "@settle/core/model/Message"
import { Script, Tools } from "@settle/testing"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Option, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as Story from "./Story.ts"

const call = Script.call

describe("one run at a time", () => {
  it.effect("L-RUN-01 run returns before the model was asked", () =>
    Effect.gen(function* () {
      const on = yield* Story.stage({ script: [{ content: "later", delay: "1 hour" }] })
      const run = yield* on.loop.run(Story.ask())
      assert.isFalse(yield* run.isDone)
      assert.strictEqual(on.script.requests.length, 0)
      yield* run.cancel
      yield* run.drained
    })
  )

  it.effect("L-RUN-02 a second run on a live loop is refused, and the text says what to do", () =>
    Effect.gen(function* () {
      const { loop } = yield* Story.stage({ script: [{ content: "x", delay: "1 second" }, Script.say("y")] })
      const run = yield* loop.run(Story.ask())
      const refusal = yield* Effect.flip(loop.run(Story.ask()))
      assert.strictEqual(refusal.reason._tag, "RunInProgress")
      assert.include(refusal.message, `run ${run.id} is live`)
      assert.include(refusal.message, "Await its drained")
      yield* Story.passing(run.drained)
    })
  )

  it.effect("L-RUN-02 of two callers in the same tick one is refused", () =>
    Effect.gen(function* () {
      const { loop } = yield* Story.stage({ script: [Script.say("x")] })
      const both = yield* Effect.all([Effect.exit(loop.run(Story.ask())), Effect.exit(loop.run(Story.ask()))], {
        concurrency: 2
      })
      assert.strictEqual(both.filter(Exit.isSuccess).length, 1)
    })
  )

  it.effect("T5 L-RUN-03 L-RUN-04 a detached call keeps the door shut after the result", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const tools = Tools.make([Tools.tool("slow", () => Effect.as(Deferred.await(gate), "late"))])
      const on = yield* Story.stage({
        script: [Script.callTools(call("c1", "slow")), Script.say("again")],
        tools,
        transcript: true
      })
      const run = yield* on.loop.run(Story.ask())
      yield* tools.began(0)
      yield* run.cancel
      const outcome = yield* run.outcome
      assert.strictEqual(outcome.outcome, "cancelled")
      const refusal = yield* Effect.flip(on.loop.run(outcome.messages))
      assert.include(refusal.message, "has its result but work of it still runs")
      yield* Deferred.succeed(gate, undefined)
      yield* run.drained
      const next = yield* on.loop.run([...outcome.messages, Message.user("again")])
      assert.strictEqual((yield* next.result).final, "again")
      yield* next.drained
    })
  )

  it.effect("L-RUN-05 a late word of run A never reaches run B", () =>
    Effect.gen(function* () {
      const { loop } = yield* Story.stage({ script: [Script.say("a"), { content: "b", delay: "1 second" }] })
      const a = yield* loop.run(Story.ask())
      yield* a.drained
      const b = yield* loop.run(Story.ask())
      yield* a.callScope.log("info", "late", "from a")
      assert.isFalse(a.emit({ _tag: "Log", level: "info", data: "from a" }))
      assert.isFalse(yield* a.callScope.live)
      assert.isTrue(yield* b.callScope.live)
      yield* a.cancel
      assert.isFalse(yield* b.isCancelled)
      assert.strictEqual((yield* Story.passing(b.result)).final, "b")
    })
  )

  it.effect("L-RUN-06 cancel on a finished run does nothing at all", () =>
    Effect.gen(function* () {
      const { loop, script } = yield* Story.stage({ script: [Script.say("a")] })
      const run = yield* loop.run(Story.ask())
      yield* run.drained
      yield* run.cancel
      assert.isFalse(yield* run.isCancelled)
      assert.strictEqual((yield* run.result).outcome, "completed")
      assert.strictEqual(script.cancels, 0)
    })
  )

  it.effect("L-RUN-07 a loop is used again after drained", () =>
    Effect.gen(function* () {
      const on = yield* Story.stage({ script: [Script.say("one"), Script.say("two")] })
      assert.strictEqual((yield* Story.play(on)).outcome.final, "one")
      assert.strictEqual((yield* Story.play(on)).outcome.final, "two")
      assert.isTrue(Option.isNone(yield* on.loop.liveRun))
    })
  )

  it.effect("L-RUN-08 a defect of a part ends the run: nobody who awaits it hangs", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({
        script: [Script.say("unused")],
        compactor: {
          budget: 10,
          needsCompaction: () => {
            throw new Error("boom")
          },
          compact: () => Effect.never
        }
      })
      assert.strictEqual(told.outcome.outcome, "failed")
      assert.include(told.outcome.error, "the run crashed: boom")
      assert.strictEqual(told.tags.at(-1), "RunFailed")
    })
  )

  it.effect("L-RUN-01 a run without messages is refused", () =>
    Effect.gen(function* () {
      const { loop } = yield* Story.stage({})
      const refusal = yield* Effect.flip(loop.run([]))
      assert.strictEqual(refusal.message, "a run needs at least one message to begin with")
    })
  )

  it.effect(
    "X-CANC-05 closing the owning scope ends the run as a cancel would and leaves the transcript answered",
    () =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const tools = Tools.make([Tools.tool("slow", Tools.after("1 second", Tools.answer("done")))])
        const on = yield* Story.stage({
          script: [Script.callTools(call("c1", "slow"), call("c2", "slow"))],
          tools,
          transcript: true
        }).pipe(Effect.provideService(Scope.Scope, scope))
        const run = yield* on.loop.run(Story.ask())
        yield* tools.began(0)
        const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
        yield* TestClock.adjust("2 seconds")
        yield* Fiber.join(closing)
        assert.strictEqual((yield* run.outcome).outcome, "cancelled")
        const replay = yield* on.transcript!.replay
        assert.deepStrictEqual(
          replay.entries.map((entry) => entry.mark),
          [undefined, undefined, "outcome-unknown", "abandoned"]
        )
      })
  )
})
