import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import * as Json from "@settle/core/model/Json"
import * as Asker from "@settle/core/port/Asker"
import * as Client from "../src/Client.ts"
import { isAlive, lines, recorder, spec, temporaryFile, within } from "./hostile.ts"

const text = (result: Json.JsonObject): string => {
  const content = result["content"]
  const first = Array.isArray(content) ? content[0] : undefined
  return Json.isObject(first) ? String(first["text"]) : ""
}
const call = (client: Client.Client, tool: string, args: Json.JsonObject = {}) =>
  client.call({ callId: `call-${tool}`, tool, arguments: args })
const connect = (mode?: string, more = {}, journal?: string) => Client.connect("hostile", spec(mode, more, journal))
const failure = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.flip(self)

describe("start", () => {
  it.live("says what the server says of itself", () =>
    Effect.gen(function* () {
      const client = yield* connect()
      assert.strictEqual(client.about.name, "hostile")
      assert.strictEqual(client.about.instructions, "be careful")
      assert.strictEqual(client.ended(), undefined)
    })
  )
  it.live("M8 a server that never answers initialize ends at the deadline, and is gone", () =>
    Effect.gen(function* () {
      const before = Date.now()
      const error = yield* failure(connect("silent", { connectTimeout: "700 millis" }))
      assert.isBelow(Date.now() - before, 4000)
      assert.strictEqual(error.reason._tag, "ConnectFailed")
      assert.match(
        error.message,
        /^MCP server `hostile`: no session with `.*hostile\.mjs silent`: it did not answer `initialize` within 0\.7 seconds/
      )
      assert.match(error.message, /Run the command by hand .* raise "connectTimeout"/)
    })
  )
  it.live("M1 M8 a server that leaves at once is told by its exit code and its last words", () =>
    Effect.gen(function* () {
      const error = yield* failure(connect("exits"))
      assert.match(error.message, /it exited with code 1 before it answered `initialize`/)
      assert.match(error.message, /On stdout it wrote 1 line that is not MCP: "hostile v1 starting"/)
      assert.match(error.message, /On stderr it said: "Error: MISSING_KEY is not set"/)
    })
  )
  it.live("X-CANC-04 a command that does not exist is named, with what to do", () =>
    Effect.gen(function* () {
      const error = yield* failure(Client.connect("x", { command: "no-such-program-here" }))
      assert.strictEqual(error.reason._tag, "SpawnFailed")
      assert.strictEqual(
        error.message,
        "MCP server `x`: it could not be started as `no-such-program-here`: there is no program `no-such-program-here` on the PATH. " +
          'Install it or give its full path as "command"'
      )
    })
  )
  it.live("X-CANC-04 a missing working directory is not blamed on the command", () =>
    Effect.gen(function* () {
      const error = yield* failure(Client.connect("x", { ...spec(), cwd: "/no/such/folder" }))
      assert.match(
        error.message,
        /its working directory \/no\/such\/folder does not exist\. Create it or correct "cwd"/
      )
    })
  )
  it.live("M8 a refusal and a foreign protocol version are told in the server's words", () =>
    Effect.gen(function* () {
      assert.match(
        (yield* failure(connect("refusing"))).message,
        /it answered `initialize` with error -32000: no licence/
      )
      assert.match((yield* failure(connect("foreign"))).message, /1066-10-14/)
    })
  )
  it.live("M8 an interrupted start leaves no process", () =>
    Effect.gen(function* () {
      const journal = yield* temporaryFile
      const fiber = yield* Effect.forkChild(Effect.scoped(connect("stubborn-silent", {}, journal)))
      while (lines(journal).length === 0) yield* Effect.sleep("50 millis")
      const pid = Number(lines(journal)[0])
      assert.isTrue(isAlive(pid))
      yield* Fiber.interrupt(fiber)
      assert.isFalse(isAlive(pid))
    })
  )
})

