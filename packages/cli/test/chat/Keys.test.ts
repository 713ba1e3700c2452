import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Keys from "../../src/chat/Keys.ts"

const { Named, Paste, Text } = Keys.Key

/** All pieces, then a pause. */
const read = (...pieces: ReadonlyArray<string>): ReadonlyArray<Keys.Key> => {
  const found: Array<Keys.Key> = []
  let state = Keys.empty
  for (const piece of pieces) {
    const [next, keys] = Keys.feed(state, piece)
    state = next
    found.push(...keys)
  }
  return [...found, ...Keys.flush(state)[1]]
}

/** Neighbouring texts as one: the pieces they come in say nothing. */
const joined = (keys: ReadonlyArray<Keys.Key>): ReadonlyArray<Keys.Key> =>
  keys.reduce<ReadonlyArray<Keys.Key>>((all, key) => {
    const last = all.at(-1)
    return key._tag === "Text" && last?._tag === "Text"
      ? [...all.slice(0, -1), Text({ text: last.text + key.text })]
      : [...all, key]
  }, [])

const named = (...names: ReadonlyArray<Keys.Name>) => names.map((name) => Named({ name }))

describe("Keys", () => {
  it("reads text, control keys and sequences of different terminals", () => {
    assert.deepStrictEqual(read("añ日\r"), [Text({ text: "añ日" }), ...named("enter")])
    assert.deepStrictEqual(
      read("\u001b[A\u001bOA\u001b[1~\u001b[H\u001b[3~\u001b[1;5D\u001bb\u001b\r\u001b[13;2u\n\u007f"),
      named(
        "up",
        "up",
        "home",
        "home",
        "delete",
        "word-left",
        "word-left",
        "newline",
        "newline",
        "newline",
        "backspace"
      )
    )
    assert.deepStrictEqual(read("\u0003\u0004\u001a"), named("interrupt", "end-of-input", "suspend"))
  })

  it("an escape alone is the Esc key only after a pause; the beginning of a sequence waits for its rest", () => {
    assert.deepStrictEqual(Keys.feed(Keys.empty, "\u001b")[1], [])
    assert.isTrue(Keys.isWaiting(Keys.feed(Keys.empty, "\u001b[")[0]))
    assert.deepStrictEqual(read("\u001b"), named("escape"))
    assert.deepStrictEqual(read("\u001b", "[", "A"), named("up"))
    assert.deepStrictEqual(read("\u001b\u001b"), named("escape"))
    assert.deepStrictEqual(read("\u001b["), [], "half a sequence is no key")
  })

  it("Alt with an arrow is no Esc: it must not stop a run", () => {
    assert.deepStrictEqual(read("\u001b\u001b[A"), [])
    assert.deepStrictEqual(read("\u001b", "\u001b[", "Ax"), [Text({ text: "x" })])
  })

  it("T16 an Esc that came together with the next letter is an Esc", () => {
    assert.deepStrictEqual(read("\u001bthen\r"), [...named("escape"), Text({ text: "then" }), ...named("enter")])
    assert.deepStrictEqual(read("\u001b日"), [...named("escape"), Text({ text: "日" })])
  })

  it("a sequence nobody knows is swallowed whole, and what follows it is read", () => {
    assert.deepStrictEqual(read("\u001b[200;5;7zx"), [Text({ text: "x" })])
    assert.deepStrictEqual(read("\u001b[I\u001b[<0;10;10Mok"), [Text({ text: "ok" })])
    assert.deepStrictEqual(read("\u001b[12\rx"), [...named("enter"), Text({ text: "x" })], "broken off")
  })

  it("a paste is one key, with line ends and whatever else is in it, and ends only at its mark", () => {
    const pasted = "one\r\ntwo\u0003\u001b[A\r"
    assert.deepStrictEqual(read(`\u001b[200~${pasted}\u001b[201~!`), [Paste({ text: pasted }), Text({ text: "!" })])
    assert.deepStrictEqual(read("\u001b[200~never ends\r"), [], "nothing in it acts")
  })

  const Sent = Schema.Array(
    Schema.Literals([
      "a",
      "日本",
      "👩‍🚀",
      "\u001b[A",
      "\r",
      "\u001b\r",
      "\u001b[200~x\r\u001b[20y\u001b[201~",
      "\u001b[1;5C"
    ])
  )
  it.effect.prop(
    "any cut of a stream gives the same keys",
    { sent: Sent, at: Schema.Array(Schema.Int) },
    ({ at, sent }) =>
      Effect.sync(() => {
        const stream = sent.join("")
        const cuts = [...new Set(at.map((cut) => Math.abs(cut) % (stream.length + 1)))].sort((a, b) => a - b)
        const pieces = [...cuts, stream.length].map((end, index) => stream.slice(cuts[index - 1] ?? 0, end))
        assert.deepStrictEqual(joined(read(...pieces)), joined(read(stream)))
      })
  )
})
