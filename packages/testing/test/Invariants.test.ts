import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Message from "@settle/core/model/Message"
import type * as RunOutcome from "@settle/core/model/RunOutcome"
import type * as TranscriptLine from "@settle/core/model/TranscriptLine"
import * as MemoryTranscript from "@settle/core/standard/MemoryTranscript"
import * as Invariants from "../src/Invariants.ts"
import * as Script from "../src/Script.ts"
import type * as Tools from "../src/Tools.ts"
import * as E from "./events.ts"

const call = Script.call("c1", "read")
const messages = [
  Message.user("hi"),
  Message.assistant("", [call]),
  Message.tool("c1", "ok"),
  Message.assistant("hello")
]
const outcome: RunOutcome.RunOutcome = { outcome: "completed", final: "hello", messages, rounds: 2, attempts: [] }

const line = (message: Message.Message, extras: TranscriptLine.Extras = {}): TranscriptLine.Draft => ({
  type: "message",
  message,
  extras
})

/** The record of that run, with another settle or another tail where a test wants one. */
const recorded = (settled: Partial<TranscriptLine.ToolSettled> | undefined, extras: TranscriptLine.Extras = {}) =>
  Effect.gen(function* () {
    const transcript = yield* MemoryTranscript.make()
    const [user, assistant, tool, last] = messages
    if (user === undefined || assistant === undefined || tool === undefined || last === undefined) {
      return yield* Effect.die("four messages")
    }
    yield* transcript.append([line(user), line(assistant)])
    const [opId = ""] = yield* transcript.append([
      { type: "tool-dispatched", payload: { callId: "c1", tool: "read", arguments: "{}" } }
    ])
    yield* transcript.append([line(tool, extras)])
    if (settled !== undefined) {
      yield* transcript.append([{ type: "tool-settled", payload: { opId, outcome: "completed", ...settled } }])
    }
    yield* transcript.append([line(last)])
    return { opId, replay: yield* transcript.replay }
  })

const ran = (opId: string, end: Tools.End): Tools.Ran => ({
  callId: "c1",
  operationId: opId,
  name: "read",
  arguments: "{}",
  batch: 0,
  startedAt: 0,
  finishedAt: 1,
  end
})

