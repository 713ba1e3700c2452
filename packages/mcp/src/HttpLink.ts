/**
 * A connection over Streamable HTTP: one POST for each message, answers as JSON or as a stream of events, and one stream of the
 * server's own. The SDK's transport leaves a request waiting for ever when its stream ends without an answer, and cannot say which
 * requests were never accepted; this one settles every request it was given.
 *
 * U1. A request whose stream broke off is looked for again under its last event id, never sent again; where that is impossible it
 *     is lost.
 * U2. HTTP 404 with a session ends the connection, and says of that one request that it was not accepted (M5).
 * U3. A login is begun by a 401 or a 403 that asks for more, at most twice for one request.
 * U4. Closing says goodbye to the session and does not wait long for the answer (M8).
 */
import { extractWWWAuthenticateParams } from "@modelcontextprotocol/sdk/client/auth.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js"
import * as Json from "@settle/core/model/Json"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"
import * as Sse from "effect/encoding/Sse"
import * as Http from "./Http.ts"
import * as Ledger from "./Ledger.ts"
import * as Link from "./Link.ts"
import type * as Login from "./Login.ts"
import * as McpError from "./McpError.ts"
import * as ServerSpec from "./ServerSpec.ts"
import * as Wire from "./Wire.ts"

const maxMessage = 128 * 1024 * 1024
const maxErrorBody = 64 * 1024
const goodbye = "2 seconds"
const firstRetry = 1_000
const longestRetry = 30_000
/** Attempts to find a broken stream again, without one event in between. */
const maxResumes = 5

interface State {
  readonly url: URL
  readonly agents: Http.Agents
  readonly headers: Readonly<Record<string, string>>
  readonly login: Login.Login
  readonly ledger: Ledger.Ledger
  readonly taps: Link.Taps
  readonly transport: Transport
  readonly listen: () => void
  /** Streams of requests that are out, by request id. */
  readonly exchanges: Map<number, Fiber.Fiber<void, McpError.Reason>>
  readonly end: (how: string) => void
  session: string | undefined
  protocol: string | undefined
  ended: string | undefined
}

export const open = Effect.fnUntraced(function* (
  spec: ServerSpec.Remote,
  taps: Link.Taps,
  login: Login.Login
): Effect.fn.Return<Link.Link, McpError.Reason, Scope.Scope> {
  const url = URL.parse(spec.url)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return yield* new McpError.BadEntry({ detail: `"url" is not an http or https address: ${spec.url}` })
  }
  const agents = yield* Http.makeAgents
  const run = yield* FiberSet.makeRuntime<never, void, McpError.Reason>()
  const state = make({ url, agents, spec, taps, login, run })
  yield* Effect.addFinalizer(() => farewell(state))
  return {
    transport: state.transport,
    ledger: state.ledger,
    evidence: () => ({ skipped: 0, samples: [], stderrLines: 0, stderr: [], strays: state.ledger.strays() }),
    ended: () => state.ended,
    busy: login.busy
  }
})

interface Parts {
  readonly url: URL
  readonly agents: Http.Agents
  readonly spec: ServerSpec.Remote
  readonly taps: Link.Taps
  readonly login: Login.Login
  readonly run: (effect: Effect.Effect<void, McpError.Reason>) => Fiber.Fiber<void, McpError.Reason>
}

