import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Context, Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Transcript } from "@settle/core/port/Transcript"
import * as FsTranscript from "../src/FsTranscript.ts"
import * as Location from "../src/Location.ts"
import * as Sessions from "../src/Sessions.ts"
import * as Scratch from "./Scratch.ts"

const { header, lines, message } = Scratch

/** A data directory with two projects. */
const world = Effect.gen(function* () {
  const root = yield* Scratch.folder
  const project = (name: string) => {
    const folder = path.join(root, "work", name)
    fs.mkdirSync(folder, { recursive: true })
    return folder
  }
  const home = path.join(root, "home")
  const [one, two] = [project("one"), project("two")]
  const put = (owner: string, name: string, text: string) => {
    const file = Sessions.fileOf({ home, project: owner }, name)
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, text)
    return file
  }
  return { root, home, one, two, put }
})

const withEnv = (env: Record<string, string>) => Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(env)))
const talk = (...texts: ReadonlyArray<string>) =>
  lines(header, ...texts.map((text, i) => message(`m${i}`, i % 2 === 0 ? "user" : "assistant", text)))

describe("where sessions live", () => {
  it.effect("X-STORE-05 SETTLE_HOME, else XDG_DATA_HOME, else the user's data directory", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* Sessions.home.pipe(withEnv({ SETTLE_HOME: "/s", XDG_DATA_HOME: "/x" })), "/s")
      assert.strictEqual(yield* Sessions.home.pipe(withEnv({ SETTLE_HOME: "", XDG_DATA_HOME: "/x" })), "/x/settle")
      assert.strictEqual(yield* Sessions.home.pipe(withEnv({})), path.join(os.homedir(), ".local/share/settle"))
    })
  )

  it.effect("X-STORE-05 one folder a project, by its real path", () =>
    Effect.gen(function* () {
      const { home, one, root } = yield* world
      const link = path.join(root, "link")
      fs.symlinkSync(one, link)
      assert.strictEqual(Location.folder(home, link), Location.folder(home, one))
      assert.match(path.basename(Location.folder(home, one)), /^one-[0-9a-f]{12}$/)
      fs.mkdirSync(path.join(root, "other", "one"), { recursive: true })
      assert.notStrictEqual(Location.folder(home, path.join(root, "other", "one")), Location.folder(home, one))
    })
  )

  it.effect("X-STORE-05 new names sort by time and can name a session", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2026, 10, 30, 12, 34, 56))
      const [a, b] = [yield* Sessions.newName, yield* Sessions.newName]
      assert.match(a, /^2026-11-30-123456-[0-9a-f]{4}$/)
      assert.notStrictEqual(a, b)
      assert.isUndefined(Location.nameProblem(a))
    })
  )
})

