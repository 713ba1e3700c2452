import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as Handoff from "../../src/decide/Handoff.ts"
import * as Marker from "../../src/decide/Marker.ts"
import * as Operation from "../../src/model/Operation.ts"

const proposed = (callId: string) =>
  Operation.propose({ callId, tool: "search", arguments: "{}", idempotency: "unknown", operationId: `op-${callId}` })

const through = (callId: string, ...inputs: ReadonlyArray<Operation.Input>): Operation.Operation =>
  inputs.reduce<Operation.Operation>((self, input) => Operation.step(self, input) ?? self, proposed(callId))

const dispatch: Operation.Input = { _tag: "Dispatch", at: 0 }
const answer = (isError: boolean): Operation.Input => ({
  _tag: "Answered",
  at: 1,
  isError,
  resultDigest: "d",
  errorText: ""
})
const done = (callId: string): Handoff.Settled => ({
  operation: through(callId, dispatch, answer(false)),
  background: false
})
const failed = (callId: string): Handoff.Settled => ({
  operation: through(callId, dispatch, answer(true)),
  background: false
})
const unknown = (callId: string): Handoff.Settled => ({
  operation: through(callId, dispatch, { _tag: "GaveUp", at: 1, reason: "deadline" }),
  background: false
})
const abandoned = (callId: string): Handoff.Settled => ({
  operation: through(callId, { _tag: "Abandon", reason: "deadline" }),
  background: false
})

const ledger = (...batches: ReadonlyArray<ReadonlyArray<Handoff.Settled>>) =>
  batches.reduce(Handoff.accept, Handoff.start({ resumed: false }))

const facts = (over: Partial<Marker.Facts> = {}): Marker.Facts => ({
  routing: "native",
  handoffAfter: 5,
  ledger: ledger([done("c1a"), done("c1b")], [done("c2a")]),
  round: 3,
  reason: "unexplained-length",
  failures: ["unexplained-length", "unexplained-length"],
  compacted: false,
  cancelled: false,
  capReached: false,
  ...over
})
const has = (over: Partial<Marker.Facts>) => Marker.decide(facts(over)).retrieval_handoff !== undefined

describe("Handoff", () => {
  it("L-HAND-06 L-HAND-08 every accepted batch counts, whatever became of it", () => {
    assert.strictEqual(ledger([done("a")], [failed("b")], [unknown("c")], [abandoned("d")]).batches, 4)
  })

  it("L-HAND-07 natively every operation has to have completed", () => {
    const mixed = ledger([done("a"), failed("b")], [unknown("c"), abandoned("d")])
    assert.deepStrictEqual(Handoff.incomplete(mixed, "native"), ["search (b)", "search (c)", "search (d)"])
    assert.deepStrictEqual(Handoff.incomplete(ledger([done("a")]), "native"), [])
  })

  it("L-HAND-10 L-ROUTE-25 routed, an answered error counts and an unanswered call does not", () => {
    const mixed = ledger([done("a"), failed("b")], [unknown("c"), abandoned("d")])
    assert.deepStrictEqual(Handoff.incomplete(mixed, "schema"), ["search (c)", "search (d)"])
    assert.deepStrictEqual(Handoff.incomplete(ledger([failed("b")]), "schema"), [])
  })
})

