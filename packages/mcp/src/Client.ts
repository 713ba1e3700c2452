/**
 * One connection to one server, on the official SDK, as a scoped resource.
 *
 * I1. Everything has a deadline: the start, every list, every call (M8).
 * I2. When the connection ends, what was out ends at once, as `ConnectionLost` or, where the request certainly never left, as
 *     `NotAccepted`. Nothing is ever sent twice (M2, X-CANC-04).
 * I3. After a failed `connect` and after the scope is closed, no process and no connection is left.
 */
import { Client as Sdk } from "@modelcontextprotocol/sdk/client/index.js"
import { type ClientCapabilities, ResultSchema } from "@modelcontextprotocol/sdk/types.js"
import * as Json from "@settle/core/model/Json"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"
import * as Scope from "effect/Scope"
import * as Calling from "./Calling.ts"
import * as Calls from "./Calls.ts"
import * as Elicitation from "./Elicitation.ts"
import * as Handshake from "./Handshake.ts"
import * as Hearing from "./Hearing.ts"
import * as HttpLink from "./HttpLink.ts"
import type * as Link from "./Link.ts"
import * as Login from "./Login.ts"
import * as McpError from "./McpError.ts"
import * as Roots from "./Roots.ts"
import * as Sampler from "./Sampler.ts"
import * as ServerSpec from "./ServerSpec.ts"
import * as Session from "./Session.ts"
import * as StdioLink from "./StdioLink.ts"

export interface Client {
  readonly server: string
  readonly about: Handshake.About
  /** All pages of the server's tools; none where it has no such part. So with the three lists below. */
  readonly listTools: Effect.Effect<Session.Listing, McpError.McpError>
  readonly listResources: Effect.Effect<Session.Listing, McpError.McpError>
  readonly listResourceTemplates: Effect.Effect<Session.Listing, McpError.McpError>
  readonly listPrompts: Effect.Effect<Session.Listing, McpError.McpError>
  /** What stands under a URI: `contents`, as the server sends it. */
  readonly readResource: (uri: string) => Effect.Effect<Json.JsonObject, McpError.McpError>
  /** A prompt filled with its arguments: `messages`, as the server sends it. */
  readonly getPrompt: (
    name: string,
    args: Readonly<Record<string, string>>
  ) => Effect.Effect<Json.JsonObject, McpError.McpError>
  /** Grows when the server says that its tools changed (M14). */
  readonly revision: () => number
  readonly call: (request: Calling.Request) => Effect.Effect<Json.JsonObject, McpError.McpError>
  /** How the connection ended; `undefined` while it stands. */
  readonly ended: () => string | undefined
  readonly evidence: () => Link.Evidence
}

const info = { name: "settle", version: "0.1.0" }

/** Starts or reaches the server and opens a session; the scope ends both. */
export const connect = Effect.fn("Client.connect")(function* (
  server: string,
  spec: ServerSpec.ServerSpec
): Effect.fn.Return<Client, McpError.McpError, Scope.Scope> {
  // a scope of its own, so that a start that failed leaves nothing behind while the outer scope goes on (I3)
  const own = yield* Scope.fork(yield* Effect.scope)
  return yield* establish(server, spec).pipe(
    Scope.provide(own),
    Effect.mapError((reason) => McpError.of(server, reason)),
    Effect.onExit((exit) => (Exit.isFailure(exit) ? Scope.close(own, exit) : Effect.void))
  )
})

const establish = Effect.fnUntraced(function* (
  server: string,
  spec: ServerSpec.ServerSpec
): Effect.fn.Return<Client, McpError.Reason, Scope.Scope> {
  const calls = yield* Calls.make
  const run = yield* FiberSet.makeRuntimePromise<never, unknown, never>()
  const sampler = yield* Sampler.Sampler
  let revision = 0
  const link = yield* open(
    server,
    spec,
    Hearing.taps(server, calls, () => revision++)
  )
  const sdk = new Sdk(info, { capabilities: capabilities(spec, sampler) })
  const options = { server, calls, run }
  Elicitation.install(sdk, options)
  if (sampler !== undefined) Sampler.install(sdk, { ...options, sampler })
  if (spec.roots !== undefined) Roots.install(sdk, spec.roots)
  // whatever the SDK could report here is counted by the ledger or heard as an end
  sdk.onerror = () => undefined
  const session: Session.Session = { server, spec, link, sdk, calls }
  yield* Effect.addFinalizer(() => Effect.promise(() => sdk.close()))
  yield* Handshake.open(session)
  yield* Handshake.setLogLevel(session)
  return make(session, () => revision)
})

/** What this client can be asked for: the form of an ability that nobody stands behind would only mislead the server. */
const capabilities = (spec: ServerSpec.ServerSpec, sampler: Sampler.Sampler | undefined): ClientCapabilities => ({
  elicitation: { form: { applyDefaults: true }, url: {} },
  ...(sampler === undefined ? {} : { sampling: {} }),
  ...(spec.roots === undefined ? {} : { roots: {} })
})

const open = (
  server: string,
  spec: ServerSpec.ServerSpec,
  ears: Link.Taps
): Effect.Effect<Link.Link, McpError.Reason, Scope.Scope> =>
  ServerSpec.isStdio(spec)
    ? StdioLink.open(spec, ears)
    : Effect.flatMap(Login.make(server, spec), (login) => HttpLink.open(spec, ears, login))

const make = (session: Session.Session, revision: () => number): Client => {
  const { sdk, server, link } = session
  const named = Effect.mapError((reason: McpError.Reason) => McpError.of(server, reason))
  const has = (part: "tools" | "resources" | "prompts") => sdk.getServerCapabilities()?.[part] !== undefined
  return {
    server,
    about: Handshake.about(sdk),
    listTools: !has("tools")
      ? nothing
      : Session.pages(session, "tools/list", "tools", (params, options) =>
          sdk.request({ method: "tools/list", params }, ResultSchema, options)
        ).pipe(named),
    listResources: !has("resources")
      ? nothing
      : Session.pages(session, "resources/list", "resources", (params, options) =>
          sdk.request({ method: "resources/list", params }, ResultSchema, options)
        ).pipe(named),
    listResourceTemplates: !has("resources")
      ? nothing
      : Session.pages(session, "resources/templates/list", "resourceTemplates", (params, options) =>
          sdk.request({ method: "resources/templates/list", params }, ResultSchema, options)
        ).pipe(named),
    listPrompts: !has("prompts")
      ? nothing
      : Session.pages(session, "prompts/list", "prompts", (params, options) =>
          sdk.request({ method: "prompts/list", params }, ResultSchema, options)
        ).pipe(named),
    readResource: (uri) =>
      Session.short(session, "resources/read", (options) =>
        sdk.request({ method: "resources/read", params: { uri } }, ResultSchema, options)
      ).pipe(Effect.map(object), named),
    getPrompt: (name, args) =>
      Session.short(session, "prompts/get", (options) =>
        sdk.request({ method: "prompts/get", params: { name, arguments: { ...args } } }, ResultSchema, options)
      ).pipe(Effect.map(object), named),
    revision,
    call: (request) => Calling.call(session, request).pipe(named),
    ended: link.ended,
    evidence: link.evidence
  }
}

const nothing: Effect.Effect<Session.Listing> = Effect.succeed({ items: [] })

const object = (value: unknown): Json.JsonObject => {
  const json = Json.fromUnknown(value)
  return Json.isObject(json) ? json : {}
}
