import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Width from "../../src/chat/Width.ts"

describe("Width", () => {
  it("counts columns as terminals do: wide letters and emoji two, accents and joiners none", () => {
    const widths = ["abc", "日本", "한", "ｱ", "é", "e\u0301", "👍", "👍🏽", "👩‍🚀", "❤️", "🇩🇪", "\u200b", ""].map(Width.of)
    assert.deepStrictEqual(widths, [3, 4, 2, 1, 1, 1, 2, 2, 2, 2, 2, 0, 0])
  })

  it("cuts between characters, with a mark", () => {
    assert.strictEqual(Width.cut("hello", 5), "hello")
    assert.strictEqual(Width.cut("hello!", 5), "hell…")
    assert.strictEqual(Width.cut("日本語", 4), "日…")
    assert.strictEqual(Width.cut("👩‍🚀👩‍🚀", 3), "👩‍🚀…")
  })

  it("wraps each line for itself, and leaves a column empty rather than half a character", () => {
    assert.deepStrictEqual(Width.wrap("abcdef\n\nx", 4), ["abcd", "ef", "", "x"])
    assert.deepStrictEqual(Width.wrap("a日本", 4), ["a日", "本"])
    assert.deepStrictEqual(Width.wrap("\tx", 10), ["    x"])
  })

  const Words = Schema.Array(Schema.Literals(["a", "日", "👩‍🚀", "e\u0301", " ", "\n", "🇩🇪"]))
  it.effect.prop(
    "W2 no row is wider than it may be, and nothing is lost",
    { words: Words, columns: Schema.Int },
    (given) =>
      Effect.sync(() => {
        const columns = 2 + (Math.abs(given.columns) % 20)
        const text = given.words.join("")
        const rows = Width.wrap(text, columns)
        for (const row of rows) assert.isAtMost(Width.of(row), columns)
        assert.strictEqual(rows.join(""), text.replaceAll("\n", ""))
      })
  )
})
