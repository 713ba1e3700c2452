import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as ReplayServer from "@settle/testing/servers/ReplayServer"
import { configured, filesystemServer, jsonLines, place, type Place, self } from "../Process.ts"
import * as Pty from "./Pty.ts"

const { events, inTurn } = ReplayServer

const usage = { prompt_tokens: 40, completion_tokens: 2, total_tokens: 42 }
const answer = (text: string): ReplayServer.Answer => ({ body: events({ text: [text], usage }) })
/** One word after the other. */
const slowly = (...text: ReadonlyArray<string>): ReplayServer.Answer => ({
  body: events({ text, usage }),
  pieces: { _tag: "Every", bytes: 180 },
  delay: { pieces: 250 }
})
const calling = (name: string, ...args: ReadonlyArray<object>): ReplayServer.Answer => ({
  body: events({
    calls: args.map((given, n) => ({ id: `c${n}-${name}`, name, arguments: [JSON.stringify(given)] })),
    usage
  })
})

const files = { mcpServers: { files: { command: process.execPath, args: [filesystemServer, "."] } } }
/** About half a second a word. */
const slow = {
  mcpServers: { slow: { command: self[0], args: [...self.slice(1), "demo", "--serve", "."] } },
  rules: [{ tool: "slow_*", decision: "allow" }]
}
const words = (count: number) => Array.from({ length: count }, (_, n) => `word${n}`).join(" ")

interface World {
  readonly config?: object
  readonly args?: ReadonlyArray<string>
  readonly pty?: Pty.Options
}

const world = Effect.fnUntraced(function* (
  answers: readonly [ReplayServer.Answer, ...Array<ReplayServer.Answer>],
  { args = [], config = {}, pty: options = {} }: World = {}
) {
  const server = yield* ReplayServer.make(inTurn(...answers))
  const where = yield* place
  where.write("settle.json", configured(server.baseUrl, config))
  const open = Pty.open(where, ["chat", "--session", "s", ...args], options)
  const pty = yield* open
  yield* pty.sees("/help says")
  const sent = (index: number): ReadonlyArray<{ readonly role: string; readonly content: string }> =>
    JSON.parse(server.requests[index]?.body ?? "{}").messages
  return { pty, server, where, sent, open }
})

const transcript = (where: Place) => {
  const [file] = where.files().filter((name) => name.endsWith("s.jsonl"))
  return jsonLines(where.read(`../${file}`)).map((line) => ({
    type: line["type"],
    payload: line["payload"] as Record<string, unknown>
  }))
}

const lastLine = ({ screen }: Pty.Pty) => screen.visible().at(-1) ?? ""
const idle = (pty: Pty.Pty) => pty.until("idle", () => lastLine(pty).endsWith("/help"))

const leave = Effect.fnUntraced(function* (pty: Pty.Pty) {
  yield* pty.type("/quit\r")
  return yield* pty.ended
})

