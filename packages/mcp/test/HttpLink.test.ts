import { assert, describe, it } from "@effect/vitest"
import * as http from "node:http"
import { Effect, Exit, Fiber, Redacted, Scope } from "effect"
import * as Json from "@settle/core/model/Json"
import * as Client from "../src/Client.ts"
import * as McpServers from "../src/McpServers.ts"
import { invocation, recorder, within } from "./hostile.ts"

/** What a test wants of the server: it sees every request first, and answers it or leaves it to the plain one. */
type Handler = (request: Seen, response: http.ServerResponse) => boolean
interface Seen {
  readonly method: string
  readonly headers: http.IncomingHttpHeaders
  readonly body: Json.JsonObject
}

const initialized = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: { listChanged: true }, logging: {} },
  serverInfo: { name: "remote", version: "1" }
}

const reply = (response: http.ServerResponse, body: Json.JsonObject, headers: Record<string, string> = {}) => {
  response.writeHead(200, { "content-type": "application/json", ...headers })
  response.end(JSON.stringify(body))
}
const result = (seen: Seen, value: Json.JsonObject): Json.JsonObject => ({
  jsonrpc: "2.0",
  id: seen.body["id"] ?? null,
  result: value
})
const said = (seen: Seen, text: string) => result(seen, { content: [{ type: "text", text }] })
const event = (message: Json.JsonObject, id?: string) =>
  `${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(message)}\n\n`

const plain = (seen: Seen, response: http.ServerResponse, session: string | undefined): void => {
  if (seen.method === "GET") {
    response.writeHead(405)
    return void response.end()
  }
  if (seen.method === "DELETE") return void response.end()
  switch (seen.body["method"]) {
    case "initialize":
      return reply(response, result(seen, initialized), session === undefined ? {} : { "mcp-session-id": session })
    case "tools/list":
      return reply(response, result(seen, { tools: [{ name: "echo", inputSchema: { type: "object" } }] }))
    case "tools/call":
      return reply(response, said(seen, "plain"))
    default:
      response.writeHead(202)
      response.end()
  }
}

