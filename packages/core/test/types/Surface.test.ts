/** The types that an application is written against: a change here is a change for every user. The compiler is what fails. */
import * as Agent from "@settle/core/agent/Agent"
import * as Loop from "@settle/core/agent/Loop"
import type * as Run from "@settle/core/engine/Run"
import type * as Refusal from "@settle/core/model/Refusal"
import type * as RunEvent from "@settle/core/model/RunEvent"
import type * as RunOutcome from "@settle/core/model/RunOutcome"
import { Artifacts } from "@settle/core/port/Artifacts"
import type { Backends } from "@settle/core/port/Backend"
import { Compactor } from "@settle/core/port/Compactor"
import { CompletionBus } from "@settle/core/port/CompletionBus"
import { HostHooks } from "@settle/core/port/HostHooks"
import { IdGenerator } from "@settle/core/port/IdGenerator"
import { RequestBudget } from "@settle/core/port/RequestBudget"
import { SteerSource } from "@settle/core/port/SteerSource"
import { TokenCounter } from "@settle/core/port/TokenCounter"
import { ToolProvider } from "@settle/core/port/ToolProvider"
import { Transcript, type TranscriptError } from "@settle/core/port/Transcript"
import * as MemoryTranscript from "@settle/core/standard/MemoryTranscript"
import { Script, Tools } from "@settle/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, type Scope, type Stream } from "effect"
import { expectTypeOf } from "vitest"

describe("the types of the surface", () => {
  it("L-GEN-07 only the chain of backends is required: an optional part is in no requirement", () => {
    expectTypeOf(Agent.layer).returns.toEqualTypeOf<Layer.Layer<Agent.Agent, Refusal.Refusal, Backends>>()
    expectTypeOf(Loop.make({})).toEqualTypeOf<Effect.Effect<Loop.Loop, Refusal.Refusal, Backends | Scope.Scope>>()
    const parts = Effect.all([
      ToolProvider,
      Transcript,
      Artifacts,
      Compactor,
      CompletionBus,
      HostHooks,
      IdGenerator,
      RequestBudget,
      SteerSource,
      TokenCounter
    ])
    expectTypeOf<Effect.Services<typeof parts>>().toEqualTypeOf<never>()
    expectTypeOf<Effect.Error<typeof parts>>().toEqualTypeOf<never>()
  })

  it("L-RUN-01 L-DRAIN-01 a result fails with the two ends a run may have, and nothing else of it fails", () => {
    expectTypeOf<Run.Run["result"]>().toEqualTypeOf<
      Effect.Effect<RunOutcome.RunOutcome, RunOutcome.RunFailed | RunOutcome.RunCancelled>
    >()
    expectTypeOf<Run.Run["outcome"]>().toEqualTypeOf<Effect.Effect<RunOutcome.RunOutcome>>()
    expectTypeOf<Run.Run["drained"]>().toEqualTypeOf<Effect.Effect<void>>()
    expectTypeOf<Run.Run["cancel"]>().toEqualTypeOf<Effect.Effect<void>>()
    expectTypeOf<Run.Run["events"]>().toEqualTypeOf<Stream.Stream<RunEvent.RunEvent>>()
    expectTypeOf<Agent.Agent["Service"]["run"]>().returns.toEqualTypeOf<
      Effect.Effect<Run.Run, Refusal.Refusal | TranscriptError>
    >()
  })

  it.effect("L-GEN-07 one layer assembles an agent, and a part is swapped by providing another layer", () => {
    const program = Effect.gen(function* () {
      const agent = yield* Agent.Agent
      const run = yield* agent.run("go")
      const outcome = yield* run.result
      yield* run.drained
      return outcome.final
    })
    const assembled = (...parts: ReadonlyArray<Layer.Layer<never>>) =>
      Agent.layer().pipe(
        Layer.provide([
          Script.layer(
            Script.make([{ content: "looking", toolCalls: [Script.call("c1", "echo")] }, Script.say("done")])
          ),
          ...parts
        ])
      )
    return Effect.gen(function* () {
      const tools = Tools.make([Tools.tool("echo", Tools.echo)])
      const provided = Layer.succeed(ToolProvider, tools.provider)
      assert.strictEqual(yield* Effect.provide(program, assembled(provided, MemoryTranscript.layer)), "done")
      assert.strictEqual(tools.ran.length, 1)
      // Without the part the feature does not exist: the call is no call, and the text beside it is the answer.
      assert.strictEqual(yield* Effect.provide(program, assembled()), "looking")
      assert.strictEqual(tools.ran.length, 1)
    })
  })
})