const make = ({ url, agents, spec, taps, login, run }: Parts): State => {
  const headers = Object.entries(spec.headers ?? {}).map(([name, value]) => [
    name.toLowerCase(),
    ServerSpec.plain(value)
  ])
  const transport: Transport = {
    start: () => Promise.resolve(),
    send: (message) => {
      const id = Ledger.requestId(message)
      state.ledger.sending(message)
      if (state.ended !== undefined) {
        state.ledger.unsent(message)
        return Promise.reject(new McpError.NotAccepted({ detail: `it ${state.ended}` }))
      }
      const fiber = run(exchange(state, message))
      if (id !== undefined) state.exchanges.set(id, fiber)
      return new Promise((resolve, reject) => {
        fiber.addObserver((exit) => {
          if (id !== undefined) state.exchanges.delete(id)
          if (exit._tag === "Success") return resolve()
          reject(Cause.squash(exit.cause))
        })
      })
    },
    close: () => {
      state.end("was closed by us")
      return Promise.resolve()
    },
    setProtocolVersion: (version) => {
      state.protocol = version
    }
  }
  const state: State = {
    url,
    agents,
    headers: Object.fromEntries(headers),
    login,
    ledger: Ledger.make(),
    taps,
    transport,
    listen: () => void run(Effect.ignore(listen(state))),
    exchanges: new Map(),
    end: (how) => {
      if (state.ended !== undefined) return
      state.ended = how
      transport.onclose?.()
    },
    session: undefined,
    protocol: undefined,
    ended: undefined
  }
  return state
}

/** One message and, where it is a request, everything until its answer. */
const exchange = (state: State, message: JSONRPCMessage): Effect.Effect<void, McpError.Reason> =>
  Effect.scoped(
    Effect.gen(function* () {
      const response = yield* admitted(state, {
        method: "POST",
        body: JSON.stringify(message),
        alone: "method" in message && message.method === "tools/call"
      }).pipe(
        // in this order: the end of the connection settles what is out by what the ledger says of it
        Effect.tapError((error) =>
          Effect.sync(() => {
            if (McpError.isNotAcceptedReason(error)) state.ledger.unsent(message)
            endWithSession(state, error)
          })
        )
      )
      const session = response.header("mcp-session-id")
      if (session !== undefined) state.session = session
      const id = Ledger.requestId(message)
      if (id !== undefined) return yield* answerOf(state, response, id)
      yield* Effect.ignore(response.text(maxErrorBody))
      if (!("method" in message)) return
      if (message.method === "notifications/initialized") state.listen()
      const cancelled = Ledger.cancelledId(message)
      // the server has heard of it: now its stream may go
      const fiber = cancelled === undefined ? undefined : state.exchanges.get(cancelled)
      if (fiber !== undefined) yield* Fiber.interrupt(fiber)
    })
  )

const endWithSession = (state: State, error: McpError.Reason): void => {
  if (error._tag === "SessionLost") state.end(Link.sessionGone)
}

const answerOf = (state: State, response: Http.Response, id: number): Effect.Effect<void, McpError.Reason> =>
  Effect.gen(function* () {
    const type = (response.header("content-type") ?? "").split(";")[0]?.trim().toLowerCase()
    if (type === "text/event-stream") return yield* untilAnswered(state, response, id)
    const text = yield* Effect.mapError(response.text(maxMessage), (error) => lost(error.detail))
    if (type === "application/json") Wire.line(text).forEach((heard) => hear(state, heard))
    if (!state.ledger.isOpen(id)) return
    return yield* Effect.fail(
      lost(`its answer is no MCP: ${Json.render(text.slice(0, 300))} (${type ?? "of no type"})`)
    )
  })

/** Reads the request's stream, and the streams that continue it, until the answer was heard (U1). */
const untilAnswered = (state: State, first: Http.Response, id: number): Effect.Effect<void, McpError.Reason> =>
  Effect.gen(function* () {
    const place: Place = { lastEventId: undefined, retry: firstRetry, events: 0 }
    yield* events(state, first, place, () => state.ledger.isOpen(id))
    for (let attempt = 0; state.ledger.isOpen(id); attempt++) {
      if (place.lastEventId === undefined || attempt >= maxResumes) {
        return yield* Effect.fail(lost("its stream ended before the answer and cannot be taken up again"))
      }
      const before = place.events
      yield* Effect.sleep(Math.min(place.retry * 2 ** attempt, longestRetry))
      yield* Effect.scoped(
        Effect.gen(function* () {
          const next = yield* admitted(state, { method: "GET", lastEventId: place.lastEventId })
          yield* events(state, next, place, () => state.ledger.isOpen(id))
        })
      ).pipe(Effect.catch((error) => (retryable(error) ? Effect.void : Effect.fail(afterwards(state, error)))))
      if (place.events > before) attempt = -1
    }
  })

