import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as ReplayServer from "@settle/testing/servers/ReplayServer"
import { configured, filesystemServer, jsonLines, place, settle } from "../Process.ts"

const { events, inTurn } = ReplayServer

const answer = (text: string): ReplayServer.Answer => ({ body: events({ text: [text] }) })
const writing: ReplayServer.Answer = {
  body: events({ calls: [{ id: "w", name: "files_write_file", arguments: [`{"path":"a.txt","content":"x"}`] }] })
}

const chat = Effect.fnUntraced(function* (
  answers: readonly [ReplayServer.Answer, ...Array<ReplayServer.Answer>],
  stdin: string,
  { args = [], config = {} }: { readonly args?: ReadonlyArray<string>; readonly config?: object } = {}
) {
  const server = yield* ReplayServer.make(inTurn(...answers))
  const where = yield* place
  where.write("settle.json", configured(server.baseUrl, config))
  const ran = yield* settle(where, ["chat", "--session", "s", ...args], { stdin })
  const sent = (index: number): ReadonlyArray<string> =>
    JSON.parse(server.requests[index]?.body ?? "{}").messages.map((each: { content: string }) => each.content)
  return { ran, server, where, sent }
})

const files = { mcpServers: { files: { command: process.execPath, args: [filesystemServer, "."] } } }

describe("settle chat without a terminal", () => {
  it.live("each line is one turn of one conversation; stdout has the answers and nothing else", () =>
    Effect.gen(function* () {
      const { ran, sent } = yield* chat([answer("One."), answer("Two.")], "first\n\n/help\n/hlep\nsecond")
      assert.deepStrictEqual([ran.code, ran.stdout], [0, "One.\nTwo.\n"])
      assert.deepStrictEqual(sent(1), ["first", "One.", "second"])
      assert.match(ran.stderr, /^ {2}\/help +these lines$/m)
      assert.include(ran.stderr, "There is no command /hlep. Did you mean /help?")
      assert.notInclude(ran.stderr, "\u001b")
    }).pipe(Effect.scoped)
  )

  it.live("without a session the conversation is kept all the same, and no file is written", () =>
    Effect.gen(function* () {
      const server = yield* ReplayServer.make(inTurn(answer("One."), answer("Two.")))
      const where = yield* place
      where.write("settle.json", configured(server.baseUrl))
      const ran = yield* settle(where, ["chat", "--no-session"], { stdin: "first\nsecond\n" })
      assert.deepStrictEqual([ran.code, ran.stdout], [0, "One.\nTwo.\n"])
      const sent = JSON.parse(server.requests[1]?.body ?? "{}").messages
      assert.deepStrictEqual(
        sent.map((each: { content: string }) => each.content),
        ["first", "One.", "second"]
      )
      assert.deepStrictEqual(where.files(), ["project/settle.json"])
    }).pipe(Effect.scoped)
  )

  it.live("a question has nobody to answer it: the call is denied with its reason, and the lines stay turns", () =>
    Effect.gen(function* () {
      const { ran, sent, where } = yield* chat([writing, answer("Denied."), answer("On.")], "write\ny\n", {
        config: files
      })
      assert.deepStrictEqual([ran.code, ran.stdout], [0, "Denied.\nOn.\n"])
      assert.isFalse(where.has("a.txt"))
      assert.match(ran.stderr, /✘ files_write_file\(.*nobody is there to be asked/)
      assert.strictEqual(sent(2).at(-1), "y")
    }).pipe(Effect.scoped)
  )

  it.live("--ask always takes the next line for the answer", () =>
    Effect.gen(function* () {
      const { ran, where } = yield* chat([writing, answer("Written."), answer("On.")], "write\ny\nmore\n", {
        config: files,
        args: ["--ask", "always"]
      })
      assert.deepStrictEqual([ran.code, ran.stdout], [0, "Written.\nOn.\n"])
      assert.strictEqual(where.read("a.txt"), "x")
      assert.include(ran.stderr, "May files_write_file (files) run?")
    }).pipe(Effect.scoped)
  )

  it.live("a turn that fails is told, the next one has its turn, the exit code remembers", () =>
    Effect.gen(function* () {
      const broken: ReplayServer.Answer = { status: 400, body: `{"error":{"message":"no such model"}}` }
      const { ran } = yield* chat([broken, answer("Fine.")], "first\nsecond\n")
      assert.deepStrictEqual([ran.code, ran.stdout], [1, "Fine.\n"])
      assert.match(ran.stderr, /The run failed: .*no such model/)
    }).pipe(Effect.scoped)
  )

  it.live("--output events prints the events of every turn", () =>
    Effect.gen(function* () {
      const { ran } = yield* chat([answer("One."), answer("Two.")], "a\nb\n/quit\nc\n", {
        args: ["--output", "events"]
      })
      assert.strictEqual(ran.code, 0)
      const kinds = jsonLines(ran.stdout).map((line) => line["kind"])
      assert.strictEqual(kinds.filter((kind) => kind === "run-completed").length, 2)
    }).pipe(Effect.scoped)
  )

  it.live("a session with open calls says what they are, answers them, and goes on", () =>
    Effect.gen(function* () {
      const { where, server } = yield* chat([answer("One."), answer("Two.")], "first\n")
      const [file = ""] = where.files().filter((name) => name.endsWith("s.jsonl"))
      const path = `../${file}`
      const line = (type: string, payload: object, id: string) =>
        `${JSON.stringify({ v: 1, type, id, ts: "2026-01-01T00:00:00.000Z", payload })}\n`
      where.write(
        path,
        where.read(path) +
          line("message", { role: "user", content: "write" }, "m1") +
          line(
            "message",
            { role: "assistant", content: "", toolCalls: [{ id: "x", name: "files_write", arguments: "{}" }] },
            "m2"
          ) +
          line(
            "tool-dispatched",
            {
              callId: "x",
              tool: "files_write",
              arguments: "{}",
              idempotency: "destructive",
              round: 1,
              grantDigest: null
            },
            "o1"
          )
      )
      const ran = yield* settle(where, ["chat", "--session", "s"], { stdin: "go on\n" })
      assert.strictEqual(ran.stdout, "Two.\n", ran.stderr)
      assert.match(ran.stderr, /^\? files_write\(\): was running, outcome unknown/m)
      const sent: ReadonlyArray<{ role: string }> = JSON.parse(server.requests[1]?.body ?? "{}").messages
      assert.deepStrictEqual(
        sent.map(({ role }) => role),
        ["user", "assistant", "user", "assistant", "tool", "user"]
      )
    }).pipe(Effect.scoped)
  )
})