const serve = Effect.fnUntraced(function* (handler: Handler, session?: string) {
  const seen: Array<Seen> = []
  const server = yield* Effect.acquireRelease(
    Effect.callback<http.Server>((resume) => {
      const made = http.createServer((request, response) => {
        let text = ""
        request.on("data", (chunk) => (text += chunk))
        request.on("end", () => {
          const body = Json.parse(text)
          const one = { method: request.method ?? "", headers: request.headers, body: Json.isObject(body) ? body : {} }
          seen.push(one)
          if (!handler(one, response)) plain(one, response, session)
        })
      })
      made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
    }),
    (open) => Effect.sync(() => (open.closeAllConnections(), open.close()))
  )
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/mcp`
  const calls = () => seen.filter((one) => one.body["method"] === "tools/call").length
  return { url, seen, calls, server }
})

const isCall = (seen: Seen) => seen.body["method"] === "tools/call"
const call = (client: Client.Client) => client.call({ callId: "c1", tool: "echo", arguments: {} })
const text = (value: Json.JsonObject) => JSON.stringify(value["content"])

describe("Streamable HTTP", () => {
  it.live("M5 speaks JSON and streams, with session, version and the user's headers", () =>
    Effect.gen(function* () {
      const remote = yield* serve((seen, response) => {
        if (!isCall(seen)) return false
        const token =
          Json.isObject(seen.body["params"]) && Json.isObject(seen.body["params"]["_meta"])
            ? (seen.body["params"]["_meta"]["progressToken"] ?? 0)
            : 0
        response.writeHead(200, { "content-type": "text/event-stream" })
        response.write(
          event({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: token, progress: 1 } })
        )
        response.write(
          event(said(seen, "streamed")) +
            event({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: token, progress: 2 } })
        )
        return true
      }, "s-1")
      const client = yield* Client.connect("r", { url: remote.url, headers: { "X-Key": Redacted.make("k") } })
      const scope = recorder()
      assert.include(text(yield* call(client).pipe(within(scope))), "streamed")
      assert.deepStrictEqual(scope.notes, [{ callId: "c1", progress: 1 }])
      const sent = remote.seen.find(isCall)?.headers
      assert.strictEqual(sent?.["mcp-session-id"], "s-1")
      assert.strictEqual(sent?.["mcp-protocol-version"], "2025-11-25")
      assert.strictEqual(sent?.["x-key"], "k")
    })
  )
  it.live("M5 X-CANC-04 a session that the server forgot is opened again, and the refused call is made once more", () =>
    Effect.gen(function* () {
      let forgotten = false
      let sessions = 0
      const remote = yield* serve((seen, response) => {
        if (seen.body["method"] === "initialize") {
          forgotten = false
          reply(response, result(seen, initialized), { "mcp-session-id": `s-${++sessions}` })
          return true
        }
        if (!forgotten || seen.method !== "POST") return false
        response.writeHead(404)
        response.end("no such session")
        return true
      })
      const servers = yield* McpServers.make({ r: { url: remote.url } })
      const listed = yield* servers.provider.list
      forgotten = true
      const [answer] = yield* servers.provider.execute([invocation("r_echo")])
      assert.include(JSON.stringify(answer), '"content":"plain"')
      assert.strictEqual(sessions, 2)
      assert.strictEqual(remote.calls(), 2)
      assert.strictEqual(yield* servers.provider.list, listed)
    })
  )
  it.live(
    "M5 X-CANC-04 a server that forgets every session is tried twice and no more, and the call was never accepted",
    () =>
      Effect.gen(function* () {
        const remote = yield* serve((seen, response) => {
          if (!isCall(seen)) return false
          response.writeHead(404)
          response.end()
          return true
        }, "s")
        const servers = yield* McpServers.make({ r: { url: remote.url } })
        yield* servers.provider.list
        const [answer] = yield* servers.provider.execute([invocation("r_echo")])
        assert.include(JSON.stringify(answer), '"_tag":"NotAccepted"')
        assert.include(JSON.stringify(answer), "it no longer knows the session (HTTP 404)")
        assert.strictEqual(remote.calls(), 2)
      })
  )
  it.live(
    "M5 X-CANC-03 a server that says 400 for a forgotten session loses this call, and the next one finds a new session",
    () =>
      Effect.gen(function* () {
        let sessions = 0
        let refusals = 0
        const remote = yield* serve((seen, response) => {
          if (seen.body["method"] === "initialize") {
            reply(response, result(seen, initialized), { "mcp-session-id": `s-${++sessions}` })
            return true
          }
          if (!isCall(seen) || seen.headers["mcp-session-id"] !== "s-1") return false
          refusals++
          response.writeHead(400, { "content-type": "application/json" })
          response.end(
            '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}'
          )
          return true
        })
        const servers = yield* McpServers.make({ r: { url: remote.url } })
        yield* servers.provider.list
        const [first] = yield* servers.provider.execute([invocation("r_echo")])
        assert.include(JSON.stringify(first), '"_tag":"Lost"')
        const [second] = yield* servers.provider.execute([invocation("r_echo")])
        assert.include(JSON.stringify(second), '"content":"plain"')
        assert.deepStrictEqual([sessions, refusals, remote.calls()], [2, 1, 2])
      })
  )
  it.live("M5 X-CANC-03 an HTTP error, a reset and a stream that ends are unknown, and never sent again", () =>
    Effect.gen(function* () {
      let way = 0
      const remote = yield* serve((seen, response) => {
        if (!isCall(seen)) return false
        way++
        if (way === 1) {
          response.writeHead(502)
          response.end("bad gateway")
        } else if (way === 2) response.destroy()
        else if (way === 3) {
          response.writeHead(200, { "content-type": "text/event-stream" })
          response.end(": hello\n\n")
        } else if (way === 4) {
          response.writeHead(200, { "content-type": "text/html" })
          response.end("<html>login</html>")
        } else {
          response.writeHead(200, { "content-type": "text/event-stream" })
          response.write("data: {")
          setTimeout(() => response.destroy(), 20)
        }
        return true
      }, "s")
      const servers = yield* McpServers.make({ r: { url: remote.url } })
      yield* servers.provider.list
      const texts: Array<string> = []
      for (let i = 0; i < 5; i++)
        texts.push(JSON.stringify((yield* servers.provider.execute([invocation("r_echo")]))[0]))
      for (const each of texts) assert.include(each, '"_tag":"Lost"')
      assert.include(texts[0], "it sent HTTP 502 in place of an answer: bad gateway")
      assert.include(texts[1], "the connection was reset")
      assert.include(texts[2], "its stream ended before the answer and cannot be taken up again")
      assert.match(texts[3] ?? "", /its answer is no MCP: .*login/)
      assert.include(texts[4], "its stream ended before the answer")
      assert.strictEqual(remote.calls(), 5)
    })
  )
  it.live(
    "M5 X-CANC-04 a connection that was refused has not carried the call, an error of the protocol in a 400 is an answer",
    () =>
      Effect.gen(function* () {
        const remote = yield* serve((seen, response) => {
          if (!isCall(seen)) return false
          response.writeHead(400, { "content-type": "application/json" })
          response.end(
            JSON.stringify({ jsonrpc: "2.0", id: seen.body["id"], error: { code: -32602, message: "bad path" } })
          )
          return true
        })
        const client = yield* Client.connect("r", { url: remote.url })
        const answered = yield* Effect.flip(call(client))
        assert.match(answered.message, /it answered `tools\/call` with error -32602: bad path/)
        yield* Effect.callback<void>((resume) => {
          remote.server.closeAllConnections()
          remote.server.close(() => resume(Effect.void))
        })
        const refused = yield* Effect.flip(call(client))
        assert.strictEqual(refused.reason._tag, "NotAccepted")
        assert.match(refused.message, /the request never reached it: the connection was refused; nothing listens there/)
      })
  )
  it.live("M5 a stream that breaks off is taken up again where it was, and the call is not made again", () =>
    Effect.gen(function* () {
      let id: Json.Json = null
      const remote = yield* serve((seen, response) => {
        if (isCall(seen)) {
          id = seen.body["id"] ?? null
          response.writeHead(200, { "content-type": "text/event-stream" })
          response.end("id: e-1\nretry: 200\ndata: \n\n")
          return true
        }
        if (seen.method !== "GET" || seen.headers["last-event-id"] !== "e-1") return false
        response.writeHead(200, { "content-type": "text/event-stream" })
        response.write(event({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "resumed" }] } }, "e-2"))
        return true
      }, "s")
      const client = yield* Client.connect("r", { url: remote.url })
      const before = Date.now()
      assert.include(text(yield* call(client)), "resumed")
      assert.isAtLeast(Date.now() - before, 190)
      assert.strictEqual(remote.calls(), 1)
    })
  )
  it.live("M8 closing says goodbye to the session, and does not wait for a server that does not answer", () =>
    Effect.gen(function* () {
      const remote = yield* serve((seen) => seen.method === "DELETE", "s-9")
      const scope = yield* Scope.make()
      yield* Scope.provide(Client.connect("r", { url: remote.url }), scope)
      const before = Date.now()
      yield* Scope.close(scope, Exit.void)
      assert.isBelow(Date.now() - before, 3500)
      assert.strictEqual(remote.seen.find((one) => one.method === "DELETE")?.headers["mcp-session-id"], "s-9")
    })
  )
  it.live("M8 a start that is interrupted says goodbye too, where there is a session", () =>
    Effect.gen(function* () {
      const remote = yield* serve((seen) => seen.body["method"] === "logging/setLevel", "s-10")
      const level = { url: remote.url, logLevel: "debug" } as const
      const fiber = yield* Effect.forkChild(Effect.scoped(Client.connect("r", level)))
      while (!remote.seen.some((one) => one.body["method"] === "logging/setLevel")) yield* Effect.sleep("20 millis")
      yield* Fiber.interrupt(fiber)
      assert.isTrue(remote.seen.some((one) => one.method === "DELETE"))
    })
  )
  it.live("M9 X-CANC-02 interruption tells the server, and closes the stream", () =>
    Effect.gen(function* () {
      let closed = false
      const remote = yield* serve((seen, response) => {
        if (!isCall(seen)) return false
        response.writeHead(200, { "content-type": "text/event-stream" })
        response.write(": waiting\n\n")
        response.on("close", () => (closed = true))
        return true
      })
      const client = yield* Client.connect("r", { url: remote.url })
      const fiber = yield* Effect.forkChild(call(client), { startImmediately: true })
      yield* Effect.sleep("200 millis")
      yield* Fiber.interrupt(fiber)
      yield* Effect.sleep("200 millis")
      const cancelled = remote.seen.find((one) => one.body["method"] === "notifications/cancelled")
      assert.deepStrictEqual(cancelled?.body["params"], { requestId: 1, reason: "the caller no longer waits for it" })
      assert.isTrue(closed)
    })
  )
  it.live("M14 the server's own stream is heard, and looked for again when it ends", () =>
    Effect.gen(function* () {
      let streams = 0
      const remote = yield* serve((seen, response) => {
        if (seen.method !== "GET") return false
        streams++
        response.writeHead(200, { "content-type": "text/event-stream" })
        response.write(
          "retry: 50\n" + event({ jsonrpc: "2.0", method: "notifications/tools/list_changed" }, `e-${streams}`)
        )
        response.end()
        return true
      }, "s")
      const client = yield* Client.connect("r", { url: remote.url })
      yield* Effect.sleep("500 millis")
      assert.isAtLeast(streams, 3)
      assert.isAtLeast(client.revision(), 3)
      assert.strictEqual(remote.seen.filter((one) => one.method === "GET")[2]?.headers["last-event-id"], "e-2")
    })
  )
  it.live("M8 X-SAFE-05 a redirect, a wrong address and a silent server are told without the query of the URL", () =>
    Effect.gen(function* () {
      const remote = yield* serve((seen, response) => {
        response.writeHead(307, { location: "https://elsewhere.test/mcp?key=s3cret" })
        response.end()
        return seen.method !== ""
      })
      const moved = yield* Effect.flip(Client.connect("r", { url: `${remote.url}?key=s3cret` }))
      assert.match(moved.message, /it sends everybody on to https:\/\/elsewhere\.test\/mcp; put that into "url"/)
      assert.notInclude(moved.message, "s3cret")
      const wrong = yield* Effect.flip(Client.connect("r", { url: "ftp://x" }))
      assert.match(wrong.message, /its entry in mcpServers cannot be used: "url" is not an http or https address/)
      const silent = yield* serve(() => true)
      const late = yield* Effect.flip(Client.connect("r", { url: silent.url, connectTimeout: "300 millis" }))
      assert.match(late.message, /it did not answer `initialize` within 0\.3 seconds\. Check the URL/)
    })
  )
})
