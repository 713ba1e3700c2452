import { assert, describe, it } from "@effect/vitest"
import { Script, Tools } from "@settle/testing"
import { Effect } from "effect"
import * as Story from "./Story.ts"

const call = Script.call
const echo = () => Tools.make([Tools.tool("echo", Tools.echo)])

describe("one round", () => {
  it.effect("L-ROUND-20 happy path of one round and two fragments", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({ script: [{ chunks: ["Hel", "lo"] }] })
      assert.deepStrictEqual(told.tags, [
        "RunStarted",
        "RoundStarted",
        "AttemptStarted",
        "Token",
        "Token",
        "AttemptSucceeded",
        "AssistantMessage",
        "TurnCommitted",
        "RunCompleted"
      ])
      assert.strictEqual(told.outcome.final, "Hello")
    })
  )

  it.effect("L-ROUND-21 one tool call between two rounds", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({
        script: [Script.callTools(call("c1", "echo", { a: 1 })), Script.say("done")],
        tools: echo(),
        transcript: true
      })
      assert.deepStrictEqual(told.tags, [
        "RunStarted",
        "RoundStarted",
        "AttemptStarted",
        "AttemptSucceeded",
        "AssistantMessage",
        "TurnCommitted",
        "ToolCall",
        "ToolStarted",
        "ToolResult",
        "RoundStarted",
        "AttemptStarted",
        "Token",
        "AttemptSucceeded",
        "AssistantMessage",
        "TurnCommitted",
        "RunCompleted"
      ])
      assert.deepStrictEqual(Story.rolesOf(told.outcome.messages), ["user", "assistant", "tool", "assistant"])
    })
  )
})
