import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as Canonical from "../../src/model/Canonical.ts"
import * as Operation from "../../src/model/Operation.ts"
import * as Settings from "../../src/model/Settings.ts"
import { idempotencies } from "../../src/model/Tool.ts"

const proposed = Operation.propose({
  callId: "call-1",
  tool: "read",
  arguments: "{}",
  idempotency: "unknown",
  operationId: "op-1"
})

type Input = Operation.Input
const dispatch = (at = 0): Input => ({ _tag: "Dispatch", at })
const asks = (at: number): Input => ({ _tag: "AskBegan", at })
const asked = (at: number): Input => ({ _tag: "AskEnded", at })
const answers = (at: number, isError = false): Input => ({
  _tag: "Answered",
  at,
  isError,
  resultDigest: "digest",
  errorText: "no"
})
const givesUp = (at: number, reason: Operation.UnknownReason = "deadline"): Input => ({ _tag: "GaveUp", at, reason })
const refused = (at: number): Input => ({ _tag: "NotAccepted", at, resultDigest: "digest", errorText: "no server" })
const abandon: Input = { _tag: "Abandon", reason: "cancelled" }

/** Every input is offered; one that loses changes nothing. */
const after = (...inputs: ReadonlyArray<Input>): Operation.Operation =>
  inputs.reduce<Operation.Operation>((self, input) => Operation.step(self, input) ?? self, proposed)

/** Any inputs, at times that never go back. */
const inputs = Arbitrary.map(
  Arbitrary.all({
    inputs: Arbitrary.array(Arbitrary.schema(Operation.Input), { maxLength: 12 }),
    steps: Arbitrary.array(Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5000 }))), {
      minLength: 12,
      maxLength: 12
    })
  }),
  ({ inputs: given, steps }) => {
    let now = 0
    return given.map((input, index): Input => {
      now += steps[index] ?? 0
      return "at" in input ? { ...input, at: now } : input
    })
  }
)

const walk = (given: ReadonlyArray<Input>): ReadonlyArray<Operation.Operation> => {
  const states = [proposed]
  for (const input of given) {
    const last = states.at(-1) ?? proposed
    const next = Operation.step(last, input)
    if (next !== undefined) states.push(next)
  }
  return states
}

describe("Operation: states", () => {
  it.prop("O-STATE-01 there are six states, and the last four end it (O2)", { inputs }, ({ inputs: given }) => {
    const states = walk(given)
    const known = ["Proposed", "Dispatched", "Completed", "Failed", "OutcomeUnknown", "Abandoned"]
    for (const [index, state] of states.entries()) {
      assert.include(known, state._tag)
      assert.strictEqual(Operation.isSettled(state), known.indexOf(state._tag) >= 2)
      if (Operation.isSettled(state)) assert.strictEqual(index, states.length - 1, "nothing follows an end")
    }
  })

  it("O-STATE-02 a new operation is proposed", () => {
    assert.deepStrictEqual(proposed, {
      _tag: "Proposed",
      callId: "call-1",
      tool: "read",
      arguments: "{}",
      idempotency: "unknown",
      operationId: "op-1"
    })
    assert.isUndefined(Operation.outcome(proposed))
  })

  it("O-STATE-03 completed, failed, unknown and abandoned mean what they say", () => {
    assert.strictEqual(after(dispatch(), answers(1))._tag, "Completed")
    assert.strictEqual(after(dispatch(), answers(1, true))._tag, "Failed")
    assert.strictEqual(after(dispatch(), givesUp(1))._tag, "OutcomeUnknown")
    assert.strictEqual(after(abandon)._tag, "Abandoned")
    const outcomes = [
      Operation.outcome(after(dispatch(), answers(1))),
      Operation.outcome(after(dispatch(), answers(1, true))),
      Operation.outcome(after(dispatch(), givesUp(1))),
      Operation.outcome(after(abandon)),
      Operation.outcome(after(dispatch()))
    ]
    assert.deepStrictEqual(outcomes, ["completed", "failed", "outcome-unknown", undefined, undefined])
  })

  it.prop("O-STATE-04 abandoned is reachable from proposed alone (O1)", { inputs }, ({ inputs: given }) => {
    const states = walk(given)
    const at = states.findIndex((state) => state._tag === "Abandoned")
    if (at >= 0) assert.strictEqual(states[at - 1]?._tag, "Proposed")
  })

  it("O-STATE-04 a dispatched call cannot be abandoned", () => {
    assert.isUndefined(Operation.step(after(dispatch()), abandon))
  })

  it.prop("O-STATE-05 a dispatched operation ends completed, failed or unknown", { inputs }, ({ inputs: given }) => {
    const states = walk(given)
    const next = states[states.findIndex((state) => state._tag === "Dispatched") + 1]
    if (states.some((state) => state._tag === "Dispatched") && next !== undefined) {
      assert.include(["Dispatched", "Completed", "Failed", "OutcomeUnknown"], next._tag)
    }
  })

  it.prop(
    "O-STATE-06 X-CANC-03 only an answer, or the word that it was never accepted, makes it failed (O3)",
    { inputs },
    ({ inputs: given }) => {
      let state = proposed
      for (const input of given) {
        const next = Operation.step(state, input)
        if (next?._tag === "Failed") assert.include(["Answered", "NotAccepted"], input._tag)
        state = next ?? state
      }
    }
  )

  it("O-STATE-06 X-CANC-03 unknown stays unknown, whatever is said later", () => {
    for (const reason of ["deadline", "cancelled", "connection-lost"] as const) {
      const unknown = after(dispatch(), givesUp(5, reason))
      assert.deepInclude(unknown, { _tag: "OutcomeUnknown", reason })
      for (const late of [answers(6), answers(6, true), refused(6), givesUp(6), abandon]) {
        assert.isUndefined(Operation.step(unknown, late))
      }
    }
  })

  it("O-STATE-07 a permission question is no transition: the call stays dispatched while it is asked", () => {
    assert.isUndefined(Operation.step(proposed, asks(0)))
    assert.strictEqual(after(dispatch(), asks(1))._tag, "Dispatched")
    assert.strictEqual(after(dispatch(), asks(1), asked(2))._tag, "Dispatched")
  })
})

