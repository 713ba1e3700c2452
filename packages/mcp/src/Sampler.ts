/**
 * Answers of a model that a server asks for (sampling). A server that may ask spends the user's money: so nobody answers by default,
 * and the answerer of a backend stands within a budget and asks a person first.
 *
 * A1. A request outside a call is refused: nobody's run pays for it.
 * A2. `fromBackend` never asks for more tokens than its limit, nor makes more requests than its limit, whatever the server wishes.
 */
import type { Client } from "@modelcontextprotocol/sdk/client/index.js"
import {
  CreateMessageRequestSchema,
  type CreateMessageResult,
  CreateMessageResultSchema,
  McpError as SdkError
} from "@modelcontextprotocol/sdk/types.js"
import * as Conversation from "@settle/core/model/Conversation"
import * as Json from "@settle/core/model/Json"
import type * as Message from "@settle/core/model/Message"
import type { Usage } from "@settle/core/model/Usage"
import * as Asker from "@settle/core/port/Asker"
import type * as Backend from "@settle/core/port/Backend"
import * as CallScope from "@settle/core/port/CallScope"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import type * as Elicitation from "./Elicitation.ts"

export class Refused extends Data.TaggedError("Refused")<{ readonly why: string }> {}

export interface Request {
  readonly server: string
  /** Of `sampling/createMessage`, as the server sent them. */
  readonly params: Json.JsonObject
}

export interface Sampler {
  /** The result of `sampling/createMessage`. Runs in the context of the call that brought the request up: its `Asker`, its `CallScope`. */
  readonly sample: (request: Request) => Effect.Effect<Json.JsonObject, Refused>
}

/** Optional part: `undefined` means that servers do not hear of such an ability. Read when a server is started. */
export const Sampler: Context.Reference<Sampler | undefined> = Context.Reference<Sampler | undefined>(
  "@settle/mcp/Sampler",
  { defaultValue: () => undefined }
)

export interface Limits {
  /** Tokens of one answer. Default 2048. */
  readonly maxTokens?: number
  /** Answers in all. Default 20. */
  readonly maxRequests?: number
  /** Whether a person is asked before each. Default true; with nobody to ask, the request is then refused. */
  readonly ask?: boolean
  /** Hears what each answer cost, also one that failed, so that the run can count it. */
  readonly spent?: (usage: Usage) => Effect.Effect<void>
}

/** Answers with a model of ours. */
export const fromBackend = (backend: Backend.Backend, limits: Limits = {}): Sampler => {
  const { ask = true, maxRequests = 20 } = limits
  let made = 0
  return {
    sample: (request) =>
      Effect.gen(function* () {
        if (made >= maxRequests)
          return yield* new Refused({ why: `this client answers no more than ${maxRequests} requests` })
        made++
        if (ask) yield* consent(request)
        return yield* answer(backend, limits, request.params)
      })
  }
}

const consent = (request: Request): Effect.Effect<void, Refused> =>
  Effect.gen(function* () {
    const asker = yield* Asker.Asker
    if (asker === Asker.none) return yield* new Refused({ why: "nobody is there to allow it" })
    const scope = yield* CallScope.CallScope
    const question = { kind: "server-sampling", server: request.server, request: request.params }
    const given = yield* scope.asking(question, asker.ask(question))
    if (given["action"] !== "accept") return yield* new Refused({ why: "the user declined it" })
  })

const answer = (
  backend: Backend.Backend,
  { maxTokens = 2_048, spent = () => Effect.void }: Limits,
  params: Json.JsonObject
): Effect.Effect<Json.JsonObject, Refused> =>
  Effect.gen(function* () {
    const wish = params["maxTokens"]
    const request: Backend.Request = {
      conversation: Conversation.of(messages(params)),
      tools: [],
      maxTokens: Math.min(maxTokens, typeof wish === "number" && wish > 0 ? Math.floor(wish) : maxTokens)
    }
    const ended = yield* Effect.exit(Stream.runCollect(backend.stream(request)))
    if (Exit.isFailure(ended)) {
      const failed = Exit.findErrorOption(ended)
      if (failed._tag === "None") return yield* Effect.failCause(ended.cause).pipe(Effect.orDie)
      if (failed.value.usage !== undefined) yield* spent(failed.value.usage)
      return yield* new Refused({ why: `the model did not answer: ${failed.value.message}` })
    }
    const last = ended.value.at(-1)
    if (last?._tag !== "Finished") return yield* new Refused({ why: "the model did not finish its answer" })
    const { reply } = last
    if (reply.usage !== undefined) yield* spent(reply.usage)
    return {
      role: "assistant",
      model: reply.modelUsed ?? backend.model,
      content: { type: "text", text: Json.wellFormed(reply.text) },
      stopReason: reply.finish === "length" ? "maxTokens" : "endTurn"
    }
  })

const messages = (params: Json.JsonObject): ReadonlyArray<Message.Message> => {
  const system = params["systemPrompt"]
  const given = Array.isArray(params["messages"]) ? params["messages"].filter(Json.isObject) : []
  return [
    ...(typeof system === "string" && system !== "" ? [{ role: "system", content: system } as const] : []),
    ...given.map(message)
  ]
}

const message = (given: Json.JsonObject): Message.Message => {
  const content = given["content"]
  const blocks = (Array.isArray(content) ? content : [content]).filter(Json.isObject)
  const parts = blocks.flatMap(part)
  const text = blocks
    .map((block) => (typeof block["text"] === "string" ? block["text"] : `[${String(block["type"])}]`))
    .join("\n")
  return {
    role: given["role"] === "assistant" ? "assistant" : "user",
    content: Json.wellFormed(text),
    ...(parts.length === 0 ? {} : { parts })
  }
}

const part = (block: Json.JsonObject): ReadonlyArray<Message.Part> => {
  const { data, mimeType, type } = block
  if (typeof data !== "string" || typeof mimeType !== "string") return []
  return type === "image"
    ? [{ _tag: "Image", data, mimeType }]
    : type === "audio"
      ? [{ _tag: "Audio", data, mimeType }]
      : []
}

/** What the protocol answers with when a user says no. */
const userRefused = -1

/** Must be installed before the connection is made. */
export const install = (sdk: Client, options: Elicitation.Options & { readonly sampler: Sampler }): void => {
  sdk.setRequestHandler(CreateMessageRequestSchema, async (request, extra) => {
    const params = Json.fromUnknown(request.params)
    const sampled = await options.run(sample(options, Json.isObject(params) ? params : {}), { signal: extra.signal })
    if (sampled._tag === "Refused") throw new SdkError(userRefused, sampled.why)
    return sampled.result
  })
}

type Sampled = Refused | { readonly _tag: "Sampled"; readonly result: CreateMessageResult }

const sample = (
  options: Elicitation.Options & { readonly sampler: Sampler },
  params: Json.JsonObject
): Effect.Effect<Sampled> => {
  const call = options.calls.youngest()
  if (call === undefined) return Effect.succeed(new Refused({ why: "no call is out that it could belong to" }))
  return Effect.suspend(() => options.sampler.sample({ server: options.server, params })).pipe(
    Effect.map((result): Sampled => {
      const parsed = CreateMessageResultSchema.safeParse(result)
      return parsed.success
        ? { _tag: "Sampled", result: parsed.data }
        : new Refused({ why: "the answer has no such shape" })
    }),
    Effect.catch((refused) => Effect.succeed(refused)),
    Effect.provideService(CallScope.CallScope, call.scope),
    Effect.provideService(Asker.Asker, call.asker)
  )
}
