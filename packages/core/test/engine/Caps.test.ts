/** What a run may spend, in the loop: where caps are asked, what they leave, what is billed. */
import type * as Loop from "@settle/core/agent/Loop"
import * as Wording from "@settle/core/decide/Wording"
import * as Message from "@settle/core/model/Message"
import type { Spent } from "@settle/core/model/RunOutcome"
import * as MemoryTranscript from "@settle/core/standard/MemoryTranscript"
import { Recorder, Script, Tools } from "@settle/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Story from "./Story.ts"

const call = Script.call
const cost = (amount: number) => ({ usage: { promptTokens: 10, completionTokens: 1, cost: amount } })
const tools = () => Tools.make([Tools.tool("a", Tools.echo), Tools.tool("b", Tools.echo), Tools.tool("c", Tools.echo)])
const spent = (more: Partial<Spent>): Spent => ({ totalTokens: 0, wallClock: 0, complete: true, ...more })

describe("where a cap is asked", () => {
  it.effect("L-CAP-01 L-CAP-04 at the round top: the turn before stands, and no request follows", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({
        script: [{ ...Script.callTools(call("c1", "a")), ...cost(1) }, Script.say("never")],
        tools: tools(),
        transcript: true,
        budget: { maxCost: 1 }
      })
      assert.strictEqual(told.script.requests.length, 1)
      assert.strictEqual(told.tools.ran.length, 1)
      assert.strictEqual(told.outcome.reason, "budget-exhausted")
      assert.strictEqual(
        told.outcome.error,
        "the run reached its cost cap: spent 1 of 1. Raise the cap, or go on in a new run"
      )
      assert.deepStrictEqual(told.tags.slice(-2), ["ToolResult", "RunFailed"])
    })
  )

  it.effect("L-CAP-01 L-CAP-02 L-CAP-03 between two calls: what was dispatched settles, what is behind never ran", () =>
    Effect.gen(function* () {
      const acting = Tools.make([
        Tools.tool("slow", () => Effect.as(Effect.sleep("3 seconds"), "done")),
        Tools.tool("b", Tools.echo),
        Tools.tool("c", Tools.echo)
      ])
      const told = yield* Story.tell({
        script: [Script.callTools(call("c1", "slow"), call("c2", "b"), call("c3", "c")), Script.say("never")],
        tools: acting,
        transcript: true,
        budget: { maxWallClockMs: 2000 }
      }).pipe(Story.passing)
      assert.strictEqual(told.outcome.reason, "budget-exhausted")
      assert.strictEqual(
        told.outcome.error,
        "the run reached its wall-clock cap: spent 3 of 2 seconds of work. Raise the cap, or go on in a new run"
      )
      assert.deepStrictEqual(
        acting.ran.map((ran) => [ran.name, ran.end]),
        [["slow", "answered"]]
      )
      assert.deepStrictEqual(
        Recorder.all(told.recording, "ToolAbandoned").map((e) => [e.id, e.reason, e.dispatched]),
        [
          ["c2", "budget-exhausted", false],
          ["c3", "budget-exhausted", false]
        ]
      )
      assert.deepStrictEqual(
        told.outcome.messages.slice(2).map((message) => message.content),
        ["done", Wording.neverRan("budget-exhausted"), Wording.neverRan("budget-exhausted")]
      )
      assert.strictEqual(Story.lineTypes(yield* told.transcript!.lines).filter((t) => t === "tool-settled").length, 1)
    })
  )

  it.effect("L-CAP-01 each of the three caps, at exactly its value and not one below it", () =>
    Effect.gen(function* () {
      const first = {
        ...Script.callTools(call("c1", "a")),
        usage: { promptTokens: 90, completionTokens: 10, cost: 0.25 }
      }
      const ended = (budget: { readonly maxCost?: number; readonly maxTotalTokens?: number }) =>
        Effect.map(
          Story.tell({ script: [first, Script.say("ok")], tools: tools(), budget }),
          (told) => told.outcome.error
        )
      assert.strictEqual(
        yield* ended({ maxCost: 0.25 }),
        "the run reached its cost cap: spent 0.25 of 0.25. Raise the cap, or go on in a new run"
      )
      assert.isUndefined(yield* ended({ maxCost: 0.26 }))
      assert.strictEqual(
        yield* ended({ maxTotalTokens: 100 }),
        "the run reached its total-tokens cap: spent 100 of 100 tokens. Raise the cap, or go on in a new run"
      )
      assert.isUndefined(yield* ended({ maxTotalTokens: 101 }))
    })
  )
})

