/**
 * One run told from both sides: what the loop said, what the transcript holds, what the tools and the model really saw. Every story
 * that ends is checked against the event grammar and the invariants.
 */
import { Artifacts as ArtifactsPort } from "@settle/core/port/Artifacts"
import { Compactor } from "@settle/core/port/Compactor"
import { CompletionBus } from "@settle/core/port/CompletionBus"
import { HostHooks } from "@settle/core/port/HostHooks"
import { RequestBudget } from "@settle/core/port/RequestBudget"
import { SteerSource } from "@settle/core/port/SteerSource"
import { TokenCounter } from "@settle/core/port/TokenCounter"
import { ToolProvider } from "@settle/core/port/ToolProvider"
import { Transcript } from "@settle/core/port/Transcript"
import { Backends, type Backend } from "@settle/core/port/Backend"
import * as Loop from "@settle/core/agent/Loop"
import type * as Run from "@settle/core/engine/Run"
import * as Message from "@settle/core/model/Message"
import type * as Settings from "@settle/core/model/Settings"
import * as MemoryTranscript from "@settle/core/standard/MemoryTranscript"
import { Invariants, Recorder, Script, Tools } from "@settle/testing"
import { Effect, Fiber, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"

export interface Plan {
  readonly script?: ReadonlyArray<Script.Entry>
  readonly scripts?: ReadonlyArray<Script.Script>
  readonly backends?: ReadonlyArray<Backend>
  readonly tools?: Tools.Tools
  readonly provider?: ToolProvider
  /** `true`: a fresh one in memory. */
  readonly transcript?: true | Transcript
  readonly settings?: Settings.Input
  readonly budget?: RequestBudget
  readonly counter?: TokenCounter
  readonly compactor?: Compactor
  readonly steers?: SteerSource
  readonly bus?: CompletionBus
  readonly hooks?: HostHooks
  readonly artifacts?: ArtifactsPort
}

export interface Stage {
  readonly loop: Loop.Loop
  readonly script: Script.Script
  readonly tools: Tools.Tools
  readonly transcript: MemoryTranscript.MemoryTranscript | undefined
  /** False where the provider is not the recording one: then nothing is known about what really ran. */
  readonly watched: boolean
}

const some = <A>(value: A | undefined, layer: (value: A) => Layer.Layer<never>): Layer.Layer<never> =>
  value === undefined ? Layer.empty : layer(value)

/** Builds the loop of a plan. */
export const stage = Effect.fnUntraced(function* (plan: Plan) {
  const script = Script.make(plan.script ?? [])
  const tools = plan.tools ?? Tools.make([])
  const memory = plan.transcript === true ? yield* MemoryTranscript.make() : undefined
  const transcript = plan.transcript === true ? memory : plan.transcript
  const provider = plan.provider ?? plan.tools?.provider
  const chain = plan.backends ?? plan.scripts?.map((s) => s.backend) ?? [script.backend]
  const layer = Layer.mergeAll(
    Layer.succeed(Backends, { chain }),
    some(provider, (value) => Layer.succeed(ToolProvider, value)),
    some(transcript, (value) => Layer.succeed(Transcript, value)),
    some(plan.budget, (value) => Layer.succeed(RequestBudget, value)),
    some(plan.counter, (value) => Layer.succeed(TokenCounter, value)),
    some(plan.compactor, (value) => Layer.succeed(Compactor, value)),
    some(plan.steers, (value) => Layer.succeed(SteerSource, value)),
    some(plan.bus, (value) => Layer.succeed(CompletionBus, value)),
    some(plan.hooks, (value) => Layer.succeed(HostHooks, value)),
    some(plan.artifacts, (value) => Layer.succeed(ArtifactsPort, value))
  )
  const loop = yield* Effect.provide(Loop.make(plan.settings ?? {}), layer)
  return { loop, script, tools, transcript: memory, watched: plan.provider === undefined } satisfies Stage
})

/** A stage whose process will be "killed": nobody closes it. */
export const doomed = (plan: Plan) =>
  Effect.flatMap(Scope.make(), (scope) => Effect.provideService(stage(plan), Scope.Scope, scope))

export const ask = (text = "go"): ReadonlyArray<Message.Message> => [Message.user(text)]

/** Runs on a stage to its end, events read beside it. */
export const play = Effect.fnUntraced(function* (
  on: Stage,
  messages: ReadonlyArray<Message.Message> = ask(),
  options: Loop.RunOptions & {
    readonly meanwhile?: (
      run: Run.Run,
      recorder: Recorder.Recorder<never>
    ) => Effect.Effect<unknown, unknown, Scope.Scope>
  } = {}
) {
  const { meanwhile, ...rest } = options
  const run = yield* on.loop.run(messages, rest)
  const recorder = yield* Recorder.start(run.events)
  if (meanwhile !== undefined) yield* meanwhile(run, recorder)
  const outcome = yield* run.outcome
  yield* run.drained
  const recording = yield* recorder.done
  const replay = on.transcript === undefined ? undefined : yield* on.transcript.replay
  Invariants.assertHold({ outcome, events: recording.events, replay, ran: on.watched ? on.tools.ran : undefined })
  return { ...on, run, outcome, recording, replay, tags: Recorder.tags(recording) }
})

export const tell = (plan: Plan, messages?: ReadonlyArray<Message.Message>) =>
  Effect.flatMap(stage(plan), (on) => play(on, messages))

export const rolesOf = (messages: ReadonlyArray<Message.Message>) => messages.map((message) => message.role)

/** Types of the lines of a transcript, in order. */
export const lineTypes = (lines: ReadonlyArray<string>) =>
  lines.map((line) => (JSON.parse(line) as { type: string }).type)

/** Lets virtual time pass, in steps of a tenth of a second, until the effect is done. */
export const passing = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(effect)
    while (fiber.pollUnsafe() === undefined) yield* TestClock.adjust("100 millis")
    return yield* Fiber.join(fiber)
  })
