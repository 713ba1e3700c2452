import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as Calibration from "../../src/decide/Calibration.ts"
import * as Excerpt from "../../src/decide/Excerpt.ts"
import * as Message from "../../src/model/Message.ts"

const length = (text: string) => [...text].length

describe("Excerpt", () => {
  it("L-ART-06 keeps three quarters of the room in front and one behind, with one marker line between", () => {
    const text = "a".repeat(90) + "b".repeat(30)
    const cut = Excerpt.cut(text, 40)
    assert.deepStrictEqual(cut, {
      head: "a".repeat(30),
      tail: "b".repeat(10),
      chars: 120,
      bytes: 120,
      elidedChars: 80
    })
    if (cut === undefined) return
    assert.strictEqual(
      Excerpt.render(cut, Excerpt.Whereabouts.Stored({ file: "op.txt", digest: "ab12" })),
      `${"a".repeat(30)}\n[... elided 80 chars (120 bytes total); full result: op.txt sha256 ab12 ...]\n${"b".repeat(10)}`
    )
  })

  it("L-ART-01 L-ART-06 leaves a text alone that is not longer than the limit", () => {
    assert.isUndefined(Excerpt.cut("a".repeat(16_384), 16_384))
    assert.isDefined(Excerpt.cut("a".repeat(16_385), 16_384))
    assert.isUndefined(Excerpt.cut("😀".repeat(10), 10))
  })

  it("L-ART-04 L-ART-05 says why the whole text is nowhere", () => {
    const cut = Excerpt.cut("x".repeat(402_110), 16_384)
    if (cut === undefined) return assert.fail("not cut")
    assert.strictEqual(
      Excerpt.marker(cut, Excerpt.Whereabouts.NoPlace({ digest: "d" })),
      "[... elided 385,726 chars (402,110 bytes total); full result not stored: there is no place to put it; sha256 d ...]"
    )
    assert.include(Excerpt.marker(cut, Excerpt.Whereabouts.StoreFailed({ digest: "d" })), "it could not be stored")
  })

  it("J10 never cuts a character in two, nor a CR from its LF", () => {
    for (let limit = 1; limit < 40; limit++) {
      const cut = Excerpt.cut("😀\r\n".repeat(20), limit)
      if (cut === undefined) return assert.fail("not cut")
      assert.isTrue(cut.head.isWellFormed() && cut.tail.isWellFormed(), `limit ${limit}`)
      assert.isFalse(cut.head.endsWith("\r"))
      assert.isFalse(cut.tail.startsWith("\n"))
    }
  })

  it.prop(
    "J10 L-ART-06 head and tail are pieces of the text, within the limit, and the facts are true",
    { text: Schema.String, limit: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 12 })) },
    ({ limit, text }) => {
      const cut = Excerpt.cut(text, limit)
      if (cut === undefined) return assert.isAtMost(length(text), limit)
      assert.isTrue(text.startsWith(cut.head) && text.endsWith(cut.tail))
      const kept = length(cut.head) + length(cut.tail)
      assert.isAtMost(kept, limit)
      assert.strictEqual(cut.chars, length(text))
      assert.strictEqual(cut.elidedChars, length(text) - kept)
      assert.strictEqual(cut.bytes, Buffer.byteLength(text))
    }
  )

  it("L-ART-06 measures a text of 30 MB without copying it", () => {
    const cut = Excerpt.cut("é".repeat(15_000_000), 16_384)
    assert.strictEqual(cut?.bytes, 30_000_000)
    assert.strictEqual(cut?.elidedChars, 15_000_000 - 16_384)
  })
})

describe("Calibration", () => {
  const shape = { model: "m", contextDigest: "c", catalogueDigest: "t" }

  it("L-CAL-01 another model, context or catalogue makes a calibration stale, the first shape does not", () => {
    assert.isFalse(Calibration.isStale(undefined, shape))
    assert.isFalse(Calibration.isStale(shape, { ...shape }))
    assert.isTrue(Calibration.isStale(shape, { ...shape, model: "n" }))
    assert.isTrue(Calibration.isStale(shape, { ...shape, contextDigest: "d" }))
    assert.isTrue(Calibration.isStale(shape, { ...shape, catalogueDigest: "u" }))
  })

  it("L-CAL-01 the catalogue's digest follows its content and order, not its identity", () => {
    const tool = (name: string) => ({ name, parameters: { type: "object" } })
    const digest = Calibration.catalogueDigest([tool("a"), tool("b")])
    assert.strictEqual(Calibration.catalogueDigest([tool("a"), tool("b")]), digest)
    assert.notStrictEqual(Calibration.catalogueDigest([tool("b"), tool("a")]), digest)
  })

  it("L-CAL-02 an extended prefix keeps its digest, a rewritten one has another", () => {
    const messages = ["a", "b", "c"].map(Message.user)
    const two = Calibration.prefixDigest(messages, 2)
    assert.strictEqual(Calibration.prefixDigest([...messages.slice(0, 2), Message.user("d")], 2), two)
    assert.strictEqual(Calibration.prefixDigest(["a", "b"].map(Message.user)), two)
    assert.notStrictEqual(Calibration.prefixDigest([Message.user("x"), ...messages.slice(1)], 2), two)
    assert.notStrictEqual(Calibration.prefixDigest(messages), two)
    assert.strictEqual(Calibration.prefixDigest([]), "")
  })

  it("L-CAL-02 one message in two histories has the digest of each", () => {
    const shared = Message.user("shared")
    const one = Calibration.prefixDigest([Message.user("1"), shared])
    const two = Calibration.prefixDigest([Message.user("2"), shared])
    assert.notStrictEqual(one, two)
    assert.strictEqual(Calibration.prefixDigest([Message.user("1"), shared]), one)
  })
})
