/** A hundred runs, each started and cancelled at once: nothing is left behind. */
import * as Agent from "@settle/core/agent/Agent"
import * as Conversation from "@settle/core/model/Conversation"
import * as MemoryTranscript from "@settle/core/standard/MemoryTranscript"
import { ToolProvider } from "@settle/core/port/ToolProvider"
import { Transcript } from "@settle/core/port/Transcript"
import * as Replay from "@settle/core/model/Replay"
import { Script, Tools } from "@settle/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"

const one = (n: number) =>
  Effect.gen(function* () {
    const tools = Tools.make([Tools.tool("slow", Tools.after(`${n % 7} millis`, Tools.echo))])
    const script = Script.make([
      Script.callTools(Script.call("c1", "slow"), Script.call("c2", "slow")),
      { stall: true }
    ])
    const transcript = yield* MemoryTranscript.make()
    const layer = Agent.layer({ closeGrace: "2 seconds" }).pipe(
      Layer.provide([
        Script.layer(script),
        Layer.succeed(ToolProvider, tools.provider),
        Layer.succeed(Transcript, transcript)
      ])
    )
    yield* Effect.gen(function* () {
      const agent = yield* Agent.Agent
      const run = yield* agent.run("go")
      yield* Effect.sleep(`${n % 11} millis`)
      yield* run.cancel
      assert.strictEqual((yield* run.outcome).outcome, "cancelled")
      yield* run.drained
    }).pipe(Effect.provide(layer))
    assert.isUndefined(Conversation.fault(Replay.messages(yield* transcript.replay)))
    assert.isFalse(tools.ran.some((ran) => ran.end === "running"))
  })

describe("a hundred runs", () => {
  it.live(
    "X-CANC-05 L-DRAIN-02 started and cancelled in a second, they leave no work, no timer and no unanswered transcript",
    () =>
      Effect.gen(function* () {
        const before = process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length
        yield* Effect.forEach(
          Array.from({ length: 100 }, (_, n) => n),
          one,
          { concurrency: "unbounded", discard: true }
        )
        yield* Effect.sleep("20 millis")
        const after = process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length
        assert.isAtMost(after, before + 2)
      })
  )
})
