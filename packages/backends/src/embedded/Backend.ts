/**
 * A model in the box: real inference with a tiny llama that picks tools, without a key, a network or a native part. It is a
 * demonstration and says so (`label`).
 *
 * E1. The weights are read at the first request, once; no reader's interruption spoils them for another.
 * E2. The event loop turns after every few tokens, so an interruption, a timer or a signal waits some milliseconds at most (B2).
 * E3. Streams may run side by side: each has a session of its own while it lasts. What a session still holds of the last prompt is
 *     reused and changes no reply.
 * E4. Every reply is an offered tool with its arguments, or text; under the route schema it is that JSON, and an answer is `none`
 *     (L-ROUTE-03).
 */
import type { ToolCall } from "@settle/core/model/Message"
import * as Backends from "@settle/core/port/Backend"
import * as IdGenerator from "@settle/core/port/IdGenerator"
import type { TokenCounter } from "@settle/core/port/TokenCounter"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Pull from "effect/Pull"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { name } from "./About.ts"
import type { Sampling } from "./Choice.ts"
import * as Counter from "./Counter.ts"
import * as Dialogue from "./Dialogue.ts"
import type { GgufError } from "./Gguf.ts"
import * as Model from "./Model.ts"
import * as Prompt from "./Prompt.ts"
import * as Router from "./Router.ts"
import * as Session from "./Session.ts"
import * as Tokenizer from "./Tokenizer.ts"
import * as Weights from "./Weights.ts"

export { contextWindow, label, name } from "./About.ts"

export interface Options {
  /** As configured. Default `demonstration-0.8m`. */
  readonly model?: string
  /** Without it the likeliest action, always; with it the same for a seed. */
  readonly sampling?: Sampling
  /** Completion cap in tokens. Default, and at most, 1024: the room that every prompt leaves. */
  readonly maxTokens?: number
  /** Other weights of the same make. Default: the published ones. */
  readonly weights?: Effect.Effect<Uint8Array, Weights.WeightsError>
}

export type LoadError = Weights.WeightsError | GgufError

export interface Embedded extends Backends.Backend {
  /** Loads the weights, or answers those already loaded. */
  readonly load: Effect.Effect<Model.Model, LoadError>
}

export const make = (options: Options = {}): Effect.Effect<Embedded> =>
  Effect.gen(function* () {
    const load = yield* Effect.cached(
      Effect.flatMap(options.weights ?? Weights.load, (bytes) => Effect.fromResult(Model.read(bytes)))
    )
    const idle: Array<Session.Session> = []
    const maxTokens = Math.min(options.maxTokens ?? Prompt.replyRoom, Prompt.replyRoom)
    return {
      model: options.model ?? name,
      maxTokens,
      canConstrain: true,
      load,
      stream: (request) => stream({ load, idle, maxTokens, sampling: options.sampling }, request)
    }
  })

export const layer = (options: Options = {}): Layer.Layer<Backends.Backends> =>
  Layer.effect(
    Backends.Backends,
    Effect.map(make(options), (backend) => ({ chain: [backend] }))
  )

/** The exact counter of a backend's tokens. */
export const counter = (self: Embedded): Effect.Effect<TokenCounter, LoadError> => Effect.map(self.load, Counter.make)

interface Parts {
  readonly load: Effect.Effect<Model.Model, LoadError>
  /** Sessions that no stream uses. */
  readonly idle: Array<Session.Session>
  readonly maxTokens: number
  readonly sampling: Sampling | undefined
}

/** Sessions kept for their held prompts; more than this run side by side, and are then let go. */
const mostIdle = 4

type Chunks = readonly [Backends.Chunk, ...ReadonlyArray<Backends.Chunk>]

/** One reply on its way. */
interface Answering {
  readonly routed: boolean
  readonly steps: Session.Steps<Router.Action>
  readonly tokensOf: (text: string) => number
  finished: boolean
}

const stream = (parts: Parts, request: Backends.Request): Stream.Stream<Backends.Chunk, Backends.BackendError> =>
  Stream.unwrap(Effect.map(open(parts, request), (answering) => Stream.fromPull(Effect.succeed(pull(answering)))))

const badResponse = (detail: string): Backends.BackendError =>
  new Backends.BackendError({ reason: new Backends.BadResponse({ problem: "malformed", detail }) })

