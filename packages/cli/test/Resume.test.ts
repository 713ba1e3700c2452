import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as ReplayServer from "@settle/testing/servers/ReplayServer"
import { configured, filesystemServer, jsonLines, place, self, settle, start } from "./Process.ts"

const words = "one two three four five six seven eight nine ten"

const servers = {
  mcpServers: {
    files: { command: process.execPath, args: [filesystemServer, "."] },
    slow: { command: self[0], args: [...self.slice(1), "demo", "--serve", "."] }
  },
  rules: [
    { tool: "files_read_*", decision: "allow" },
    { tool: "slow_*", decision: "allow" }
  ]
}

const batch: ReplayServer.Answer = {
  body: ReplayServer.events({
    text: ["I will do three things."],
    calls: [
      { id: "c1", name: "files_read_text_file", arguments: [`{"path":"notes.txt"}`] },
      { id: "c2", name: "slow_write_file", arguments: [JSON.stringify({ path: "report.txt", content: words })] },
      { id: "c3", name: "files_read_text_file", arguments: [`{"path":"todo.txt"}`] }
    ]
  })
}

const answer: ReplayServer.Answer = { body: ReplayServer.events({ text: ["I will look first."] }) }

describe("settle resume", () => {
  it.live(
    "L-TOOL-05 L-TAIL-11 after a SIGKILL in a call: says what each call is, answers them, runs none again, and goes on",
    () =>
      Effect.gen(function* () {
        const server = yield* ReplayServer.make(ReplayServer.inTurn(batch, answer))
        const where = yield* place
        where.write("settle.json", configured(server.baseUrl, servers))
        where.write("notes.txt", "first note\n")
        where.write("todo.txt", "secret of the third\n")
        const killed = yield* start(where, ["run", "--session", "s", "--output", "events", "Do three things."])
        yield* killed.printed(`"kind":"tool-started","ts"`)
        yield* Effect.repeat(
          Effect.sync(() => where.has("report.txt") && where.read("report.txt").includes("two")),
          { until: (found) => found }
        )
        killed.signal("SIGKILL")
        assert.strictEqual((yield* killed.ended).signal, "SIGKILL")

        const refused = yield* settle(where, ["run", "--session", "s", "go on"])
        assert.deepStrictEqual([refused.code, refused.stdout], [2, ""])
        assert.include(refused.stderr, "ended in the middle of tool calls. Go on with settle resume s")

        const ran = yield* settle(where, ["resume", "s", "What now?"])
        assert.deepStrictEqual([ran.code, ran.stdout], [0, "I will look first.\n"], ran.stderr)
        assert.deepStrictEqual(ran.stderr.split("\n").slice(0, 3), [
          "The last process ended with 2 calls open:",
          `? slow_write_file(content: "${words}", path: "report.txt"): was running, outcome unknown (destructive: look before doing it again)`,
          `– files_read_text_file(path: "todo.txt"): never ran`
        ])

        const [file] = where.files().filter((name) => name.endsWith("s.jsonl"))
        const lines = jsonLines(where.read(`../${file}`)).map((line) => ({
          type: line["type"],
          payload: line["payload"] as Record<string, unknown>
        }))
        const outcomes = lines.flatMap(({ payload, type }) => (type === "tool-settled" ? [payload["outcome"]] : []))
        assert.deepStrictEqual(outcomes, ["completed", "outcome-unknown"])
        assert.strictEqual(lines.filter(({ type }) => type === "tool-dispatched").length, 2, "nothing ran again")

        const sent = JSON.parse(server.requests[1]?.body ?? "{}").messages as ReadonlyArray<Record<string, unknown>>
        assert.deepStrictEqual(
          sent.map((message) => message["role"]),
          ["user", "assistant", "tool", "tool", "tool", "user"]
        )
        assert.include(String(sent[3]?.["content"]), "whether it took effect is unknown")
        assert.notInclude(String(sent[3]?.["content"]), "failed")
        assert.include(String(sent[4]?.["content"]), "it did not run")
        assert.strictEqual(sent[5]?.["content"], "What now?")
      }).pipe(Effect.scoped)
  )

  it.live(
    "X-SPEND-01 with --spend transcript a cap counts what the transcript already cost, and without it this run alone",
    () =>
      Effect.gen(function* () {
        const costly: ReplayServer.Answer = {
          body: ReplayServer.events({
            text: ["Done."],
            usage: { prompt_tokens: 600, completion_tokens: 30, total_tokens: 630 }
          })
        }
        const server = yield* ReplayServer.make(ReplayServer.inTurn(costly, costly, costly))
        const where = yield* place
        where.write("settle.json", configured(server.baseUrl))
        const first = yield* settle(where, ["run", "--session", "s", "--max-total-tokens", "1000", "hi"])
        assert.strictEqual(first.code, 0, first.stderr)
        const fresh = yield* settle(where, ["resume", "s", "--spend", "fresh", "--max-total-tokens", "1000", "more"])
        assert.strictEqual(fresh.code, 0, fresh.stderr)
        const capped = yield* settle(where, [
          "resume",
          "s",
          "--spend",
          "transcript",
          "--max-total-tokens",
          "1000",
          "more"
        ])
        assert.strictEqual(capped.code, 1, capped.stderr)
        assert.match(capped.stderr, /Here the caps are --max-cost, --max-total-tokens and --max-wall-clock/)
        assert.strictEqual(server.requests.length, 2, "nothing was sent any more")
      }).pipe(Effect.scoped)
  )

  it.live("without a prompt it says: Continue. A sound session has nothing to report", () =>
    Effect.gen(function* () {
      const server = yield* ReplayServer.make(ReplayServer.inTurn(answer))
      const where = yield* place
      where.write("settle.json", configured(server.baseUrl))
      yield* settle(where, ["run", "--session", "s", "hi"])
      const ran = yield* settle(where, ["resume", "s"])
      assert.match(ran.stderr, /^1 round · .* session s\n$/)
      assert.include(server.requests[1]?.body, `"Continue."`)
    }).pipe(Effect.scoped)
  )
})
