import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as ReplayServer from "@settle/testing/servers/ReplayServer"
import { configured, filesystemServer, jsonLines, place, type Place, settle } from "./Process.ts"

const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
const says = (...text: ReadonlyArray<string>): ReplayServer.Answer => ({ body: ReplayServer.events({ text, usage }) })
const calls = (...list: ReadonlyArray<readonly [id: string, name: string, args: object]>): ReplayServer.Answer => ({
  body: ReplayServer.events({
    calls: list.map(([id, name, args]) => ({ id, name, arguments: [JSON.stringify(args)] })),
    usage
  })
})

/** A place with a server that answers in turn. */
const world = Effect.fnUntraced(function* (
  answers: readonly [ReplayServer.Answer, ...Array<ReplayServer.Answer>],
  config: object = {}
) {
  const server = yield* ReplayServer.make(ReplayServer.inTurn(...answers))
  const where = yield* place
  where.write("settle.json", configured(server.baseUrl, config))
  return { server, where }
})

const files = {
  mcpServers: { files: { command: process.execPath, args: [filesystemServer, "."] } },
  rules: [{ tool: "files_read_*", decision: "allow" }]
}

const kinds = (stdout: string) => jsonLines(stdout).map((event) => event["kind"])

/** The one transcript that a place's home holds. */
const transcript = (where: Place): ReadonlyArray<Record<string, unknown>> => {
  const [file, ...more] = where.files().filter((name) => name.endsWith(".jsonl"))
  assert.deepStrictEqual(more, [])
  return jsonLines(where.read(`../${file}`))
}

