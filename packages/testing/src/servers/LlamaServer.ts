/**
 * A real model behind chat completions on the loopback: prompts are tokens, the window is where it stops, and a schema is a grammar.
 * Whoever uses it brings the engine; without one this file runs nothing.
 *
 * L1. Usage is what was evaluated and generated. A prompt that leaves no room is refused as such servers do, and never evaluated.
 * L2. With tools and no result yet the reply is one call under the grammar of a tool's parameters; otherwise text, or JSON of the
 *     schema that was asked for.
 * L3. A client that leaves ends the generation.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"
import * as Schema from "effect/Schema"
import * as Http from "node:http"

export interface Generation {
  readonly prompt: ReadonlyArray<number>
  /** Most tokens to generate. */
  readonly most: number
  /** The reply is held to this JSON schema. */
  readonly schema: Schema.Json | undefined
  readonly onText: (text: string) => void
}

export interface Generated {
  readonly tokens: number
  /** The model, or the grammar, was at its end; else the limit was reached. */
  readonly ended: boolean
}

/** The model. Calls do not overlap. */
export interface Engine {
  readonly window: number
  /** `marks`: read the names of control tokens as tokens. */
  readonly tokenize: (text: string, marks: boolean) => ReadonlyArray<number>
  /** Interruption ends it before its next token. */
  readonly generate: (given: Generation) => Effect.Effect<Generated>
}

export interface Billed {
  readonly prompt: number
  readonly completion: number
  readonly finish: string
}

export interface LlamaServer {
  readonly baseUrl: string
  /** Requests in order of arrival. */
  readonly requests: ReadonlyArray<Asked>
  /** What was generated to its end, in order. */
  readonly billed: ReadonlyArray<Billed>
  /** Requests refused because they do not fit. */
  readonly refused: () => number
  /** Completes when a client left in the middle of an answer. */
  readonly left: Effect.Effect<void>
}

const Said = Schema.Struct({
  role: Schema.String,
  content: Schema.NullOr(Schema.String),
  tool_calls: Schema.optionalKey(
    Schema.Array(Schema.Struct({ function: Schema.Struct({ name: Schema.String, arguments: Schema.String }) }))
  )
})
type Said = typeof Said.Type

/** The part of a request that is obeyed. */
export const Asked = Schema.Struct({
  messages: Schema.Array(Said),
  max_tokens: Schema.optionalKey(Schema.Int),
  tools: Schema.optionalKey(
    Schema.Array(Schema.Struct({ function: Schema.Struct({ name: Schema.String, parameters: Schema.Json }) }))
  ),
  response_format: Schema.optionalKey(
    Schema.Struct({ json_schema: Schema.optionalKey(Schema.Struct({ schema: Schema.Json })) })
  )
})
export type Asked = typeof Asked.Type

const read = Schema.decodeUnknownSync(Schema.fromJsonString(Asked))

const textOf = (said: Said): string =>
  [said.content ?? "", ...(said.tool_calls ?? []).map((call) => JSON.stringify(call.function))].join("")

/** The prompt of a request: ChatML, with the model's turn open. */
export const promptOf = (engine: Pick<Engine, "tokenize">, asked: Pick<Asked, "messages">): ReadonlyArray<number> => [
  ...engine.tokenize("<s>", true),
  ...asked.messages.flatMap((said) => [
    ...engine.tokenize("<|im_start|>", true),
    ...engine.tokenize(`${said.role}\n${textOf(said)}`, false),
    ...engine.tokenize("<|im_end|>", true)
  ]),
  ...engine.tokenize("<|im_start|>", true),
  ...engine.tokenize("assistant\n", false)
]

const head = { id: "chatcmpl-llama", object: "chat.completion.chunk", created: 1, model: "random-bytes" }

const event = (delta: unknown, finish: string | null = null): string =>
  `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`

const readAll = (request: Http.IncomingMessage): Effect.Effect<string> =>
  Effect.callback((resume) => {
    const parts: Array<Buffer> = []
    request.on("data", (part: Buffer) => parts.push(part))
    request.on("end", () => resume(Effect.succeed(Buffer.concat(parts).toString("utf8"))))
  })

/** How one request is answered: free text, JSON of a schema, or one call. */
const planOf = (asked: Asked) => {
  const tool = asked.messages.at(-1)?.role === "tool" ? undefined : asked.tools?.[0]?.function
  return { tool, schema: tool?.parameters ?? asked.response_format?.json_schema?.schema }
}

export const make = (engine: Engine): Effect.Effect<LlamaServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const requests: Array<Asked> = []
    const billed: Array<Billed> = []
    const left = Deferred.makeUnsafe<void>()
    let refused = 0
    const run = yield* FiberSet.makeRuntime<never>()

    const refuse = (response: Http.ServerResponse, tokens: number): void => {
      refused++
      const message = `request (${tokens} tokens) exceeds the available context size (${engine.window} tokens), try increasing it`
      const error = { code: 400, message, type: "exceed_context_size_error", n_prompt_tokens: tokens }
      response.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify({ error }))
    }

    const complete = Effect.fnUntraced(function* (response: Http.ServerResponse, asked: Asked) {
      const prompt = promptOf(engine, asked)
      if (prompt.length >= engine.window) return refuse(response, prompt.length)
      const { schema, tool } = planOf(asked)
      const delta = (text: string): unknown =>
        tool === undefined ? { content: text } : { tool_calls: [{ index: 0, function: { arguments: text } }] }
      response.writeHead(200, { "content-type": "text/event-stream" })
      if (tool !== undefined) {
        const call = { index: 0, id: "call_0", type: "function", function: { name: tool.name, arguments: "" } }
        response.write(event({ tool_calls: [call] }))
      }
      const room = engine.window - prompt.length
      const most = Math.min(asked.max_tokens ?? room, room)
      const made = yield* engine.generate({
        prompt,
        most,
        schema,
        onText: (text) => void (text === "" ? undefined : response.write(event(delta(text))))
      })
      const finish = !made.ended ? "length" : tool === undefined ? "stop" : "tool_calls"
      billed.push({ prompt: prompt.length, completion: made.tokens, finish })
      const usage = {
        prompt_tokens: prompt.length,
        completion_tokens: made.tokens,
        total_tokens: prompt.length + made.tokens
      }
      response.write(event({}, finish))
      response.write(`data: ${JSON.stringify({ ...head, choices: [], usage })}\n\n`)
      response.end("data: [DONE]\n\n")
    })

    const handle = Effect.fnUntraced(function* (request: Http.IncomingMessage, response: Http.ServerResponse) {
      const asked = read(yield* readAll(request))
      requests.push(asked)
      const answering = yield* Effect.forkChild(complete(response, asked))
      response.on("close", () => {
        if (response.writableFinished) return
        answering.interruptUnsafe()
        Deferred.doneUnsafe(left, Exit.void)
      })
      yield* Fiber.await(answering)
    })

    const server = yield* Effect.acquireRelease(
      Effect.callback<Http.Server>((resume) => {
        const made = Http.createServer((request, response) => void run(handle(request, response)))
        made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
      }),
      (made) =>
        Effect.callback<void>((resume) => {
          made.close(() => resume(Effect.void))
          made.closeAllConnections()
        })
    )
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    return {
      baseUrl: `http://127.0.0.1:${port}/v1`,
      requests,
      billed,
      refused: () => refused,
      left: Deferred.await(left)
    }
  })
