/**
 * A remote session: who is asked, how a request is let in, and what a refusal means.
 *
 * X1. HTTP 404 with a session means that the session is over, and that this one request was not accepted (M5).
 * X2. A login is begun by a 401 or a 403 that asks for more, at most twice for one request.
 * X3. HTTP 400 that speaks of the session, which many servers send in place of 404, ends the session too; but the standard does not
 *     say that such a server looked at nothing, so of the request nothing is known (M5).
 * X4. An error of the protocol in the body of an HTTP error is an answer like any other.
 */
import { extractWWWAuthenticateParams } from "@modelcontextprotocol/sdk/client/auth.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import * as Json from "@settle/core/model/Json"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Http from "./Http.ts"
import type * as Ledger from "./Ledger.ts"
import * as Link from "./Link.ts"
import type * as Login from "./Login.ts"
import * as McpError from "./McpError.ts"
import * as ServerSpec from "./ServerSpec.ts"
import * as Wire from "./Wire.ts"

/** The longest answer; a longer one is not kept. */
export const maxMessage = 128 * 1024 * 1024
export const maxErrorBody = 64 * 1024

export interface RemoteSession {
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

/** A connection whose session is gone has ended: the next use opens another. */
export const endWithSession = (state: RemoteSession, error: McpError.Reason): void => {
  if (error._tag === "SessionLost") state.end(Link.sessionGone)
}

/** One message of the server, to whom it concerns. */
export const hear = (state: RemoteSession, heard: Wire.Heard): void => {
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

export interface Ask {
  readonly method: "POST" | "GET"
  readonly body?: string
  readonly alone?: boolean
  readonly lastEventId?: string | undefined
}

const maxLogins = 2

/** The response to a request that was let in; a login happens on the way where the server wants one (X2). */
export const admitted = (state: RemoteSession, ask: Ask): Effect.Effect<Http.Response, McpError.Reason, Scope.Scope> =>
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
  state: RemoteSession,
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

/** Headers of every request in this session. */
export const common = (state: RemoteSession, token: string | undefined): Readonly<Record<string, string>> => ({
  ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  ...(state.session === undefined ? {} : { "mcp-session-id": state.session }),
  ...(state.protocol === undefined ? {} : { "mcp-protocol-version": state.protocol }),
  ...state.headers
})

/** What a status that lets nobody in means (X1, X3, X4). */
const refusedAs = (
  state: RemoteSession,
  response: Http.Response,
  ask: Ask
): Effect.Effect<Http.Response, McpError.Reason> =>
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
    if (response.status === 400 && state.session !== undefined && /session/i.test(text)) {
      state.end("no longer accepts the session (HTTP 400)")
    }
    return yield* new McpError.HttpRefused({
      status: response.status,
      detail: Json.wellFormed(text.slice(0, 500)).trim()
    })
  })

export const lost = (detail: string): McpError.ConnectionLost => new McpError.ConnectionLost({ detail })
