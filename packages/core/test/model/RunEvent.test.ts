import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Result from "effect/Result"
import * as Effect from "effect/Effect"
import * as Canonical from "../../src/model/Canonical.ts"
import * as Json from "../../src/model/Json.ts"
import * as RunEvent from "../../src/model/RunEvent.ts"
import * as Arbitraries from "@settle/testing/Arbitraries"

const tags = Object.keys(RunEvent.Draft.cases)
const wire = (event: RunEvent.RunEvent): string => JSON.stringify(RunEvent.toJson(event))
/** The order of keys is no part of an event. */
const facts = (event: RunEvent.RunEvent): string => Canonical.json(RunEvent.toJson(event))
const back = (text: string) => {
  const json = Json.parse(text)
  return Json.isObject(json) ? RunEvent.fromJson(json) : undefined
}

describe("RunEvent", () => {
  it.effect.prop(
    "L-GEN-06 every event comes back from its JSON",
    { event: Arbitraries.event },
    ({ event }) =>
      Effect.sync(() => {
        const read = back(wire(event))
        assert.isTrue(read !== undefined && Result.isSuccess(read), `${event._tag} was not read back`)
        if (read === undefined || Result.isFailure(read)) return
        assert.deepStrictEqual(
          [read.success._tag, read.success.runId, read.success.seq, read.success.ts],
          [event._tag, event.runId, event.seq, event.ts]
        )
        assert.strictEqual(facts(read.success), facts(event))
      }),
    { arbitrary: { runs: 400 } }
  )

  it.effect("the property above meets every kind", () =>
    Effect.gen(function* () {
      const seen = yield* Arbitrary.sampleEffect(Arbitraries.event, { count: 400, seed: 1 })
      assert.deepStrictEqual([...new Set(seen.map((event) => event._tag))].sort(), [...tags].sort())
    })
  )

  it("kinds are the stable wire names", () => {
    const kinds: ReadonlyArray<readonly [RunEvent.Tag, string]> = [
      ["RunStarted", "run-started"],
      ["Token", "token"],
      ["ToolAbandoned", "tool-abandoned"],
      ["BackgroundOpDelivered", "background-op-delivered"],
      ["RouteChosen", "route-chosen"],
      ["RunCancelled", "run-cancelled"]
    ]
    for (const [tag, kind] of kinds) assert.strictEqual(RunEvent.kindOf(tag), kind)
    assert.strictEqual(tags.length, 31)
  })

  it("writes kind, time, run and number beside the payload", () => {
    const event: RunEvent.RunEvent = { _tag: "RoundStarted", round: 2, runId: "r", seq: 4, ts: 1500 }
    assert.strictEqual(
      wire(event),
      '{"kind":"round-started","ts":"1970-01-01T00:00:01.500Z","runId":"r","seq":4,"round":2}'
    )
  })

  it("refuses an unknown kind and a wrong field, and says which", () => {
    const stamp = { ts: "1970-01-01T00:00:00.000Z", runId: "r", seq: 0 }
    for (const [json, says] of [
      [{ ...stamp, kind: "no-such-event" }, "_tag"],
      [{ ...stamp, kind: "round-started", round: "two" }, "round"],
      [{ ...stamp, kind: "run-started" }, "messageCount"],
      [{ kind: "run-started", messageCount: 1 }, "ts"]
    ] as const) {
      const read = RunEvent.fromJson(json)
      assert.isTrue(Result.isFailure(read))
      if (Result.isFailure(read)) assert.include(read.failure.message, says)
    }
  })

  it("three events end a run", () => {
    const terminal = tags.filter((tag) => tag === "RunCompleted" || tag === "RunFailed" || tag === "RunCancelled")
    assert.strictEqual(terminal.length, 3)
    assert.isTrue(RunEvent.isTerminal({ _tag: "RunCancelled" }))
    const inner = { kind: "run-completed" }
    assert.isFalse(RunEvent.isTerminal({ _tag: "Subagent", agentId: "a", agentType: "t", inner }))
  })
})
