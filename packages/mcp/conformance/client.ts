/**
 * The client that the conformance suite drives: the same provider an agent uses, with a person who agrees to everything.
 * `node -C source client.ts URL`; the scenario is in the environment.
 */
import * as Json from "@settle/core/model/Json"
import type * as Tool from "@settle/core/model/Tool"
import * as Asker from "@settle/core/port/Asker"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as McpServers from "../src/McpServers.ts"
import type * as ServerSpec from "../src/ServerSpec.ts"
import * as TokenStore from "../src/TokenStore.ts"

const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? ""
const url = process.argv.at(-1) ?? ""
const given = Json.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}")
const context = Json.isObject(given) ? given : {}
const text = (name: string): string | undefined => {
  const value = context[name]
  return typeof value === "string" ? value : undefined
}

/** Opens the login page as a browser would, which sends it on to our own address; fills every form with its defaults. */
const asker: Asker.Asker = {
  ask: (request) =>
    request["kind"] === "server-login"
      ? Effect.promise(async () => {
          await fetch(String(request["url"]))
          return { action: "accept" }
        })
      : Effect.succeed({ action: "accept", content: {} })
}

const auth = (): ServerSpec.Auth => {
  const clientId = text("client_id")
  const secret = text("client_secret")
  return {
    ...(clientId === undefined ? {} : { clientId }),
    ...(secret === undefined ? {} : { clientSecret: Redacted.make(secret) }),
    ...(scenario.startsWith("auth/client-credentials") ? { grant: "client_credentials" } : {}),
    ...(scenario === "auth/basic-cimd"
      ? { clientMetadataUrl: "https://conformance-test.local/client-metadata.json" }
      : {})
  }
}

const argumentsFor = (tool: Tool.Declaration): string => (tool.name === "s_add_numbers" ? '{"a":5,"b":3}' : "{}")

const program = Effect.gen(function* () {
  const servers = yield* McpServers.make({ s: { url, auth: auth() } })
  const tools = yield* servers.provider.list
  for (const [i, tool] of tools.entries()) {
    const call = { callId: `c${i}`, operationId: `o${i}`, name: tool.name, arguments: argumentsFor(tool) }
    console.log(JSON.stringify(yield* servers.provider.execute([call])))
  }
  for (const status of yield* servers.status) {
    if (status.problem !== undefined) {
      console.error(status.problem)
      process.exitCode = 1
    }
  }
})

await program.pipe(
  Effect.scoped,
  Effect.provideService(Asker.Asker, asker),
  Effect.provideService(TokenStore.TokenStore, TokenStore.memory()),
  Effect.runPromise
)