const open = (
  { idle, load, maxTokens, sampling }: Parts,
  request: Backends.Request
): Effect.Effect<Answering, Backends.BackendError, Scope.Scope> =>
  Effect.gen(function* () {
    const { conversation, schema } = request
    // Before anything is waited for: the array may grow while the weights are read.
    const messages = Dialogue.fromMessages(conversation.messages)
    const closing = Dialogue.isClosing(conversation.messages)
    const tools = schema === undefined ? request.tools : routed(schema)
    if (tools === undefined) {
      const asked = schema?.name ?? ""
      return yield* badResponse(
        `The built-in demonstration model can hold a reply to the schema ${Dialogue.routeSchema} only, and was asked for ${asked}. Configure another model for that.`
      )
    }
    const loaded = yield* Effect.mapError(load, (error) => badResponse(error.message))
    const question: Router.Question = {
      messages,
      tools,
      closing,
      maxTokens: Math.min(request.maxTokens ?? maxTokens, maxTokens),
      ...(sampling === undefined ? {} : { sampling })
    }
    const prompt = Router.prompt(loaded, question)
    const session = yield* Effect.acquireRelease(
      Effect.sync(() => take(idle, loaded, prompt)),
      (session) => Effect.sync(() => void (idle.length < mostIdle && idle.push(session)))
    )
    return {
      routed: schema !== undefined,
      steps: Router.next(session, question),
      tokensOf: (text) => Tokenizer.count(loaded.tokenizer, text),
      finished: false
    }
  })

const routed = ({ name, schema }: NonNullable<Backends.Request["schema"]>) =>
  name === Dialogue.routeSchema ? Dialogue.offers(schema) : undefined

/** The idle session that holds most of a prompt, or a new one. */
const take = (idle: Array<Session.Session>, model: Model.Model, prompt: ReadonlyArray<number>): Session.Session => {
  const held = idle.map((session) => Session.held(session, prompt))
  const [session] = idle.splice(held.indexOf(Math.max(...held)), 1)
  return session ?? Session.make(model)
}

/** Works until there is something to show (B3). */
const pull = (self: Answering): Pull.Pull<Chunks, Backends.BackendError> =>
  Effect.gen(function* () {
    if (self.finished) return yield* Cause.done()
    for (;;) {
      const step = self.steps.next()
      if (step.done === true) {
        self.finished = true
        return yield* finish(self, step.value)
      }
      if (step.value._tag === "Text" && !self.routed) return [Backends.Chunk.Text({ text: step.value.text })] as const
      yield* Effect.yieldNow
    }
  })

const finish = (self: Answering, action: Router.Action): Effect.Effect<Chunks> => {
  if (self.routed) return Effect.succeed(routedReply(self, action))
  if (action.tool === undefined) {
    const finish = action.cut ? "length" : "stop"
    return Effect.succeed([Backends.Chunk.Finished({ reply: reply(action, { text: action.answer, finish }) })])
  }
  return Effect.map(callOf(action, action.tool), (call): Chunks => {
    const shown = Backends.Chunk.ToolArguments({ index: 0, name: call.name, text: call.arguments })
    const part: Part = action.cut
      ? { finish: "length", partialCalls: [call] }
      : { finish: "tool-calls", toolCalls: [call] }
    return [shown, Backends.Chunk.Finished({ reply: reply(action, part) })]
  })
}

const routedReply = (self: Answering, action: Router.Action): Chunks => {
  // What the model would have said is not asked for: an answer is the choice of no tool.
  const none = action.tool === undefined
  const text = none ? noTool : action.json
  const tokens = none ? { actionTokens: self.tokensOf(noTool) + 1 } : {}
  const finish = action.cut && !none ? "length" : "stop"
  const whole = reply({ ...action, ...tokens }, { text, finish })
  return [Backends.Chunk.Text({ text }), Backends.Chunk.Finished({ reply: whole })]
}

const noTool = '{"tool":"none"}'

/** Its arguments as the model wrote them: those of a cut action are a prefix of an object. */
const callOf = (action: Router.Action, name: string): Effect.Effect<ToolCall> =>
  Effect.gen(function* () {
    const ids = yield* IdGenerator.IdGenerator
    const id = `call_${yield* ids.next}`
    // A limit may cut before there are any.
    const at = action.json.indexOf(argumentsKey)
    const start = at < 0 ? action.json.length : at + argumentsKey.length
    const end = action.cut ? action.json.length : action.json.length - 1
    return { id, name, arguments: action.json.slice(start, end) }
  })

const argumentsKey = '"arguments":'

type Part = Partial<Backends.Reply> & Pick<Backends.Reply, "finish">

const reply = (action: Router.Action, part: Part): Backends.Reply => ({
  text: "",
  toolCalls: [],
  partialCalls: [],
  modelUsed: name,
  warnings: [],
  usage: {
    promptTokens: action.promptTokens,
    completionTokens: action.actionTokens,
    totalTokens: action.promptTokens + action.actionTokens,
    ...(action.heldTokens === 0 ? {} : { cachedPromptTokens: action.heldTokens }),
    cost: 0
  },
  ...part
})