describe("Marker", () => {
  it("L-MARK-01 L-MARK-16 v2 has the six fields, the calls in order", () => {
    assert.deepStrictEqual(Marker.decide(facts()), {
      retrieval_handoff: {
        version: "llm.agent.retrieval-handoff.v2",
        round: 3,
        completed_tool_rounds: 2,
        completed_tool_call_ids: ["c1a", "c1b", "c2a"],
        failure_reason: "unexplained-length",
        failed_attempts: 2
      }
    })
  })

  it("L-MARK-03 only with the handoff switched on", () => {
    assert.deepStrictEqual(Marker.decide(facts({ handoffAfter: 0 })), {})
  })

  it("L-MARK-04 L-MARK-05 only straight behind the last tool round, never in round 1", () => {
    assert.isFalse(has({ round: 4 }))
    assert.isFalse(has({ ledger: ledger(), round: 1 }))
    assert.isTrue(has({ ledger: ledger([done("a")]), round: 2 }))
  })

  it("L-MARK-06 L-MARK-07 one error, unknown, abandoned, background or ambiguous call spoils it for good", () => {
    const spoilt: ReadonlyArray<ReadonlyArray<Handoff.Settled>> = [
      [failed("x")],
      [unknown("x")],
      [abandoned("x")],
      [{ ...done("x"), background: true }],
      [done("")],
      [done("c9"), done("c9")],
      [done("last")]
    ]
    for (const batch of spoilt) assert.isFalse(has({ ledger: ledger(batch, [done("last")]) }))
    assert.isFalse(has({ ledger: [[done("a")], [done("b")]].reduce(Handoff.accept, Handoff.start({ resumed: true })) }))
  })

  it("L-MARK-08 L-MARK-09 every failed attempt of the round is one of the three", () => {
    assert.isTrue(has({ failures: ["empty-completion", "unexplained-length"] }))
    assert.isFalse(has({ failures: ["other", "unexplained-length"] }))
    assert.isFalse(has({ failures: ["other", "unexplained-length", "unexplained-length"] }))
    assert.isFalse(has({ failures: ["unexplained-length", "other"] }))
    assert.isFalse(has({ reason: "empty-completion", failures: ["other"] }))
    assert.isFalse(has({ reason: "invalid-action", failures: ["invalid-action"] }))
  })

  it("L-MARK-10 an end whose retry nobody tried does not qualify", () => {
    assert.isFalse(has({ failures: ["unexplained-length"] }))
    assert.isFalse(has({ reason: "empty-completion", failures: ["empty-completion"] }))
  })

  it("L-MARK-11 a truncated end needs no retry, and may follow a spent one", () => {
    const truncated = { reason: "completion-truncated" } as const
    assert.isTrue(has({ ...truncated, failures: ["completion-truncated"] }))
    assert.isTrue(has({ ...truncated, failures: ["empty-completion", "completion-truncated"] }))
    assert.isFalse(has({ ...truncated, failures: ["completion-truncated", "completion-truncated"] }))
  })

  it("L-MARK-12 not after a forced compaction, a cancel or a cap", () => {
    assert.isFalse(has({ compacted: true }))
    assert.isFalse(has({ cancelled: true }))
    assert.isFalse(has({ capReached: true }))
  })

  it("L-MARK-17 two empty attempts carry v1 beside v2, and only they", () => {
    const both = Marker.decide(
      facts({ reason: "empty-completion", failures: ["empty-completion", "empty-completion"] })
    )
    assert.deepStrictEqual(both.empty_retrieval_handoff, {
      version: "llm.agent.empty-retrieval-handoff.v1",
      round: 3,
      completed_tool_rounds: 2,
      completed_tool_call_ids: ["c1a", "c1b", "c2a"],
      empty_attempts: 2
    })
    assert.strictEqual(both.retrieval_handoff?.failure_reason, "empty-completion")
    const mixed = facts({ reason: "empty-completion", failures: ["unexplained-length", "empty-completion"] })
    assert.isUndefined(Marker.decide(mixed).empty_retrieval_handoff)
    assert.isDefined(Marker.decide(mixed).retrieval_handoff)
  })

  it("L-MARK-18 L-MARK-19 a routed run carries v3, from its first round on and without the setting", () => {
    const routed = facts({
      routing: "schema",
      handoffAfter: 0,
      ledger: ledger(),
      round: 1,
      reason: "invalid-action",
      failures: ["invalid-action"]
    })
    assert.deepStrictEqual(Marker.decide(routed), {
      retrieval_handoff: {
        version: "llm.agent.retrieval-handoff.v3",
        round: 1,
        completed_tool_rounds: 0,
        completed_tool_call_ids: [],
        failure_reason: "invalid-action",
        failed_attempts: 1
      }
    })
    const empties = {
      ...routed,
      reason: "empty-completion",
      failures: ["empty-completion", "empty-completion"]
    } as const
    assert.isUndefined(Marker.decide(empties).empty_retrieval_handoff)
  })

  it("L-MARK-20 v3 may hold answered errors, never an unanswered call", () => {
    const routed = { routing: "schema", round: 2, reason: "invalid-action", failures: ["invalid-action"] } as const
    assert.isTrue(has({ ...routed, ledger: ledger([failed("a")]) }))
    assert.isFalse(has({ ...routed, ledger: ledger([unknown("a")]) }))
    assert.isFalse(has({ ...routed, ledger: ledger([abandoned("a")]) }))
  })

  it("L-MARK-21 an invalid action ends on its own attempt, or on the second after a spent retry", () => {
    const routed = { routing: "schema", reason: "invalid-action" } as const
    assert.isTrue(has({ ...routed, failures: ["empty-completion", "invalid-action"] }))
    assert.isFalse(has({ ...routed, failures: ["invalid-action", "invalid-action"] }))
    assert.isFalse(has({ ...routed, failures: ["other", "invalid-action"] }))
  })

  const Failure = Schema.Literals([
    "empty-completion",
    "unexplained-length",
    "completion-truncated",
    "invalid-action",
    "other"
  ])
  it.prop(
    "L-MARK-14 L-MARK-15 a marker counts one or two attempts, the last of them the reason of the run",
    {
      routing: Schema.Literals(["native", "schema"]),
      reason: Schema.Literals(["empty-completion", "unexplained-length", "completion-truncated", "invalid-action"]),
      failures: Schema.Array(Failure)
    },
    (given) => {
      const marker = Marker.decide(facts(given)).retrieval_handoff
      if (marker === undefined) return
      assert.include([1, 2], marker.failed_attempts)
      assert.strictEqual(given.failures.length, marker.failed_attempts)
      assert.strictEqual(given.failures.at(-1), marker.failure_reason)
      assert.notInclude(given.failures, "other")
    }
  )
})
