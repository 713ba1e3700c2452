import { NodePath } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Redacted, Result } from "effect"
import * as Config from "../src/Config.ts"
import * as Servers from "../src/Servers.ts"

const env = Layer.merge(
  NodePath.layer,
  ConfigProvider.layer(ConfigProvider.fromUnknown({ SECRET: "s3cret-value", TOKEN: "t0ken" }))
)

const specs = (server: object) => {
  const config = Result.getOrThrow(Config.decode({ mcpServers: { web: server } }))
  return Servers.specs(new Map(Object.entries(config.mcpServers ?? {})), "/project")
}

describe("Servers", () => {
  it.effect("X-SAFE-05 hands a login on as it is configured, its secret out of the environment and redacted", () =>
    Effect.gen(function* () {
      const auth = { clientId: "c", issuer: "https://login.test", scope: "a b", redirectPort: 4000 }
      const { web } = yield* specs({ url: "https://x.test/mcp", auth: { ...auth, clientSecretEnv: "SECRET" } })
      assert.isTrue(web !== undefined && "url" in web && web.auth !== undefined)
      if (web === undefined || !("url" in web) || web.auth === undefined) return
      const { clientSecret, ...rest } = web.auth
      assert.deepStrictEqual(rest, auth)
      assert.isTrue(Redacted.isRedacted(clientSecret))
      assert.strictEqual(Redacted.isRedacted(clientSecret) ? Redacted.value(clientSecret) : "", "s3cret-value")
      assert.notInclude(JSON.stringify(web), "s3cret-value")
    }).pipe(Effect.provide(env))
  )

  it.effect("refuses a login whose secret is not there, saying where it belongs", () =>
    Effect.gen(function* () {
      const said = (auth: object) =>
        Effect.map(Effect.flip(specs({ url: "https://x.test/mcp", auth })), (error) => error.message)
      assert.strictEqual(
        yield* said({ grant: "client_credentials", clientId: "c" }),
        `mcpServers.web.auth.grant: client_credentials needs a secret. Name the variable that holds it: "clientSecretEnv".`
      )
      assert.match(
        yield* said({ clientSecretEnv: "NO_SUCH" }),
        /^mcpServers\.web\.auth\.clientSecretEnv: the environment variable NO_SUCH is not set\. Set it \(export NO_SUCH=…\)/
      )
    }).pipe(Effect.provide(env))
  )

  it.effect("takes times, log level and folders of a server as they are written", () =>
    Effect.gen(function* () {
      const { web } = yield* specs({
        command: "x",
        callSilence: "30 seconds",
        callCeiling: "2 minutes",
        logLevel: "warning",
        roots: ["src", "file:///else"]
      })
      assert.deepInclude(web, { command: "x", logLevel: "warning", roots: ["/project/src", "file:///else"] })
    }).pipe(Effect.provide(env))
  )

  it("a mistyped key of a login is refused with the nearest one", () => {
    const decoded = Config.decode({ mcpServers: { web: { url: "https://x.test", auth: { clientSecret: "x" } } } })
    const [fault] = Result.isFailure(decoded) ? decoded.failure : []
    assert.strictEqual(fault?.path, "mcpServers.web.auth.clientSecret")
    assert.match(fault?.problem ?? "", /^this key is not known\. Did you mean "clientSecretEnv"\?/)
  })
})
