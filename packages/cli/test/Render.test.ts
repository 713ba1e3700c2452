import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { Device } from "../src/Out.ts"
import * as Render from "../src/Render.ts"
import { Show } from "../src/Screen.ts"

interface Kind {
  readonly terminal?: boolean
  readonly color?: boolean
  readonly columns?: number
  readonly rows?: number
}

/** Two devices that write into one log, as two streams of one terminal do. */
const streams = (out: Kind, err: Kind = out) => {
  const log: Array<readonly [string, string]> = []
  const device = (name: string, kind: Kind): Device => ({
    isTerminal: kind.terminal === true,
    hasColor: kind.color === true,
    size: () => ({ columns: kind.columns ?? 20, rows: kind.rows ?? 10 }),
    write: (text) => Effect.sync(() => void log.push([name, text]))
  })
  const text = (name: string) =>
    log
      .filter(([at]) => at === name)
      .map(([, written]) => written)
      .join("")
  return { streams: { stdout: device("out", out), stderr: device("err", err) }, log, text }
}

const shown = (kinds: ReturnType<typeof streams>, shows: ReadonlyArray<Show>) => {
  const render = Render.make(kinds.streams)
  return Effect.as(Effect.forEach(shows, render.show, { discard: true }), render)
}

const terminal = { terminal: true }
const turn = (text: string, streamed = text, isAnswer = true) => Show.Turn({ text, streamed, isAnswer })

describe("Render", () => {
  it.effect("L-STREAM-01 a pipe never sees a token of an attempt that failed", () =>
    Effect.gen(function* () {
      const pipe = streams({})
      yield* shown(pipe, [
        Show.Text({ text: "Half" }),
        Show.Withdraw({ text: "Half" }),
        Show.Line({ tone: "quiet", text: "again" }),
        Show.Text({ text: "Whole" }),
        turn("Whole")
      ])
      assert.strictEqual(pipe.text("out"), "Whole\n")
      assert.strictEqual(pipe.text("err"), "again\n")
    })
  )

  it.effect("L-STREAM-01 a terminal sees tokens at once, and has the rows of a failed attempt erased", () =>
    Effect.gen(function* () {
      const tty = streams(terminal)
      yield* shown(tty, [
        Show.Text({ text: "one\n" }),
        Show.Text({ text: "x".repeat(45) }),
        Show.Withdraw({ text: "" })
      ])
      assert.deepStrictEqual(tty.log, [
        ["out", "one\n"],
        ["out", "x".repeat(45)],
        ["out", "\r\u001b[3A\u001b[0J"]
      ])
    })
  )

  it.effect("L-STREAM-01 says that text is withdrawn which has left the window", () =>
    Effect.gen(function* () {
      const tty = streams({ terminal: true, rows: 3 })
      yield* shown(tty, [Show.Text({ text: "a\nb\nc\nd" }), Show.Withdraw({ text: "a\nb\nc\nd" })])
      assert.strictEqual(tty.text("out"), "a\nb\nc\nd\n↑ the text above is withdrawn: its attempt failed\n")
    })
  )

  it.effect("a terminal gets the committed text when it is another than the streamed one", () =>
    Effect.gen(function* () {
      const tty = streams(terminal)
      yield* shown(tty, [Show.Text({ text: "draft" }), turn("final", "draft"), turn("same", "")])
      assert.strictEqual(tty.text("out"), "draft\r\u001b[0Jfinal\nsame\n")
    })
  )

  it.effect(
    "X-SAFE-03 a terminal gets neutral text, also when a sequence is cut into tokens; a pipe gets the bytes",
    () =>
      Effect.gen(function* () {
        const pieces = [
          Show.Text({ text: "a\u001b" }),
          Show.Text({ text: "[31m\u202e👩" }),
          Show.Text({ text: "\u200d💻\tz" })
        ]
        const whole = "a\u001b[31m\u202e👩\u200d💻\tz"
        const tty = streams(terminal)
        yield* shown(tty, [...pieces, turn(whole)])
        assert.strictEqual(tty.text("out"), "a⟨U+001B⟩[31m⟨U+202E⟩👩\u200d💻    z\n")
        const pipe = streams({})
        yield* shown(pipe, [...pieces, turn(whole)])
        assert.strictEqual(pipe.text("out"), `${whole}\n`)
      })
  )

  it.effect("commentary before calls is no answer: a pipe has it on stderr", () =>
    Effect.gen(function* () {
      const pipe = streams({})
      yield* shown(pipe, [turn("Let me look.", "", false), turn("", "", false), turn("42\n")])
      assert.strictEqual(pipe.text("out"), "42\n")
      assert.strictEqual(pipe.text("err"), "Let me look.\n")
    })
  )

  it.effect("draws calls in flight below everything, with their time, on a terminal only", () =>
    Effect.gen(function* () {
      const running = Show.Running({
        calls: [
          { label: "fs_read(1)", since: 0, note: "" },
          { label: "x".repeat(40), since: 0, note: "n" }
        ]
      })
      const tty = streams(terminal)
      const render = yield* shown(tty, [running])
      yield* TestClock.adjust("3 seconds")
      yield* render.tick
      yield* render.show(Show.Line({ tone: "good", text: "✔ done" }))
      yield* render.show(Show.Running({ calls: [] }))
      assert.deepStrictEqual(
        tty.log.map(([, text]) => text),
        [
          `⋯ fs_read(1) 0.0 s\n⋯ ${"x".repeat(16)}…\n`,
          "\u001b[2A\u001b[0J",
          `⋯ fs_read(1) 3.0 s\n⋯ ${"x".repeat(16)}…\n`,
          "\u001b[2A\u001b[0J",
          "✔ done\n",
          `⋯ fs_read(1) 3.0 s\n⋯ ${"x".repeat(16)}…\n`,
          "\u001b[2A\u001b[0J"
        ]
      )
      const pipe = streams({})
      yield* shown(pipe, [running])
      assert.deepStrictEqual(pipe.log, [])
    })
  )

  it("colours only where the device has colours, and counts rows by width", () => {
    const { streams: plain } = streams({ terminal: true })
    const { streams: colored } = streams({ terminal: true, color: true })
    assert.strictEqual(Render.toned(plain.stderr, "bad", "x"), "x")
    assert.strictEqual(Render.toned(colored.stderr, "bad", "x"), "\u001b[31mx\u001b[0m")
    assert.deepStrictEqual(
      ["", "a", "x".repeat(20), "x".repeat(21), "日本日本日本日本日本日", "a\n\nb"].map((t) => Render.rowsOf(t, 20)),
      [1, 1, 1, 2, 2, 3]
    )
  })
})
