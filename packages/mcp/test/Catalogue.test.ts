import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Json from "@settle/core/model/Json"
import * as Catalogue from "../src/Catalogue.ts"

const options = { server: "files", prefixLength: 6 }
const make = (...tools: ReadonlyArray<unknown>) => Catalogue.make(tools, options)
const named = (...names: ReadonlyArray<string>) =>
  make(...names.map((name) => ({ name, inputSchema: { type: "object" } })))
const published = (catalogue: Catalogue.Catalogue) => catalogue.declarations.map((each) => each.name)

describe("names", () => {
  it("M11 dots, slashes, Unicode and 85 characters become legal names that stay apart", () => {
    const long = `${"very_".repeat(16)}ends1`
    const other = `${"very_".repeat(16)}ends2`
    const catalogue = named("a.b/c", "a.b", "a_b", "größe", "読む", long, other)
    const names = published(catalogue)
    assert.strictEqual(new Set(names).size, 7)
    for (const name of names) assert.match(name, /^[A-Za-z0-9_-]{1,58}$/)
    assert.strictEqual(catalogue.entries.get("a_b")?.original, "a_b")
    assert.match(names[0] ?? "", /^a_b_c_[0-9a-f]{8}$/)
    assert.deepStrictEqual(
      names.map((name) => catalogue.entries.get(name)?.original),
      ["a.b/c", "a.b", "a_b", "größe", "読む", long, other]
    )
    assert.deepStrictEqual(catalogue.refused, [])
  })
  it("M11 a name depends on the tool alone: not on the order, not on its neighbours", () => {
    const alone = published(named("a.b/c"))[0]
    assert.include(published(named("x", "a.b.c", "a.b/c", "a_b_c")), alone)
    assert.include(published(named("a_b_c", "a.b/c", "x")), alone)
    assert.strictEqual(alone, "a_b_c_fc7cd9c4")
  })
  it("M11 a true collision refuses that tool loudly, whichever comes first", () => {
    const alias = Catalogue.publishedName("a.b/c", 58)
    for (const names of [
      [alias, "a.b/c"],
      ["a.b/c", alias]
    ]) {
      const catalogue = named(...names)
      assert.strictEqual(catalogue.entries.get(alias)?.original, alias)
      assert.deepStrictEqual(catalogue.refused, [
        { name: "a.b/c", why: `its name would become \`${alias}\`, which is that of \`${alias}\`` }
      ])
    }
    const twice = make({ name: "t", description: "one" }, { name: "t", description: "two" })
    assert.strictEqual(twice.declarations[0]?.description, "one")
    assert.strictEqual(twice.refused[0]?.why, "the server lists two tools of this name; the first one counts")
  })
  it("M11 X-SAFE-02 a tool that is called __proto__, one without a name, and no tool at all", () => {
    const catalogue = make({ name: "__proto__" }, { name: "constructor" }, { name: "" }, { name: 7 }, null, "x")
    assert.deepStrictEqual(published(catalogue), ["__proto__", "constructor"])
    assert.strictEqual(catalogue.entries.get("__proto__")?.original, "__proto__")
    assert.strictEqual(catalogue.entries.get("toString"), undefined)
    assert.strictEqual(catalogue.refused.length, 4)
  })
  it("M11 the prefix of a server is its name, or an alias that is legal and short", () => {
    assert.strictEqual(Catalogue.prefix("files"), "files")
    assert.match(Catalogue.prefix("my server"), /^my_server_[0-9a-f]{8}$/)
    assert.notStrictEqual(Catalogue.prefix("my server"), Catalogue.prefix("my.server"))
    assert.isAtMost(Catalogue.prefix("s".repeat(80)).length, 31)
  })
  it.effect.prop(
    "M11 any list of names: published names are legal, unique, stable, and nothing is lost silently",
    { names: Schema.Array(Schema.String), extra: Schema.String },
    ({ names, extra }) =>
      Effect.sync(() => {
        const catalogue = named(...names)
        const all = published(catalogue)
        assert.strictEqual(new Set(all).size, all.length)
        for (const name of all) assert.match(name, /^[A-Za-z0-9_-]{1,58}$/)
        assert.strictEqual(all.length + catalogue.refused.length, names.length)
        const reversed = named(...[...names, extra].reverse())
        for (const [name, entry] of catalogue.entries) {
          const again = [...reversed.entries].find(([, each]) => each.original === entry.original)
          if (again !== undefined) assert.strictEqual(again[0], name)
        }
      }),
    { arbitrary: { runs: 200 } }
  )
})

describe("declarations", () => {
  it("X-IDEM-01 X-IDEM-02 annotations become a class and nothing else; a contradiction counts as the worse", () => {
    const of = (annotations: Json.JsonObject) => make({ name: "t", annotations }).declarations[0]?.idempotency
    assert.strictEqual(of({ readOnlyHint: true }), "read-only")
    assert.strictEqual(of({ idempotentHint: true, destructiveHint: true }), "idempotent")
    assert.strictEqual(of({ destructiveHint: true }), "destructive")
    assert.strictEqual(of({ readOnlyHint: true, destructiveHint: true }), "destructive")
    assert.strictEqual(of({ destructiveHint: false }), undefined)
    assert.strictEqual(of({ readOnlyHint: "true", idempotentHint: 1 }), undefined)
    const { declarations } = make({ name: "t", annotations: { readOnlyHint: true, title: "T", openWorldHint: true } })
    assert.deepStrictEqual(declarations[0], {
      name: "t",
      description: "T",
      parameters: { type: "object", properties: {} },
      idempotency: "read-only",
      interruption: "interrupt",
      origin: "files"
    })
  })
  it("M11 descriptions are bounded, say what is missing, and are well-formed", () => {
    const { declarations } = make({ name: "t", description: `\ud800${"d".repeat(9_000)}` })
    const text = declarations[0]?.description ?? ""
    assert.isTrue(text.isWellFormed())
    assert.match(text, /… \[4905 more characters\]$/)
  })
  it("M14 equal catalogues have equal digests, a changed schema another", () => {
    assert.strictEqual(named("a", "b").digest, named("a", "b").digest)
    assert.notStrictEqual(
      named("a", "b").digest,
      make({ name: "a", inputSchema: { properties: { x: {} } } }, { name: "b" }).digest
    )
  })
})
