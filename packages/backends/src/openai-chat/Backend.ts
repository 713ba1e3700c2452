/**
 * Chat completions over HTTP as a `Backend`: sends what `Request` wrote, reads what `Reader` understands, and adds nothing.
 *
 * K1. One pull of the stream is one read of the socket, or several that came together: never one chunk.
 * K2. The bytes clock runs per attempt and ends with it (S12); the content clock is the engine's (S11).
 * K3. Every id of a call is unique in its conversation (D11).
 */
import * as Refusal from "@settle/core/model/Refusal"
import * as Port from "@settle/core/port/Backend"
import { IdGenerator } from "@settle/core/port/IdGenerator"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Channel from "effect/Channel"
import * as Clock from "effect/Clock"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Failures from "../Failures.ts"
import * as Http from "../Http.ts"
import type * as Assemble from "./Assemble.ts"
import * as OptionsCheck from "./Options.ts"
import { Reader } from "./Reader.ts"
import * as Request from "./Request.ts"

export type Options = OptionsCheck.Options
export type { ReplayReasoning } from "./Dialect.ts"

/** What one backend is made of. */
interface Parts {
  readonly checked: OptionsCheck.Checked
  readonly encoder: Request.Encoder
  readonly http: Http.Http
  readonly cumulative: boolean
}

/** One request while it is read. */
interface Attempt {
  readonly parts: Parts
  readonly request: Port.Request
  readonly callIds: ReadonlySet<string>
  readonly response: Http.Response
  readonly reader: Reader
}

type Chunks = readonly [Port.Chunk, ...Array<Port.Chunk>]
type Pull = Effect.Effect<Chunks, Port.BackendError | Cause.Done>

const isSome = (chunks: ReadonlyArray<Port.Chunk>): chunks is Chunks => chunks.length > 0

const longestErrorBody = 64 * 1024
const errorBodyTimeout = "10 seconds"

/** The body of an error answer, as much of it as is worth reading. A body that breaks off still says what it said. */
const errorBody = (response: Http.Response): Effect.Effect<string> =>
  Effect.suspend(() => {
    const parts: Array<Uint8Array> = []
    const size = () => parts.reduce((sum, part) => sum + part.length, 0)
    const more: Effect.Effect<void, unknown> = Effect.flatMap(response.pull, (bytes) => {
      parts.push(...bytes)
      return size() < longestErrorBody ? more : Effect.void
    })
    return Effect.as(Effect.timeoutOption(Effect.ignore(more), errorBodyTimeout), parts)
  }).pipe(Effect.map((parts) => Buffer.concat(parts).subarray(0, longestErrorBody).toString("utf8")))

const refused = Effect.fnUntraced(function* (response: Http.Response, parts: Parts) {
  const clock = yield* Clock.Clock
  const body = yield* errorBody(response)
  const answer = { status: response.status, header: response.header, body, nowMs: clock.currentTimeMillisUnsafe() }
  return yield* Effect.fail(new Port.BackendError({ reason: Failures.fromHttp(answer, parts.checked.scrub) }))
})

/** The end of an attempt: the reply under ids of ours, or why there is none. */
const finish = Effect.fnUntraced(function* (attempt: Attempt, ending: Assemble.Ending) {
  const { callIds, reader, request } = attempt
  const ids = yield* IdGenerator
  const fresh = yield* Effect.replicateEffect(ids.next, reader.freshIds(callIds))
  const result = reader.result(ending, {
    taken: callIds,
    fresh: fresh.map((id) => `call_${id.replaceAll("-", "").slice(0, 24)}`),
    tools: request.tools,
    cumulative: attempt.parts.cumulative
  })
  if (Result.isSuccess(result)) {
    yield* attempt.response.complete
    return result.success
  }
  const { reason, usage } = result.failure
  return yield* Effect.fail(new Port.BackendError({ reason, ...(usage === undefined ? {} : { usage }) }))
})

/** A failure of the connection, with the usage that the stream had brought before it. */
const billed = ({ reader, request }: Attempt, error: Port.BackendError): Port.BackendError => {
  const ids = { taken: new Set<string>(), fresh: [], tools: request.tools, cumulative: false }
  const result = reader.result({ _tag: "Broken", detail: error.message }, ids)
  const usage = Result.isFailure(result) ? result.failure.usage : result.success.usage
  return usage === undefined ? error : new Port.BackendError({ reason: error.reason, usage })
}

