import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Json from "@settle/core/model/Json"
import * as Parameters from "../src/Parameters.ts"

const repaired = (schema: unknown) => Parameters.repair(schema).schema
const bare = { type: "object", properties: {} }

describe("schemas are made safe for every backend", () => {
  it("M11 a missing or senseless schema is that of an empty object", () => {
    for (const given of [
      undefined,
      null,
      true,
      "object",
      7,
      [],
      {},
      { type: "string" },
      { type: ["object", "null"] }
    ]) {
      assert.deepStrictEqual(repaired(given), bare)
    }
  })
  it("M11 required names only what is there, and is left out when empty", () => {
    assert.deepStrictEqual(repaired({ properties: { a: {} }, required: ["a", "b", 7] }), {
      ...bare,
      properties: { a: {} },
      required: ["a"]
    })
    assert.deepStrictEqual(repaired({ properties: { a: {} }, required: [] }), { ...bare, properties: { a: {} } })
  })
  it("M11 refs are resolved; a cycle, a foreign and a broken one accept anything", () => {
    const schema = {
      type: "object",
      properties: {
        tree: { $ref: "#/$defs/Node" },
        far: { $ref: "https://example.test/schema.json", description: "far away" },
        gone: { $ref: "#/$defs/Missing" },
        odd: { $ref: "#/$defs/a~1b" },
        chain: { $ref: "#/$defs/Alias" }
      },
      $defs: {
        Node: { type: "object", properties: { value: { type: "string" }, next: { $ref: "#/$defs/Node" } } },
        "a/b": { type: "integer" },
        Alias: { $ref: "#/$defs/a~1b" }
      }
    }
    assert.deepStrictEqual(repaired(schema), {
      type: "object",
      properties: {
        tree: { type: "object", properties: { value: { type: "string" }, next: {} } },
        far: { description: "far away" },
        gone: {},
        odd: { type: "integer" },
        chain: { type: "integer" }
      }
    })
  })
  it("M11 refs that double at each step stay bounded", () => {
    const defs = Object.fromEntries(
      Array.from({ length: 30 }, (_, i) => [
        `L${i}`,
        { type: "object", properties: { a: { $ref: `#/$defs/L${i + 1}` }, b: { $ref: `#/$defs/L${i + 1}` } } }
      ])
    )
    const text = JSON.stringify(repaired({ properties: { x: { $ref: "#/$defs/L0" } }, $defs: defs }))
    assert.isBelow(text.length, 500_000)
  })
  it("M11 a depth without end is cut", () => {
    let schema: Json.JsonObject = { type: "string" }
    for (let i = 0; i < 5_000; i++) schema = { type: "array", items: schema }
    assert.isBelow(JSON.stringify(repaired({ properties: { deep: schema } })).length, 2_000)
  })
  it("M11 alternatives at the top become one object: what all of them require is required", () => {
    assert.deepStrictEqual(
      repaired({
        anyOf: [
          { properties: { id: { type: "string" }, by: { const: "id" } }, required: ["by", "id"] },
          { properties: { name: { type: "string" }, by: { const: "name" } }, required: ["by", "name"] }
        ]
      }),
      {
        type: "object",
        properties: {
          id: { type: "string" },
          by: { anyOf: [{ const: "id" }, { const: "name" }] },
          name: { type: "string" }
        },
        required: ["by"]
      }
    )
    assert.deepStrictEqual(
      repaired({ properties: { a: {} }, required: ["a"], allOf: [{ properties: { b: {} }, required: ["b"] }] }),
      { type: "object", properties: { a: {}, b: {} }, required: ["a", "b"] }
    )
  })
  it("M11 arrays have items, tuples become alternatives, boolean schemas become objects", () => {
    assert.deepStrictEqual(
      repaired({
        properties: {
          a: { type: "array" },
          b: { type: "array", items: [{ type: "string" }, { type: "number" }] },
          c: true
        }
      }),
      {
        type: "object",
        properties: {
          a: { type: "array", items: {} },
          b: { type: "array", items: { anyOf: [{ type: "string" }, { type: "number" }] } },
          c: {}
        }
      }
    )
  })
  it("M11 property names that a provider refuses are renamed, and found again", () => {
    const { schema, keys } = Parameters.repair({
      properties: { "user name": { type: "string" }, ok: {} },
      required: ["user name"]
    })
    const [renamed] = [...keys.keys()]
    assert.match(renamed ?? "", /^user_name_[0-9a-f]{8}$/)
    assert.strictEqual(keys.get(renamed ?? ""), "user name")
    assert.strictEqual(JSON.stringify(schema["required"]), JSON.stringify([renamed]))
  })
  it("M11 X-SAFE-02 a property that is called __proto__ is a property", () => {
    const schema = repaired(JSON.parse('{"properties":{"__proto__":{"type":"string"}},"required":["__proto__"]}'))
    assert.strictEqual(
      JSON.stringify(schema),
      '{"properties":{"__proto__":{"type":"string"}},"type":"object","required":["__proto__"]}'
    )
  })
  it.effect.prop(
    "M11 anything at all: an object schema without refs, well-formed, and the same again when repaired again",
    { given: Schema.Json },
    ({ given }) =>
      Effect.sync(() => {
        const once = repaired({ properties: { x: given }, anyOf: [given], $defs: given, required: [given] })
        assert.strictEqual(once["type"], "object")
        assert.isTrue(Json.isObject(once["properties"]))
        assert.isTrue(JSON.stringify(once).isWellFormed())
        assert.strictEqual(JSON.stringify(repaired(once)), JSON.stringify(once))
      }),
    { arbitrary: { runs: 200 } }
  )
})
