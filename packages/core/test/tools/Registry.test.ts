import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Tool from "../../src/model/Tool.ts"
import * as ToolProvider from "../../src/port/ToolProvider.ts"
import * as Registry from "../../src/tools/Registry.ts"

interface Fake extends ToolProvider.ToolProvider {
  readonly batches: Array<ReadonlyArray<string>>
}
const declare = (name: string): Tool.Declaration => ({ name, parameters: { type: "object" } })

/** Answers each call with its own label and the name it was called by. */
const fake = (label: string, names: ReadonlyArray<string>, more: Partial<ToolProvider.ToolProvider> = {}): Fake => {
  const batches: Fake["batches"] = []
  const tools = names.map(declare)
  return {
    batches,
    list: Effect.succeed(tools),
    execute: (batch) =>
      Effect.sync(() => {
        batches.push(batch.map(({ name }) => name))
        return batch.map(({ name }) => `${label}:${name}`)
      }),
    ...more
  }
}
let ids = 0
const call = (name: string): Tool.Invocation => ({ callId: `c${++ids}`, operationId: `o${ids}`, name, arguments: "{}" })
const text = (answer: Tool.Answer | string | undefined): string | undefined =>
  typeof answer === "object" ? (answer._tag === "Answered" ? answer.content : answer.message) : answer

