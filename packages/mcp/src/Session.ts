/**
 * An open session as the parts of the client share it, and the one way a request is made in it.
 *
 * Q1. A request that was interrupted or given up is cancelled on the server; its late answer reaches nobody (X-CANC-02, M9).
 * Q2. A failure says what is known: an answer of the server, certainly not accepted, or unknown (X-CANC-04).
 */
import type { Client as Sdk } from "@modelcontextprotocol/sdk/client/index.js"
import type { RequestOptions } from "@modelcontextprotocol/sdk/shared/protocol.js"
import { McpError as SdkError } from "@modelcontextprotocol/sdk/types.js"
import * as Json from "@settle/core/model/Json"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Calls from "./Calls.ts"
import * as Link from "./Link.ts"
import * as McpError from "./McpError.ts"
import type * as ServerSpec from "./ServerSpec.ts"

export interface Session {
  readonly server: string
  readonly spec: ServerSpec.ServerSpec
  readonly link: Link.Link
  readonly sdk: Sdk
  readonly calls: Calls.Calls
}

/** For everything that is not a tool call. */
export const requestDefault = "30 seconds"
/** The SDK's own timer, as long as a timer can be: deadlines are ours. */
export const never = 2 ** 31 - 1
const maxPages = 100
const maxItems = 5_000

export interface Listing {
  readonly items: ReadonlyArray<Json.Json>
  /** Why the list is not whole, where it is not. */
  readonly incomplete?: string
}

/** All pages of a list, within one deadline. A list without end is cut, and said to be. */
export const pages = (
  session: Session,
  method: string,
  key: string,
  page: (params: { cursor?: string }, options: RequestOptions) => Promise<object>
): Effect.Effect<Listing, McpError.Reason> =>
  Effect.gen(function* () {
    const items: Array<Json.Json> = []
    const cursors = new Set<string>()
    let cursor: string | undefined = undefined
    for (let at = 0; at < maxPages && items.length < maxItems; at++) {
      const params: { cursor?: string } = cursor === undefined ? {} : { cursor }
      const result = Json.fromUnknown(yield* send(session, method, (options) => page(params, options)))
      const found = Json.isObject(result) ? result[key] : undefined
      const next = Json.isObject(result) ? result["nextCursor"] : undefined
      if (Array.isArray(found)) items.push(...found)
      if (typeof next !== "string" || next === "") return { items }
      if (cursors.has(next)) return { items, incomplete: `its list comes back to the page ${JSON.stringify(next)}` }
      cursors.add(next)
      cursor = next
    }
    return { items, incomplete: `its list does not end within ${maxPages} pages or ${maxItems} entries` }
  }).pipe(deadline(session.spec.requestTimeout ?? requestDefault, method))

/** One short request, within the deadline for such. */
export const short = <A>(
  session: Session,
  method: string,
  request: (options: RequestOptions) => Promise<A>
): Effect.Effect<A, McpError.Reason> =>
  send(session, method, request).pipe(deadline(session.spec.requestTimeout ?? requestDefault, method))

export const deadline =
  (limit: Duration.Input, method: string, kind: McpError.NoAnswer["limit"] = "ceiling") =>
  <A>(self: Effect.Effect<A, McpError.Reason>): Effect.Effect<A, McpError.Reason> => {
    const duration = Duration.fromInputUnsafe(limit)
    return Effect.timeoutOrElse(self, {
      duration,
      orElse: () => Effect.fail(new McpError.NoAnswer({ method, seconds: Duration.toSeconds(duration), limit: kind }))
    })
  }

/** One request. Interruption cancels it on the server (Q1). */
export const send = <A>(
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
export const bareMessage = (error: SdkError): string =>
  Json.wellFormed(error.message.replace(/^MCP error -?\d+: /, "")).slice(0, 4_000)