describe("Sessions.list", () => {
  it.effect("J2 X-STORE-05 lists every file, the last written first, a broken one with its problem", () =>
    Effect.gen(function* () {
      const { home, one, put, two } = yield* world
      const old = put(one, "old", talk("hello\n  there", "hi"))
      const hurt = put(one, "hurt", `${talk("first")}${"\u0000".repeat(50)}\n${message("z", "assistant", "later")}\n`)
      put(one, "note", "not a transcript\n")
      put(two, "far", talk("elsewhere"))
      fs.mkdirSync(path.join(path.dirname(old), "folder.jsonl"))
      fs.utimesSync(old, 1000, 1000)
      fs.utimesSync(hurt, 2000, 2000)
      const listed = yield* Sessions.list({ home, project: one })
      const byName = new Map(listed.map((peek) => [peek.name, peek]))
      assert.deepStrictEqual(
        listed.slice(-2).map((peek) => peek.name),
        ["hurt", "old"]
      )
      assert.deepInclude(byName.get("old"), {
        firstPrompt: "hello there",
        messages: 2,
        openCalls: 0,
        updatedAt: 1_000_000
      })
      assert.strictEqual(byName.get("hurt")?.messages, 2)
      assert.strictEqual(byName.get("hurt")?.faults.length, 1)
      assert.strictEqual(byName.get("note")?.problem, "no line of it is a record of a transcript")
      assert.strictEqual(byName.get("folder")?.problem, "it is not a file")
      assert.strictEqual((yield* Sessions.list({ home })).length, 5)
      assert.deepStrictEqual(yield* Sessions.list({ home: "/nowhere/at/all" }), [])
    })
  )

  it.effect("X-STORE-05 peek counts open calls, never fails, and never writes", () =>
    Effect.gen(function* () {
      const { one, put } = yield* world
      const file = put(
        one,
        "open",
        lines(header, Scratch.asks("a", "c1", "c2"), Scratch.dispatched("o", "c1")) + '{"torn'
      )
      const before = fs.readFileSync(file, "utf8")
      const peek = yield* Sessions.peek(file)
      assert.deepInclude(peek, { openCalls: 2, messages: 1, problem: undefined })
      assert.match(peek.faults[0]?.problem ?? "", /the last line is incomplete/)
      assert.strictEqual(fs.readFileSync(file, "utf8"), before)
      assert.include((yield* Sessions.peek("/no/such/file.jsonl")).problem ?? "", "(ENOENT)")
      yield* Scratch.using({ path: file }, () => Sessions.peek(file))
    })
  )

  it.effect("X-STORE-05 finds by path, by name here, by name anywhere, and says what there is", () =>
    Effect.gen(function* () {
      const { home, one, put, two } = yield* world
      const mine = put(one, "both", talk("a"))
      const theirs = put(two, "both", talk("b"))
      const only = put(two, "only", talk("c"))
      assert.strictEqual(yield* Sessions.find(only, {}), only)
      assert.strictEqual(yield* Sessions.find("both", { home, project: one }), mine)
      assert.strictEqual(yield* Sessions.find("only", { home, project: one }), only)
      const unclear = yield* Effect.flip(Sessions.find("both", { home }))
      assert.include(unclear.message, "both names 2 sessions; give one of these paths: ")
      assert.include(unclear.message, theirs)
      const none = yield* Effect.flip(Sessions.find("bth", { home, project: two }))
      assert.strictEqual(none.message, "could not find the session: there is no session bth; there are: both, only")
    })
  )
})

