/**
 * The bridge to `effect/ai`: any of its language models as a `Backend`, and any backend, or chain, of ours as a language model.
 *
 * M1. A model is asked for calls and never runs them: what is called, and with what, is judged by the engine.
 * M2. A stream that carries an error has failed, and one that stops without a finish was cut, although both succeed over there.
 * M3. As a language model a chain goes on to its next backend only while nothing was said yet.
 *
 * Both sides of the bridge are loaded with this module: import it by its own path.
 */
import type * as Message from "@settle/core/model/Message"
import * as Backend from "@settle/core/port/Backend"
import { IdGenerator } from "@settle/core/port/IdGenerator"
import type { Declaration } from "@settle/core/model/Tool"
import type { JsonSchema } from "effect/JsonSchema"
import type * as AiError from "effect/ai/AiError"
import * as Ai from "effect/ai/LanguageModel"
import * as Tool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as Answering from "./language-model/Answering.ts"
import * as Outcome from "./language-model/Outcome.ts"
import * as Prompts from "./language-model/Prompts.ts"
import { Reading } from "./language-model/Reading.ts"

export interface Options {
  /** What it is called in events and budgets. Default `unknown`. */
  readonly model?: string
  /** The completion cap it was configured with; `effect/ai` takes none per request. */
  readonly maxTokens?: number
}

/** A language model as a backend. It cannot hold a streamed reply to a schema: routing is off for it. */
export const toBackend = (model: Ai.LanguageModel, options: Options = {}): Backend.Backend => {
  const toolkitOf = toolkits()
  return {
    model: options.model ?? "unknown",
    maxTokens: options.maxTokens,
    canConstrain: false,
    stream: (request) =>
      Stream.suspend(() => {
        if (request.schema !== undefined) return Stream.fail(unconstrained(request.schema.name))
        const { conversation, head, tail } = request
        const messages = [...one(head), ...conversation.messages, ...one(tail)]
        const taken = new Set(messages.flatMap((message) => (message.toolCalls ?? []).map(({ id }) => id)))
        const reading = new Reading()
        const parts = model.streamText({
          prompt: Prompts.fromMessages(messages),
          toolkit: toolkitOf(request.tools),
          disableToolCallResolution: true,
          toolCallValidation: "deferred"
        })
        return parts.pipe(
          Stream.mapError((error) => new Backend.BackendError({ reason: Outcome.reasonFrom(error) })),
          // what follows an error is not waited for
          Stream.takeUntil((part) => part.type === "error"),
          Stream.mapArray((some) => Arr.map(some, (part) => reading.add(part))),
          Stream.concat(Stream.fromEffect(finish(reading, taken)))
        )
      })
  }
}

/** A chain of the one language model in the context. */
export const layerBackend = (options: Options = {}): Layer.Layer<Backend.Backends, never, Ai.LanguageModel> =>
  Layer.effect(
    Backend.Backends,
    Effect.map(Ai.LanguageModel, (model) => ({ chain: [toBackend(model, options)] }))
  )

const one = (message: Message.Message | undefined): ReadonlyArray<Message.Message> =>
  message === undefined ? [] : [message]

const unconstrained = (name: string): Backend.BackendError =>
  new Backend.BackendError({
    reason: new Backend.BadResponse({
      problem: "malformed",
      detail: `a language model of effect/ai cannot stream a reply held to a schema, and was asked for ${name}. Use native tool calls with it`
    })
  })

const finish = (reading: Reading, taken: ReadonlySet<string>): Effect.Effect<Backend.Chunk, Backend.BackendError> =>
  Effect.gen(function* () {
    const ids = yield* IdGenerator
    const fresh: Array<string> = []
    for (let n = reading.clashes(taken); n > 0; n--) fresh.push(`call_${yield* ids.next}`)
    const reply = yield* Effect.fromResult(reading.result(taken, fresh))
    return Backend.Chunk.Finished({ reply })
  })

const declare = ({ description, name, parameters }: Declaration) =>
  Tool.dynamic(name, { description, parameters: { ...parameters } as const satisfies JsonSchema })

type Tools = Record<string, ReturnType<typeof declare>>

/** The declarations of a request as a toolkit, made once for each list. Names are keys there: that is how a toolkit is made. */
const toolkits = () => {
  const kept = new WeakMap<ReadonlyArray<Declaration>, Toolkit.WithHandler<Tools>>()
  return (declared: ReadonlyArray<Declaration>): Toolkit.WithHandler<Tools> => {
    const known = kept.get(declared)
    if (known !== undefined) return known
    const tools: Tools = Object.fromEntries(declared.map((declaration) => [declaration.name, declare(declaration)]))
    const made: Toolkit.WithHandler<Tools> = {
      tools,
      handle: (name) => Effect.die(new Error(`${name} is executed by the engine, never by its declaration`))
    }
    kept.set(declared, made)
    return made
  }
}

/** A backend, or a chain tried in order, as a language model. */
export const fromBackends = (first: Backend.Backend, ...next: ReadonlyArray<Backend.Backend>) =>
  Ai.make({
    streamText: (options) => attempt([first, ...next], options, "streamText"),
    generateText: (options) =>
      Stream.runCollect(attempt([first, ...next], options, "generateText")).pipe(Effect.map(Answering.gathered))
  })

/** The chain of the context as a language model. */
export const layer: Layer.Layer<Ai.LanguageModel, Backend.BackendError, Backend.Backends> = Layer.effect(
  Ai.LanguageModel,
  Effect.gen(function* () {
    const { chain } = yield* Backend.Backends
    const [first, ...next] = chain
    if (first === undefined) {
      const detail = "there is no backend in the chain. Configure one"
      return yield* new Backend.BackendError({ reason: new Backend.ConnectionFailed({ detail }) })
    }
    return yield* fromBackends(first, ...next)
  })
)

type Parts = Stream.Stream<Answering.Part, AiError.AiError>

const attempt = (
  [backend, ...next]: ReadonlyArray<Backend.Backend>,
  options: Ai.ProviderOptions,
  method: string
): Parts =>
  backend === undefined
    ? Stream.empty
    : Stream.suspend((): Parts => {
        const answering = new Answering.Answering()
        return backend.stream(Answering.request(options)).pipe(
          Stream.filter(Answering.isShown),
          Stream.mapArray(Arr.flatMap((chunk) => answering.add(chunk))),
          Stream.catch((error): Parts =>
            answering.spoke || next.length === 0
              ? Stream.fail(Outcome.errorTo(error, method))
              : attempt(next, options, method)
          )
        )
      })
