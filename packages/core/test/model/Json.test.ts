import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as Json from "../../src/model/Json.ts"

/** Throws, whatever is asked of it. */
const hostile = (): object => {
  const refuse = () => {
    throw new Error("no")
  }
  return new Proxy(
    {},
    { get: refuse, has: refuse, ownKeys: refuse, getPrototypeOf: refuse, getOwnPropertyDescriptor: refuse }
  )
}
const revoked = (): object => {
  const { proxy, revoke } = Proxy.revocable([], {})
  revoke()
  return proxy
}
const cyclic = (): object => {
  const self: Record<string, unknown> = { a: 1 }
  self["self"] = self
  return self
}
const nested = (depth: number): unknown => (depth === 0 ? "end" : [nested(depth - 1)])

const replaced: ReadonlyArray<readonly [what: string, value: unknown, text: string]> = [
  ["undefined", undefined, "[undefined]"],
  ["undefined inside", { a: undefined, b: [undefined] }, '{"a":"[undefined]","b":["[undefined]"]}'],
  ["a BigInt", 10n, '"[bigint 10]"'],
  ["NaN and infinities", [NaN, Infinity, -Infinity], '["[NaN]","[Infinity]","[-Infinity]"]'],
  ["a symbol and a function", [Symbol("s"), () => 1], '["[symbol]","[function]"]'],
  ["a cycle", cyclic(), '{"a":1,"self":"[cycle]"}'],
  [
    "a getter that throws, its neighbours kept",
    {
      a: 1,
      get b(): number {
        throw new Error("no")
      }
    },
    '{"a":1,"b":"[getter threw]"}'
  ],
  [
    "a lone surrogate, and which one in a key",
    { "\ud800": "a\udc00", "\ud801": 1 },
    '{"[U+D800]":"a\ufffd","[U+D801]":1}'
  ],
  ["a proxy that throws", { a: hostile() }, '{"a":"[unreadable: no]"}'],
  ["a revoked proxy", [revoked()], `["[unreadable: Cannot perform 'IsArray' on a proxy that has been revoked]"]`],
  ["a toJSON that throws", { toJSON: () => Reflect.get(hostile(), "x") }, '"[unreadable: no]"'],
  ["a hole", [1, , 3], '[1,"[undefined]",3]'], // eslint-disable-line no-sparse-arrays
  ["an error", new TypeError("bad"), '"[TypeError: bad]"'],
  ["bytes", new Uint8Array(3), '"[3 bytes]"']
]

const kept: ReadonlyArray<readonly [what: string, value: unknown, text: string]> = [
  ["a string as it is, not quoted", 'say "hi"', 'say "hi"'],
  ["null", null, "null"],
  ["a date by its own toJSON", new Date(0), '"1970-01-01T00:00:00.000Z"'],
  ["a map and a set as lists", [new Map([["a", 1]]), new Set([2])], '[[["a",1]],[2]]'],
  ["the same object twice, which is no cycle", [Json, Json].map(() => ({ x: 1 })), '[{"x":1},{"x":1}]'],
  ["a key named __proto__", JSON.parse('{"__proto__":{"a":1}}'), '{"__proto__":{"a":1}}'],
  ["an object without a prototype", Object.assign(Object.create(null), { a: 1 }), '{"a":1}']
]

describe("Json.render", () => {
  for (const [what, value, text] of replaced) {
    it(`X-SAFE-01 names what it could not keep: ${what} (J1, J2)`, () => {
      assert.strictEqual(Json.render(value), text)
    })
  }

  for (const [what, value, text] of kept) {
    it(`X-SAFE-01 keeps ${what}`, () => {
      assert.strictEqual(Json.render(value), text)
    })
  }

  it("X-SAFE-01 whoever throws, and whatever is thrown, it answers a text (J1)", () => {
    const thrown: ReadonlyArray<unknown> = [
      hostile(),
      revoked(),
      undefined,
      null,
      1n,
      Symbol("s"),
      { message: hostile() }
    ]
    for (const what of thrown) {
      const text = Json.render({
        toJSON: () => {
          throw what
        }
      })
      assert.match(text, /^"\[unreadable: .+\]"$/)
    }
    const error = new Error("x")
    Object.defineProperty(error, "message", { get: () => Reflect.get(hostile(), "x") })
    assert.strictEqual(Json.render(error), '"[unreadable: no]"')
    assert.strictEqual(
      Json.render({
        toJSON: () => {
          throw error
        }
      }),
      '"[unreadable: threw]"'
    )
  })

  it("X-SAFE-01 a depth that would end the stack ends in words", () => {
    const text = Json.render(nested(5000))
    assert.include(text, "[nested deeper than 200]")
    assert.doesNotThrow(() => JSON.parse(text))
  })

  it.prop(
    "X-SAFE-01 every text that leaves is well-formed Unicode and valid JSON (J3)",
    { value: Schema.Json },
    ({ value }) => {
      const text = Json.render({ value })
      assert.isTrue(text.isWellFormed())
      assert.doesNotThrow(() => JSON.parse(text))
    }
  )

  it.prop("what is JSON already is not changed", { value: Schema.Json }, ({ value }) => {
    const text = JSON.stringify({ value })
    const holdsLoneSurrogate = /\\ud[89a-f]/.test(text)
    if (!holdsLoneSurrogate) assert.strictEqual(Json.render({ value }), text)
  })

  it("J10 lone surrogates become U+FFFD, pairs stay", () => {
    assert.strictEqual(Json.wellFormed("a\ud800b😀\udc00"), "a\ufffdb😀\ufffd")
  })

  it("parse answers undefined for what is no JSON", () => {
    for (const text of ["", "{", "undefined", "{'a':1}", "[1,]"]) assert.isUndefined(Json.parse(text))
    assert.strictEqual(Json.parse("null"), null)
    assert.deepStrictEqual(Json.parse('{"a":[1]}'), { a: [1] })
  })
})