describe("end", () => {
  it.live("M2 closing ends the server and what it started, and one that will not leave is killed", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const client = yield* Scope.provide(connect("stubborn"), scope)
      const child = Number(text(yield* call(client, "child")))
      assert.isTrue(isAlive(child))
      yield* Scope.close(scope, Exit.void)
      yield* Effect.sleep("100 millis")
      assert.isFalse(isAlive(child))
      assert.strictEqual(client.ended(), "was closed by us")
      const error = yield* failure(call(client, "echo"))
      assert.strictEqual(error.reason._tag, "NotAccepted")
    })
  )
  it.live(
    "M2 X-CANC-04 kill -9 while calls are out: each is lost at once, the next one is not accepted, nothing is sent twice",
    () =>
      Effect.gen(function* () {
        const journal = yield* temporaryFile
        const client = yield* connect("plain", {}, journal)
        const waiting = yield* Effect.forkChild(failure(call(client, "never")), { startImmediately: true })
        const before = Date.now()
        const error = yield* failure(call(client, "die"))
        const other = yield* Fiber.join(waiting)
        assert.isBelow(Date.now() - before, 2000)
        assert.strictEqual(error.reason._tag, "ConnectionLost")
        assert.strictEqual(other.reason._tag, "ConnectionLost")
        assert.match(error.message, /the connection broke before it answered: it was killed by SIGKILL/)
        for (let i = 0; i < 3; i++)
          assert.strictEqual((yield* failure(call(client, "echo"))).reason._tag, "NotAccepted")
        assert.deepStrictEqual(lines(journal), ["never", "die"])
      })
  )
  it.live("M2 an exit in the middle of a call tells the last words on stderr", () =>
    Effect.gen(function* () {
      const client = yield* connect()
      const error = yield* failure(call(client, "exit"))
      assert.match(error.message, /it exited with code 3\. On stderr it said: "I have had enough"/)
    })
  )
  it.live("M2 a write into the pipe of a dead server never ends this process", () =>
    Effect.gen(function* () {
      const client = yield* connect()
      yield* Effect.forkChild(Effect.ignore(call(client, "die")), { startImmediately: true })
      const big = "z".repeat(5_000_000)
      const tags = new Set<string>()
      for (let i = 0; i < 5; i++) tags.add((yield* failure(call(client, "echo", { text: big }))).reason._tag)
      assert.isTrue([...tags].every((tag) => tag === "NotAccepted" || tag === "ConnectionLost"))
      assert.include([...tags], "NotAccepted")
    })
  )
  it.live("M13 a message that never ends is not kept, and ends the connection", () =>
    Effect.gen(function* () {
      const client = yield* connect()
      const error = yield* failure(call(client, "toolong"))
      assert.match(error.message, /it wrote a message of more than 128 MB/)
    })
  )
})

