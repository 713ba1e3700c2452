/** What a server may ask of us and offer beside tools, against the reference server, over both transports. */
import { assert, describe, it } from "@effect/vitest"
import { type ChildProcess, spawn } from "node:child_process"
import { createServer } from "node:net"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, Fiber, Stream } from "effect"
import * as Json from "@settle/core/model/Json"
import type { Usage } from "@settle/core/model/Usage"
import * as Asker from "@settle/core/port/Asker"
import * as Backend from "@settle/core/port/Backend"
import * as Client from "../src/Client.ts"
import * as McpProvider from "../src/McpProvider.ts"
import * as McpServers from "../src/McpServers.ts"
import * as Sampler from "../src/Sampler.ts"
import { invocation, recorder, within } from "./hostile.ts"

const everything = join(
  dirname(fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-everything/package.json"))),
  "dist/index.js"
)
const stdio = { command: process.execPath, args: [everything] }

const text = (result: Json.JsonObject): string => JSON.stringify(result["content"])
const call = (client: Client.Client, tool: string, args: Json.JsonObject = {}) =>
  client.call({ callId: tool, tool, arguments: args })

/** A model that answers with what it was asked. */
const parrot = (seen: Array<Backend.Request>): Backend.Backend => ({
  model: "parrot",
  maxTokens: undefined,
  canConstrain: false,
  stream: (request) => {
    seen.push(request)
    const said = request.conversation.messages.map(({ role, content }) => `${role}: ${content}`).join(" | ")
    const reply: Backend.Reply = {
      text: said,
      toolCalls: [],
      partialCalls: [],
      finish: "stop",
      warnings: [],
      usage: { promptTokens: 7, completionTokens: 5 }
    }
    return Stream.make(Backend.Chunk.Text({ text: said }), Backend.Chunk.Finished({ reply }))
  }
})
const agreeing: Asker.Asker = { ask: () => Effect.succeed({ action: "accept", content: {} }) }

const freePort = Effect.callback<number>((resume) => {
  const probe = createServer()
  probe.listen(0, "127.0.0.1", () => {
    const address = probe.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    probe.close(() => resume(Effect.succeed(port)))
  })
})

const start = (port: number) =>
  Effect.callback<ChildProcess>((resume) => {
    const child = spawn(process.execPath, [everything, "streamableHttp"], {
      env: { ...process.env, PORT: String(port) },
      stdio: ["ignore", "ignore", "pipe"]
    })
    child.stderr.on("data", (chunk) => String(chunk).includes("listening") && resume(Effect.succeed(child)))
  })

/** The reference server over HTTP, and a way to end it and begin another on the same address. */
const remote = Effect.gen(function* () {
  const port = yield* freePort
  let child = yield* start(port)
  yield* Effect.addFinalizer(() => Effect.sync(() => child.kill("SIGKILL")))
  const restart = Effect.gen(function* () {
    yield* Effect.callback<void>((resume) => {
      child.on("exit", () => resume(Effect.void))
      child.kill("SIGKILL")
    })
    child = yield* start(port)
  })
  return { spec: { url: `http://127.0.0.1:${port}/mcp` }, restart }
})

describe("a server asks", () => {
  it.live("M15 for a model's answer, under the limits of the run and with a person's consent", () =>
    Effect.gen(function* () {
      const seen: Array<Backend.Request> = []
      const bill: Array<Usage> = []
      const sampler = Sampler.fromBackend(parrot(seen), {
        maxTokens: 50,
        maxRequests: 2,
        spent: (usage) => Effect.sync(() => void bill.push(usage))
      })
      const client = yield* Client.connect("all", stdio).pipe(Effect.provideService(Sampler.Sampler, sampler))
      const ask = (asker: Asker.Asker, scope = recorder()) =>
        Effect.map(
          Effect.exit(
            call(client, "trigger-sampling-request", { prompt: "hello?", maxTokens: 900 }).pipe(
              within(scope),
              Effect.provideService(Asker.Asker, asker)
            )
          ),
          (exit) => [JSON.stringify(exit), scope] as const
        )
      const [answered, scope] = yield* ask(agreeing)
      assert.match(answered, /user: .*hello\?/)
      assert.strictEqual(seen[0]?.maxTokens, 50)
      assert.deepStrictEqual(bill, [{ promptTokens: 7, completionTokens: 5 }])
      assert.strictEqual(scope.asked[0]?.["kind"], "server-sampling")
      const [alone] = yield* ask(Asker.none)
      assert.match(alone, /nobody is there to allow it/)
      const [many] = yield* ask(agreeing)
      assert.match(many, /this client answers no more than 2 requests/)
      assert.strictEqual(seen.length, 1)
    })
  )
  it.live("M15 for roots, and hears of them only where some are configured", () =>
    Effect.gen(function* () {
      const client = yield* Client.connect("all", { ...stdio, roots: ["/tmp/a b", "file:///srv/x"] })
      yield* Effect.sleep("500 millis")
      const told = text(yield* call(client, "get-roots-list"))
      assert.include(told, "file:///tmp/a%20b")
      assert.include(told, "file:///srv/x")
      const without = yield* Client.connect("all", stdio)
      const tools = JSON.stringify((yield* without.listTools).items)
      assert.notInclude(tools, "get-roots-list")
      assert.notInclude(tools, "trigger-sampling-request")
      assert.include(tools, "trigger-elicitation-request")
    })
  )
  it.live("M15 a person to fill a form", () =>
    Effect.gen(function* () {
      const client = yield* Client.connect("all", stdio)
      const scope = recorder()
      const filled: Asker.Asker = { ask: () => Effect.succeed({ action: "accept", content: { name: "Ada" } }) }
      const told = text(
        yield* call(client, "trigger-elicitation-request").pipe(
          within(scope),
          Effect.provideService(Asker.Asker, filled)
        )
      )
      assert.include(told, "Ada")
      assert.match(JSON.stringify(scope.asked), /"method":"elicitation\/create"/)
    })
  )
})

describe("a server offers", () => {
  it.live("M14 resources, templates and prompts, page by page", () =>
    Effect.gen(function* () {
      const client = yield* Client.connect("all", stdio)
      const resources = (yield* client.listResources).items
      const templates = (yield* client.listResourceTemplates).items
      const prompts = (yield* client.listPrompts).items
      assert.isAtLeast(resources.length, 1)
      assert.isAtLeast(templates.length, 1)
      const first = resources[0]
      const read = yield* client.readResource(Json.isObject(first) ? String(first["uri"]) : "")
      assert.isTrue(Array.isArray(read["contents"]) && read["contents"].length === 1)
      assert.include(JSON.stringify(prompts), "args-prompt")
      const prompt = yield* client.getPrompt("args-prompt", { city: "Oslo" })
      assert.match(JSON.stringify(prompt["messages"]), /Oslo/)
      const gone = yield* Effect.flip(client.readResource("demo://nowhere"))
      assert.strictEqual(gone.reason._tag, "Answered")
    })
  )
  it.live("M4 a tool that runs only as a task is followed to its result", () =>
    Effect.gen(function* () {
      const client = yield* Client.connect("all", stdio)
      const provider = McpProvider.make({ server: "all", client: Effect.succeed(client) })
      yield* provider.list
      const [answer] = yield* provider.execute([invocation("simulate-research-query", { topic: "tides" })])
      assert.match(JSON.stringify(answer), /"isError":false/)
      assert.match(JSON.stringify(answer), /tides/)
    })
  )
})

describe("over Streamable HTTP", () => {
  it.live("M5 M4 the reference server: tools, progress, a form, a cancel and the end of the session", () =>
    Effect.gen(function* () {
      const { spec } = yield* remote
      const client = yield* Client.connect("all", spec)
      assert.include(text(yield* call(client, "get-sum", { a: 2, b: 40 })), "42")
      const scope = recorder()
      yield* call(client, "trigger-long-running-operation", { duration: 1, steps: 4 }).pipe(within(scope))
      assert.deepStrictEqual(
        scope.notes.map((note) => note.progress),
        [1, 2, 3, 4]
      )
      const filled: Asker.Asker = { ask: () => Effect.succeed({ action: "accept", content: { name: "Ada" } }) }
      assert.include(
        text(yield* call(client, "trigger-elicitation-request").pipe(Effect.provideService(Asker.Asker, filled))),
        "Ada"
      )
      const slow = yield* Effect.forkChild(
        call(client, "trigger-long-running-operation", { duration: 60, steps: 60 }),
        { startImmediately: true }
      )
      yield* Effect.sleep("300 millis")
      yield* Fiber.interrupt(slow)
      assert.include(text(yield* call(client, "echo", { message: "still here" })), "still here")
      assert.strictEqual(client.ended(), undefined)
    })
  )
  it.live("M5 the reference server is restarted: at most one call is in doubt, then all is as before", () =>
    Effect.gen(function* () {
      const { restart, spec } = yield* remote
      const { provider, status } = yield* McpServers.make({ all: spec })
      const sum = invocation("all_get-sum", { a: 2, b: 40 })
      const listed = yield* provider.list
      yield* restart
      const [first] = yield* provider.execute([sum])
      const [second] = yield* provider.execute([sum])
      assert.match(JSON.stringify(first), /"_tag":"Lost"|42/)
      assert.match(JSON.stringify(second), /42/)
      assert.strictEqual(yield* provider.list, listed)
      assert.strictEqual((yield* status)[0]?.state, "up")
    })
  )
})
