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
}

export interface Protocol {
  readonly http: Http.Http
  readonly endpoint: Endpoint
  readonly prepare: (request: Port.Request) => Prepared
  readonly reader: () => BodyReader.BodyReader
}

/** One request while it is read. */
interface Attempt {
  readonly request: Port.Request
  readonly prepared: Prepared
  readonly response: Http.Response
  readonly reader: BodyReader.BodyReader
}

type Chunks = readonly [Port.Chunk, ...Array<Port.Chunk>]
type Pull = Effect.Effect<Chunks, Port.BackendError | Cause.Done>

const isSome = (chunks: ReadonlyArray<Port.Chunk>): chunks is Chunks => chunks.length > 0

const longestErrorBody = 64 * 1024

/** The body of an error answer, as much of it as is worth reading. A body that breaks off still says what it said. */
const errorBody = (response: Http.Response): Effect.Effect<string> =>
  Effect.suspend(() => {
    const parts: Array<Uint8Array> = []
    const size = () => parts.reduce((sum, part) => sum + part.length, 0)
    const more: Effect.Effect<void, unknown> = Effect.flatMap(response.pull, (bytes) => {
      parts.push(...bytes)
      return size() < longestErrorBody ? more : Effect.void
    })
    return Effect.as(Effect.ignore(more), parts)
  }).pipe(Effect.map((parts) => Buffer.concat(parts).subarray(0, longestErrorBody).toString("utf8")))

const refused = Effect.fnUntraced(function* (response: Http.Response, endpoint: Endpoint) {
  const clock = yield* Clock.Clock
  const body = yield* errorBody(response)
  const answer = { status: response.status, header: response.header, body, nowMs: clock.currentTimeMillisUnsafe() }
  return yield* new Port.BackendError({ reason: Failures.fromHttp(answer, endpoint.scrub) })
})

/** The end of an attempt: the reply under ids of ours, or why there is none. */
const finish = Effect.fnUntraced(function* (
  { prepared, reader, request, response }: Attempt,
  ending: BodyReader.Ending
) {
  const ids = yield* IdGenerator
  const fresh = yield* Effect.replicateEffect(ids.next, reader.freshIds(prepared.callIds))
  const result = reader.result(ending, {
    taken: prepared.callIds,
    fresh: fresh.map((id) => `call_${id.replaceAll("-", "").slice(0, 24)}`),
    tools: request.tools,
    kept: prepared.kept
  })
  if (Result.isSuccess(result)) {
    yield* response.complete
    return result.success
  }
  const { reason, usage } = result.failure
  return yield* new Port.BackendError({ reason, ...(usage === undefined ? {} : { usage }) })
})

/** Chunks of reads until the reply is over; then its `Finished`, then the end. */
const pulling = (attempt: Attempt): Pull => {
  const { reader, response } = attempt
  let ending: BodyReader.Ending | undefined
  let finished = false

  const last = Effect.suspend(() =>
    Effect.map(finish(attempt, ending ?? { _tag: "Closed" }), (reply): Chunks => {
      finished = true
      return Arr.append(reader.take(), Port.Chunk.Finished({ reply }))
    })
  )

  /** What the last read left; a failure comes only after the chunks before it. */
  const over = (end: BodyReader.Ending): Pull => {
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
          : Effect.fail(error)
      }
    })
  )

  return Effect.suspend(() => (finished ? Cause.done() : ending === undefined ? read : last))
}

const open = Effect.fnUntraced(function* (protocol: Protocol, request: Port.Request) {
  const { endpoint } = protocol
  const prepared = protocol.prepare(request)
  const response = yield* protocol.http.post({
    url: endpoint.url,
    headers: endpoint.headers,
    body: prepared.body,
    headersTimeout: endpoint.headersTimeout,
    idleBytesTimeout: endpoint.idleBytesTimeout
  })
  if (response.status < 200 || response.status > 299) return yield* refused(response, endpoint)
  return pulling({ request, prepared, response, reader: protocol.reader() })
})

/** The streamed reply to one request; nothing is sent before it is pulled. */
export const stream = (protocol: Protocol, request: Port.Request): Stream.Stream<Port.Chunk, Port.BackendError> =>
  Stream.fromChannel(
    Channel.fromTransformBracket((_upstream, _scope, scope) => Scope.provide(open(protocol, request), scope))
  )
