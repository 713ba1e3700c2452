import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import * as Refusal from "@settle/core/model/Refusal"
import * as RunFailure from "@settle/core/model/RunFailure"
import * as RunOutcome from "@settle/core/model/RunOutcome"
import * as Transcript from "@settle/core/port/Transcript"
import * as Failure from "../src/Failure.ts"

const outcome = { outcome: "failed", final: "", messages: [], rounds: 0, attempts: [] } as const
const failedRun = (reason: RunFailure.Reason) => new RunOutcome.RunFailed({ reason, outcome })
const transcript = (reason: Transcript.TranscriptError["reason"]) =>
  new Transcript.TranscriptError({ operation: "open", place: "/s.jsonl", reason })

const of = (error: unknown) => Failure.ofCause(Cause.fail(error), false)

describe("Failure", () => {
  it("gives every known end its exit code and says what to do", () => {
    const cases: ReadonlyArray<readonly [unknown, number, RegExp]> = [
      [new Failure.CommandError({ code: 2, detail: "So." }), 2, /^So\.$/],
      [
        transcript(new Transcript.Locked({ pid: 7, host: "h", since: "noon" })),
        3,
        /^Could not open the transcript \/s\.jsonl: it is open for writing in process 7 on h since noon\. Wait until that process ends/
      ],
      [transcript(new Transcript.Fenced({ detail: "taken" })), 3, /taken\. Another process writes it now/],
      [transcript(new Transcript.Unreadable({ detail: "a folder" })), 3, /a folder\. Nothing was changed\./],
      [
        transcript(new Transcript.WriteFailed({ detail: "disk full" })),
        3,
        /disk full\. Check the place and its free space/
      ],
      [Refusal.refuse(new Refusal.NoMessages()), 2, /^A run needs at least one message to begin with\.$/],
      [
        failedRun(new RunFailure.AttemptsSpent({ last: "HTTP 500" })),
        1,
        /^The run failed: HTTP 500\. Check that the server of the model runs/
      ],
      [
        failedRun(new RunFailure.BudgetExhausted({ cap: "cost", spent: 2, limit: 1 })),
        1,
        /spent 2 of 1\. Raise the cap, or go on in a new run\. Here the caps are --max-cost/
      ],
      [
        failedRun(new RunFailure.TranscriptFailed({ detail: "disk full", unsettled: ["op1"] })),
        3,
        /op1; it was not run again\. Check the place/
      ],
      [
        failedRun(new RunFailure.UnansweredTail({ calls: [{ id: "a", name: "t" }], problem: "open" })),
        1,
        /settle resume answers them\.$/
      ],
      [{ _tag: "McpError", message: "MCP server `f`: gone" }, 2, /^MCP server `f`: gone\.$/],
      [new Error("strange"), 1, /^Strange\.$/],
      ["a text", 1, /^A text\.$/],
      [new RunOutcome.RunCancelled({ outcome: { ...outcome, outcome: "cancelled" } }), 130, /^$/]
    ]
    for (const [error, code, says] of cases) {
      const failure = of(error)
      assert.strictEqual(failure.code, code, failure.text)
      assert.match(failure.text, says)
    }
  })

  it.effect("a defect is a bug and says so; its stack is shown only when asked for", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(Effect.die(new Error("boom")))
      const cause = Exit.isFailure(exit) ? exit.cause : assert.fail("no failure")
      assert.deepStrictEqual(Failure.ofCause(cause, false), {
        code: 1,
        text: "Settle broke: boom. This is a bug; --log-level debug shows where it happened."
      })
      assert.match(Failure.ofCause(cause, true).text, /\n\n.*boom[^]*at /)
      assert.deepStrictEqual(Failure.ofCause(Cause.interrupt(1), false), { code: 130, text: "" })
    })
  )

  it("X-SAFE-03 a paragraph is neutral, whoever wrote its parts", () => {
    assert.strictEqual(
      of(new Error("bad \u001b]0;title\u0007 \u202ename")).text,
      "Bad ⟨U+001B⟩]0;title⟨U+0007⟩ ⟨U+202E⟩name."
    )
  })
})
