/**
 * One connection to one server, on the official SDK, as a scoped resource.
 *
 * I1. Everything has a deadline: the start, every list, every call (M8).
 * I2. A request that was interrupted or given up is cancelled on the server; its late answer reaches nobody (X-CANC-02, M9).
 * I3. When the connection ends, what was out ends at once, as `ConnectionLost` or, where the request certainly never left, as
 *     `NotAccepted`. Nothing is ever sent twice (M2, X-CANC-04).
 * I4. After a failed `connect` and after the scope is closed, no process and no connection is left.
 */
import { Client as Sdk } from "@modelcontextprotocol/sdk/client/index.js"
import type { RequestOptions } from "@modelcontextprotocol/sdk/shared/protocol.js"
import { McpError as SdkError, ResultSchema } from "@modelcontextprotocol/sdk/types.js"
import * as Json from "@settle/core/model/Json"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"
import * as Scope from "effect/Scope"
import * as Calls from "./Calls.ts"
import * as Elicitation from "./Elicitation.ts"
import * as HttpLink from "./HttpLink.ts"
import * as Link from "./Link.ts"
import * as Login from "./Login.ts"
import * as McpError from "./McpError.ts"
import * as ServerSpec from "./ServerSpec.ts"
import * as StdioLink from "./StdioLink.ts"

/** What the server said of itself. */
export interface About {
  readonly name: string
  readonly version: string
  readonly instructions?: string
  readonly capabilities: Json.JsonObject
}

export interface Listing {
  readonly tools: ReadonlyArray<Json.Json>
  /** Why the list is not whole, where it is not. */
  readonly incomplete?: string
}

export interface CallRequest {
  readonly callId: string
  /** The server's own name for the tool. */
  readonly tool: string
  readonly arguments: Json.JsonObject
}

export interface Client {
  readonly server: string
  readonly about: About
  /** All pages of the server's tools. */
  readonly listTools: Effect.Effect<Listing, McpError.McpError>
  /** Grows when the server says that its tools changed (M14). */
  readonly revision: () => number
  /** The result of a call, errors of the tool included. Reads `CallScope` and `Asker` of the fiber that calls. */
  readonly call: (request: CallRequest) => Effect.Effect<Json.JsonObject, McpError.McpError>
  /** How the connection ended; `undefined` while it stands. */
  readonly ended: () => string | undefined
  readonly evidence: () => Link.Evidence
}

const info = { name: "settle", version: "0.1.0" }
const connectDefault = "20 seconds"
const requestDefault = "30 seconds"
const ceilingDefault = "1 hour"
/** The SDK's own timer, as long as a timer can be: deadlines are ours. */
const never = 2 ** 31 - 1
const maxPages = 100
const maxTools = 5_000
/** Lines of its error output that one call shows. */
const stderrShown = 200

/** Starts or reaches the server and opens a session; the scope ends both. */
export const connect = Effect.fn("Client.connect")(function* (
  server: string,
  spec: ServerSpec.ServerSpec
): Effect.fn.Return<Client, McpError.McpError, Scope.Scope> {
  // a scope of its own, so that a start that failed leaves nothing behind while the outer scope goes on (I4)
  const own = yield* Scope.fork(yield* Effect.scope)
  return yield* establish(server, spec).pipe(
    Scope.provide(own),
    Effect.mapError((reason) => McpError.of(server, reason)),
    Effect.onExit((exit) => (Exit.isFailure(exit) ? Scope.close(own, exit) : Effect.void))
  )
})

interface Session {
  readonly server: string
  readonly spec: ServerSpec.ServerSpec
  readonly link: Link.Link
  readonly sdk: Sdk
  readonly calls: Calls.Calls
}

const establish = Effect.fnUntraced(function* (
  server: string,
  spec: ServerSpec.ServerSpec
): Effect.fn.Return<Client, McpError.Reason, Scope.Scope> {
  const calls = yield* Calls.make
  const run = yield* FiberSet.makeRuntimePromise<never, unknown, never>()
  let revision = 0
  const link = yield* open(
    server,
    spec,
    taps(server, calls, () => revision++)
  )
  const sdk = new Sdk(info, { capabilities: { elicitation: { form: { applyDefaults: true }, url: {} } } })
  Elicitation.install(sdk, { server, calls, run })
  // whatever the SDK could report here is counted by the ledger or heard as an end
  sdk.onerror = () => undefined
  const session: Session = { server, spec, link, sdk, calls }
  yield* Effect.addFinalizer(() => Effect.promise(() => sdk.close()))
  yield* handshake(session)
  yield* setLogLevel(session)
  return {
    server,
    about: about(sdk),
    listTools: listTools(session).pipe(Effect.mapError((reason) => McpError.of(server, reason))),
    revision: () => revision,
    call: (request) => call(session, request).pipe(Effect.mapError((reason) => McpError.of(server, reason))),
    ended: link.ended,
    evidence: link.evidence
  }
})