describe("Registry", () => {
  it.effect("M11 publishes prefix, separator and name, and takes them off again", () =>
    Effect.gen(function* () {
      const a = fake("a", ["read", "write"])
      const registry = yield* Registry.make([
        { prefix: "fs", provider: a },
        { prefix: "web", separator: "-", provider: fake("b", ["read"]) }
      ])
      assert.deepStrictEqual(
        (yield* registry.list).map(({ name }) => name),
        ["fs_read", "fs_write", "web-read"]
      )
      const answers = yield* registry.execute([call("fs_read"), call("web-read")])
      assert.deepStrictEqual(answers, ["a:read", "b:read"])
    })
  )
  it.effect("L-TOOL-10 one batch for each provider, answers in the order of the calls", () =>
    Effect.gen(function* () {
      const a = fake("a", [])
      const b = fake("b", [])
      const registry = yield* Registry.make([
        { prefix: "a", provider: a },
        { prefix: "b", provider: b }
      ])
      const answers = yield* registry.execute([call("b_1"), call("a_1"), call("b_2"), call("a_2")])
      assert.deepStrictEqual(answers, ["b:1", "a:1", "b:2", "a:2"])
      assert.deepStrictEqual([a.batches, b.batches], [[["1", "2"]], [["1", "2"]]])
    })
  )
  it.effect("M11 the longest tag wins, and a tool it hides is not offered", () =>
    Effect.gen(function* () {
      const registry = yield* Registry.make([
        { prefix: "a", provider: fake("short", ["b_x", "y"]) },
        { prefix: "a_b", provider: fake("long", ["x"]) }
      ])
      assert.deepStrictEqual(
        (yield* registry.list).map(({ name }) => name),
        ["a_y", "a_b_x"]
      )
      assert.deepStrictEqual(yield* registry.execute([call("a_b_x"), call("a_y")]), ["long:x", "short:y"])
    })
  )
  it.effect(
    "L-TOOL-09 L-TOOL-10 a provider that throws, one that answers too little and an unknown prefix are errors of their calls",
    () =>
      Effect.gen(function* () {
        const registry = yield* Registry.make([
          { prefix: "ok", provider: fake("ok", []) },
          { prefix: "bad", provider: fake("bad", [], { execute: () => Effect.die(new Error("boom")) }) },
          {
            prefix: "worse",
            provider: fake("worse", [], {
              execute: () => {
                throw new Error("thrown")
              }
            })
          },
          { prefix: "short", provider: fake("short", [], { execute: () => Effect.succeed(["only one"]) }) }
        ])
        const answers = yield* registry.execute(["bad_1", "ok_1", "short_1", "short_2", "none_1", "worse_1"].map(call))
        assert.deepStrictEqual(answers.map(text), [
          "The provider bad broke while it ran this call: boom",
          "ok:1",
          "only one",
          "The provider short gave no answer to this call of short_2.",
          'There is no tool "none_1". Names of tools begin with: ok_, bad_, worse_, short_.',
          "The provider worse broke while it ran this call: thrown"
        ])
        assert.isTrue(
          [0, 3, 4, 5].every(
            (i) => typeof answers[i] === "object" && answers[i]._tag === "Answered" && answers[i].isError
          )
        )
      })
  )
  it.effect("X-CANC-04 what a provider knows of a call passes through untouched", () =>
    Effect.gen(function* () {
      const lost = Tool.Answer.Lost({ message: "gone" })
      const registry = yield* Registry.make([
        { prefix: "a", provider: fake("a", [], { execute: () => Effect.succeed([lost]) }) }
      ])
      assert.deepStrictEqual(yield* registry.execute([call("a_1")]), [lost])
    })
  )
  it.effect("M11 prefixes are refused by alphabet and when taken; they come and go", () =>
    Effect.gen(function* () {
      const a = fake("a", ["t"])
      const bad = yield* Effect.flip(Registry.make([{ prefix: "a b", provider: a }]))
      assert.strictEqual(bad.message, 'the prefix "a b" may hold only letters, digits, "_" and "-", and not be empty')
      const registry = yield* Registry.make([{ prefix: "a", provider: a }])
      const taken = yield* Effect.flip(registry.add({ prefix: "a", provider: a }))
      assert.strictEqual(taken.message, 'the prefix "a" is taken by another provider; give one of them another prefix')
      assert.strictEqual((yield* Effect.flip(registry.add({ prefix: "", provider: a }))).problem, "alphabet")
      yield* registry.add({ prefix: "b", provider: a })
      assert.deepStrictEqual(yield* registry.prefixes, ["a", "b"])
      assert.isTrue(yield* registry.remove("a"))
      assert.isFalse(yield* registry.remove("a"))
      assert.deepStrictEqual(
        (yield* registry.list).map(({ name }) => name),
        ["b_t"]
      )
    })
  )
  it.effect("M14 the list is the same array while its parts are, and another when one changes", () =>
    Effect.gen(function* () {
      let tools = [declare("t")]
      const registry = yield* Registry.make([
        { prefix: "a", provider: fake("a", [], { list: Effect.sync(() => tools) }) }
      ])
      const first = yield* registry.list
      assert.strictEqual(yield* registry.list, first)
      tools = [declare("t")]
      assert.notStrictEqual(yield* registry.list, first)
    })
  )
  it.effect("L-GEN-02 a failure to list is a failure, and registries nest", () =>
    Effect.gen(function* () {
      const error = new ToolProvider.ToolProviderError({ provider: "a", detail: "down" })
      const failing = yield* Registry.make([{ prefix: "a", provider: fake("a", [], { list: Effect.fail(error) }) }])
      assert.strictEqual((yield* Effect.flip(failing.list)).message, "a: down")
      const inner = yield* Registry.make([{ prefix: "in", provider: fake("x", ["t"]) }])
      const outer = yield* Registry.make([{ prefix: "out", provider: inner }])
      assert.deepStrictEqual(
        (yield* outer.list).map(({ name }) => name),
        ["out_in_t"]
      )
      assert.deepStrictEqual(yield* outer.execute([call("out_in_t")]), ["x:t"])
    })
  )
  it.effect("L-GRANT-01 X-IDEM-03 grants are gathered, and a probe is asked of the right one", () =>
    Effect.gen(function* () {
      const registry = yield* Registry.make([
        { prefix: "a", provider: fake("a", [], { grants: Effect.succeed([{ tool: "x" }]) }) },
        {
          prefix: "b",
          provider: fake("b", [], { probe: ({ name }) => Effect.succeed(name === "t" ? "landed" : "did-not-land") })
        }
      ])
      assert.deepStrictEqual(yield* registry.grants ?? Effect.succeed([]), [{ tool: "x" }])
      const probe = registry.probe ?? (() => Effect.succeed(undefined))
      assert.strictEqual(yield* probe(call("b_t")), "landed")
      assert.strictEqual(yield* probe(call("a_t")), undefined)
      assert.strictEqual(yield* probe(call("z_t")), undefined)
    })
  )
  it.effect.prop(
    "M11 every published name comes back to the provider and the name it came from",
    {
      mounts: Schema.Array(
        Schema.Struct({
          prefix: Schema.Literals(["a", "a_b", "b", "a_", "_"]),
          names: Schema.Array(Schema.Literals(["x", "b_x", "_x", "_b_x"]))
        })
      )
    },
    ({ mounts }) =>
      Effect.gen(function* () {
        const registry = yield* Registry.make()
        for (const [i, { prefix, names }] of mounts.entries()) {
          yield* Effect.ignore(registry.add({ prefix, provider: fake(String(i), [...new Set(names)]) }))
        }
        const tools = yield* registry.list
        assert.strictEqual(new Set(tools.map(({ name }) => name)).size, tools.length)
        const answers = yield* registry.execute(tools.map(({ name }) => call(name)))
        for (const [i, { name }] of tools.entries()) {
          const [owner, own] = String(answers[i]).split(":")
          assert.strictEqual(name, `${mounts[Number(owner)]?.prefix}_${own}`)
        }
      }),
    { arbitrary: { runs: 100 } }
  )
})