describe("settle run", () => {
  it.live("prints the answer on stdout and everything else on stderr, and writes a transcript", () =>
    Effect.gen(function* () {
      const { server, where } = yield* world([says("Hello", ", world.")])
      const ran = yield* settle(where, ["run", "Say hello"])
      assert.deepStrictEqual([ran.code, ran.stdout], [0, "Hello, world.\n"])
      assert.match(ran.stderr, /^1 round · 15 tokens · [\d.]+ s · session \d{4}-\d\d-\d\d-\d{6}-[0-9a-f]{4}\n$/)
      assert.deepStrictEqual(
        transcript(where).map((line) => line["type"]),
        ["session-meta", "message", "message"]
      )
      assert.include(server.requests[0]?.body, "Say hello")
    }).pipe(Effect.scoped)
  )

  it.live("takes the prompt from stdin, its last line end apart, and a system prompt from a file", () =>
    Effect.gen(function* () {
      const { server, where } = yield* world([says("ok")])
      where.write("system.txt", "You are terse.")
      const ran = yield* settle(where, ["run", "--no-session", "--system", "system.txt"], { stdin: "two\nlines\n" })
      assert.deepStrictEqual([ran.code, ran.stdout], [0, "ok\n"])
      const { messages } = JSON.parse(server.requests[0]?.body ?? "{}")
      assert.deepStrictEqual(messages, [
        { role: "system", content: "You are terse." },
        { role: "user", content: "two\nlines" }
      ])
      assert.deepStrictEqual(where.files(), ["project/settle.json", "project/system.txt"])
    }).pipe(Effect.scoped)
  )

  it.live("L-ROUND-20 --output events: one event a line in the order of one round, the terminal event last", () =>
    Effect.gen(function* () {
      const pieces = { ...says("one", "two"), pieces: { _tag: "Every", bytes: 230 }, delay: { pieces: 60 } } as const
      const { where } = yield* world([pieces])
      const ran = yield* settle(where, ["run", "--no-session", "--output", "events", "hi"])
      const framed = kinds(ran.stdout).filter((kind, index, all) => kind !== "token" || all[index - 1] !== "token")
      assert.deepStrictEqual(framed, [
        "run-started",
        "round-started",
        "attempt-started",
        "token",
        "attempt-succeeded",
        "assistant-message",
        "turn-committed",
        "run-completed"
      ])
      const tokens = jsonLines(ran.stdout).flatMap((event) => (event["kind"] === "token" ? [event["text"]] : []))
      assert.strictEqual(tokens.join(""), "onetwo")
      const seqs = jsonLines(ran.stdout).map((event) => event["seq"])
      assert.deepStrictEqual(
        seqs,
        seqs.map((_, index) => index)
      )
      assert.strictEqual(ran.stderr, "")
    }).pipe(Effect.scoped)
  )

  it.live(
    "L-ROUND-21 with a call of a real MCP server: tool-call, tool-started, tool-result, then the next round",
    () =>
      Effect.gen(function* () {
        const { where } = yield* world(
          [calls(["c1", "files_read_text_file", { path: "notes.txt" }]), says("It says 42.")],
          files
        )
        where.write("notes.txt", "42\n")
        const ran = yield* settle(where, ["run", "--session", "s", "--output", "events", "What do the notes say?"])
        assert.strictEqual(ran.code, 0, ran.stderr)
        assert.deepStrictEqual(
          kinds(ran.stdout).filter((kind) => kind !== "token"),
          [
            "run-started",
            "round-started",
            "attempt-started",
            "attempt-succeeded",
            "assistant-message",
            "turn-committed",
            "tool-call",
            "tool-started",
            "tool-result",
            "round-started",
            "attempt-started",
            "attempt-succeeded",
            "assistant-message",
            "turn-committed",
            "run-completed"
          ]
        )
        const roles = transcript(where).flatMap((line) =>
          line["type"] === "message" ? [(line["payload"] as { role: string }).role] : []
        )
        assert.deepStrictEqual(roles, ["user", "assistant", "tool", "assistant"])
      }).pipe(Effect.scoped)
  )

  it.live("L-STREAM-01 a failed attempt leaves nothing on stdout, and a calm line on stderr", () =>
    Effect.gen(function* () {
      const broken: ReplayServer.Answer = {
        body: ReplayServer.events({ text: ["Half an ans"], finish: null, done: false }),
        ending: { _tag: "Destroyed" }
      }
      const { where } = yield* world([broken, says("Whole.")])
      const ran = yield* settle(where, ["run", "--no-session", "hi"])
      assert.deepStrictEqual([ran.code, ran.stdout], [0, "Whole.\n"])
      assert.match(ran.stderr, /^↻ scripted: .*; sending again in 0\.0 s\n1 round · /)
    }).pipe(Effect.scoped)
  )

  it.live("--output json: one outcome object, with the path of the session, also when the run failed", () =>
    Effect.gen(function* () {
      const { where } = yield* world([says("Done."), { status: 400, body: `{"error":{"message":"no such model"}}` }])
      const good = yield* settle(where, ["run", "--output", "json", "--session", "s", "hi"])
      const outcome = JSON.parse(good.stdout)
      assert.deepInclude(outcome, { outcome: "completed", final: "Done.", rounds: 1 })
      assert.strictEqual(good.stderr, "")
      assert.isTrue(outcome.session.endsWith("/s.jsonl"))
      const bad = yield* settle(where, ["run", "--output", "json", "--no-session", "hi"])
      assert.strictEqual(bad.code, 1)
      assert.deepInclude(JSON.parse(bad.stdout), { outcome: "failed", final: "" })
      assert.match(bad.stderr, /^The run failed: .*no such model.*\. Check that the server of the model runs/)
      assert.strictEqual(bad.stderr.trimEnd().split("\n").length, 1)
    }).pipe(Effect.scoped)
  )

  it.live("goes on with a session that is there already", () =>
    Effect.gen(function* () {
      const { server, where } = yield* world([says("One."), says("Two.")])
      yield* settle(where, ["run", "--session", "s", "first"])
      const second = yield* settle(where, ["run", "--session", "s", "second"])
      assert.strictEqual(second.stdout, "Two.\n")
      const { messages } = JSON.parse(server.requests[1]?.body ?? "{}")
      assert.deepStrictEqual(
        messages.map((message: { content: string }) => message.content),
        ["first", "One.", "second"]
      )
    }).pipe(Effect.scoped)
  )

  it.live(
    "X-SAFE-05 a key is sent to its server and is in no output, transcript or error, whatever the server says back",
    () =>
      Effect.gen(function* () {
        const key = "sk-very-secret-0123456789"
        const { server, where } = yield* world([
          { status: 401, body: `{"error":{"message":"the key ${key} is not known"}}` }
        ])
        for (const output of ["text", "events"]) {
          const args = [
            "run",
            "--api-key-env",
            "MY_KEY",
            "--session",
            output,
            "--output",
            output,
            "--log-level",
            "debug",
            "hi"
          ]
          const ran = yield* settle(where, args, { env: { MY_KEY: key } })
          assert.strictEqual(ran.code, 1)
          assert.notInclude(ran.stdout + ran.stderr, key)
        }
        assert.strictEqual(server.requests[0]?.headers.authorization, `Bearer ${key}`)
        for (const file of where.files()) assert.notInclude(where.read(`../${file}`), key)
      }).pipe(Effect.scoped)
  )

  it.live("falls back to the next --model", () =>
    Effect.gen(function* () {
      const good = yield* ReplayServer.make(ReplayServer.inTurn(says("From the second.")))
      const { where } = yield* world([{ status: 503, body: "busy" }])
      where.write("settle.json", {
        ...configured(good.baseUrl),
        models: {
          dead: { protocol: "openai-chat", baseUrl: "http://127.0.0.1:9/v1", model: "dead" },
          good: { protocol: "openai-chat", baseUrl: good.baseUrl, model: "good" }
        }
      })
      const ran = yield* settle(where, ["run", "--no-session", "--model", "dead", "--model", "good", "hi"])
      assert.deepStrictEqual([ran.code, ran.stdout], [0, "From the second.\n"])
      assert.include(ran.stderr, "going on with the next model")
    }).pipe(Effect.scoped)
  )
})