describe("Invariants", () => {
  it.effect("hold for a run that kept them", () =>
    Effect.gen(function* () {
      const { opId, replay } = yield* recorded({})
      const events = E.stamp([E.started, ...E.turn(1), E.completed])
      Invariants.assertHold({ outcome, replay, events, ran: [ran(opId, "answered")] })
    })
  )

  it.effect("I1 names an unanswered call", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(Invariants.problems({ outcome: { ...outcome, messages: messages.slice(0, 2) } }), [
        "I1 the conversation of the outcome has an UnansweredCall at 1: c1"
      ])
    })
  )

  it.effect("I2 names a terminal event that says something else", () =>
    Effect.sync(() => {
      const events = E.stamp([E.started, ...E.turn(1), E.runFailed("park-idle")])
      assert.deepStrictEqual(Invariants.problems({ outcome, events }), [
        "I2 the terminal event has outcome failed, the outcome completed",
        "I2 the terminal event has final , the outcome hello",
        "I2 the terminal event has reason park-idle, the outcome undefined",
        "I2 the terminal event has error no, the outcome undefined"
      ])
      assert.deepStrictEqual(Invariants.problems({ events: events.slice(0, 3), crashed: true }), [])
      assert.lengthOf(Invariants.problems({ events: events.slice(0, 3) }), 1)
    })
  )

  it.effect("I3 names a dispatched line without a settle, and lets a crash have it", () =>
    Effect.gen(function* () {
      const { opId, replay } = yield* recorded(undefined)
      const evidence = { outcome, replay, ran: [ran(opId, "answered")] }
      assert.deepStrictEqual(Invariants.problems(evidence), ["I3 read (c1) was dispatched and never settled"])
      assert.deepStrictEqual(Invariants.problems({ ...evidence, crashed: true }), [])
    })
  )

  it.effect("I3 names a line that could not be used, a second settle for one", () =>
    Effect.gen(function* () {
      const { opId } = yield* recorded({})
      const transcript = yield* MemoryTranscript.make()
      yield* transcript.append([{ type: "tool-settled", payload: { opId, outcome: "completed" } }])
      assert.deepStrictEqual(Invariants.problems({ replay: yield* transcript.replay }), [
        `I3 line 1: tool-settled: ${opId} was never dispatched`
      ])
    })
  )

  it.effect("I4 names a fold that gives other messages", () =>
    Effect.gen(function* () {
      const { replay } = yield* recorded({})
      const other = { ...outcome, messages: [...messages.slice(0, 3), Message.assistant("bye")] }
      assert.deepStrictEqual(Invariants.problems({ outcome: other, replay }), [
        "I4 the transcript folds into other messages than the run's own"
      ])
    })
  )

  it.effect("I5 names every claim that is not true", () =>
    Effect.gen(function* () {
      const lies: ReadonlyArray<readonly [Partial<TranscriptLine.ToolSettled>, Tools.End, string]> = [
        [{}, "errored", "completed and is errored"],
        [{ outcome: "failed" }, "answered", "failed and is answered"],
        [{ outcome: "failed" }, "running", "failed and is running"],
        [{ outcome: "failed", reason: "not-accepted" }, "running", "failed, not-accepted and is running"],
        [
          { outcome: "outcome-unknown", reason: "connection-lost" },
          "answered",
          "outcome-unknown, connection-lost and is answered"
        ]
      ]
      for (const [settled, end, says] of lies) {
        const { opId, replay } = yield* recorded(settled)
        const found = Invariants.problems({ replay, ran: [ran(opId, end)] })
        assert.deepStrictEqual(found, [`I5 read (c1) is recorded as ${says}`])
      }
      const truths: ReadonlyArray<readonly [Partial<TranscriptLine.ToolSettled>, Tools.End]> = [
        [{ outcome: "failed" }, "died"],
        [{ outcome: "failed" }, "missing"],
        [{ outcome: "failed", reason: "not-accepted" }, "not-accepted"],
        [{ outcome: "outcome-unknown", reason: "deadline" }, "answered"],
        [{ outcome: "outcome-unknown", reason: "cancelled" }, "running"],
        [{ outcome: "outcome-unknown", reason: "connection-lost" }, "lost"]
      ]
      for (const [settled, end] of truths) {
        const { opId, replay } = yield* recorded(settled)
        assert.deepStrictEqual(Invariants.problems({ replay, ran: [ran(opId, end)] }), [])
      }
    })
  )

  it.effect("I5 names a second run, a run without its line, and one that is recorded as abandoned", () =>
    Effect.gen(function* () {
      const { opId, replay } = yield* recorded({}, { abandoned: true })
      const found = Invariants.problems({
        replay,
        ran: [ran(opId, "answered"), ran(opId, "answered"), ran("x", "answered")]
      })
      assert.includeMembers(
        [...found],
        [
          `I5 operation ${opId} ran 2 times`,
          "I5 read (c1, operation x) ran without a dispatched line",
          `I5 read (c1, operation ${opId}) is recorded as abandoned and ran`
        ]
      )
    })
  )

  it.effect("I5 holds events to the same truth", () =>
    Effect.sync(() => {
      const abandoned = E.stamp([E.started, ...E.turn(1), E.call("c1"), E.abandoned("c1", false), E.cancelled])
      assert.deepStrictEqual(Invariants.problems({ events: abandoned, ran: [ran("x", "running")] }), [
        "I5 t (c1) is announced as never run and ran"
      ])
      const answered = E.stamp([
        E.started,
        ...E.turn(1),
        E.call("c1"),
        E.toolStarted("c1"),
        E.result("c1"),
        ...E.turn(2),
        E.completed
      ])
      assert.deepStrictEqual(Invariants.problems({ events: answered, ran: [ran("x", "errored")] }), [
        "I5 t (c1) has a result and never answered"
      ])
    })
  )

  it.effect("I6 names tokens that are not the committed text", () =>
    Effect.sync(() => {
      const [first, ...rest] = E.turn(1)
      assert.isDefined(first)
      const drafts = [E.started, first, ...rest.filter((draft) => draft._tag !== "Token"), E.completed]
      assert.throws(
        () => Invariants.assertHold({ events: E.stamp(drafts) }, "seed 4"),
        'seed 4 breaks what must hold:\n  I6 the tokens "" were committed as "hello"'
      )
    })
  )
})
