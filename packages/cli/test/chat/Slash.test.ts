import { assert, describe, it } from "@effect/vitest"
import * as Slash from "../../src/chat/Slash.ts"

const { Command, Words, Wrong } = Slash.Slash

describe("Slash", () => {
  it("reads commands, with and without a word behind them", () => {
    assert.deepStrictEqual(Slash.parse(" /help "), Command({ command: { name: "help" } }))
    assert.deepStrictEqual(Slash.parse("/MODEL  my model"), Command({ command: { name: "model", to: "my model" } }))
    assert.deepStrictEqual(Slash.parse("/fork"), Command({ command: { name: "fork", to: undefined } }))
    assert.deepStrictEqual(Slash.parse("/export a.html"), Command({ command: { name: "export", to: "a.html" } }))
  })

  it("says what is wrong, and names the nearest command", () => {
    assert.deepStrictEqual(
      Slash.parse("/modles"),
      Wrong({ detail: "There is no command /modles. Did you mean /models?" })
    )
    assert.deepStrictEqual(
      Slash.parse("/zzz\u001b[2J"),
      Wrong({
        detail: "There is no command /zzz⟨U+001B⟩[2J. /help lists them; a line that begins with // is sent as words."
      })
    )
    assert.deepStrictEqual(Slash.parse("/model"), Wrong({ detail: "Say which: /model NAME." }))
    assert.deepStrictEqual(Slash.parse("/quit now"), Wrong({ detail: "/quit takes nothing behind it." }))
  })

  it("takes paths and escaped lines for words", () => {
    for (const text of ["hello /help", "/usr/bin/env is what?", "/help\nme", " plain "]) {
      assert.deepStrictEqual(Slash.parse(text), Words({ text }))
    }
    assert.deepStrictEqual(Slash.parse("//help"), Words({ text: "/help" }))
  })

  it("completes as far as the candidates agree", () => {
    assert.deepStrictEqual(["/h", "/mo", "/exp", "/x", "/help", "he", "/model x", "/session"].map(Slash.complete), [
      "/help",
      "/model",
      "/export ",
      undefined,
      "/help",
      undefined,
      undefined,
      undefined
    ])
  })

  it("lists every command in its help", () => {
    for (const { name } of Slash.entries) assert.match(Slash.help.join("\n"), new RegExp(`^ {2}/${name}\\b`, "m"))
  })
})