/** The request itself was accepted long ago: what its continuation meets says nothing else about it. */
const afterwards = (state: State, error: McpError.Reason): McpError.Reason => {
  endWithSession(state, error)
  return McpError.isNotAcceptedReason(error) ? lost(error.message) : error
}

const retryable = (error: McpError.Reason): boolean =>
  error._tag === "NotAccepted" ||
  error._tag === "ConnectionLost" ||
  (error._tag === "HttpRefused" && error.status >= 500)

/** The server's own stream, for as long as the session stands; a server without one answers 405. */
const listen = (state: State): Effect.Effect<void, McpError.Reason> =>
  Effect.gen(function* () {
    const place: Place = { lastEventId: undefined, retry: firstRetry, events: 0 }
    for (let failures = 0; state.ended === undefined;) {
      const before = place.events
      const outcome = yield* Effect.scoped(
        Effect.gen(function* () {
          const response = yield* admitted(state, { method: "GET", lastEventId: place.lastEventId })
          yield* events(state, response, place, () => true)
        })
      ).pipe(
        Effect.as(true),
        Effect.catch((error) =>
          Effect.sync(() => {
            endWithSession(state, error)
            return retryable(error)
          })
        )
      )
      if (!outcome) return
      failures = place.events > before ? 0 : failures + 1
      yield* Effect.sleep(Math.min(place.retry * 2 ** Math.min(Math.max(failures - 1, 0), 10), longestRetry))
    }
  })

interface Place {
  lastEventId: string | undefined
  retry: number
  events: number
}

/** Hears every event of one stream; a break ends it like an end does. */
const events = (
  state: State,
  response: Http.Response,
  place: Place,
  more: () => boolean
): Effect.Effect<void, McpError.Reason> => {
  let tooLong = false
  const parser = Sse.makeParser(
    (event) => {
      if (event._tag === "Retry") {
        place.retry = Duration.toMillis(event.duration)
        return
      }
      place.events++
      if (event.id !== undefined && event.id !== "") place.lastEventId = event.id
      if (event.data !== "" && event.event === "message") Wire.line(event.data).forEach((heard) => hear(state, heard))
    },
    { maxEventSize: maxMessage }
  )
  const reading = response.each((text) => {
    tooLong = parser.feed(text) !== undefined
    return !tooLong && more()
  })
  return Effect.andThen(
    Effect.ignore(reading),
    Effect.suspend(() =>
      tooLong ? Effect.fail(lost(`it wrote a message of more than ${maxMessage / 1024 / 1024} MB`)) : Effect.void
    )
  )
}

const hear = (state: State, heard: Wire.Heard): void => {
  switch (heard._tag) {
    case "Noise":
      return state.taps.noise(heard.text.slice(0, 300))
    case "Answer":
      if (!state.ledger.answered(heard.id)) return
      state.taps.answered(heard.id)
      return state.transport.onmessage?.(heard.message)
    case "Notification":
      if (!state.taps.notification(heard.method, heard.params)) state.transport.onmessage?.(heard.message)
      return
    case "Request":
      return state.transport.onmessage?.(heard.message)
  }
}

interface Ask {
  readonly method: "POST" | "GET"
  readonly body?: string
  readonly alone?: boolean
  readonly lastEventId?: string | undefined
}

const maxLogins = 2

