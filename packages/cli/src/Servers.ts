/**
 * The MCP servers of a configuration, started and looked at.
 *
 * V1. `${NAME}` in `env` and `headers` is taken from the environment, and every value of them is a secret from then on (X-SAFE-05).
 * V2. A run with a server that is not there would be another run than the one that was configured: it is refused (`strict`).
 */
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import * as Redacted from "effect/Redacted"
import * as References from "effect/References"
import * as McpServers from "@settle/mcp/McpServers"
import type * as ServerSpec from "@settle/mcp/ServerSpec"
import type { Auth, Server } from "./Config.ts"
import * as ConfigError from "./ConfigError.ts"
import * as Failure from "./Failure.ts"
import * as Models from "./Models.ts"

type Values = Readonly<Record<string, string>>

const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g

const expanded = Effect.fnUntraced(function* (place: string, text: string) {
  let value = text
  for (const [whole, name = ""] of text.matchAll(reference)) {
    const found = yield* Models.secret(name)
    if (found === undefined) {
      return yield* ConfigError.make(
        new ConfigError.BadValue({
          subject: place,
          problem: `the environment variable ${name} is not set`,
          remedy: `Set it (export ${name}=…), or take ${whole} out of the configuration`
        })
      )
    }
    value = value.replaceAll(whole, () => Redacted.value(found))
  }
  return Redacted.make(value)
})

const secrets = Effect.fnUntraced(function* (place: string, values: Values = {}) {
  const pairs = yield* Effect.forEach(Object.entries(values), ([name, text]) =>
    Effect.map(expanded(`${place}.${name}`, text), (value) => [name, value] as const)
  )
  return Object.fromEntries(pairs)
})

const login = Effect.fnUntraced(function* (place: string, { clientSecretEnv, ...auth }: Auth) {
  if (clientSecretEnv !== undefined) {
    return { ...auth, clientSecret: yield* expanded(`${place}.clientSecretEnv`, `\${${clientSecretEnv}}`) }
  }
  return auth.grant !== "client_credentials"
    ? auth
    : yield* ConfigError.make(
        new ConfigError.BadValue({
          subject: `${place}.grant`,
          problem: "client_credentials needs a secret",
          remedy: `Name the variable that holds it: "clientSecretEnv"`
        })
      )
})

/** One entry as the client wants it; relative folders count from the project. */
const spec = Effect.fnUntraced(function* (name: string, server: Server, root: string) {
  const path = yield* Path.Path
  const place = `mcpServers.${name}`
  const { roots, ...rest } = server
  const common = roots === undefined ? {} : { roots: roots.map((folder) => rootOf(path, root, folder)) }
  if ("url" in rest) {
    const { auth, ...server } = rest
    return {
      ...server,
      ...common,
      headers: yield* secrets(`${place}.headers`, rest.headers),
      ...(auth === undefined ? {} : { auth: yield* login(`${place}.auth`, auth) })
    }
  }
  return { ...rest, ...common, cwd: path.resolve(root, rest.cwd ?? "."), env: yield* secrets(`${place}.env`, rest.env) }
})

const rootOf = (path: Path.Path, root: string, folder: string): string =>
  folder.startsWith("file:") ? folder : path.resolve(root, folder)

/** All entries, resolved. Fails before anything is started. */
export const specs = Effect.fn("Servers.specs")(function* (servers: ReadonlyMap<string, Server>, root: string) {
  const pairs = yield* Effect.forEach(servers, ([name, server]) =>
    Effect.map(spec(name, server, root), (made): readonly [string, ServerSpec.ServerSpec] => [name, made])
  )
  return Object.fromEntries(pairs)
})

/** Starts them and waits until each has listed its tools; refuses when one of them is down. */
export const strict = Effect.fn("Servers.strict")(function* (servers: ReadonlyMap<string, Server>, root: string) {
  const started = yield* Effect.mapError(
    McpServers.make(yield* specs(servers, root)),
    (error) => new Failure.CommandError({ code: 2, detail: Failure.sentence(`mcpServers: ${error.message}`) })
  )
  // What a server that is down logs is what is said below.
  yield* Effect.ignore(Effect.provideService(started.provider.list, References.MinimumLogLevel, "None"))
  const down = (yield* started.status).filter((status) => status.problem !== undefined)
  if (down.length > 0) {
    const problems = down.map(({ problem, server }) =>
      Failure.sentence(problem?.includes(server) === true ? problem : `MCP server ${server}: ${problem}`)
    )
    return yield* Failure.usage(
      `${problems.join(" ")} Mend it, or take it out of mcpServers; settle mcp check tries all of them.`
    )
  }
  return started
})