/** Chunks of reads until the reply is over; then its `Finished`, then the end. */
const pulling = (attempt: Attempt): Pull => {
  const { reader, response } = attempt
  let ending: Assemble.Ending | undefined
  let finished = false

  const last = Effect.suspend(() =>
    Effect.map(finish(attempt, ending ?? { _tag: "Closed" }), (reply): Chunks => {
      finished = true
      return Arr.append(reader.take(), Port.Chunk.Finished({ reply }))
    })
  )

  /** What the last read left; a failure comes only after the chunks before it. */
  const over = (end: Assemble.Ending): Pull => {
    ending = end
    const chunks = reader.take()
    return isSome(chunks) ? Effect.succeed(chunks) : last
  }

  const read: Pull = Effect.suspend(() =>
    Effect.matchEffect(response.pull, {
      onSuccess: (arrived): Pull => {
        for (const bytes of arrived) reader.push(bytes)
        if (reader.over) return over({ _tag: "Closed" })
        const chunks = reader.take()
        return isSome(chunks) ? Effect.succeed(chunks) : read
      },
      onFailure: (error): Pull => {
        if (Cause.isDone(error)) {
          reader.end()
          return over({ _tag: "Closed" })
        }
        return error.reason._tag === "BadResponse"
          ? over({ _tag: "Broken", detail: error.reason.detail })
          : Effect.fail(billed(attempt, error))
      }
    })
  )

  return Effect.suspend(() => (finished ? Cause.done() : ending === undefined ? read : last))
}

const open = Effect.fnUntraced(function* (parts: Parts, request: Port.Request) {
  const { checked } = parts
  const prepared = parts.encoder.prepare(request)
  yield* Effect.addFinalizer(() => Effect.sync(prepared.release))
  const response = yield* parts.http.post({
    url: checked.url,
    headers: checked.headers,
    body: prepared.body,
    headersTimeout: checked.headersTimeout,
    idleBytesTimeout: checked.idleBytesTimeout
  })
  if (response.status < 200 || response.status > 299) return yield* refused(response, parts)
  const encoding = response.header("content-encoding") ?? "identity"
  if (encoding !== "identity") {
    const detail = `${checked.url.host} compressed its answer (${encoding}) although nobody asked for it`
    return yield* Effect.fail(
      new Port.BackendError({ reason: new Port.BadResponse({ problem: "malformed", detail: checked.scrub(detail) }) })
    )
  }
  const reader = new Reader(checked)
  return pulling({ parts, request, callIds: prepared.callIds, response, reader })
})

const streamOf = (parts: Parts, request: Port.Request): Stream.Stream<Port.Chunk, Port.BackendError> =>
  Stream.fromChannel(
    Channel.fromTransformBracket((_upstream, _scope, scope) => Scope.provide(open(parts, request), scope))
  )

/** One backend. Refuses settings that cannot work; never connects by itself. */
export const make = (options: Options, keyName?: string): Effect.Effect<Port.Backend, Refusal.Refusal> =>
  Effect.gen(function* () {
    const checked = yield* Effect.fromResult(OptionsCheck.check(options, keyName))
    const http = yield* Http.Http
    const encoder = Request.make({
      model: options.model,
      dialect: checked.dialect,
      maxTokens: options.maxTokens,
      params: options.params ?? {}
    })
    const parts: Parts = { checked, encoder, http, cumulative: options.cumulativeArguments ?? false }
    return {
      model: options.model,
      maxTokens: options.maxTokens,
      canConstrain: options.canConstrain ?? true,
      stream: (request) => streamOf(parts, request)
    }
  })

/** A chain of this one backend. */
export const layer = (options: Options): Layer.Layer<Port.Backends, Refusal.Refusal> =>
  Layer.effect(
    Port.Backends,
    Effect.map(make(options), (backend) => ({ chain: [backend] }))
  )

/** `OPENAI_BASE_URL` (default: OpenAI's), `OPENAI_MODEL`, `OPENAI_API_KEY`. */
export const config = Config.all({
  baseUrl: Config.String("OPENAI_BASE_URL").pipe(Config.withDefault("https://api.openai.com/v1")),
  model: Config.String("OPENAI_MODEL"),
  apiKey: Config.option(Config.Redacted("OPENAI_API_KEY"))
})

/** A chain of the one backend that the environment describes. */
export const layerConfig: Layer.Layer<Port.Backends, Refusal.Refusal | Config.ConfigError> = Layer.effect(
  Port.Backends,
  Effect.gen(function* () {
    const { apiKey, baseUrl, model } = yield* config
    const backend = yield* make({ baseUrl, model, apiKey: Option.getOrUndefined(apiKey) }, "OPENAI_API_KEY")
    return { chain: [backend] }
  })
)
