import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as http from "node:http"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { ConfigProvider, Effect, Redacted } from "effect"
import * as Json from "@settle/core/model/Json"
import * as Asker from "@settle/core/port/Asker"
import * as Client from "../src/Client.ts"
import type * as ServerSpec from "../src/ServerSpec.ts"
import * as TokenStore from "../src/TokenStore.ts"

/** A remote server and its login service in one: tokens count up, and only the newest one is good. */
const serve = Effect.gen(function* () {
  const log: Array<string> = []
  const state = { issued: 0, valid: "", refreshable: true }
  const issue = () => {
    state.issued++
    state.valid = `token-${state.issued}`
    return {
      access_token: state.valid,
      token_type: "Bearer",
      expires_in: 3600,
      refresh_token: `refresh-${state.issued}`
    }
  }
  const server = yield* Effect.acquireRelease(
    Effect.callback<http.Server>((resume) => {
      const made = http.createServer((request, response) => {
        let text = ""
        request.on("data", (chunk) => (text += chunk))
        request.on("end", () => {
          const url = new URL(request.url ?? "/", base())
          const json = (body: object, status = 200, headers = {}) => {
            response.writeHead(status, { "content-type": "application/json", ...headers })
            response.end(JSON.stringify(body))
          }
          if (url.pathname === "/mcp") {
            if (request.headers.authorization !== `Bearer ${state.valid}` || state.valid === "") {
              log.push("401")
              return json({}, 401, {
                "www-authenticate": `Bearer resource_metadata="${base()}/.well-known/oauth-protected-resource/mcp"`
              })
            }
            const body = Json.parse(text)
            const id = Json.isObject(body) ? body["id"] : undefined
            if (request.method !== "POST") return json({}, 405)
            if (id === undefined) return json({}, 202)
            return json({
              jsonrpc: "2.0",
              id,
              result: {
                protocolVersion: "2025-11-25",
                capabilities: {},
                serverInfo: { name: "locked", version: "1" },
                content: []
              }
            })
          }
          log.push(url.pathname)
          switch (url.pathname) {
            case "/.well-known/oauth-protected-resource/mcp":
              return json({ resource: `${base()}/mcp`, authorization_servers: [base()] })
            case "/.well-known/oauth-authorization-server":
              return json({
                issuer: base(),
                authorization_endpoint: `${base()}/authorize`,
                token_endpoint: `${base()}/token`,
                registration_endpoint: `${base()}/register`,
                response_types_supported: ["code"],
                code_challenge_methods_supported: ["S256"],
                token_endpoint_auth_methods_supported: ["none"]
              })
            case "/register":
              return json({ ...JSON.parse(text), client_id: "client-1" }, 201)
            case "/authorize": {
              const back = new URL(url.searchParams.get("redirect_uri") ?? "")
              back.searchParams.set("code", "code-1")
              back.searchParams.set("state", url.searchParams.get("state") ?? "")
              response.writeHead(302, { location: back.href })
              return response.end()
            }
            case "/token": {
              const refresh = new URLSearchParams(text).get("grant_type") === "refresh_token"
              log.push(refresh ? "refresh" : "code")
              return refresh && !state.refreshable ? json({ error: "invalid_grant" }, 400) : json(issue())
            }
            default:
              return json({}, 404)
          }
        })
      })
      made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
    }),
    (open) => Effect.sync(() => (open.closeAllConnections(), open.close()))
  )
  const base = () => {
    const address = server.address()
    return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`
  }
  const spec: ServerSpec.Remote = { url: `${base()}/mcp`, auth: { redirectPort: 0 } }
  return { spec, log, state }
})

/** A person who opens the page and agrees there. */
const browser = (asked: Array<Json.JsonObject>): Asker.Asker => ({
  ask: (request) =>
    Effect.promise(async () => {
      asked.push(request)
      await fetch(String(request["url"]))
      return { action: "accept" }
    })
})
const connect = (spec: ServerSpec.ServerSpec, asker: Asker.Asker, store: TokenStore.TokenStore) =>
  Client.connect("locked", spec).pipe(
    Effect.provideService(Asker.Asker, asker),
    Effect.provideService(TokenStore.TokenStore, store)
  )
const ping = (client: Client.Client) => client.call({ callId: "c", tool: "t", arguments: {} })

describe("login", () => {
  it.live(
    "M15 a person is asked once; the next start uses what was kept, and an old token is refreshed without a word",
    () =>
      Effect.gen(function* () {
        const { spec, log, state } = yield* serve
        const store = TokenStore.memory()
        const asked: Array<Json.JsonObject> = []
        const client = yield* connect(spec, browser(asked), store)
        assert.strictEqual(client.about.name, "locked")
        assert.strictEqual(asked.length, 1)
        assert.strictEqual(asked[0]?.["kind"], "server-login")
        const other = yield* connect(spec, Asker.none, store)
        yield* Effect.sleep("200 millis")
        assert.strictEqual(state.issued, 1)
        state.valid = "another"
        yield* ping(client)
        assert.strictEqual(asked.length, 1)
        // what one of them has renewed is good for the other
        yield* ping(other)
        assert.strictEqual(log.filter((what) => what === "refresh").length, 1)
        assert.strictEqual(log.filter((what) => what === "/register").length, 1)
      })
  )
  it.live("M15 a refresh that is refused asks again; calls that meet the refusal together share one login", () =>
    Effect.gen(function* () {
      const { spec, log, state } = yield* serve
      const asked: Array<Json.JsonObject> = []
      const client = yield* connect(spec, browser(asked), TokenStore.memory())
      state.valid = "another"
      state.refreshable = false
      yield* Effect.all([ping(client), ping(client), ping(client)], { concurrency: "unbounded" })
      assert.strictEqual(asked.length, 2)
      assert.strictEqual(log.filter((what) => what === "code").length, 2)
    })
  )
  it.live(
    "M15 X-CANC-04 with nobody to ask, and with somebody who declines, the request was not accepted, and says what to do",
    () =>
      Effect.gen(function* () {
        const { spec } = yield* serve
        const alone = yield* Effect.flip(connect(spec, Asker.none, TokenStore.memory()))
        assert.strictEqual(alone.reason._tag, "Unauthorized")
        assert.match(
          alone.message,
          /wants a login: nobody is there to log in\. Run it in a terminal once, or put an authorization into its "headers"/
        )
        const declined = yield* Effect.flip(
          connect(spec, { ask: () => Effect.succeed({ action: "decline" }) }, TokenStore.memory())
        )
        assert.match(declined.message, /the login did not succeed: it was declined/)
        const own = { ...spec, headers: { Authorization: Redacted.make("Bearer wrong-secret") } }
        const wrong = yield* Effect.flip(connect(own, Asker.none, TokenStore.memory()))
        assert.match(wrong.message, /it refuses the "authorization" of the configured "headers"/)
        assert.notInclude(wrong.message, "wrong-secret")
      })
  )
  it.live("M8 the time a person takes to log in is not held against the server", () =>
    Effect.gen(function* () {
      const { spec } = yield* serve
      const slow: Asker.Asker = {
        ask: (request) => Effect.delay(browser([]).ask(request), "1500 millis")
      }
      const client = yield* connect({ ...spec, connectTimeout: "800 millis" }, slow, TokenStore.memory())
      assert.strictEqual(client.about.name, "locked")
    })
  )
})

describe("where logins are kept", () => {
  const folder = Effect.acquireRelease(
    Effect.sync(() => fs.mkdtempSync(join(tmpdir(), "settle-login-"))),
    (path) => Effect.sync(() => fs.rmSync(path, { recursive: true, force: true }))
  )
  it.live("X-SAFE-05 in a file of the user alone, under the data directory, and a torn one counts as none", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const store = yield* TokenStore.TokenStore
      const at = Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ SETTLE_HOME: home })))
      const url = "https://example.test/mcp"
      assert.strictEqual(yield* store.read(url).pipe(at), undefined)
      assert.isTrue(yield* store.write(url, { tokens: { access_token: "t" } }).pipe(at))
      const [name] = fs.readdirSync(join(home, "logins"))
      const file = join(home, "logins", name ?? "")
      assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600)
      assert.strictEqual(fs.statSync(dirname(file)).mode & 0o777, 0o700)
      assert.deepStrictEqual(yield* store.read(url).pipe(at), { tokens: { access_token: "t" }, url })
      assert.strictEqual(yield* store.read("https://other.test/mcp").pipe(at), undefined)
      fs.writeFileSync(file, '{"tokens":')
      assert.strictEqual(yield* store.read(url).pipe(at), undefined)
      fs.rmSync(join(home, "logins"), { recursive: true })
      fs.writeFileSync(join(home, "logins"), "a file is in the way")
      assert.isFalse(yield* store.write(url, {}).pipe(at))
    })
  )
})