describe("Operation: transitions", () => {
  it("O-TRANS-01 a late or misplaced input is a value, not a throw", () => {
    const notFromProposed = [asks(0), asked(0), answers(0), refused(0), givesUp(0)]
    for (const input of notFromProposed) assert.isUndefined(Operation.step(proposed, input))
    assert.isUndefined(Operation.step(after(dispatch()), dispatch(1)), "dispatched twice")
    assert.isUndefined(Operation.step(after(dispatch()), asked(1)), "an answer nobody waited for")
    assert.isUndefined(Operation.step(after(abandon), dispatch(1)))
  })

  it("O-TRANS-02 the first of an answer and a deadline wins, and the second changes nothing", () => {
    const won = after(dispatch(), answers(10))
    assert.isUndefined(Operation.step(won, givesUp(10)))
    const gone = after(dispatch(), givesUp(10))
    assert.isUndefined(Operation.step(gone, answers(10)))
  })

  it.prop("O-TRANS-02 an operation settles once (O2)", { inputs }, ({ inputs: given }) => {
    assert.isAtMost(walk(given).filter(Operation.isSettled).length, 1)
  })

  it("X-CANC-04 a call that is known not to have been accepted is failed, and says why", () => {
    const state = after(dispatch(), refused(3))
    assert.deepInclude(state, { _tag: "Failed", reason: "not-accepted", errorText: "no server" })
  })
})

describe("Operation: identity", () => {
  it("O-ID-02 the call id is the model's; the arguments are the comparison text", () => {
    const text = Canonical.callArguments('{ "mode":"r", "path":"a" }')
    const operation = Operation.propose({
      callId: "toolu_1",
      tool: "read",
      arguments: text,
      idempotency: "read-only",
      operationId: "op"
    })
    assert.strictEqual(operation.callId, "toolu_1")
    assert.strictEqual(operation.arguments, '{"mode":"r","path":"a"}')
    assert.strictEqual(Operation.signature(operation), 'read\u0000{"mode":"r","path":"a"}')
  })

  it("takes the id of its dispatched line, and keeps its own without one", () => {
    const lined = Operation.step(proposed, { _tag: "Dispatch", at: 0, operationId: "line-9" })
    assert.strictEqual(lined?.operationId, "line-9")
    assert.strictEqual(after(dispatch()).operationId, "op-1")
    const settled = lined && Operation.step(lined, answers(1))
    assert.strictEqual(settled?.operationId, "line-9")
  })
})