describe("Sessions.fork", () => {
  it.effect("J13 X-STORE-05 copies up to a line, points back, and never writes to the parent", () =>
    Effect.gen(function* () {
      const { home, one, put } = yield* world
      const from = put(one, "parent", talk("one", "two", "three", "four"))
      const before = fs.readFileSync(from)
      const to = Sessions.fileOf({ home, project: one }, "child")
      const forked = yield* Sessions.fork({ from, to, at: 3, meta: { name: "child" } })
      assert.deepStrictEqual([forked.copied, forked.faults, forked.open], [2, [], []])
      const replay = yield* Scratch.using({ path: to }, (transcript) =>
        Effect.andThen(transcript.append([Scratch.user("other way")]), transcript.replay)
      )
      assert.deepStrictEqual(
        replay.entries.map((entry) => entry.message.content),
        ["one", "two", "other way"]
      )
      assert.deepStrictEqual(replay.meta, { name: "child", parent: { path: from, line: 3, id: "m1" } })
      assert.strictEqual(fs.readFileSync(to, "utf8").split("session-meta").length, 2, "one header")
      assert.isTrue(fs.readFileSync(from).equals(before))
      const byId = yield* Sessions.fork({ from, to: Sessions.fileOf({ home, project: one }, "by-id"), at: "m1" })
      assert.strictEqual(byId.copied, 2)
    })
  )

  it.effect("J13 forking before any assistant message works, header alone too", () =>
    Effect.gen(function* () {
      const { home, one, put } = yield* world
      const from = put(one, "parent", talk("only a prompt"))
      const all = yield* Sessions.fork({ from, to: Sessions.fileOf({ home, project: one }, "all") })
      assert.strictEqual(all.copied, 1)
      const none = yield* Sessions.fork({ from, to: Sessions.fileOf({ home, project: one }, "none"), at: 1 })
      assert.strictEqual(none.copied, 0)
      const grandchild = yield* Sessions.fork({ from: none.path, to: Sessions.fileOf({ home, project: one }, "grand") })
      const replay = yield* Scratch.using({ path: grandchild.path }, (transcript) => transcript.replay)
      assert.deepStrictEqual([replay.entries, replay.faults], [[], []])
    })
  )

  it.effect("J13 X-STORE-05 a fork of a live, torn and faulty parent keeps what is whole and says the rest", () =>
    Effect.gen(function* () {
      const { home, one, put } = yield* world
      const text = talk("one") + "garbage\n" + lines(Scratch.asks("a", "c"), Scratch.dispatched("o", "c"))
      const from = put(one, "parent", text)
      const to = Sessions.fileOf({ home, project: one }, "child")
      const forked = yield* Scratch.using({ path: from }, () => Sessions.fork({ from, to }))
      assert.strictEqual(forked.copied, 3)
      assert.deepStrictEqual(forked.faults, [{ line: 3, problem: 'not a record: "garbage"' }])
      assert.deepStrictEqual(
        forked.open.map((call) => call._tag),
        ["WasRunning"]
      )
      assert.deepStrictEqual((yield* Sessions.peek(to)).faults, [])
    })
  )

  it.effect("J13 X-STORE-05 refuses a name that is taken and a line that is not there, and leaves no piece", () =>
    Effect.gen(function* () {
      const { home, one, put } = yield* world
      const from = put(one, "parent", talk("one"))
      const taken = put(one, "taken", talk("mine"))
      const error = yield* Effect.flip(Sessions.fork({ from, to: taken }))
      assert.strictEqual(error.message, `could not fork the session: ${taken} is there already; choose another name`)
      assert.strictEqual(fs.readFileSync(taken, "utf8"), talk("mine"))
      const to = Sessions.fileOf({ home, project: one }, "child")
      for (const at of [0, 3, 99, "nobody"]) {
        const none = yield* Effect.flip(Sessions.fork({ from, to, at }))
        assert.strictEqual(none.message, `could not fork the session: ${from} has 2 lines and none is ${at}`)
      }
      assert.deepStrictEqual(fs.readdirSync(path.dirname(from)).sort(), ["parent.jsonl", "taken.jsonl"])
    })
  )

  it.effect("J13 L-ART-03 the child has the full results, and the parent keeps its own", () =>
    Effect.gen(function* () {
      const { home, one, put } = yield* world
      const from = put(one, "parent", talk("one"))
      fs.mkdirSync(Location.artifactsOf(from))
      fs.writeFileSync(path.join(Location.artifactsOf(from), "o.txt"), "full")
      const { path: to } = yield* Sessions.fork({ from, to: Sessions.fileOf({ home, project: one }, "child") })
      for (const file of [from, to]) {
        assert.strictEqual(fs.readFileSync(path.join(Location.artifactsOf(file), "o.txt"), "utf8"), "full")
      }
    })
  )
})

