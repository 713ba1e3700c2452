/**
 * One reply of a loaded model.
 *
 * G1. What is shown is what was written, in order; its end is the library's own word for why it stopped.
 * G2. `stop` asks it to end and gives the lane back when it has; nobody waits for that.
 */
import type { Message } from "@settle/core/model/Message"
import * as Json from "@settle/core/model/Json"
import * as Port from "@settle/core/port/Backend"
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import type { ChatModelFunctions } from "node-llama-cpp"
import * as Dialogue from "./Dialogue.ts"
import * as Grammar from "./Grammar.ts"
import type { Model } from "./Model.ts"

export const messagesOf = ({ conversation, head, tail }: Port.Request): ReadonlyArray<Message> => [
  ...(head === undefined ? [] : [head]),
  ...conversation.messages,
  ...(tail === undefined ? [] : [tail])
]

export interface Asked {
  readonly messages: ReadonlyArray<Message>
  readonly functions: ChatModelFunctions | undefined
  readonly schema: Json.JsonObject | undefined
  readonly promptTokens: number
  /** Most tokens to write. */
  readonly most: number
  /** The window ends before the cap does. */
  readonly meetsWindow: boolean
  readonly temperature: number
  readonly seed: number | undefined
}

export interface Limits {
  readonly maxTokens?: number | undefined
  readonly temperature?: number | undefined
  readonly seed?: number | undefined
}

export interface Given {
  readonly request: Port.Request
  readonly messages: ReadonlyArray<Message>
  readonly options: Limits
}

/** What to generate, or the refusal of what does not fit (L3). */
export const plan = (model: Model, { messages, options, request }: Given): Result.Result<Asked, Port.BackendError> => {
  const functions = request.schema === undefined ? model.functions(request.tools) : undefined
  const promptTokens = model.weigh(messages, functions)
  const room = model.window - promptTokens
  if (room < 1) {
    const detail = `the prompt of ${promptTokens} tokens exceeds the context window of ${model.window} tokens`
    const reason = new Port.Refused({ status: 400, code: "context_length_exceeded", detail, inStream: false })
    return Result.fail(new Port.BackendError({ reason }))
  }
  const cap = Math.min(options.maxTokens ?? Infinity, request.maxTokens ?? Infinity)
  return Result.succeed({
    messages,
    functions,
    schema: request.schema?.schema,
    promptTokens,
    most: Math.min(cap, room),
    meetsWindow: room < cap,
    temperature: options.temperature ?? 0,
    seed: options.seed
  })
}

interface Call {
  readonly name: string
  readonly arguments: string
  readonly whole: boolean
}

export interface Outcome {
  readonly text: string
  readonly reasoning: string
  readonly calls: ReadonlyArray<Call>
  readonly stop: "eogToken" | "stopGenerationTrigger" | "functionCalls" | "maxTokens" | "abort" | "customStopTrigger"
  readonly promptTokens: number
  readonly completionTokens: number
}

/** A prompt is never shortened here: whoever asks for that is told that the window is full. */
class WindowFull extends Error {}

export class Generation {
  readonly #model: Model
  readonly #asked: Asked
  readonly #controller = new AbortController()
  readonly #partial = new Map<number, { readonly name: string; text: string }>()
  #text = ""
  #reasoning = ""
  #running: Promise<Result.Result<Outcome, Error>> = Promise.resolve(Result.fail(new Error("it never began")))

  constructor(model: Model, asked: Asked) {
    this.#model = model
    this.#asked = asked
  }