describe("what is counted", () => {
  it.effect(
    "L-CAP-05 L-CAP-07 cost rides the event, the turn's line and the sum, and is absent where nobody reported it",
    () =>
      Effect.gen(function* () {
        const told = yield* Story.tell({
          script: [
            { ...Script.callTools(call("c1", "a")), ...cost(0.1) },
            Script.say("ok", { usage: { totalTokens: 7 } })
          ],
          tools: tools(),
          transcript: true,
          budget: {}
        })
        assert.deepStrictEqual(
          Recorder.all(told.recording, "AttemptSucceeded").map((e) => e.usage.cost),
          [0.1, undefined]
        )
        const turns = (yield* told.transcript!.lines)
          .map(
            (line) => JSON.parse(line) as { readonly payload?: { readonly role?: string; readonly usage?: unknown } }
          )
          .filter((line) => JSON.stringify(line).includes('"cost":0.1'))
        assert.strictEqual(turns.length, 1)
        assert.deepStrictEqual(told.outcome.spent, {
          totalTokens: 18,
          wallClock: 0,
          complete: true,
          cost: 0.1,
          promptTokens: 10,
          completionTokens: 1
        })
      })
  )

  it.effect(
    "L-CAP-06 L-CAP-08 with a budget the record has tokens and time, the split only when somebody gave it",
    () =>
      Effect.gen(function* () {
        const told = yield* Story.tell({ script: [Script.say("ok", { usage: { totalTokens: 50 } })], budget: {} })
        assert.deepStrictEqual(told.outcome.spent, { totalTokens: 50, wallClock: 0, complete: true })
        const bare = yield* Story.tell({ script: [Script.say("ok", { usage: { totalTokens: 50 } })] })
        assert.notProperty(bare.outcome, "spent")
      })
  )

  it.effect("L-CAP-09 cached tokens are named and never added", () =>
    Effect.gen(function* () {
      const usage = { promptTokens: 100, completionTokens: 5, cachedPromptTokens: 80 }
      const told = yield* Story.tell({ script: [Script.say("ok", { usage })], budget: { maxTotalTokens: 150 } })
      assert.deepInclude(told.outcome.spent, { totalTokens: 105, cachedPromptTokens: 80 })
    })
  )

  it.effect("L-CAP-12 a failed send is billed, and a send that told nothing makes the record incomplete", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({
        script: [
          { chunks: ["half"], error: Script.http(500), usage: { promptTokens: 40, completionTokens: 2 } },
          Script.say("ok")
        ],
        budget: {}
      }).pipe(Story.passing)
      assert.deepInclude(told.outcome.spent, { totalTokens: 42, complete: false })
      assert.deepStrictEqual(told.outcome.attempts[0]?.usage, { promptTokens: 40, completionTokens: 2 })
    })
  )

  it.effect("L-CAP-11 X-SPEND-01 a resumed run starts at zero, or at what its transcript cost", () =>
    Effect.gen(function* () {
      const first = yield* MemoryTranscript.make()
      const begun = yield* Story.tell({ script: [Script.say("one", cost(0.5))], transcript: first, budget: {} })
      const again = (resumeSpend: "fresh" | "transcript") =>
        Effect.gen(function* () {
          const transcript = yield* MemoryTranscript.make({ lines: yield* first.lines })
          return yield* Story.tell(
            {
              script: [Script.say("two", cost(0.25))],
              transcript,
              budget: { maxCost: 0.5 },
              settings: { resumeSpend }
            },
            [...begun.outcome.messages, Message.user("more")]
          )
        })
      const fresh = yield* again("fresh")
      assert.deepStrictEqual([fresh.outcome.final, fresh.outcome.spent?.cost], ["two", 0.25])
      const counted = yield* again("transcript")
      assert.strictEqual(counted.outcome.reason, "budget-exhausted")
      assert.strictEqual(counted.script.requests.length, 0)
      assert.deepInclude(counted.outcome.spent, { cost: 0.5, promptTokens: 10, completionTokens: 1 })
    })
  )
})

describe("another run's spend", () => {
  it.effect(
    "L-ABS-01 L-ABS-02 L-ABS-03 L-ABS-04 absorbed money stops the run at the next boundary; absorbed time does not count",
    () =>
      Effect.gen(function* () {
        const held: { loop?: Loop.Loop } = {}
        // A child that settled, with its own child's cost inside.
        const settled = Effect.suspend(
          () => held.loop?.absorbSpend(spent({ cost: 0.75, totalTokens: 9, wallClock: 9999 })) ?? Effect.succeed(false)
        )
        const on = yield* Story.stage({
          script: [Script.callTools(call("c1", "child")), Script.say("never")],
          tools: Tools.make([Tools.tool("child", () => Effect.as(settled, "child done"))]),
          budget: { maxCost: 0.75, maxWallClockMs: 60_000 }
        })
        held.loop = on.loop
        const told = yield* Story.play(on)
        assert.strictEqual(
          told.outcome.error,
          "the run reached its cost cap: spent 0.75 of 0.75. Raise the cap, or go on in a new run"
        )
        assert.deepInclude(told.outcome.spent, { cost: 0.75, totalTokens: 9, wallClock: 0 })
        assert.strictEqual(told.outcome.messages.at(-1)?.content, "child done")
      })
  )

  it.effect("L-ABS-05 a record for another run is dropped, and so is one that comes too late", () =>
    Effect.gen(function* () {
      const on = yield* Story.stage({ script: [{ content: "ok", delay: "1 second" }], budget: {} })
      const answers: Array<boolean> = []
      const told = yield* Story.play(on, undefined, {
        meanwhile: (run) =>
          Effect.gen(function* () {
            yield* on.script.arrived(0)
            answers.push(yield* on.loop.absorbSpend(spent({ cost: 1 }), "another-run"))
            answers.push(yield* on.loop.absorbSpend(spent({ cost: 2 }), run.id))
            yield* TestClock.adjust("1 second")
          })
      })
      assert.deepStrictEqual(answers, [false, true])
      assert.isFalse(yield* on.loop.absorbSpend(spent({ cost: 4 })))
      assert.isFalse(told.run.absorbSpend(spent({ cost: 8 })))
      assert.strictEqual(told.outcome.spent?.cost, 2)
    })
  )
})
