/**
 * A server as a provider of tools.
 *
 * V1. Every call is answered and nothing fails: a broken connection is `Lost`, a call that certainly never began `NotAccepted`, and
 *     whatever the server said, an error included, is an answer.
 * V2. A batch runs side by side, begun in its order and answered by position; who wants one after the other hands over one at a time.
 * V3. Calls are read against the catalogue that was listed last; a change that the server announces in between counts from the
 *     next list (M14).
 * V4. `list` answers the same array for as long as the catalogue is equal, over restarts too; while the server cannot be asked it
 *     answers what it knew last.
 */
import * as Json from "@settle/core/model/Json"
import * as Tool from "@settle/core/model/Tool"
import * as ToolProvider from "@settle/core/port/ToolProvider"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import * as Arguments from "./Arguments.ts"
import * as Catalogue from "./Catalogue.ts"
import type * as Client from "./Client.ts"
import * as Content from "./Content.ts"
import * as McpError from "./McpError.ts"

export interface Source {
  readonly server: string
  /** Characters that a registry will put in front of every name. Default 0. */
  readonly prefixLength?: number
  /** The client of now; one that died is started again here, if it may be. */
  readonly client: Effect.Effect<Client.Client, McpError.McpError>
  /** The client that a list may use: where a start would keep the run waiting, this fails instead. Default: `client`. */
  readonly listingClient?: Effect.Effect<Client.Client, McpError.McpError>
}

export interface McpProvider extends ToolProvider.ToolProvider {
  /** As listed last. */
  readonly catalogue: Effect.Effect<Catalogue.Catalogue>
}

interface Listed {
  readonly client: Client.Client
  readonly revision: number
  readonly catalogue: Catalogue.Catalogue
}

export const make = (source: Source): McpProvider => {
  let listed: Listed | undefined = undefined
  const one = Semaphore.makeUnsafe(1)

  const fresh = onceMore(
    Effect.gen(function* () {
      const client = yield* source.listingClient ?? source.client
      if (listed?.client === client && listed.revision === client.revision()) return listed.catalogue
      // read before the pages are: a change while they come makes the next list ask again
      const revision = client.revision()
      const listing = yield* client.listTools
      const made = Catalogue.make(listing.items, { server: source.server, prefixLength: source.prefixLength ?? 0 })
      const same = listed?.catalogue.digest === made.digest
      const catalogue = same && listed !== undefined ? listed.catalogue : made
      listed = { client, revision, catalogue }
      if (!same) yield* report(source.server, made, listing.incomplete)
      return catalogue
    })
  ).pipe(one.withPermits(1))

  const current = Effect.suspend(() => (listed === undefined ? fresh : Effect.succeed(listed.catalogue)))
  // a server that is down for a while keeps its tools in the request: calls say that it is down, and the prompt stays the same
  const known = fresh.pipe(
    Effect.catch((error) => {
      if (listed === undefined) return Effect.fail(error)
      return Effect.as(Effect.logDebug(`${error.message}; its tools are listed as last known.`), listed.catalogue)
    })
  )

  return {
    list: known.pipe(
      Effect.map((catalogue) => catalogue.declarations),
      Effect.mapError((error) => new ToolProvider.ToolProviderError({ provider: source.server, detail: error.message }))
    ),
    execute: (batch) =>
      Effect.forEach(batch, (invocation) => answer(source, current, invocation), { concurrency: "unbounded" }),
    catalogue: Effect.sync(() => listed?.catalogue ?? Catalogue.none)
  }
}

const shownRefusals = 20

const report = (server: string, catalogue: Catalogue.Catalogue, incomplete: string | undefined): Effect.Effect<void> =>
  Effect.gen(function* () {
    if (incomplete !== undefined) yield* Effect.logWarning(`MCP server ${server} is not listed whole: ${incomplete}.`)
    for (const { name, why } of catalogue.refused.slice(0, shownRefusals)) {
      yield* Effect.logWarning(`MCP server ${server}: the tool ${JSON.stringify(name)} is refused: ${why}.`)
    }
    const more = catalogue.refused.length - shownRefusals
    if (more > 0) yield* Effect.logWarning(`MCP server ${server}: ${more} more tools are refused.`)
  })

const answer = (
  source: Source,
  current: Effect.Effect<Catalogue.Catalogue, McpError.McpError>,
  invocation: Tool.Invocation
): Effect.Effect<Tool.Answer> =>
  Effect.gen(function* () {
    const catalogue = yield* current
    const entry = catalogue.entries.get(invocation.name)
    if (entry === undefined) return unknownTool(source.server, catalogue, invocation.name)
    const args = Arguments.read(entry, invocation.arguments)
    if (args._tag === "Unreadable") return Tool.failed(args.why)
    const request = {
      callId: invocation.callId,
      tool: entry.original,
      arguments: args.value,
      asTask: entry.taskSupport === "required"
    }
    const call = Effect.flatMap(source.client, (client) => client.call(request))
    const result = yield* onceMore(call)
    if (entry.hasOutputSchema && result["structuredContent"] === undefined && result["isError"] !== true) {
      yield* Effect.logDebug(
        `MCP server ${source.server}: ${entry.original} promises structured content and sent none.`
      )
    }
    return Content.answer(result)
  }).pipe(Effect.catch((error: McpError.McpError) => Effect.succeed(settled(error))))

/** A server that forgot the session has not looked at the request: in a new session it may be made once more, and only then (M5). */
const onceMore = <A>(request: Effect.Effect<A, McpError.McpError>): Effect.Effect<A, McpError.McpError> =>
  Effect.catchIf(
    request,
    (error) => error.reason._tag === "SessionLost",
    () => request
  )

const settled = (error: McpError.McpError): Tool.Answer => {
  if (McpError.isNotAccepted(error)) return Tool.Answer.NotAccepted({ message: error.message })
  if (error.reason._tag === "Answered") return Tool.failed(error.message)
  return Tool.Answer.Lost({ message: error.message })
}

const shownTools = 20

const unknownTool = (server: string, catalogue: Catalogue.Catalogue, name: string): Tool.Answer => {
  const names = [...catalogue.entries.keys()]
  const refusal = catalogue.refused.find((each) => each.name === name)
  if (refusal !== undefined) return Tool.failed(`The tool ${JSON.stringify(name)} is not offered: ${refusal.why}.`)
  const more = names.length > shownTools ? ` and ${names.length - shownTools} more` : ""
  const offered =
    names.length === 0 ? "It offers no tools" : `It offers ${names.slice(0, shownTools).join(", ")}${more}`
  return Tool.failed(`${server} has no tool ${JSON.stringify(Json.wellFormed(name))}. ${offered}.`)
}
