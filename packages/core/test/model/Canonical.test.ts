import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { createHash } from "node:crypto"
import * as Canonical from "../../src/model/Canonical.ts"
import type * as Json from "../../src/model/Json.ts"

/** The same value with the keys of every object the other way round. */
const reversed = (value: Json.Json): Json.Json => {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, reversed(inner)])
  )
}

describe("Canonical.json", () => {
  it.prop(
    "equal values have equal text, whatever the order of their keys (C1)",
    { value: Schema.Json },
    ({ value }) => {
      assert.strictEqual(Canonical.json(reversed(value)), Canonical.json(value))
    }
  )

  it.prop("its text is JSON, and has itself as its canonical form", { value: Schema.Json }, ({ value }) => {
    const text = Canonical.json(value)
    assert.strictEqual(Canonical.json(JSON.parse(text)), text)
  })

  it("sorts keys at every level, writes compactly, and knows one zero and one one", () => {
    assert.strictEqual(Canonical.json({ b: 1, a: { d: [1, 2], c: null } }), '{"a":{"c":null,"d":[1,2]},"b":1}')
    assert.strictEqual(Canonical.json(-0), "0")
    assert.strictEqual(Canonical.json([JSON.parse("1.0"), -0]), "[1,0]")
    assert.strictEqual(Canonical.json(undefined), "null")
  })

  it("X-SAFE-02 keys named like properties of an object are keys (C3)", () => {
    const value: unknown = JSON.parse('{"toString":1,"__proto__":{"x":1},"constructor":2}')
    assert.strictEqual(Canonical.json(value), '{"__proto__":{"x":1},"constructor":2,"toString":1}')
  })

  it("is total (C2)", () => {
    for (const value of [undefined, 1n, NaN, Symbol("s"), () => 1, new Map([[1, 2]]), [1, , 2]]) {
      assert.doesNotThrow(() => JSON.parse(Canonical.json(value)))
    }
  })
})

describe("Canonical.callArguments", () => {
  it("L-IDENT-01 L-IDENT-02 the order of keys makes no other call", () => {
    assert.strictEqual(
      Canonical.callArguments('{"path":"a","mode":"r"}'),
      Canonical.callArguments(' {"mode":"r", "path":"a"}')
    )
    assert.notStrictEqual(Canonical.callArguments('{"path":"a"}'), Canonical.callArguments('{"path":"b"}'))
  })

  it("L-IDENT-08 what is not JSON is compared verbatim, undefined as the empty text", () => {
    assert.strictEqual(Canonical.callArguments(undefined), "")
    for (const text of ["", "  x ", "{broken", "[1,", '"a string"', "12"]) {
      assert.strictEqual(Canonical.callArguments(text), text)
    }
    assert.strictEqual(Canonical.callArguments({ b: 1, a: 2 }), '{"a":2,"b":1}')
  })
})

describe("Canonical.digest", () => {
  it("is the SHA-256 of the canonical text's UTF-8 bytes", () => {
    const text = '{"a":"é😀"}'
    assert.strictEqual(
      Canonical.digest({ a: "é😀" }),
      createHash("sha256").update(Buffer.from(text, "utf8")).digest("hex")
    )
    assert.strictEqual(Canonical.textDigest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
  })
})
