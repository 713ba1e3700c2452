import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Paint from "../../src/chat/Paint.ts"
import * as Width from "../../src/chat/Width.ts"
import { Desk } from "./Desk.ts"
import { Screen } from "./Screen.ts"

const streaming = (text: string) => new Desk().type("go\r").event({ _tag: "Token", text })

describe("View", () => {
  it("L-STREAM-01 the text of an attempt is in the live part until its turn stands, and gone when it fails", () => {
    const desk = streaming("Half an ans")
    assert.include(desk.seen(), "Half an ans")
    desk.event({
      _tag: "AttemptFailed",
      round: 1,
      attempt: 1,
      backendIndex: 0,
      error: "cut",
      disposition: "retry-same"
    })
    assert.notInclude(desk.seen().join("\n"), "Half")
    assert.notInclude(desk.standing.join("\n"), "Half")
    desk.event({ _tag: "Token", text: "The end" })
    desk.event({ _tag: "AssistantMessage", message: { role: "assistant", content: "The end" } })
    assert.include(desk.standing, "The end")
    assert.notInclude(desk.seen().join("\n"), "The end")
  })

  it("X-SAFE-03 words of the model and what was pasted are neutral", () => {
    const desk = streaming("a\u001b[2J\u202eb").type("\u001b[200~x\u202ey\u001b[201~")
    assert.include(desk.seen(), "a⟨U+001B⟩[2J⟨U+202E⟩b")
    assert.include(desk.seen(), "› x⟨U+202E⟩y")
    desk.event({ _tag: "AssistantMessage", message: { role: "assistant", content: "a\u001b[2J" } })
    assert.include(desk.standing, "a⟨U+001B⟩[2J")
  })

  it("shows each call with its time, and what waits for the run", () => {
    const desk = new Desk().type("go\r")
    for (const id of ["a", "b"]) {
      desk.event({ _tag: "ToolCall", id, name: "files_read", arguments: `{"path":"${id}"}` })
      desk.event({ _tag: "ToolStarted", id, name: "files_read" })
    }
    desk.type("look\r").type("then\t")
    assert.deepStrictEqual(desk.seen().slice(0, 4), [
      `⋯ files_read(path: "a") 2.0 s`,
      `⋯ files_read(path: "b") 2.0 s`,
      "↳ look",
      "⏭ then"
    ])
    desk.event({ _tag: "ToolResult", id: "a", name: "files_read", content: "ok", isError: false })
    assert.include(desk.standing, `✔ files_read(path: "a") 2.0 s`)
    assert.strictEqual(desk.seen()[0], `⋯ files_read(path: "b") 2.0 s`)
    desk.pull().event({ _tag: "ToolResult", id: "b", name: "files_read", content: "ok", isError: false })
    desk.event({ _tag: "RoundStarted", round: 2 })
    assert.notInclude(desk.seen().join("\n"), "↳")
    assert.strictEqual(desk.standing.at(-1), "› look", "after the last call, before the next round")
  })

  it("puts the cursor where the next character goes, also behind wide ones and in the next row", () => {
    assert.deepStrictEqual(new Desk().type("日本").frame(40).cursor, { row: 0, column: 6 })
    assert.deepStrictEqual(new Desk().type("ab\u001b[D").frame(40).cursor, { row: 0, column: 3 })
    const full = new Desk().type("x".repeat(37)).frame(40)
    assert.deepStrictEqual([full.lines[0]?.text, full.lines[1]?.text], [`› ${"x".repeat(37)}`, "  "])
    assert.deepStrictEqual(full.cursor, { row: 1, column: 2 })
  })

  it("a question that does not fit says so, and keeps its answers in sight", () => {
    const lines = Array.from({ length: 40 }, (_, n) => `  argument ${n}`).join("\n")
    const desk = new Desk().type("go\r").ask(`May it run?\n${lines}\ny: once, n: no? `, "yn")
    const seen = desk.seen(60, 12)
    assert.strictEqual(seen.length, 11)
    assert.match(seen[0] ?? "", /^… 34 rows of the question do not fit/)
    assert.include(seen, "y: once, n: no? ")
  })

  const Doing = Schema.Array(
    Schema.Literals([
      "x",
      "日本語 ",
      "👩‍🚀",
      "\u001b\r",
      "\u001b[A",
      "\u001b[D",
      "token",
      "long token\n",
      "call",
      "result",
      "ask",
      "steer\r",
      "queue\t",
      "\u001b[200~many\nlines\nof text\nhere\u001b[201~",
      "fail",
      "turn"
    ])
  )
  const perform = (desk: Desk, doing: string): void => {
    switch (doing) {
      case "token":
      case "long token\n":
        return void desk.event({ _tag: "Token", text: doing.repeat(7) })
      case "fail":
        return void desk.event({
          _tag: "AttemptFailed",
          round: 1,
          attempt: 1,
          backendIndex: 0,
          error: "x",
          disposition: "advance"
        })
      case "turn":
        return void desk.event({
          _tag: "AssistantMessage",
          message: { role: "assistant", content: desk.dialogue.text }
        })
      case "call":
        desk.event({ _tag: "ToolCall", id: `${desk.now}`, name: "tool", arguments: "{}" })
        return void desk.event({ _tag: "ToolStarted", id: `${desk.now}`, name: "tool" })
      case "ask":
        return void desk.ask("May it run?\ny: once, n: no? ", "yn")
      case "result":
        return void desk.event({ _tag: "ToolResult", id: `${desk.now}`, name: "tool", content: "", isError: false })
      default:
        return void desk.type(doing)
    }
  }

  it.effect.prop(
    "V1 P1 whatever happens in whatever window, the screen shows the frame, and above it what stands",
    { doings: Doing, columns: Schema.Int, rows: Schema.Int },
    (given) =>
      Effect.sync(() => {
        const columns = 12 + (Math.abs(given.columns) % 60)
        const rows = 5 + (Math.abs(given.rows) % 30)
        const desk = new Desk().type("go\r")
        const screen = new Screen(columns, rows)
        let drawn = Paint.nothing
        let printed = 0
        for (const doing of given.doings) {
          perform(desk, doing)
          const frame = desk.frame(columns, rows)
          assert.isBelow(frame.lines.length, rows)
          for (const { text } of frame.lines) assert.isBelow(Width.of(text), columns)
          const standing = desk.standing.slice(printed).map((text) => ({ tone: "plain", text }) as const)
          printed = desk.standing.length
          const [next, bytes] = Paint.paint(drawn, { frame, standing, hasColor: true })
          drawn = next
          screen.write(bytes)
          const seen = screen.all().split("\n")
          const live = frame.lines.map(({ text }) => text.trimEnd())
          assert.deepStrictEqual(seen.slice(seen.length - live.length), live)
          const above = desk.standing.flatMap((text) => Width.wrap(text, columns)).map((text) => text.trimEnd())
          assert.deepStrictEqual(seen.slice(0, seen.length - live.length), above)
          const { column, row } = screen.cursor()
          assert.strictEqual(column, frame.cursor.column)
          assert.strictEqual(screen.visible().length - row, live.length - frame.cursor.row)
          assert.strictEqual(
            Paint.paint(drawn, { frame, standing: [], hasColor: true })[1],
            "",
            "nothing new, nothing sent"
          )
        }
      })
  )

  it("P1 a key sends its row and not the screen", () => {
    const desk = streaming("many\nlines\nof\ntext").type("abc")
    const [drawn] = Paint.paint(Paint.nothing, { frame: desk.frame(), standing: [], hasColor: false })
    const [, bytes] = Paint.paint(drawn, { frame: desk.type("d").frame(), standing: [], hasColor: false })
    assert.include(bytes, "› abcd")
    assert.notInclude(bytes, "lines")
    assert.notInclude(bytes, "\u001b[J")
  })

  it.effect.prop(
    "a window that changes its size is left with one frame, whatever the terminal did to the old one",
    { from: Schema.Int, to: Schema.Int },
    (given) =>
      Effect.sync(() => {
        const from = 20 + (Math.abs(given.from) % 80)
        const to = 20 + (Math.abs(given.to) % 80)
        const desk = streaming("some text that is long enough to be broken in a narrow window").type(
          "typed 日本語 words"
        )
        const screen = new Screen(from, 24)
        const standing = [{ tone: "plain", text: "stands" }] as const
        const [drawn, bytes] = Paint.paint(Paint.nothing, { frame: desk.frame(from, 24), standing, hasColor: false })
        screen.write(bytes)
        screen.resize(to, 24)
        const frame = desk.frame(to, 24)
        screen.write(Paint.resized(drawn, to))
        screen.write(Paint.paint(Paint.nothing, { frame, standing: [], hasColor: false })[1])
        assert.deepStrictEqual(screen.visible(), ["stands", ...frame.lines.map(({ text }) => text.trimEnd())])
      })
  )
})
