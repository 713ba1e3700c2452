/**
 * A connection over Streamable HTTP: one POST for each message, answers as JSON or as a stream of events, and one stream of the
 * server's own. The SDK's transport leaves a request waiting for ever when its stream ends without an answer, and cannot say which
 * requests were never accepted; this one settles every request it was given.
 *
 * U1. Every request ends: with its answer, as lost, or as not accepted.
 * U2. Closing says goodbye to the session and does not wait long for the answer (M8).
 */
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"
import * as Closing from "./Closing.ts"
import * as Http from "./Http.ts"
import * as Ledger from "./Ledger.ts"
import * as Link from "./Link.ts"
import type * as Login from "./Login.ts"
import * as McpError from "./McpError.ts"
import * as RemoteSession from "./RemoteSession.ts"
import * as RemoteStream from "./RemoteStream.ts"
import * as ServerSpec from "./ServerSpec.ts"

const goodbye = "2 seconds"

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

const make = ({ url, agents, spec, taps, login, run }: Parts): RemoteSession.RemoteSession => {
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
  const state: RemoteSession.RemoteSession = {
    url,
    agents,
    headers: Object.fromEntries(headers),
    login,
    ledger: Ledger.make(),
    taps,
    transport,
    listen: () => void run(Effect.ignore(RemoteStream.listen(state))),
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
const exchange = (state: RemoteSession.RemoteSession, message: JSONRPCMessage): Effect.Effect<void, McpError.Reason> =>
  Effect.scoped(
    Effect.gen(function* () {
      const response = yield* RemoteSession.admitted(state, {
        method: "POST",
        body: JSON.stringify(message),
        alone: "method" in message && message.method === "tools/call"
      }).pipe(
        // in this order: the end of the connection settles what is out by what the ledger says of it
        Effect.tapError((error) =>
          Effect.sync(() => {
            if (McpError.isNotAcceptedReason(error)) state.ledger.unsent(message)
            RemoteSession.endWithSession(state, error)
          })
        )
      )
      const session = response.header("mcp-session-id")
      if (session !== undefined) state.session = session
      const id = Ledger.requestId(message)
      if (id !== undefined) return yield* RemoteStream.answerOf(state, response, id)
      yield* Effect.ignore(response.text(RemoteSession.maxErrorBody))
      if (!("method" in message)) return
      if (message.method === "notifications/initialized") state.listen()
      const cancelled = Ledger.cancelledId(message)
      // the server has heard of it: now its stream may go
      const fiber = cancelled === undefined ? undefined : state.exchanges.get(cancelled)
      if (fiber !== undefined) yield* Fiber.interrupt(fiber)
    })
  )

/** A session that the server still knows is ended there too; a server that does not answer that is left alone (U2). */
const farewell = (state: RemoteSession.RemoteSession): Effect.Effect<void> => {
  if (state.session === undefined || state.ended === Link.sessionGone) return Effect.void
  const goodbyes = Effect.scoped(
    Effect.gen(function* () {
      const token = yield* state.login.token
      const headers = RemoteSession.common(state, token)
      yield* Http.send(state.agents, { method: "DELETE", url: state.url, headers })
    })
  )
  return Closing.apart(goodbyes.pipe(Effect.timeoutOption(goodbye), Effect.ignoreCause))
}
