/**
 * The one seam to the network: send a POST, get its status, its headers and a pull of what arrives.
 *
 * H1. The request lives in the caller's scope: closing it, or interrupting whoever waits, aborts the request (B2).
 * H2. Silence is bounded three times: connecting, until headers, between bytes. The last clock is a sleeping fiber that looks
 *     whether anything was read; no read arms a timer. It counts its own wake-ups, so a machine that slept an hour has missed one
 *     look and not thirty (S12).
 * H3. Nothing is loaded before the first request.
 */
import * as Backend from "@settle/core/port/Backend"
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Agent } from "undici"
import * as Exchange from "./Exchange.ts"

/** An address taken apart: its getters are slow. */
interface Target {
  readonly origin: string
  /** Path and query. */
  readonly path: string
  /** Host and port, for people. */
  readonly place: string
}

export interface Post {
  /** The same object for every request to one place: it is taken apart once. */
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly headersTimeout: Duration.Duration
  /** Longest silence between two reads; what is noticed may be a quarter later. */
  readonly idleBytesTimeout: Duration.Duration
}

export interface Response extends Exchange.Answer {
  /** All bytes that arrived since the last pull; `Done` at the end of the body. */
  readonly pull: Effect.Effect<Exchange.Bytes, Backend.BackendError | Cause.Done>
  /**
   * Everything that matters was read: the connection is kept when the scope closes. Lets it read its last bytes, which mostly are
   * there already, so that the next request finds it free.
   */
  readonly complete: Effect.Effect<void>
}

export interface Http {
  readonly post: (request: Post) => Effect.Effect<Response, Backend.BackendError, Scope.Scope>
}

export interface Options {
  /** Default 30 seconds. */
  readonly connectTimeout?: Duration.Input
  /** How long an unused connection is kept. Default 30 seconds. */
  readonly keepAlive?: Duration.Input
  /** Connections to one server. Default: as many as there are requests. */
  readonly connections?: number
}

/** A dispatcher that is made at the first request. */
const agentOf = (options: Options, connectTimeout: Duration.Duration) => {
  let made: Agent | undefined
  const load = Effect.map(
    Effect.promise(() => import("undici/lib/dispatcher/agent.js")),
    ({ default: Agent }) =>
      (made ??= new Agent({
        connect: { timeout: Duration.toMillis(connectTimeout) },
        keepAliveTimeout: Duration.toMillis(Duration.fromInputUnsafe(options.keepAlive ?? "30 seconds")),
        connections: options.connections ?? null,
        allowH2: false
      }))
  )
  return {
    agent: Effect.suspend(() => (made === undefined ? load : Effect.succeed(made))),
    close: Effect.suspend(() => {
      const agent = made
      return agent === undefined ? Effect.void : Effect.ignoreCause(Effect.promise(() => agent.destroy()))
    })
  }
}

const looks = 4

/** Looks four times in a period; four looks without a read are silence. */
const watch = (exchange: Exchange.Exchange, idle: Duration.Duration): Effect.Effect<void> => {
  const slice = Duration.divideUnsafe(idle, looks)
  return Effect.gen(function* () {
    let seen = exchange.reads
    for (let quiet = 0; quiet < looks;) {
      yield* Effect.sleep(slice)
      quiet = exchange.reads === seen ? quiet + 1 : 0
      seen = exchange.reads
    }
    exchange.fail(new Backend.TimedOut({ seconds: Duration.toSeconds(idle), waitedFor: "bytes" }))
  })
}

const targetOf = (url: URL): Target => {
  const port = url.port !== "" ? url.port : url.protocol === "https:" ? "443" : "80"
  return { origin: url.origin, path: `${url.pathname}${url.search}`, place: `${url.hostname}:${port}` }
}

const makeWith = (options: Options) => {
  const connectTimeout = Duration.fromInputUnsafe(options.connectTimeout ?? "30 seconds")
  const { agent, close } = agentOf(options, connectTimeout)

  const targets = new WeakMap<URL, Target>()

  const target = (url: URL): Target => {
    const kept = targets.get(url) ?? targetOf(url)
    targets.set(url, kept)
    return kept
  }

  const post: Http["post"] = Effect.fnUntraced(function* (request: Post) {
    const { origin, path, place } = target(request.url)
    const dispatcher = yield* agent
    const exchange = new Exchange.Exchange({
      place,
      connectSeconds: Duration.toSeconds(connectTimeout),
      headersSeconds: Duration.toSeconds(request.headersTimeout),
      bytesSeconds: Duration.toSeconds(request.idleBytesTimeout)
    })
    let complete = false
    yield* Effect.acquireRelease(
      Effect.sync(() =>
        dispatcher.dispatch(
          {
            origin,
            path,
            method: "POST",
            headers: request.headers,
            body: request.body,
            // zero is no limit to the dispatcher
            headersTimeout: Duration.isFinite(request.headersTimeout) ? Duration.toMillis(request.headersTimeout) : 0,
            // the watchdog comes first; this one ends a drained connection that never closes
            bodyTimeout: 2 * Duration.toMillis(request.idleBytesTimeout)
          },
          exchange
        )
      ),
      () => Effect.sync(() => exchange.close(complete))
    )
    const answer = yield* exchange.answer
    yield* Effect.forkScoped(watch(exchange, request.idleBytesTimeout))
    return {
      ...answer,
      pull: exchange.pull,
      complete: Effect.suspend(() => {
        complete = true
        return exchange.ended ? Effect.void : Effect.yieldNow
      })
    }
  })

  return { http: { post } satisfies Http, close }
}

/** Its own pool of connections, closed with the scope. */
export const make = (options: Options = {}): Effect.Effect<Http, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => makeWith(options)),
      ({ close }) => close
    ),
    ({ http }) => http
  )

/** Default: one pool for the process; idle connections do not keep it alive. */
export const Http: Context.Reference<Http> = Context.Reference<Http>("@settle/backends/Http", {
  defaultValue: () => makeWith({}).http
})

export const layer = (options: Options = {}): Layer.Layer<never> => Layer.effect(Http, make(options))