describe.skipIf(!Pty.hasScript)("settle chat on a terminal (skipped where there is no script command)", () => {
  it.live("an answer streams, then stands; the next turn has the conversation; the terminal comes back as it was", () =>
    Effect.gen(function* () {
      const { pty, sent } = yield* world([slowly("Hello ", "there, ", "you."), answer("Again.")])
      yield* pty.type("hi\r")
      yield* pty.until("half of it", () => /Hello there, *$/m.test(pty.screen.text()))
      assert.match(lastLine(pty), /^working \d\.\d s · main · s · Enter steers/)
      yield* idle(pty)
      assert.deepStrictEqual(pty.screen.visible().slice(0, 4), [
        "/help says what can be done here.",
        "› hi",
        "Hello there, you.",
        "1 round · 42 tokens · " + (/[\d.]+ s/.exec(pty.screen.visible()[3] ?? "")?.[0] ?? "")
      ])
      assert.deepStrictEqual(pty.screen.cursor(), { row: 5, column: 2 })
      yield* pty.type("more\r")
      yield* pty.sees("Again.")
      yield* idle(pty)
      assert.include(lastLine(pty), "84 tokens")
      assert.deepStrictEqual(
        sent(1).map(({ content }) => content),
        ["hi", "Hello there, you.", "more"]
      )
      assert.strictEqual(yield* leave(pty), 0)
      assert.strictEqual(lastLine(pty), "session s · settle chat --session s goes on")
      assert.match(pty.settings(), /(^|\s)icanon\b[^]*(^|\s)echo\b/)
      assert.isFalse(pty.screen.modes.has("?2004"), "bracketed paste is off again")
    }).pipe(Effect.scoped)
  )

  it.live("L-STREAM-01 a failed attempt leaves no trace of its text, on the screen or above it", () =>
    Effect.gen(function* () {
      const broken: ReplayServer.Answer = {
        ...slowly("Wrong ", "from ", "the ", "start"),
        ending: { _tag: "Destroyed" },
        cutAfter: 800
      }
      const { pty } = yield* world([broken, answer("The end.")])
      yield* pty.type("go\r")
      yield* pty.sees("Wrong")
      yield* pty.sees("The end.")
      yield* idle(pty)
      assert.notInclude(pty.screen.text(), "Wrong")
      assert.match(pty.screen.text(), /^↻ scripted: .*; sending again/m)
    }).pipe(Effect.scoped)
  )

  it.live("a line for each call: its time while it runs, its state when it is over", () =>
    Effect.gen(function* () {
      const call = (id: string, name: string, given: object) => ({ id, name, arguments: [JSON.stringify(given)] })
      const calls = [
        call("a", "slow_write_file", { path: "a.txt", content: words(8) }),
        call("b", "files_read_text_file", { path: "missing.txt" })
      ]
      const { pty } = yield* world([{ body: events({ calls, usage }) }, answer("Done.")], {
        config: {
          mcpServers: { ...slow.mcpServers, ...files.mcpServers },
          rules: [{ tool: "*", decision: "allow" }]
        }
      })
      yield* pty.type("write\r")
      yield* pty.until("its time grows", () =>
        /^⋯ slow_write_file\(path: "a\.txt", .*… [12]\.\d s$/m.test(pty.screen.text())
      )
      yield* pty.sees("Done.")
      yield* idle(pty)
      assert.match(pty.screen.text(), /^✔ slow_write_file\(path: "a\.txt".* \d\.\d s$/m)
      assert.match(pty.screen.text(), /^✘ files_read_text_file\(path: "missing\.txt"\) .*ENOENT/m)
      assert.notInclude(pty.screen.text(), "⋯")
    }).pipe(Effect.scoped)
  )

  it.live("X-SAFE-03 a call is allowed once, always and never, by one key each, shown neutral", () =>
    Effect.gen(function* () {
      const write = (path: string) => calling("files_write_file", { path, content: "\u001b[2Jsly\u202e" })
      const { pty, where } = yield* world(
        [
          write("a.txt"),
          answer("One."),
          write("b.txt"),
          write("c.txt"),
          answer("Two."),
          calling("files_create_directory", { path: "d" }),
          answer("Three.")
        ],
        { config: files }
      )
      yield* pty.type("one\r")
      yield* pty.sees("May files_write_file (files) run?")
      yield* pty.sees("content: ⟨U+001B⟩[2Jsly⟨U+202E⟩")
      yield* pty.sees("y: once, n: no, a: always, d: never")
      yield* Effect.sleep("700 millis")
      yield* pty.type("y")
      yield* pty.sees("One.")
      yield* idle(pty)
      assert.isTrue(where.has("a.txt"))
      yield* pty.type("two\r")
      yield* pty.sees("path: b.txt")
      yield* Effect.sleep("700 millis")
      yield* pty.type("a")
      yield* pty.sees("Two.")
      yield* idle(pty)
      assert.isTrue(where.has("b.txt") && where.has("c.txt"), "the second one was not asked about")
      yield* pty.type("three\r")
      yield* pty.sees("May files_create_directory (files) run?")
      yield* Effect.sleep("700 millis")
      yield* pty.type("d")
      yield* pty.sees("Three.")
      yield* idle(pty)
      assert.isFalse(where.has("d"))
      assert.match(pty.screen.text(), /^✘ files_create_directory\(path: "d"\).*Permission denied/m)
      const grants = transcript(where).filter(({ type }) => type === "grants")
      assert.isAtLeast(grants.length, 2, "both are kept in the transcript")
      assert.strictEqual(yield* leave(pty), 0)
    }).pipe(Effect.scoped)
  )

  it.live("T16 a line that is typed while it works steers the run, and stands where the run took it", () =>
    Effect.gen(function* () {
      const { pty, sent } = yield* world(
        [calling("slow_write_file", { path: "a.txt", content: words(4) }), answer("Done.")],
        { config: slow }
      )
      yield* pty.type("write\r")
      yield* pty.sees("⋯ slow_write_file")
      yield* pty.type("and be brief\r")
      yield* pty.sees("↳ and be brief")
      yield* pty.sees("Done.")
      yield* idle(pty)
      assert.match(pty.screen.text(), /^✔ slow_write_file.*\n(.*\n)*› and be brief\nDone\./m)
      assert.deepStrictEqual(
        sent(1).map(({ role }) => role),
        ["user", "assistant", "tool", "user"]
      )
    }).pipe(Effect.scoped)
  )

  it.live(
    "T16 L-CANC-08 Esc stops the run in a call; a line typed at once is a turn of its own, and only after the call is back",
    () =>
      Effect.gen(function* () {
        const { pty, sent, where } = yield* world(
          [calling("slow_write_file", { path: "a.txt", content: words(6) }), answer("Second.")],
          { config: slow }
        )
        yield* pty.type("write\r")
        yield* pty.sees("⋯ slow_write_file")
        yield* pty.type("never mind\r")
        yield* pty.sees("↳ never mind")
        yield* pty.type("\u001b")
        yield* pty.type("then this\r")
        yield* pty.sees("↩ not sent, up brings it back: never mind")
        yield* pty.sees("Second.")
        yield* idle(pty)
        assert.match(pty.screen.text(), /^\? slow_write_file.*outcome unknown \(cancelled\)/m)
        assert.deepStrictEqual(
          sent(1)
            .filter(({ role }) => role === "user")
            .map(({ content }) => content),
          ["write", "then this"]
        )
        const settled = transcript(where).filter(({ type }) => type === "tool-settled")
        assert.deepStrictEqual(
          settled.map(({ payload }) => payload["outcome"]),
          ["outcome-unknown"]
        )
      }).pipe(Effect.scoped)
  )

  it.live(
    "L-CANC-08 Ctrl-C stops the run, a second one leaves at once; the transcript is answered, the terminal restored",
    () =>
      Effect.gen(function* () {
        const { pty, where } = yield* world([calling("slow_write_file", { path: "a.txt", content: words(60) })], {
          config: slow
        })
        yield* pty.type("write\r")
        yield* pty.sees("⋯ slow_write_file")
        yield* pty.type("\u0003")
        yield* pty.sees("Ctrl-C again leaves")
        yield* pty.until("answered", () => transcript(where).some(({ type }) => type === "tool-settled"))
        yield* pty.type("\u0003")
        assert.strictEqual(yield* pty.ended, 130)
        const tool = transcript(where).filter(({ payload }) => payload["role"] === "tool")
        assert.deepStrictEqual(
          tool.map(({ payload }) => payload["outcomeUnknown"]),
          [true]
        )
        assert.match(pty.settings(), /(^|\s)icanon\b/)
      }).pipe(Effect.scoped)
  )

  it.live("SIGTERM in the middle of an answer: cancelled, terminal restored, exit code 130", () =>
    Effect.gen(function* () {
      const { pty, where } = yield* world([{ ...slowly("Thinking"), ending: { _tag: "Hanging" } }])
      yield* pty.type("go\r")
      yield* pty.sees("Thinking")
      yield* pty.signal("SIGTERM")
      assert.strictEqual(yield* pty.ended, 130)
      assert.match(pty.settings(), /(^|\s)icanon\b/)
      assert.isFalse(pty.screen.modes.has("?2004"))
      assert.deepStrictEqual(
        transcript(where).map(({ type }) => type),
        ["session-meta", "message"]
      )
    }).pipe(Effect.scoped)
  )

  it.live("a paste of many lines is one turn, and nothing in it is a key", () =>
    Effect.gen(function* () {
      const { pty, sent } = yield* world([answer("Read.")])
      yield* pty.type("see:\u001b\r\u001b[200~one\r\n\ttwo\u0003\r")
      yield* pty.type("three\u001b[201~")
      yield* pty.sees("three")
      assert.deepStrictEqual(pty.screen.visible().slice(1, 5), ["› see:", "  one", "      two", "  three"])
      yield* pty.type("\r")
      yield* pty.sees("Read.")
      assert.strictEqual(sent(0)[0]?.content, "see:\none\n\ttwo\nthree")
    }).pipe(Effect.scoped)
  )

  it.live("what was typed is there after a restart: up brings it back, the session tells its last words", () =>
    Effect.gen(function* () {
      const { open, pty, sent, where } = yield* world([answer("First."), answer("Second.")])
      yield* pty.type("hello 日本\r")
      yield* pty.sees("First.")
      yield* idle(pty)
      assert.strictEqual(yield* leave(pty), 0)
      const again = yield* open
      yield* again.sees("2 messages so far; the last ones:")
      assert.include(again.screen.all(), "› hello 日本\nFirst.")
      yield* again.type("\u001b[A\u001b[A")
      yield* again.sees("› hello 日本\nmain")
      yield* again.type("!\r")
      yield* again.sees("Second.")
      assert.deepStrictEqual(
        sent(1).map(({ content }) => content),
        ["hello 日本", "First.", "hello 日本!"]
      )
      assert.deepStrictEqual(jsonLines(readFileSync(join(where.home, "chat-history.jsonl"), "utf8")), [
        "hello 日本",
        "/quit",
        "hello 日本!"
      ] as never)
    }).pipe(Effect.scoped)
  )

  it.live("a window that gets smaller and larger while an answer streams shows one frame, and what stands, once", () =>
    Effect.gen(function* () {
      const { pty } = yield* world([
        slowly(
          ...words(24)
            .split(" ")
            .map((word) => `${word} `)
        )
      ])
      yield* pty.type("a question that is long enough to need two rows in a small window\r")
      yield* pty.sees("word3")
      yield* pty.resize(30, 12)
      yield* pty.until("drawn anew", () => lastLine(pty).length < 30 && lastLine(pty).endsWith("…"))
      yield* pty.sees("word12")
      yield* pty.resize(70, 20)
      yield* pty.sees("word23")
      yield* idle(pty)
      const all = pty.screen.text()
      assert.strictEqual(all.match(/working/g), null)
      assert.strictEqual(all.match(/word12/g)?.length, 1)
      assert.strictEqual(all.match(/^› a question/gm)?.length, 1)
      assert.strictEqual(all.match(/^›$/gm)?.length, 1)
    }).pipe(Effect.scoped)
  )

  it.live("wide and joined characters are edited and shown in their columns", () =>
    Effect.gen(function* () {
      const { pty, sent } = yield* world([answer("日本語 and 👩‍🚀 and é.")], { pty: { columns: 40 } })
      yield* pty.type("日本👩‍🚀x")
      yield* pty.until("typed", () => pty.screen.cursor().column === 9)
      yield* pty.type("\u001b[D\u001b[D\u007f")
      yield* pty.until("one back and one gone", () => pty.screen.cursor().column === 4)
      yield* pty.type("本語\r")
      yield* pty.sees("日本語 and 👩‍🚀 and é.")
      assert.strictEqual(sent(0)[0]?.content, "日本語👩‍🚀x")
    }).pipe(Effect.scoped)
  )

  it.live("an answer longer than the window streams its end, then stands whole", () =>
    Effect.gen(function* () {
      const lines = Array.from({ length: 40 }, (_, n) => `line ${n}\n`)
      const { pty } = yield* world([slowly(...lines)], { pty: { rows: 12 } })
      yield* pty.type("go\r")
      yield* pty.sees("line 30")
      assert.notInclude(pty.screen.text(), "line 1\n")
      yield* idle(pty)
      const all = pty.screen.text()
      for (const [n] of lines.entries()) assert.strictEqual(all.match(new RegExp(`^line ${n}$`, "gm"))?.length, 1)
    }).pipe(Effect.scoped)
  )

  it.live("colours on a terminal, none with NO_COLOR", () =>
    Effect.gen(function* () {
      const coloured = yield* world([answer("ok")])
      yield* coloured.pty.type("hi\r")
      yield* coloured.pty.sees("ok")
      yield* idle(coloured.pty)
      assert.deepStrictEqual([...coloured.pty.screen.styles()].sort(), ["", "1", "2"])
      const plain = yield* world([answer("ok")], { pty: { env: { NO_COLOR: "1" } } })
      yield* plain.pty.type("hi\r")
      yield* plain.pty.sees("ok")
      yield* idle(plain.pty)
      assert.deepStrictEqual([...plain.pty.screen.styles()], [""])
    }).pipe(Effect.scoped)
  )

  it.live("commands: a mistyped one, another model, what cannot be yet", () =>
    Effect.gen(function* () {
      const model = { protocol: "openai-chat", baseUrl: "http://127.0.0.1:9/v1", model: "scripted" }
      const { pty, where } = yield* world([answer("Never.")], {
        config: { models: { main: model, other: model }, model: "main" }
      })
      yield* pty.type("/hlep\r")
      yield* pty.sees("There is no command /hlep. Did you mean /help?")
      yield* pty.type("\u0015/model nobody\r")
      yield* pty.sees(`There is no model "nobody" (configured: main, other).`)
      yield* pty.type("/model other\r")
      yield* pty.sees("model other")
      yield* pty.type("/fork\r")
      yield* pty.sees("Nothing is written yet that could be forked.")
      yield* pty.type("/tools\r")
      yield* pty.sees("No tools: no MCP server is configured.")
      assert.strictEqual(yield* leave(pty), 0)
      assert.deepStrictEqual(
        where.files().filter((name) => name.endsWith(".jsonl") && name.includes("sessions")),
        [],
        "who only looks in leaves no session behind"
      )
    }).pipe(Effect.scoped)
  )

  it.live("sessions: a fork, a new name, an export, another session, a clear screen", () =>
    Effect.gen(function* () {
      const { pty, sent, where } = yield* world([answer("First."), answer("Forked."), answer("Fresh.")])
      yield* pty.type("hi\r")
      yield* pty.sees("First.")
      yield* idle(pty)
      yield* pty.type("/fork copy\r")
      yield* pty.until("in the copy", () => lastLine(pty).includes("· copy ·"))
      yield* pty.type("on\r")
      yield* pty.sees("Forked.")
      yield* idle(pty)
      assert.strictEqual(sent(1).length, 3, "with the conversation of the parent")
      yield* pty.type("/rename better\r")
      yield* pty.until("renamed", () => lastLine(pty).includes("· better ·"))
      yield* pty.type("/export out.html\r")
      yield* pty.sees("out.html")
      yield* pty.until("written", () => where.has("out.html"))
      yield* pty.type("/doctor\r")
      yield* pty.sees("✔ ")
      yield* pty.type("/session s\r")
      yield* pty.sees("session s")
      yield* pty.type("/clear\r")
      yield* pty.until("a new one", () => !lastLine(pty).includes("· s ·") && pty.screen.visible().length < 6)
      yield* pty.type("new\r")
      yield* pty.sees("Fresh.")
      assert.strictEqual(sent(2).length, 1)
      yield* idle(pty)
      assert.strictEqual(yield* leave(pty), 0)
      const names = where.files().filter((name) => name.endsWith(".jsonl") && name.includes("sessions"))
      assert.deepStrictEqual([names.length, names.some((name) => name.endsWith("better.jsonl"))], [3, true])
    }).pipe(Effect.scoped)
  )

  it.live("a process that crashes gives the terminal back", () =>
    Effect.gen(function* () {
      const crash = `import fs from "node:fs"; setInterval(() => { if (fs.existsSync("crash")) throw new Error("crashed on purpose") }, 50)`
      const { pty, where } = yield* world([answer("Never.")], {
        pty: { env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(crash)}` } }
      })
      assert.isTrue(pty.screen.modes.has("?2004"))
      where.write("crash", "now")
      assert.notStrictEqual(yield* pty.ended, 0)
      assert.match(pty.settings(), /(^|\s)icanon\b[^]*(^|\s)echo\b/)
      assert.isFalse(pty.screen.modes.has("?2004"))
    }).pipe(Effect.scoped)
  )

  it.live("Ctrl-Z where nobody could wake it again does no harm", () =>
    Effect.gen(function* () {
      const { pty } = yield* world([answer("Here.")])
      yield* pty.type("\u001a")
      yield* Effect.sleep("500 millis")
      yield* pty.type("still there?\r")
      yield* pty.sees("Here.")
      yield* idle(pty)
      assert.strictEqual(pty.screen.text().match(/still there/g)?.length, 1)
    }).pipe(Effect.scoped)
  )

  it.live(
    "L-CANC-08 a window that is closed in the middle of a call: the transcript is answered, nothing is left running",
    () =>
      Effect.gen(function* () {
        const { pty, where } = yield* world([calling("slow_write_file", { path: "a.txt", content: words(60) })], {
          config: slow
        })
        yield* pty.type("write\r")
        yield* pty.sees("⋯ slow_write_file")
        yield* pty.hangUp
        assert.deepStrictEqual(
          transcript(where)
            .filter(({ type }) => type === "tool-settled")
            .map(({ payload }) => payload["outcome"]),
          ["outcome-unknown"]
        )
      }).pipe(Effect.scoped)
  )

  it.live("another model answers the next turn of the same conversation; --no-session keeps it without a file", () =>
    Effect.gen(function* () {
      const other = yield* ReplayServer.make(inTurn(answer("From the other.")))
      const first = yield* ReplayServer.make(inTurn(answer("From the first.")))
      const model = (baseUrl: string) => ({ protocol: "openai-chat", baseUrl, model: "scripted" })
      const where = yield* place
      where.write("settle.json", { models: { main: model(first.baseUrl), other: model(other.baseUrl) }, model: "main" })
      const pty = yield* Pty.open(where, ["chat", "--no-session"])
      yield* pty.sees("no session")
      yield* pty.type("one\r")
      yield* pty.sees("From the first.")
      yield* idle(pty)
      yield* pty.type("/model other\r")
      yield* pty.until("in the status", () => lastLine(pty).startsWith("other · no session"))
      yield* pty.type("two\r")
      yield* pty.sees("From the other.")
      const sent: ReadonlyArray<{ content: string }> = JSON.parse(other.requests[0]?.body ?? "{}").messages
      assert.deepStrictEqual(
        sent.map(({ content }) => content),
        ["one", "From the first.", "two"]
      )
      yield* idle(pty)
      assert.strictEqual(yield* leave(pty), 0)
      assert.deepStrictEqual(
        where.files().filter((name) => name.includes("sessions")),
        []
      )
    }).pipe(Effect.scoped)
  )
})
