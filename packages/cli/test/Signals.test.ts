import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as ReplayServer from "@settle/testing/servers/ReplayServer"
import { configured, jsonLines, place, type Place, self, start } from "./Process.ts"

const text = ReplayServer.events({ text: ["Thinking", " about it"], finish: null, done: false })
const hanging: ReplayServer.Answer = { body: text, ending: { _tag: "Hanging" } }

/** The demo's slow server: about half a second a word. */
const slow = {
  mcpServers: { slow: { command: self[0], args: [...self.slice(1), "demo", "--serve", "."] } },
  rules: [{ tool: "slow_*", decision: "allow" }]
}

const twoWrites: ReplayServer.Answer = {
  body: ReplayServer.events({
    calls: ["a", "b"].map((id) => ({
      id,
      name: "slow_write_file",
      arguments: [
        JSON.stringify({ path: `${id}.txt`, content: "one two three four five six seven eight nine ten eleven twelve" })
      ]
    }))
  })
}

const lines = (where: Place) => {
  const [file] = where.files().filter((name) => name.endsWith("s.jsonl"))
  return jsonLines(where.read(`../${file}`)).map((line) => ({
    type: line["type"],
    payload: line["payload"] as Record<string, unknown>
  }))
}

const begin = Effect.fnUntraced(function* (answer: ReplayServer.Answer, config: object = {}) {
  const server = yield* ReplayServer.make(ReplayServer.inTurn(answer))
  const where = yield* place
  where.write("settle.json", configured(server.baseUrl, config))
  const started = yield* start(where, ["run", "--session", "s", "--output", "events", "go"])
  return { server, where, started }
})

describe("signals", () => {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    it.live(`L-DRAIN-02 ${signal} while the answer streams: cancelled, drained, exit code 130`, () =>
      Effect.gen(function* () {
        const { server, started, where } = yield* begin(hanging)
        yield* started.printed(`"kind":"token"`)
        started.signal(signal)
        const ran = yield* started.ended
        assert.deepStrictEqual([ran.code, ran.signal], [130, null])
        assert.strictEqual(jsonLines(ran.stdout).at(-1)?.["kind"], "run-cancelled")
        assert.strictEqual(yield* server.requests[0]?.over ?? Effect.succeed("none"), "aborted")
        assert.deepStrictEqual(
          lines(where).map((line) => line.type),
          ["session-meta", "message"]
        )
      }).pipe(Effect.scoped)
    )
  }

  it.live(
    "L-CANC-08 SIGINT in the middle of a call leaves the transcript answered: one outcome unknown, one never ran",
    () =>
      Effect.gen(function* () {
        const { started, where } = yield* begin(twoWrites, slow)
        yield* started.printed(`"kind":"tool-started"`)
        started.signal("SIGINT")
        const ran = yield* started.ended
        assert.strictEqual(ran.code, 130)
        const answers = lines(where).filter((line) => line.payload["role"] === "tool")
        assert.deepStrictEqual(
          answers.map(({ payload }) => [
            payload["toolCallId"],
            payload["outcomeUnknown"] === true,
            payload["abandoned"] === true
          ]),
          [
            ["a", true, false],
            ["b", false, true]
          ]
        )
        const settled = lines(where).filter((line) => line.type === "tool-settled")
        assert.deepStrictEqual(
          settled.map(({ payload }) => payload["outcome"]),
          ["outcome-unknown"]
        )
      }).pipe(Effect.scoped)
  )

  it.live("L-DRAIN-02 SIGINT in a call of a minute: the server is told, and the process does not wait for it", () =>
    Effect.gen(function* () {
      const content = "word ".repeat(150).trim()
      const call = { id: "a", name: "slow_write_file", arguments: [JSON.stringify({ path: "a.txt", content })] }
      const { started, where } = yield* begin({ body: ReplayServer.events({ calls: [call] }) }, slow)
      yield* started.printed(`"kind":"tool-started"`)
      started.signal("SIGINT")
      const before = performance.now()
      const ran = yield* started.ended
      assert.deepStrictEqual([ran.code, ran.stderr], [130, ""])
      assert.isBelow(performance.now() - before, 20_000)
      assert.isBelow(where.has("a.txt") ? where.read("a.txt").split(" ").length : 0, 100)
    }).pipe(Effect.scoped)
  )

  it.live("a second SIGINT leaves at once; a SIGTERM before it is no second chance", () =>
    Effect.gen(function* () {
      const { started } = yield* begin(twoWrites, slow)
      yield* started.printed(`"kind":"tool-started"`)
      started.signal("SIGTERM")
      started.signal("SIGTERM")
      yield* started.printed(`"kind":"run-cancelled"`)
      const before = yield* Effect.sync(() => performance.now())
      started.signal("SIGINT")
      const ran = yield* started.ended
      assert.strictEqual(ran.code, 130)
      assert.isBelow(performance.now() - before, 2000)
    }).pipe(Effect.scoped)
  )

  it.live("a signal before the run began interrupts the command", () =>
    Effect.gen(function* () {
      const where = yield* place
      const silent = { command: process.execPath, args: ["-e", "setTimeout(() => {}, 60000)"] }
      where.write("settle.json", configured("http://127.0.0.1:9/v1", { mcpServers: { silent } }))
      const started = yield* start(where, ["run", "hi"])
      yield* Effect.sleep("2500 millis")
      started.signal("SIGINT")
      const ran = yield* started.ended
      assert.deepStrictEqual([ran.code, ran.stdout], [130, ""])
      assert.deepStrictEqual(where.files(), ["project/settle.json"])
    }).pipe(Effect.scoped)
  )

  it.live("a reader that leaves cancels the run, without a word of complaint", () =>
    Effect.gen(function* () {
      const server = yield* ReplayServer.make(
        ReplayServer.inTurn({
          body: ReplayServer.events({ text: Array.from({ length: 400 }, (_, n) => `${n} `) }),
          pieces: { _tag: "Every", bytes: 200 },
          delay: { pieces: 20 }
        })
      )
      const where = yield* place
      where.write("settle.json", configured(server.baseUrl))
      const started = yield* start(where, ["run", "--session", "s", "--output", "events", "go"], {
        under: (command) => ["sh", "-c", `"$@" | head -n 5`, "sh", ...command]
      })
      const ran = yield* started.ended
      assert.strictEqual(jsonLines(ran.stdout).length, 5)
      assert.strictEqual(ran.stderr, "")
    }).pipe(Effect.scoped)
  )
})