describe("Sessions.rename and search", () => {
  it.effect("X-STORE-05 renames with the artifacts, refuses bad, taken and busy ones", () =>
    Effect.gen(function* () {
      const { one, put } = yield* world
      const file = put(one, "old", talk("one"))
      put(one, "taken", talk("two"))
      fs.mkdirSync(Location.artifactsOf(file))
      const refusal = (name: string) => Effect.map(Effect.flip(Sessions.rename(file, name)), (error) => error.message)
      assert.include(yield* refusal("../up"), '"../up" cannot name a session: a name may hold letters')
      assert.include(yield* refusal(""), "a name cannot be empty")
      assert.include(yield* refusal("taken"), "is there already")
      assert.include(yield* Scratch.using({ path: file }, () => refusal("new")), "it is open for writing in process")
      const renamed = yield* Sessions.rename(file, "new")
      assert.deepStrictEqual(fs.readdirSync(path.dirname(file)).sort(), ["new.artifacts", "new.jsonl", "taken.jsonl"])
      assert.deepStrictEqual(yield* Scratch.using({ path: renamed }, Scratch.contents), ["one"])
    })
  )

  it.effect("X-STORE-05 search answers line, role and an excerpt, whatever the case, past bad lines", () =>
    Effect.gen(function* () {
      const { home, one, put } = yield* world
      put(
        one,
        "a",
        `${talk("nothing", "the Needle here")}broken\n${message("z", "user", `${"💥".repeat(100)}NEEDLE${"é".repeat(200)}`)}\n`
      )
      put(one, "b", talk("no match"))
      const files = yield* Sessions.files({ home, project: one })
      const hits = yield* Stream.runCollect(Sessions.search("needle", files))
      assert.deepStrictEqual(
        hits.map(({ id, line, name, role }) => [name, line, role, id]),
        [
          ["a", 3, "assistant", "m1"],
          ["a", 5, "user", "z"]
        ]
      )
      assert.strictEqual(hits[0]?.excerpt, "the Needle here")
      assert.isTrue(hits.every((hit) => hit.excerpt.isWellFormed() && !hit.excerpt.includes("\ufffd")))
      const first = yield* Stream.runCollect(Stream.take(Sessions.search("needle", [...files, "/no/such"]), 1))
      assert.strictEqual(first.length, 1)
      const error = yield* Effect.flip(Stream.runDrain(Sessions.search("x", ["/no/such"])))
      assert.include(error.message, "could not search the sessions: /no/such: there is no such file or folder (ENOENT)")
    })
  )

  it.effect("X-STORE-05 exports a conversation as Markdown that no content can break", () =>
    Effect.gen(function* () {
      const { one, put } = yield* world
      const file = put(
        one,
        "talk",
        lines(header, message("u", "user", "hi"), Scratch.asks("a", "c")) +
          `${message("t", "tool", "```\nfenced\n```", { toolCallId: "c", outcomeUnknown: true })}\nbroken\n`
      )
      const replay = yield* Scratch.using({ path: file, readOnly: true }, (transcript) => transcript.replay)
      const text = [...Sessions.markdown(replay, "talk")].join("")
      assert.include(text, "# talk\n\n## User\n\nhi\n")
      assert.include(text, "\nCalls `write`:\n\n```\n{}\n```\n")
      assert.include(text, "## Tool result (outcome unknown)\n\n````\n```\nfenced\n```\n````\n")
      assert.include(text, '- line 5: not a record: "broken"')
    })
  )
})

describe("FsTranscript.layer by session", () => {
  it.effect("X-STORE-05 a name is a file of the project, a path is itself, and a bad name is refused", () =>
    Effect.gen(function* () {
      const { home, one, root } = yield* world
      const placeOf = (options: FsTranscript.SessionOptions) =>
        Effect.scoped(
          Effect.map(Layer.build(FsTranscript.layer(options)), (context) => Context.get(context, Transcript)?.place)
        )
      assert.strictEqual(
        yield* placeOf({ session: "today", project: one }).pipe(withEnv({ SETTLE_HOME: home })),
        Sessions.fileOf({ home, project: one }, "today")
      )
      const elsewhere = path.join(root, "x.jsonl")
      assert.strictEqual(yield* placeOf({ session: elsewhere }), elsewhere)
      const error = yield* Effect.flip(placeOf({ session: "a b", project: one, home }))
      assert.include(error.message, "a name may hold letters, digits, _, . and - only")
    })
  )

  it.effect("J7 X-STORE-05 a new session holds its meta from the first line", () =>
    Effect.gen(function* () {
      const { home, one } = yield* world
      const file = Sessions.fileOf({ home, project: one }, "fresh")
      yield* Effect.scoped(FsTranscript.open({ path: file, meta: { project: one } }))
      const peek = yield* Sessions.peek(file)
      assert.deepInclude(peek, { name: "fresh", lines: 1, messages: 0, problem: undefined })
      assert.deepStrictEqual(peek.meta, { project: one })
    })
  )
})