const open = (
  server: string,
  spec: ServerSpec.ServerSpec,
  ears: Link.Taps
): Effect.Effect<Link.Link, McpError.Reason, Scope.Scope> =>
  ServerSpec.isStdio(spec)
    ? StdioLink.open(spec, ears)
    : Effect.flatMap(Login.make(server, spec), (login) => HttpLink.open(spec, ears, login))

const taps = (server: string, calls: Calls.Calls, changed: () => void): Link.Taps => {
  let noise = 0
  let stderr = 0
  let begun = 0
  return {
    notification: (method, params) => {
      switch (method) {
        case "notifications/progress":
          calls.progress(params)
          return true
        case "notifications/message": {
          const logger =
            typeof params["logger"] === "string" ? `${server}/${Json.wellFormed(params["logger"])}` : server
          calls.log(Calls.level(params["level"]), logger, Json.fromUnknown(params["data"]))
          return true
        }
        case "notifications/tools/list_changed":
          changed()
          return true
        default:
          return false
      }
    },
    answered: calls.answered,
    stderr: (line) => {
      if (calls.begun() !== begun) {
        begun = calls.begun()
        stderr = 0
      }
      stderr++
      if (stderr <= stderrShown) calls.log("debug", `${server}/stderr`, line)
      else if (stderr === stderrShown + 1) calls.log("debug", `${server}/stderr`, "[more is not shown for this call]")
    },
    noise: (line) => {
      noise++
      if (noise === 1) {
        calls.log(
          "warning",
          server,
          `wrote a line on stdout that is not MCP; such lines are skipped and counted: ${line}`
        )
      }
    }
  }
}

const handshake = (session: Session): Effect.Effect<void, McpError.Reason> => {
  const limit = Duration.fromInputUnsafe(session.spec.connectTimeout ?? connectDefault)
  const failed = (detail: string): McpError.ConnectFailed =>
    new McpError.ConnectFailed({
      target: ServerSpec.shown(session.spec),
      detail,
      evidence: Link.findings(session.link.evidence()),
      advice: advice(session.spec)
    })
  // no signal: the protocol does not let a client cancel `initialize`; the closing scope ends it
  const opened = Effect.callback<void, McpError.Reason>((resume) => {
    void session.sdk.connect(session.link.transport, { timeout: never }).then(
      () => resume(Effect.void),
      (cause: unknown) => {
        const asked = McpError.isReason(cause) && cause._tag === "Unauthorized"
        resume(Effect.fail(asked ? cause : failed(refusal(session, cause))))
      }
    )
  })
  const late = Effect.suspend(() =>
    Effect.fail(failed(`it did not answer \`initialize\` within ${Duration.toSeconds(limit)} seconds`))
  )
  return Effect.raceFirst(opened, Effect.andThen(waited(session, Duration.toMillis(limit)), late))
}

const look = 500

/** `millis` of the server's own time: while a person logs in, its clock stands still. */
const waited = (session: Session, millis: number): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (let left = millis; left > 0;) {
      yield* Effect.sleep(Math.min(left, look))
      left = session.link.busy() ? millis : left - look
    }
  })

const refusal = (session: Session, cause: unknown): string => {
  if (McpError.isReason(cause)) return cause.message
  const ended = session.link.ended()
  if (ended !== undefined && ended !== "was closed by us") return `it ${ended} before it answered \`initialize\``
  if (cause instanceof SdkError) return `it answered \`initialize\` with error ${cause.code}: ${bareMessage(cause)}`
  return `its answer to \`initialize\` cannot be used: ${cause instanceof Error ? cause.message : String(cause)}`
}

const advice = (spec: ServerSpec.ServerSpec): string =>
  ServerSpec.isStdio(spec)
    ? 'Run the command by hand to see whether it is an MCP server over stdio; raise "connectTimeout" if it is only slow'
    : 'Check the URL and the "headers"; raise "connectTimeout" if the server is only slow'

const setLogLevel = (session: Session): Effect.Effect<void> => {
  const { logLevel } = session.spec
  if (logLevel === undefined || session.sdk.getServerCapabilities()?.logging === undefined) return Effect.void
  return send(session, "logging/setLevel", (options) => session.sdk.setLoggingLevel(logLevel, options)).pipe(
    deadline(session.spec.requestTimeout ?? requestDefault, "logging/setLevel"),
    Effect.catch((reason) =>
      Effect.logWarning(`MCP server ${session.server} keeps its own log level: ${reason.message}`)
    ),
    Effect.asVoid
  )
}

const about = (sdk: Sdk): About => {
  const version = sdk.getServerVersion()
  const instructions = sdk.getInstructions()
  const capabilities = Json.fromUnknown(sdk.getServerCapabilities() ?? {})
  return {
    name: version?.name ?? "unnamed",
    version: version?.version ?? "unknown",
    ...(instructions === undefined ? {} : { instructions }),
    capabilities: Json.isObject(capabilities) ? capabilities : {}
  }
}