describe("Operation: time", () => {
  it("O-TIME-01 the duration is the time between dispatch and settle, asking included", () => {
    const settled = after(dispatch(1000), asks(1500), asked(2500), answers(3750))
    assert.strictEqual(Operation.durationMs(settled), 2750)
    for (const state of [proposed, after(dispatch()), after(abandon)]) assert.isUndefined(Operation.durationMs(state))
  })

  it("O-TIME-02 closed asks add up, and an open one counts already", () => {
    const state = after(dispatch(0), asks(100), asked(300), asks(1000))
    assert.strictEqual(Operation.askedMs(state, 1000), 200)
    assert.strictEqual(Operation.askedMs(state, 1500), 700)
    assert.strictEqual(Operation.workingMs(state, 1500), 800)
    assert.strictEqual(Operation.askedMs(after(dispatch(0), asks(100), answers(400)), 9999), 300, "a settle closes it")
    assert.strictEqual(Operation.askedMs(proposed, 5), 0)
  })

  it("O-TIME-03 the deadline's clock: 0 before dispatch, humans excluded, frozen at settle", () => {
    assert.strictEqual(Operation.workingMs(proposed, 9999), 0)
    assert.strictEqual(Operation.workingMs(after(abandon), 9999), 0)
    const settled = after(dispatch(1000), asks(1100), asked(1900), answers(2000))
    assert.strictEqual(Operation.workingMs(settled, 2000), 200)
    assert.strictEqual(Operation.workingMs(settled, 99_999), 200)
  })

  it("O-TIME-03 L-DL-12 a 60 s question is no working time", () => {
    const state = after(dispatch(0), asks(1000), asked(61_000))
    assert.strictEqual(Operation.workingMs(state, 62_000), 2000)
  })

  it("O-TIME-03 nested asks close on the outermost answer", () => {
    const nested = after(dispatch(0), asks(10), asks(20), asked(30))
    assert.strictEqual(Operation.askedMs(nested, 50), 40)
    assert.strictEqual(Operation.workingMs(nested, 50), 10)
    const closed = after(dispatch(0), asks(10), asks(20), asked(30), asked(60))
    assert.strictEqual(Operation.askedMs(closed, 100), 50)
    assert.strictEqual(Operation.workingMs(closed, 100), 50)
  })

  it.prop(
    "O-TIME-03 working time is never negative and never goes back before the settle (O4)",
    { inputs },
    ({ inputs: given }) => {
      let state = proposed
      let last = 0
      for (const input of given) {
        state = Operation.step(state, input) ?? state
        if (!("at" in input)) continue
        const working = Operation.workingMs(state, input.at)
        assert.isAtLeast(working, last)
        assert.strictEqual(
          working + Operation.askedMs(state, input.at) <= input.at,
          true,
          "working and asked time fit into the time since the beginning"
        )
        last = working
      }
    }
  )
})

describe("Operation: idempotency and ownership", () => {
  it("O-IDEM-01 there are four classes, and the default is unknown", () => {
    assert.deepStrictEqual([...idempotencies], ["read-only", "idempotent", "destructive", "unknown"])
    assert.strictEqual(Settings.idempotencyOf({ idempotencyRules: [] }, "read", undefined), "unknown")
  })

  it("O-IDEM-02 X-IDEM-01 the first matching rule decides, before what the tool says of itself", () => {
    const idempotencyRules = [
      { tool: "fs_read", idempotency: "read-only" },
      { tool: "fs_*", idempotency: "destructive" },
      { tool: "fs_stat", idempotency: "read-only" }
    ] as const
    const of = (tool: string, annotated?: "read-only") => Settings.idempotencyOf({ idempotencyRules }, tool, annotated)
    assert.strictEqual(of("fs_read"), "read-only")
    assert.strictEqual(of("fs_stat"), "destructive")
    assert.strictEqual(of("fs_write", "read-only"), "destructive")
    assert.strictEqual(of("other", "read-only"), "read-only")
    assert.strictEqual(of("other"), "unknown")
  })

  it("O-OWN-02 a settle keeps the digest of what the model was given", () => {
    const digest = Canonical.textDigest("what the model read")
    const settled = Operation.step(after(dispatch()), {
      _tag: "Answered",
      at: 1,
      isError: false,
      resultDigest: digest,
      errorText: ""
    })
    assert.deepInclude(settled, { _tag: "Completed", resultDigest: digest })
  })

  it("the error text is the first line that says something, at most 200 characters", () => {
    assert.strictEqual(Operation.errorText("\n  \r\n  ENOENT: no file  \nat x"), "ENOENT: no file")
    assert.strictEqual(Operation.errorText("😀".repeat(201)), `${"😀".repeat(200)}…`)
    assert.strictEqual(Operation.errorText("x".repeat(200)), "x".repeat(200))
    assert.strictEqual(Operation.errorText(" \n"), "")
  })
})