describe("talk", () => {
  it.live("M1 banner lines, a byte order mark, CRLF and split lines are read through, and counted", () =>
    Effect.gen(function* () {
      const client = yield* connect("banner")
      assert.strictEqual(text(yield* call(client, "echo", { text: "über 🚀" })), "über 🚀")
      const { skipped, samples } = client.evidence()
      assert.isAtLeast(skipped, 2)
      assert.isAtMost(samples.length, 3)
      assert.strictEqual(samples[0], "Listening on stdio...")
    })
  )
  it.live("M1 a log line, a JSON log line and a banner without an end of line in front of an answer do no harm", () =>
    Effect.gen(function* () {
      const client = yield* connect()
      const scope = recorder()
      assert.strictEqual(text(yield* call(client, "noise").pipe(within(scope))), "through")
      assert.strictEqual(client.evidence().skipped, 2)
      assert.match(JSON.stringify(scope.logs), /not MCP; such lines are skipped and counted: debug: about to answer/)
    })
  )
  it.live("M9 double answers and answers under foreign ids settle nothing", () =>
    Effect.gen(function* () {
      const client = yield* connect()
      assert.strictEqual(text(yield* call(client, "double")), "first")
      assert.strictEqual(text(yield* call(client, "wrongid")), "yours")
      assert.strictEqual(text(yield* call(client, "echo", { text: "still right" })), "still right")
      assert.strictEqual(client.evidence().strays, 2)
    })
  )
  it.live(
    "M9 X-CANC-02 X-CANC-03 interruption cancels the request on the server, and its late answer reaches nobody",
    () =>
      Effect.gen(function* () {
        const client = yield* connect("spiteful")
        const fiber = yield* Effect.forkChild(call(client, "never"), { startImmediately: true })
        yield* Effect.sleep("100 millis")
        yield* Fiber.interrupt(fiber)
        const heard = text(yield* call(client, "heard"))
        assert.match(heard, /\{"cancelled":\{"requestId":1,"reason":"the caller no longer waits for it"\}\}/)
        yield* Effect.sleep("50 millis")
        assert.strictEqual(text(yield* call(client, "echo", { text: "mine" })), "mine")
        assert.strictEqual(client.evidence().strays, 1)
      })
  )
  it.live("M9 what comes before the answer is told before it, under this call alone, and nothing after it", () =>
    Effect.gen(function* () {
      const client = yield* connect()
      const scope = recorder()
      assert.strictEqual(text(yield* call(client, "lastword").pipe(within(scope))), "done")
      const told = [
        { callId: "call-lastword", progress: 1, message: "step 1" },
        { callId: "call-lastword", progress: 2, message: "step 2" },
        { callId: "call-lastword", progress: 3, message: "step 3" }
      ]
      assert.deepStrictEqual(scope.notes, told)
      yield* Effect.sleep("50 millis")
      assert.deepStrictEqual(scope.notes, told)
    })
  )
  it.live("M4 progress keeps a call alive past its silence limit, silence ends it", () =>
    Effect.gen(function* () {
      const client = yield* connect("plain", { callSilence: "900 millis" })
      assert.strictEqual(text(yield* call(client, "steady", { every: 250, times: 6 })), "steady to the end")
      const error = yield* failure(call(client, "never"))
      assert.match(error.message, /it gave no sign of life on `tools\/call` for 0\.9 seconds/)
    })
  )
  it.live("M4 progress for ever ends at the ceiling, and the server is told", () =>
    Effect.gen(function* () {
      const client = yield* connect("plain", { callSilence: "800 millis", callCeiling: "1600 millis" })
      const scope = recorder()
      const error = yield* failure(call(client, "flood").pipe(within(scope)))
      assert.match(error.message, /it did not answer `tools\/call` within 1\.6 seconds/)
      assert.isAtLeast(scope.notes.length, 10)
      assert.match(text(yield* call(client, "heard")), /"cancelled":\{"requestId":1/)
    })
  )
  it.live("M8 a ping of the server is answered", () =>
    Effect.gen(function* () {
      const client = yield* connect()
      assert.strictEqual(text(yield* call(client, "ping")), "pong {}")
    })
  )
  it.live("M13 2000 blocks and 30 MB of text arrive whole", () =>
    Effect.gen(function* () {
      const client = yield* connect()
      const blocks = (yield* call(client, "blocks"))["content"]
      assert.strictEqual(Array.isArray(blocks) ? blocks.length : 0, 2000)
      const before = Date.now()
      assert.strictEqual(text(yield* call(client, "huge")).length, 30 * 1024 * 1024)
      assert.isBelow(Date.now() - before, 10_000)
    })
  )
  it.live("M1 a flood on stderr is drained, shown in part and kept in a few lines", () =>
    Effect.gen(function* () {
      const client = yield* connect()
      const scope = recorder()
      assert.strictEqual(text(yield* call(client, "stderr").pipe(within(scope))), "said")
      yield* Effect.sleep("100 millis")
      const { stderr, stderrLines } = client.evidence()
      assert.isAtLeast(stderrLines, 1000)
      assert.isAtMost(stderr.length, 20)
      assert.isAtMost(scope.logs.length, 201)
    })
  )
  it.live("M15 a question with nobody to answer is declined at once", () =>
    Effect.gen(function* () {
      const client = yield* connect()
      const scope = recorder()
      const before = Date.now()
      const told = yield* call(client, "elicit").pipe(within(scope))
      assert.include(text(told), '"result":{"action":"decline"}')
      assert.isBelow(Date.now() - before, 1000)
      assert.deepStrictEqual(scope.asked, [])
      assert.match(JSON.stringify(scope.logs), /declined: nobody is there to answer/)
    })
  )
  it.live("M15 a question that sends the user to a page reaches the asker too", () =>
    Effect.gen(function* () {
      const client = yield* connect()
      const scope = recorder()
      const asker: Asker.Asker = { ask: () => Effect.succeed({ action: "accept" }) }
      const told = yield* call(client, "page").pipe(within(scope), Effect.provideService(Asker.Asker, asker))
      assert.include(text(told), '"result":{"action":"accept"}')
      assert.match(JSON.stringify(scope.asked), /"mode":"url".*https:\/\/example\.test\/pay/)
    })
  )
  it.live("M15 a question that the server takes back is asked no longer", () =>
    Effect.gen(function* () {
      const client = yield* connect()
      let ended = false
      const asker: Asker.Asker = {
        ask: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => void (ended = true)))
      }
      const told = yield* call(client, "changemind").pipe(Effect.provideService(Asker.Asker, asker))
      assert.strictEqual(text(told), "never mind")
      yield* Effect.sleep("50 millis")
      assert.isTrue(ended)
    })
  )
  it.live("M15 a question reaches the asker of the run whose call is out, and its answer the server", () =>
    Effect.gen(function* () {
      const client = yield* connect()
      const scope = recorder()
      const asker: Asker.Asker = { ask: () => Effect.succeed({ action: "accept", content: { name: "Ada" } }) }
      const told = yield* call(client, "elicit").pipe(within(scope), Effect.provideService(Asker.Asker, asker))
      assert.include(text(told), '"result":{"action":"accept","content":{"name":"Ada"}}')
      assert.strictEqual(scope.asked[0]?.["kind"], "server-elicit")
      assert.match(JSON.stringify(scope.asked[0]), /Your name\?/)
      const odd: Asker.Asker = { ask: () => Effect.succeed({ answer: "whatever" }) }
      const again = yield* call(client, "elicit").pipe(within(scope), Effect.provideService(Asker.Asker, odd))
      assert.include(text(again), '"result":{"action":"decline"}')
    })
  )
  it.live("M6 answers that break the envelope still settle their call", () =>
    Effect.gen(function* () {
      const client = yield* connect()
      assert.deepStrictEqual(yield* call(client, "nullresult"), {})
      assert.strictEqual(text(yield* call(client, "badmeta")), "kept")
      assert.strictEqual(text(yield* call(client, "extra")), "heard")
      const refused = yield* failure(call(client, "rpcerror"))
      assert.strictEqual(refused.reason._tag, "Answered")
      assert.match(refused.message, /it answered `tools\/call` with error -32602: no such file \(\{"path":"\/x"\}\)/)
      assert.match((yield* failure(call(client, "errorshape"))).message, /with error -32603: just text/)
    })
  )
  it.live("L-SHIM-07 a log of the server reaches the run once, at our levels", () =>
    Effect.gen(function* () {
      const client = yield* connect("plain", { logLevel: "debug" })
      const scope = recorder()
      yield* call(client, "log").pipe(within(scope))
      assert.deepStrictEqual(scope.logs, [{ level: "error", logger: "hostile/disk", data: { left: 0 } }])
      assert.include(text(yield* call(client, "heard")), "logging/setLevel")
    })
  )
})

describe("lists", () => {
  it.live("M14 pages are followed to the end; a list without end is cut and said to be", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* (yield* connect("pages")).listTools).items.length, 3)
      const endless = yield* (yield* connect("endless")).listTools
      assert.strictEqual(endless.items.length, 100)
      assert.strictEqual(endless.incomplete, "its list does not end within 100 pages or 5000 entries")
      const looping = yield* (yield* connect("looping")).listTools
      assert.strictEqual(looping.incomplete, 'its list comes back to the page "again"')
    })
  )
})
