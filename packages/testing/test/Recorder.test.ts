import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import type * as RunEvent from "@settle/core/model/RunEvent"
import * as Recorder from "../src/Recorder.ts"
import * as E from "./events.ts"

describe("Recorder", () => {
  it.effect("collects a whole run and its faults", () =>
    Effect.gen(function* () {
      const events = E.stamp([E.started, ...E.turn(1), E.completed])
      const good = yield* Recorder.collect(Stream.fromIterable(events))
      assert.isUndefined(good.fault)
      assert.strictEqual(Recorder.text(good), "hello")
      assert.strictEqual(Recorder.all(good, "Token").length, 2)
      Recorder.assertLegal(good)
      const bad = yield* Recorder.collect(Stream.fromIterable(events.slice(1)))
      assert.throws(() => Recorder.assertLegal(bad), 'event 0 breaks the rule "numbering": seq is 1, not 0')
    })
  )

  it.effect("waits for an event of a run that goes on", () =>
    Effect.gen(function* () {
      const queue = yield* Queue.unbounded<RunEvent.RunEvent, Cause.Done>()
      const recorder = yield* Recorder.start(Stream.fromQueue(queue))
      const [first, second, ...rest] = E.stamp([E.started, ...E.turn(1), E.completed])
      assert.isDefined(first)
      assert.isDefined(second)
      yield* Queue.offer(queue, first)
      const waiting = yield* Effect.forkChild(recorder.seen("RoundStarted"), { startImmediately: true })
      assert.strictEqual((yield* recorder.seen("RunStarted")).messageCount, 1)
      assert.isUndefined(waiting.pollUnsafe())
      yield* Queue.offerAll(queue, [second, ...rest])
      yield* Queue.end(queue)
      assert.strictEqual((yield* recorder.seen("RoundStarted")).round, 1)
      assert.deepStrictEqual(
        Recorder.tags(yield* recorder.done).filter((tag) => tag !== "Token"),
        [
          "RunStarted",
          "RoundStarted",
          "AttemptStarted",
          "AttemptSucceeded",
          "AssistantMessage",
          "TurnCommitted",
          "RunCompleted"
        ]
      )
    })
  )

  it("takes back the tokens of a failed attempt", () => {
    const events = E.stamp([
      E.started,
      E.round(1),
      E.attempt(1),
      E.token("a"),
      E.failed(1),
      E.attempt(1, 2),
      E.token("b"),
      E.succeeded(1, 2)
    ])
    assert.strictEqual(Recorder.text({ events }), "b")
  })
})
