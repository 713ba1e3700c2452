/**
 * One attempt over HTTP, whatever the protocol: sends what was prepared, reads what its reader understands, and adds nothing.
 *
 * K1. One pull of the stream is one read of the socket, or several that came together: never one chunk.
 * K2. The bytes clock runs per attempt and ends with it (S12); the content clock is the engine's (S11).
 * K3. Every id of a call is unique in its conversation (D11).
 */
import type { Replay } from "@settle/core/model/Message"
import * as Port from "@settle/core/port/Backend"
import { IdGenerator } from "@settle/core/port/IdGenerator"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Channel from "effect/Channel"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as BodyReader from "./BodyReader.ts"
import * as Failures from "./Failures.ts"
import type * as Http from "./Http.ts"

/** Where requests go, and how long silence may last. */
export interface Endpoint {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly scrub: (text: string) => string
  readonly headersTimeout: Duration.Duration
  readonly idleBytesTimeout: Duration.Duration
}

export interface Prepared {
  readonly body: Uint8Array
  /** Ids of every call in the conversation: a new call must have another (D11). */
  readonly callIds: ReadonlySet<string>
  /** What the reply's replay has to remember of the request. */
  readonly kept?: Replay["data"]
  /** Called when the attempt is over: the bytes of the body have left, or never will. */
  readonly release?: () => void
}

export interface Protocol {
  readonly http: Http.Http
  readonly endpoint: Endpoint
  readonly prepare: (request: Port.Request) => Prepared
  readonly reader: () => BodyReader.BodyReader
}

/** One request while it is read. */
interface Attempt {
  readonly endpoint: Endpoint
  readonly request: Port.Request
  readonly prepared: Prepared
  readonly response: Http.Response
  readonly reader: BodyReader.BodyReader
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

const refused = Effect.fnUntraced(function* (response: Http.Response, endpoint: Endpoint) {
  const clock = yield* Clock.Clock
  const body = yield* errorBody(response)
  const answer = { status: response.status, header: response.header, body, nowMs: clock.currentTimeMillisUnsafe() }
  return yield* new Port.BackendError({ reason: Failures.fromHttp(answer, endpoint.scrub) })
})

const noIds: ReadonlySet<string> = new Set()

/** What a server wrote may quote a secret back (X-SAFE-05); a refusal was cleaned where it was read. */
const scrubbed = (reason: Port.Reason, scrub: (text: string) => string): Port.Reason =>
  reason._tag === "BadResponse"
    ? new Port.BadResponse({ problem: reason.problem, detail: scrub(reason.detail) })
    : reason

/** The end of an attempt: the reply under ids of ours, or why there is none. */
const finish = Effect.fnUntraced(function* (
  { endpoint, prepared, reader, request, response }: Attempt,
  ending: BodyReader.Ending
) {
  const needed = reader.freshIds(prepared.callIds)
  const ids = needed === 0 ? [] : yield* Effect.replicateEffect((yield* IdGenerator).next, needed)
  const result = reader.result(ending, {
    taken: prepared.callIds,
    fresh: ids.map((id) => `call_${id.replaceAll("-", "").slice(0, 24)}`),
    tools: request.tools,
    kept: prepared.kept
  })
  if (Result.isSuccess(result)) {
    yield* response.complete
    const { warnings } = result.success
    return warnings.length === 0 ? result.success : { ...result.success, warnings: warnings.map(endpoint.scrub) }
  }
  const { reason, usage } = result.failure
  return yield* new Port.BackendError({
    reason: scrubbed(reason, endpoint.scrub),
    ...(usage === undefined ? {} : { usage })
  })
})

/** A failure of the connection, with the usage that the stream had brought before it. */
const billed = ({ prepared, reader, request }: Attempt, error: Port.BackendError): Port.BackendError => {
  const nothing = { taken: noIds, fresh: [], tools: request.tools, kept: prepared.kept }
  const result = reader.result({ _tag: "Broken", detail: error.message }, nothing)
  const usage = Result.isFailure(result) ? result.failure.usage : result.success.usage
  return usage === undefined ? error : new Port.BackendError({ reason: error.reason, usage })
}

const isContent = (chunk: Port.Chunk): boolean => chunk._tag !== "Alive"

/** Chunks of reads; with the last of them the `Finished`, or after the last of them the failure; then the end. */
const pulling = (attempt: Attempt): Pull => {
  const { reader, response } = attempt
  let next: Pull

  const over = (ending: BodyReader.Ending): Pull => {
    const chunks = reader.take().filter(isContent)
    return Effect.matchEffect(finish(attempt, ending), {
      onSuccess: (reply): Pull => {
        next = Cause.done()
        return Effect.succeed(Arr.append([...chunks, ...reader.take()], Port.Chunk.Finished({ reply })))
      },
      onFailure: (error): Pull => {
        next = Effect.fail(error)
        return isSome(chunks) ? Effect.succeed(chunks) : next
      }
    })
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
  next = read

  return Effect.suspend(() => next)
}

const open = Effect.fnUntraced(function* (protocol: Protocol, request: Port.Request) {
  const { endpoint } = protocol
  const prepared = protocol.prepare(request)
  const { release } = prepared
  if (release !== undefined) yield* Effect.addFinalizer(() => Effect.sync(release))
  const response = yield* protocol.http.post({
    url: endpoint.url,
    headers: endpoint.headers,
    body: prepared.body,
    headersTimeout: endpoint.headersTimeout,
    idleBytesTimeout: endpoint.idleBytesTimeout
  })
  if (response.status < 200 || response.status > 299) return yield* refused(response, endpoint)
  const encoding = response.header("content-encoding") ?? "identity"
  if (encoding !== "identity") {
    const detail = `${endpoint.url.host} compressed its answer (${encoding}) although nobody asked for it`
    const reason = scrubbed(new Port.BadResponse({ problem: "malformed", detail }), endpoint.scrub)
    return yield* new Port.BackendError({ reason })
  }
  return pulling({ endpoint, request, prepared, response, reader: protocol.reader() })
})

/** What a backend says of itself. */
export interface Self {
  readonly model: string
  /** Completion cap it sends, when it sends one. */
  readonly maxTokens?: number | undefined
  /** Default true. */
  readonly canConstrain?: boolean
}

/** The backend that speaks a protocol. */
export const backend = ({ canConstrain = true, maxTokens, model }: Self, protocol: Protocol): Port.Backend => ({
  model,
  maxTokens,
  canConstrain,
  stream: (request) => stream(protocol, request)
})

/** The streamed reply to one request; nothing is sent before it is pulled. */
export const stream = (protocol: Protocol, request: Port.Request): Stream.Stream<Port.Chunk, Port.BackendError> =>
  Stream.fromChannel(
    Channel.fromTransformBracket((_upstream, _scope, scope) => Scope.provide(open(protocol, request), scope))
  )
