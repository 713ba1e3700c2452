import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Settings from "../../src/model/Settings.ts"

/** What a caller without types may hand over. */
const given = (input: object): Settings.Input => input

const refusal = (input: object): string | undefined => {
  const made = Settings.make(given(input))
  return Result.isFailure(made) ? made.failure.message : undefined
}

describe("Settings", () => {
  it("L-GEN-08 the defaults", () => {
    assert.deepStrictEqual(
      Settings.make(),
      Result.succeed({
        maxToolRounds: 1000,
        maxToolCalls: 10_000,
        maxIdenticalCalls: 30,
        maxRetries: 3,
        backoffCapMs: 30_000,
        roundTripTimeoutMs: 120_000,
        contentTimeoutMs: 600_000,
        contextBudget: undefined,
        toolDeadlineMs: undefined,
        idempotencyRules: [],
        concurrentTools: [],
        identicalCallExempt: [],
        parkIdleTimeoutMs: 1_800_000,
        parkPollMs: 100,
        toolRouting: "native" as const,
        routingMaxTokens: 512,
        handoffAfterToolRounds: 0,
        resumeSpend: "fresh" as const,
        closeGraceMs: 5000
      })
    )
  })

  it("takes durations in any spelling, and every knob as given", () => {
    const made = Settings.make({
      backoffCap: 1500,
      toolDeadline: "2 minutes",
      parkPoll: { seconds: 1 },
      maxToolRounds: 0,
      concurrentTools: ["task", "fs_*"],
      identicalCallExempt: ["wait*"],
      idempotencyRules: [{ tool: "fs_*", idempotency: "destructive" }],
      toolRouting: "schema",
      resumeSpend: "transcript"
    })
    assert.isTrue(Result.isSuccess(made))
    if (Result.isFailure(made)) return
    assert.deepInclude(made.success, {
      backoffCapMs: 1500,
      toolDeadlineMs: 120_000,
      parkPollMs: 1000,
      maxToolRounds: 0,
      concurrentTools: ["task", "fs_*"],
      identicalCallExempt: ["wait*"],
      toolRouting: "schema",
      resumeSpend: "transcript"
    })
  })

  it("L-HAND-02 a handoff may come at the last tool round and no later", () => {
    assert.isUndefined(refusal({ maxToolRounds: 3, handoffAfterToolRounds: 3 }))
    assert.strictEqual(
      refusal({ maxToolRounds: 3, handoffAfterToolRounds: 4 }),
      "handoffAfterToolRounds: 4 is more than maxToolRounds (3). Hand off at or before the last tool round"
    )
  })

  const refused: ReadonlyArray<readonly [input: object, says: string]> = [
    [{ maxToolRounds: -1 }, "maxToolRounds: -1 is not a whole number of at least 0. Leave it out for 1000"],
    [{ maxToolCalls: 1.5 }, "maxToolCalls: 1.5 is not a whole number of at least 0. Leave it out for 10000"],
    [{ maxIdenticalCalls: 0 }, "maxIdenticalCalls: 0 is not a whole number of at least 1. Leave it out for 30"],
    [{ maxRetries: NaN }, "maxRetries: NaN is not a whole number of at least 1. Leave it out for 3"],
    [{ routingMaxTokens: 0 }, "routingMaxTokens: 0 is not a whole number of at least 1. Leave it out for 512"],
    [
      { handoffAfterToolRounds: -1 },
      "handoffAfterToolRounds: -1 is not a whole number of at least 0. Leave it out for 0"
    ],
    [{ backoffCap: 0 }, 'backoffCap: 0 is not a duration above zero. Write it like "30 seconds"'],
    [{ roundTripTimeout: "soon" }, 'roundTripTimeout: soon is not a duration above zero. Write it like "30 seconds"'],
    [{ toolDeadline: -5 }, 'toolDeadline: -5 is not a duration above zero. Write it like "30 seconds"'],
    [{ toolDeadline: null }, 'toolDeadline: null is not a duration above zero. Write it like "30 seconds"'],
    [{ parkIdleTimeout: {} }, 'parkIdleTimeout: {} is not a duration above zero. Write it like "30 seconds"'],
    [{ parkPoll: "0 seconds" }, 'parkPoll: 0 seconds is not a duration above zero. Write it like "30 seconds"'],
    [{ closeGrace: NaN }, 'closeGrace: NaN is not a duration above zero. Write it like "30 seconds"'],
    [{ toolRouting: "json" }, 'toolRouting: "json" is not known. Use one of native, schema'],
    [{ resumeSpend: "old" }, 'resumeSpend: "old" is not known. Use one of fresh, transcript'],
    [{ concurrentTools: "task" }, "concurrentTools: it is not a list. Give a list of tool names"],
    [{ idempotencyRules: "task" }, "idempotencyRules: it is not a list. Give a list of {tool, idempotency}"],
    [
      { idempotencyRules: [null] },
      'idempotencyRules[0].tool: a pattern is a string, not undefined. Use a tool\'s name or a prefix ending in "*"'
    ],
    [
      { idempotencyRules: [{ tool: "a*b", idempotency: "read-only" }] },
      'idempotencyRules[0].tool: "a*b": a "*" may only stand at the end. Use a tool\'s name or a prefix ending in "*"'
    ]
  ]
  for (const [input, says] of refused) {
    it(`L-GEN-09 refuses ${says}`, () => {
      assert.strictEqual(refusal(input), says)
    })
  }

  it("L-CONC-13 a rule object where a pattern belongs is refused, and its place named", () => {
    const rule = { tool: "task", idempotency: "read-only" }
    assert.strictEqual(
      refusal({ concurrentTools: ["a", rule] }),
      'concurrentTools[1]: a pattern is a string, not object. Use a tool\'s name or a prefix ending in "*"'
    )
    assert.strictEqual(
      refusal({ identicalCallExempt: [rule] }),
      'identicalCallExempt[0]: a pattern is a string, not object. Use a tool\'s name or a prefix ending in "*"'
    )
  })

  it("O-IDEM-02 an unknown class is refused", () => {
    assert.strictEqual(
      refusal({ idempotencyRules: [{ tool: "a", idempotency: "safe" }] }),
      'idempotencyRules[0].idempotency: "safe" is no class. Use one of read-only, idempotent, destructive, unknown'
    )
  })
})
