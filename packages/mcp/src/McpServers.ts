/**
 * The servers of a configuration as one provider of tools.
 *
 * S1. All start at once, beside whatever else starts; the first list waits for them, each within its own deadline. One that fails
 *     holds up none of the others: it is logged, told by `status`, and tried again on a later use.
 * S2. Tools are published as `<server>_<tool>`, whatever order the servers come up in (M11).
 * S3. When the scope is closed, no process of theirs is left.
 */
import type { Declaration } from "@settle/core/model/Tool"
import * as ToolProvider from "@settle/core/port/ToolProvider"
import * as Registry from "@settle/core/tools/Registry"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Catalogue from "./Catalogue.ts"
import type * as Handshake from "./Handshake.ts"
import * as McpProvider from "./McpProvider.ts"
import * as Server from "./Server.ts"
import * as ServerSpec from "./ServerSpec.ts"

/** `mcpServers` of the configuration file. */
export type Config = Readonly<Record<string, ServerSpec.ServerSpec>>

/** One server, for people. */
export interface Status {
  readonly server: string
  readonly transport: "stdio" | "http"
  /** The command or the URL, secrets left out. */
  readonly target: string
  readonly state: "starting" | "up" | "down"
  readonly about?: Handshake.About
  /** Milliseconds from the start to a session. */
  readonly tookMs?: number
  /** Why it is down, and what to do. */
  readonly problem?: string
  /** Published names, prefix included, as listed last. */
  readonly tools: ReadonlyArray<string>
  readonly refused: ReadonlyArray<Catalogue.Refused>
  readonly restarts: number
  /** Lines on stdout that were not MCP. */
  readonly skippedLines: number
}

export interface McpServers {
  readonly provider: ToolProvider.ToolProvider
  /** In the order of the configuration. */
  readonly status: Effect.Effect<ReadonlyArray<Status>>
}

interface Mounted {
  readonly prefix: string
  readonly server: Server.Server
  readonly provider: McpProvider.McpProvider
}

/** Begins to start every server and answers at once. */
export const make = Effect.fn("McpServers.make")(function* (
  config: Config
): Effect.fn.Return<McpServers, Registry.BadPrefix, Scope.Scope> {
  const mounted: Array<Mounted> = []
  for (const [name, spec] of Object.entries(config)) {
    const prefix = Catalogue.prefix(name)
    const server = yield* Server.make(name, spec)
    const provider = McpProvider.make({
      server: name,
      prefixLength: prefix.length + 1,
      client: server.client,
      listingClient: server.listingClient
    })
    mounted.push({ prefix, server, provider })
    yield* Effect.forkScoped(Effect.ignore(server.client))
  }
  const registry = yield* Registry.make(
    mounted.map(({ prefix, provider }) => ({ prefix, provider: patient(provider) }))
  )
  return {
    provider: registry,
    status: Effect.forEach(mounted, status)
  }
})

/** Starts every server, lists its tools, and says how that went: for `settle mcp check`. The servers are ended again. */
export const check = (config: Config): Effect.Effect<ReadonlyArray<Status>, Registry.BadPrefix> =>
  Effect.scoped(
    Effect.gen(function* () {
      const servers = yield* make(config)
      yield* Effect.ignore(servers.provider.list)
      return yield* servers.status
    })
  )

/** The servers as the tools of an agent. */
export const layer = (config: Config): Layer.Layer<never, Registry.BadPrefix> =>
  Layer.effect(
    ToolProvider.ToolProvider,
    Effect.map(make(config), (servers) => servers.provider)
  )

const nothing: ReadonlyArray<Declaration> = []

/** A server that cannot list offers nothing and keeps nobody waiting; each new reason is logged once. */
const patient = (provider: McpProvider.McpProvider): ToolProvider.ToolProvider => {
  let told = ""
  return {
    ...provider,
    list: provider.list.pipe(
      Effect.catch((error) => {
        if (told === error.message) return Effect.succeed(nothing)
        told = error.message
        return Effect.as(Effect.logWarning(`No tools of an MCP server: ${error.detail}`), nothing)
      })
    )
  }
}

const status = ({ prefix, server, provider }: Mounted): Effect.Effect<Status> =>
  Effect.map(provider.catalogue, (catalogue) => {
    const state = server.state()
    const client = state._tag === "Up" ? state.client : undefined
    const ended = client?.ended()
    const problem = state._tag === "Down" ? state.error.message : ended === undefined ? undefined : `it ${ended}`
    return {
      server: server.name,
      transport: ServerSpec.isStdio(server.spec) ? "stdio" : "http",
      target: ServerSpec.shown(server.spec),
      state: problem !== undefined ? "down" : client === undefined ? "starting" : "up",
      ...(client === undefined ? {} : { about: client.about }),
      ...(state._tag === "Up" ? { tookMs: state.tookMs } : {}),
      ...(problem === undefined ? {} : { problem }),
      tools: catalogue.declarations.map((tool) => `${prefix}_${tool.name}`),
      refused: catalogue.refused,
      restarts: server.restarts(),
      skippedLines: client?.evidence().skipped ?? 0
    }
  })
