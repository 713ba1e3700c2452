/**
 * The one-call assembly for applications: a Layer that takes what it finds (models, tools, a transcript) and gives an agent.
 *
 * ```ts
 * const program = Effect.gen(function* () {
 *   const agent = yield* Agent.Agent
 *   const run = yield* agent.run("What changed in this folder today?")
 *   return (yield* run.result).final
 * })
 * ```
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Run from "../engine/Run.ts"
import * as Message from "../model/Message.ts"
import type * as Refusal from "../model/Refusal.ts"
import * as Replay from "../model/Replay.ts"
import type * as Settings from "../model/Settings.ts"
import type { Backends } from "../port/Backend.ts"
import { Compactor } from "../port/Compactor.ts"
import { RequestBudget } from "../port/RequestBudget.ts"
import { TokenCounter } from "../port/TokenCounter.ts"
import { Transcript, type TranscriptError } from "../port/Transcript.ts"
import * as EstimateCounter from "../standard/EstimateCounter.ts"
import * as Loop from "./Loop.ts"

export interface Input extends Settings.Input {
  /** A system prompt: the first message of a new conversation, kept by every compaction. */
  readonly system?: string
}

export class Agent extends Context.Service<
  Agent,
  {
    /**
     * One run. A string continues the transcript's conversation, or begins one; messages are the whole conversation, which must
     * extend the transcript's (L-SEED).
     */
    readonly run: (
      prompt: string | ReadonlyArray<Message.Message>,
      options?: Loop.RunOptions
    ) => Effect.Effect<Run.Run, Refusal.Refusal | TranscriptError>
    readonly loop: Loop.Loop
  }
>()("@settle/core/agent/Agent") {}

const make = Effect.fnUntraced(function* (input: Input) {
  const counter = yield* counterFor(input)
  const loop = yield* Effect.provideService(Loop.make(input), TokenCounter, counter)
  const transcript = yield* Transcript
  const conversation = Effect.gen(function* () {
    const recorded = transcript === undefined ? [] : Replay.messages(yield* transcript.replay)
    if (recorded.length > 0 || input.system === undefined) return recorded
    return [{ ...Message.system(input.system), sysprompt: true }]
  })
  return Agent.of({
    loop,
    run: Effect.fnUntraced(function* (prompt, options) {
      const messages = typeof prompt === "string" ? [...(yield* conversation), Message.user(prompt)] : prompt
      return yield* loop.run(messages, options)
    })
  })
})

/** What must be counted and has no tokenizer is estimated; where nothing is counted, no counter exists. */
const counterFor = Effect.fnUntraced(function* (input: Input) {
  const given = yield* TokenCounter
  if (given !== undefined) return given
  const isCounting =
    input.contextBudget !== undefined || (yield* RequestBudget) !== undefined || (yield* Compactor) !== undefined
  return isCounting ? EstimateCounter.make() : undefined
})

/** Closing the layer's scope ends a live run as a cancel would (X-CANC-05). */
export const layer = (input: Input = {}): Layer.Layer<Agent, Refusal.Refusal, Backends> =>
  Layer.effect(Agent, make(input))