  /** Begins, and answers what will be shown. */
  readonly start = Effect.gen({ self: this }, function* () {
    const queue = yield* Queue.make<Port.Chunk, Cause.Done>()
    this.#running = this.#generate((chunk) => void Queue.offerUnsafe(queue, chunk)).then(
      Result.succeed,
      (cause: unknown) => Result.fail(cause instanceof Error ? cause : new Error(String(cause)))
    )
    void this.#running.then(() => Queue.endUnsafe(queue))
    return Stream.fromQueue(queue)
  })

  readonly outcome: Effect.Effect<Outcome, Port.BackendError> = Effect.flatMap(
    Effect.promise(() => this.#running),
    (result) => Effect.fromResult(Result.mapError(result, failed))
  )

  stop(release: Effect.Effect<unknown>): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#controller.abort(new Error("nobody reads it any more"))
      const running = this.#running
      return Effect.asVoid(
        Effect.forkDetach(
          Effect.andThen(
            Effect.promise(() => running),
            release
          )
        )
      )
    })
  }

  async #generate(show: (chunk: Port.Chunk) => void): Promise<Outcome> {
    const { chat, llama, sequence } = this.#model
    const { functions, messages, most, schema, seed, temperature } = this.#asked
    const before = sequence.tokenMeter.getState()
    const grammar =
      schema === undefined ? undefined : await llama.createGrammarForJsonSchema({ oneOf: [Grammar.of(schema)] })
    const common = {
      maxTokens: most,
      temperature,
      signal: this.#controller.signal,
      contextShift: { size: 1, strategy: () => Promise.reject(new WindowFull()) },
      onResponseChunk: ({ text, type }: { readonly text: string; readonly type: "segment" | undefined }) => {
        if (text === "") return
        if (type === "segment") {
          this.#reasoning += text
          show(Port.Chunk.Reasoning({ text }))
        } else {
          this.#text += text
          show(Port.Chunk.Text({ text }))
        }
      },
      ...(seed === undefined ? {} : { seed })
    }
    const history = Dialogue.history(messages)
    const said =
      functions === undefined
        ? await this.#until(
            chat.generateResponse(history, { ...common, ...(grammar === undefined ? {} : { grammar }) })
          )
        : await this.#until(
            chat.generateResponse<ChatModelFunctions>(history, {
              ...common,
              functions,
              documentFunctionParams: true,
              onFunctionCallParamsChunk: (chunk) => this.#arguments(chunk, show)
            })
          )
    const spent = sequence.tokenMeter.diff(before)
    const calls = said?.functionCalls ?? []
    return {
      text: this.#text,
      reasoning: this.#reasoning,
      stop: said?.metadata.stopReason ?? "maxTokens",
      calls:
        calls.length > 0
          ? calls.map((call) => ({ name: call.functionName, arguments: Json.render(call.params ?? {}), whole: true }))
          : [...this.#partial.values()].map(({ name, text }) => ({ name, arguments: text, whole: false })),
      promptTokens: this.#asked.promptTokens,
      completionTokens: spent.usedOutputTokens
    }
  }

  /** `undefined` when the window was full. */
  async #until<A>(response: Promise<A>): Promise<A | undefined> {
    try {
      return await response
    } catch (cause) {
      if (cause instanceof WindowFull) return undefined
      throw cause
    }
  }

  #arguments(
    chunk: { readonly callIndex: number; readonly functionName: string; readonly paramsChunk: string },
    show: (chunk: Port.Chunk) => void
  ): void {
    const { callIndex: index, functionName: name, paramsChunk: text } = chunk
    const known = this.#partial.get(index) ?? { name, text: "" }
    known.text += text
    this.#partial.set(index, known)
    if (text !== "") show(Port.Chunk.ToolArguments({ index, name, text }))
  }
}

const failed = (error: Error): Port.BackendError =>
  new Port.BackendError({
    reason: new Port.BadResponse({ problem: "cut", detail: `llama.cpp stopped in the middle: ${error.message}` })
  })

export interface Naming {
  readonly asked: Asked
  readonly drawn: ReadonlyArray<string>
  readonly name: string
}

const finishOf = ({ calls, stop }: Outcome, { meetsWindow }: Asked): Port.Finish => {
  switch (stop) {
    case "functionCalls":
      return "tool-calls"
    case "maxTokens":
      return meetsWindow ? "context-window" : "length"
    case "eogToken":
    case "stopGenerationTrigger":
    case "customStopTrigger":
      return calls.some(({ whole }) => whole) ? "tool-calls" : "stop"
    case "abort":
      return "unknown"
  }
}

export const reply = (outcome: Outcome, { asked, drawn, name }: Naming): Port.Reply => {
  const { calls, completionTokens, promptTokens, reasoning, stop } = outcome
  const named = (wanted: boolean) =>
    calls.flatMap((call, index) =>
      call.whole === wanted
        ? [{ id: drawn[index] ?? "", name: call.name, arguments: Json.wellFormed(call.arguments) }]
        : []
    )
  return {
    text: Json.wellFormed(outcome.text),
    toolCalls: named(true),
    partialCalls: named(false),
    finish: finishOf(outcome, asked),
    finishReason: stop,
    modelUsed: name,
    warnings: [],
    usage: { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens, cost: 0 },
    ...(reasoning === "" ? {} : { reasoning: Json.wellFormed(reasoning) })
  }
}