/** The response to a request that was let in; a login happens on the way where the server wants one (U3). */
const admitted = (state: State, ask: Ask): Effect.Effect<Http.Response, McpError.Reason, Scope.Scope> =>
  Effect.gen(function* () {
    for (let logins = 0; ; logins++) {
      const token = yield* state.login.token
      const response = yield* send(state, ask, token)
      if (response.status >= 200 && response.status < 300) return response
      const challenge = challengeOf(response)
      const asksMore = response.status === 401 || (response.status === 403 && challenge.error === "insufficient_scope")
      if (!asksMore) return yield* refusedAs(state, response, ask)
      yield* Effect.ignore(response.text(maxErrorBody))
      if (logins >= maxLogins) {
        const detail = `it still answers HTTP ${response.status} after the login`
        return yield* new McpError.Unauthorized({ target: ServerSpec.shownUrl(state.url.href), detail })
      }
      yield* state.login.renew({ used: token, more: response.status === 403, ...challenge })
    }
  })

const challengeOf = (response: Http.Response) => {
  const header = response.header("www-authenticate")
  return extractWWWAuthenticateParams(
    new Response(null, { headers: header === undefined ? {} : { "WWW-Authenticate": header } })
  )
}

const send = (
  state: State,
  ask: Ask,
  token: string | undefined
): Effect.Effect<Http.Response, McpError.Reason, Scope.Scope> =>
  Http.send(state.agents, {
    method: ask.method,
    url: state.url,
    ...(ask.body === undefined ? {} : { body: ask.body }),
    alone: ask.alone === true,
    headers: {
      accept: ask.method === "POST" ? "application/json, text/event-stream" : "text/event-stream",
      ...(ask.method === "POST" ? { "content-type": "application/json" } : {}),
      ...common(state, token),
      ...(ask.lastEventId === undefined ? {} : { "last-event-id": ask.lastEventId })
    }
  }).pipe(Effect.mapError(({ detail, sent }) => (sent ? lost(detail) : new McpError.NotAccepted({ detail }))))

const common = (state: State, token: string | undefined): Readonly<Record<string, string>> => ({
  ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  ...(state.session === undefined ? {} : { "mcp-session-id": state.session }),
  ...(state.protocol === undefined ? {} : { "mcp-protocol-version": state.protocol }),
  ...state.headers
})

/** What a status that lets nobody in means (U2). An error of the protocol in its body is an answer like any other. */
const refusedAs = (state: State, response: Http.Response, ask: Ask): Effect.Effect<Http.Response, McpError.Reason> =>
  Effect.gen(function* () {
    if (response.status === 404 && state.session !== undefined) return yield* new McpError.SessionLost()
    const location = response.header("location")
    if (response.status >= 300 && response.status < 400 && location !== undefined) {
      const target = ServerSpec.shownUrl(URL.parse(location, state.url.href)?.href ?? location)
      return yield* new McpError.NotAccepted({ detail: `it sends everybody on to ${target}; put that into "url"` })
    }
    const text = yield* Effect.orElseSucceed(response.text(maxErrorBody), () => "")
    if (ask.method === "POST") {
      const heard = Wire.line(text).filter((each) => each._tag === "Answer")
      heard.forEach((each) => hear(state, each))
    }
    return yield* new McpError.HttpRefused({
      status: response.status,
      detail: Json.wellFormed(text.slice(0, 500)).trim()
    })
  })

const lost = (detail: string): McpError.ConnectionLost => new McpError.ConnectionLost({ detail })

/** A session that the server still knows is ended there too; a server that does not answer that is left alone (U4). */
const farewell = (state: State): Effect.Effect<void> => {
  if (state.session === undefined || state.ended === Link.sessionGone) return Effect.void
  return Effect.scoped(
    Effect.gen(function* () {
      const token = yield* state.login.token
      yield* Http.send(state.agents, { method: "DELETE", url: state.url, headers: common(state, token) })
    })
  ).pipe(Effect.timeoutOption(goodbye), Effect.interruptible, Effect.ignoreCause)
}