const listTools = (session: Session): Effect.Effect<Listing, McpError.Reason> => {
  if (session.sdk.getServerCapabilities()?.tools === undefined) return Effect.succeed({ tools: [] })
  return Effect.gen(function* () {
    const tools: Array<Json.Json> = []
    const cursors = new Set<string>()
    let cursor: string | undefined = undefined
    for (let page = 0; page < maxPages && tools.length < maxTools; page++) {
      const params: { cursor?: string } = cursor === undefined ? {} : { cursor }
      const result = yield* send(session, "tools/list", (options) =>
        session.sdk.request({ method: "tools/list", params }, ResultSchema, options)
      )
      const found = Json.fromUnknown(result["tools"])
      if (Array.isArray(found)) tools.push(...found)
      const next: unknown = result["nextCursor"]
      if (typeof next !== "string" || next === "") return { tools }
      if (cursors.has(next)) return { tools, incomplete: `its list comes back to the page ${JSON.stringify(next)}` }
      cursors.add(next)
      cursor = next
    }
    return { tools, incomplete: `its list does not end within ${maxPages} pages or ${maxTools} tools` }
  }).pipe(deadline(session.spec.requestTimeout ?? requestDefault, "tools/list"))
}

const call = (session: Session, request: CallRequest): Effect.Effect<Json.JsonObject, McpError.Reason> =>
  session.calls.during(request.callId, (out) => {
    const params = { name: request.tool, arguments: { ...request.arguments }, _meta: { progressToken: out.token } }
    const sent = send(
      session,
      "tools/call",
      (options) => session.sdk.request({ method: "tools/call", params }, ResultSchema, options),
      (id) => {
        out.requestId = id
      }
    )
    const { callCeiling = ceilingDefault, callSilence } = session.spec
    const bounded = callSilence === undefined ? sent : Effect.raceFirst(sent, silence(out, callSilence))
    return bounded.pipe(
      deadline(callCeiling, "tools/call", "ceiling"),
      Effect.map((result) => (Json.isObject(result) ? result : {}))
    )
  })

/** Fails when the server has said nothing about this call for `limit`; every word of it begins the wait anew (M4). */
const silence = (out: Calls.Call, limit: Duration.Input): Effect.Effect<never, McpError.NoAnswer> =>
  Effect.gen(function* () {
    const millis = Duration.toMillis(Duration.fromInputUnsafe(limit))
    for (;;) {
      const left = out.heardAt + millis - (yield* Clock.currentTimeMillis)
      if (left <= 0)
        return yield* new McpError.NoAnswer({ method: "tools/call", seconds: millis / 1000, limit: "silence" })
      yield* Effect.sleep(left)
    }
  })

const deadline =
  (limit: Duration.Input, method: string, kind: McpError.NoAnswer["limit"] = "ceiling") =>
  <A>(self: Effect.Effect<A, McpError.Reason>): Effect.Effect<A, McpError.Reason> => {
    const duration = Duration.fromInputUnsafe(limit)
    return Effect.timeoutOrElse(self, {
      duration,
      orElse: () => Effect.fail(new McpError.NoAnswer({ method, seconds: Duration.toSeconds(duration), limit: kind }))
    })
  }

/** One request. Interruption cancels it on the server (I2). */
const send = <A>(
  session: Session,
  method: string,
  request: (options: RequestOptions) => Promise<A>,
  written: (id: number | undefined) => void = () => undefined
): Effect.Effect<A, McpError.Reason> =>
  Effect.callback((resume) => {
    const controller = new AbortController()
    const { ledger } = session.link
    ledger.mark()
    const answer = request({ signal: controller.signal, timeout: never })
    const id = ledger.last()
    written(id)
    void answer.then(
      (value) => resume(Effect.succeed(value)),
      (cause: unknown) => resume(Effect.fail(failure(session, method, { cause, id })))
    )
    return Effect.sync(() => controller.abort("the caller no longer waits for it"))
  })

const failure = (
  session: Session,
  method: string,
  failed: { readonly cause: unknown; readonly id: number | undefined }
): McpError.Reason => {
  const { cause, id } = failed
  const fate = session.link.ledger.fate(id)
  const ended = session.link.ended()
  if (fate === "not-accepted" && ended === Link.sessionGone) return new McpError.SessionLost()
  if (McpError.isReason(cause)) return cause
  if (cause instanceof SdkError && ended === undefined) {
    const data = cause.data === undefined ? "" : ` (${Json.render(cause.data).slice(0, 2_000)})`
    return new McpError.Answered({ method, code: cause.code, detail: `${bareMessage(cause)}${data}` })
  }
  const said = Link.findings(session.link.evidence()).at(-1)
  const how = ended === undefined ? (cause instanceof Error ? cause.message : String(cause)) : `it ${ended}`
  const detail = said === undefined ? how : `${how}. ${said}`
  return fate === "not-accepted" ? new McpError.NotAccepted({ detail }) : new McpError.ConnectionLost({ detail })
}

/** The SDK puts the code in front of the server's words. */
const bareMessage = (error: SdkError): string =>
  Json.wellFormed(error.message.replace(/^MCP error -?\d+: /, "")).slice(0, 4_000)
