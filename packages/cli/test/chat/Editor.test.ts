import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Editor from "../../src/chat/Editor.ts"
import { Key, type Name } from "../../src/chat/Keys.ts"
import * as Width from "../../src/chat/Width.ts"

type Pressed = Name | { readonly text: string }

const press = (from: Editor.Editor, ...keys: ReadonlyArray<Pressed>): Editor.Editor =>
  keys.reduce<Editor.Editor>((editor, key) => {
    const made = typeof key === "string" ? Key.Named({ name: key }) : Key.Text(key)
    return Editor.step(editor, made) ?? editor
  }, from)

const typed = (text: string) => Editor.withText(Editor.empty, text)
/** The text with `|` at the cursor. */
const shown = ({ cursor, text }: Editor.Editor) => `${text.slice(0, cursor)}|${text.slice(cursor)}`

describe("Editor", () => {
  it("moves and deletes by what a person sees as one character", () => {
    assert.strictEqual(shown(press(typed("a👩‍🚀é"), "left", "left")), "a|👩‍🚀é")
    assert.strictEqual(shown(press(typed("a👩‍🚀é"), "backspace", "backspace")), "a|")
    assert.strictEqual(shown(press(typed("日本"), "home", "delete")), "|本")
  })

  it("an accent typed behind a letter becomes one with it", () => {
    assert.strictEqual(shown(press(press(typed("ex"), "left"), { text: "\u0301" })), "e\u0301|x")
  })

  it("moves by words, in any script", () => {
    assert.strictEqual(shown(press(typed("eins zwei-drei"), "word-left", "word-left")), "eins |zwei-drei")
    assert.strictEqual(shown(press(typed("eins zwei"), "home", "word-right")), "eins| zwei")
    assert.strictEqual(shown(press(typed("größe über"), "delete-word")), "größe |")
  })

  it("deletes to an end of the line and gives it back elsewhere", () => {
    const cut = press(typed("one\ntwo three"), "delete-to-start")
    assert.strictEqual(shown(cut), "one\n|")
    assert.strictEqual(shown(press(cut, "up", "restore")), "two three|one\n")
    assert.strictEqual(shown(press(typed("one\ntwo"), "up", "home", "delete-to-end")), "|\ntwo")
  })

  it("up and down keep the column, and are nobody's on the first and the last line", () => {
    assert.strictEqual(shown(press(typed("long line\nab\nlong line"), "up")), "long line\nab|\nlong line")
    assert.strictEqual(shown(press(typed("日本語\nabcd"), "up")), "日本|語\nabcd")
    assert.isUndefined(Editor.step(typed("a\nb"), Key.Named({ name: "down" })))
    assert.isUndefined(Editor.step(press(typed("\nb"), "up"), Key.Named({ name: "up" })), "an empty first line")
  })

  it("a paste keeps its lines and loses its control characters", () => {
    const pasted = Editor.step(Editor.empty, Key.Paste({ text: "a\r\nb\rc\u001b[31m\u0007\td" }))
    assert.strictEqual(pasted?.text, "a\nb\nc[31m\td")
  })

  const Keyed = Schema.Array(
    Schema.Literals([
      "left",
      "right",
      "word-left",
      "word-right",
      "up",
      "down",
      "home",
      "end",
      "backspace",
      "delete",
      "delete-word",
      "delete-to-start",
      "delete-to-end",
      "restore",
      "newline",
      "+a",
      "+é",
      "+e\u0301",
      "+👩‍🚀",
      "+日",
      "+\u200d",
      "+🇩"
    ])
  )
  it.effect.prop("E1 the cursor never stands inside a character", { keys: Keyed }, ({ keys }) =>
    Effect.sync(() => {
      let editor = Editor.empty
      for (const key of keys) {
        editor = key.startsWith("+") ? press(editor, { text: key.slice(1) }) : press(editor, key as Name)
        let at = 0
        const ends = [0, ...Width.graphemes(editor.text).map((grapheme) => (at += grapheme.length))]
        assert.include(ends, editor.cursor)
      }
    })
  )
})
