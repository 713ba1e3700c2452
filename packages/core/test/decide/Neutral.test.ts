import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Neutral from "../../src/decide/Neutral.ts"

const hidden =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u180e\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/u

describe("Neutral", () => {
  it("X-SAFE-03 shows control, bidi, zero-width and tag characters by their code point", () => {
    assert.strictEqual(Neutral.block("a\u001b[31mred"), "a⟨U+001B⟩[31mred")
    assert.strictEqual(Neutral.block("safe\u202egpj.exe"), "safe⟨U+202E⟩gpj.exe")
    assert.strictEqual(Neutral.line("pay\u200bpal \u2066x\u2069"), "pay⟨U+200B⟩pal ⟨U+2066⟩x⟨U+2069⟩")
    assert.strictEqual(Neutral.line("a\u{e0041}b\u00adc"), "a⟨U+E0041⟩b⟨U+00AD⟩c")
    assert.strictEqual(Neutral.line("lone \ud800"), "lone ⟨U+D800⟩")
  })

  it("X-SAFE-03 keeps line feeds and tabs in a block, and joins a line into one", () => {
    assert.strictEqual(Neutral.block("a\r\nb\tc\rd"), "a\nb\tc⟨U+000D⟩d")
    assert.strictEqual(Neutral.line("a\r\nb\tc\rd\ne"), "a⏎b c⏎d⏎e")
  })

  it("leaves visible text of any script and whole emoji as they are", () => {
    const text = "Grüße, 日本語, שלום, 👩‍💻 ❤️ 👍🏽"
    assert.strictEqual(Neutral.block(text), text)
    assert.strictEqual(Neutral.line("x\u200dy"), "x⟨U+200D⟩y")
  })

  it("X-SAFE-03 bounds a long value with its length and digest, and tells two long values apart", () => {
    const a = Neutral.bounded(`${"a".repeat(5000)}1${"z".repeat(100)}`, 40)
    const b = Neutral.bounded(`${"a".repeat(5000)}2${"z".repeat(100)}`, 40)
    assert.match(a, /^a{30} … z{10} \[5101 characters, sha256 [0-9a-f]{12}\]$/)
    assert.notStrictEqual(a, b)
    assert.strictEqual(Neutral.bounded("short", 40), "short")
  })

  it("X-SAFE-03 shows a call with every argument bounded, and arguments that are no object as they stand", () => {
    assert.strictEqual(Neutral.call("files_read", `{"path":"a.txt","n":3}`), `files_read(path: "a.txt", n: 3)`)
    assert.strictEqual(Neutral.call("x", ""), "x()")
    assert.strictEqual(Neutral.call("x", "not json\u202e"), "x(not json⟨U+202E⟩)")
    assert.match(
      Neutral.call("x", JSON.stringify({ q: "z".repeat(999) })),
      /^x\(q: .* \[1001 characters, sha256 .{12}\]\)$/
    )
  })

  it.effect.prop(
    "X-SAFE-03 lets no character through that moves a cursor, turns the order or hides",
    { text: Schema.String, from: Schema.Int },
    ({ text, from }) =>
      Effect.sync(() => {
        const nasty = String.fromCodePoint(Math.abs(from) % 0x10ffff) + text
        assert.notMatch(Neutral.line(nasty), hidden)
        assert.notMatch(Neutral.block(nasty), hidden)
        assert.isTrue(Neutral.line(nasty).isWellFormed())
        assert.notInclude(Neutral.line(nasty), "\n")
      }),
    { arbitrary: { runs: 300 } }
  )
})
