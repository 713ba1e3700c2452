import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Paths from "../../src/tools/Paths.ts"

const root: Paths.Path = ["repo"]
const shown = (text: unknown, from: Paths.Path | undefined = root): string | undefined => {
  const path = Paths.parse(text, from)
  return path === undefined ? undefined : Paths.render(path)
}

describe("Paths", () => {
  it("c8 a path is its segments, a relative one from the root", () => {
    assert.strictEqual(shown("/a//b/./c/"), "/a/b/c")
    assert.strictEqual(shown("src/x.ts"), "/repo/src/x.ts")
    assert.strictEqual(shown("."), "/repo")
    assert.strictEqual(shown("/"), "/")
    assert.strictEqual(shown("..."), "/repo/...")
  })

  it("c8 what a tool could take for another place cannot be told", () => {
    const unreadable = ["", "..", "a/../b", "/repo/..", "a\u0000b", "a\\..\\b", "~/x", "$HOME/x", "%TEMP%", "C:/x"]
    for (const text of [...unreadable, "file:///etc/passwd", 3, null, undefined, {}, ["a"]]) {
      assert.isUndefined(shown(text), String(text))
    }
    assert.isUndefined(Paths.parse("src/x.ts"))
  })

  it("c8 containment is by whole segments, and what case alone tells apart is unknown", () => {
    const inside = (folder: string, path: string) => Paths.contains(Paths.parse(folder) ?? [], Paths.parse(path))
    assert.strictEqual(inside("/repo", "/repo"), "yes")
    assert.strictEqual(inside("/repo", "/repo/a"), "yes")
    assert.strictEqual(inside("/repo", "/repository/a"), "no")
    assert.strictEqual(inside("/repo/a", "/repo"), "no")
    assert.strictEqual(inside("/", "/etc"), "yes")
    assert.strictEqual(inside("/repo/Secret", "/repo/secret/x"), "unknown")
    assert.strictEqual(inside("/caf\u00e9", "/cafe\u0301/x"), "unknown")
    assert.strictEqual(inside("/repo", "/repo/../etc"), "unknown")
  })

  it("c8 the root with the longest prefix of the tool's name counts", () => {
    const roots = [
      { prefix: "", path: "/all" },
      { prefix: "fs_", path: "/fs" },
      { prefix: "fs_read", path: "/read" }
    ]
    assert.deepStrictEqual(Paths.rootOf(roots, "fs_read_file"), ["read"])
    assert.deepStrictEqual(Paths.rootOf(roots, "fs_write"), ["fs"])
    assert.deepStrictEqual(Paths.rootOf(roots, "web"), ["all"])
    assert.isUndefined(Paths.rootOf([{ prefix: "fs_", path: "/fs" }], "web"))
  })

  it("c8 a named argument that is missing is unreadable, a default one is not there", () => {
    const at = (
      args: Record<string, never> | Record<string, string | ReadonlyArray<string>>,
      params?: ReadonlyArray<string>
    ) => Paths.located({ arguments: args, root, params })
    assert.deepStrictEqual(at({ path: "a", other: "b" }), [["repo", "a"]])
    assert.deepStrictEqual(at({ from: "a", to: "../b" }), [["repo", "a"], undefined])
    assert.deepStrictEqual(at({ paths: ["a", "b"] }), [
      ["repo", "a"],
      ["repo", "b"]
    ])
    assert.deepStrictEqual(at({ path: "a" }, ["file"]), [undefined])
    assert.deepStrictEqual(at({ path: "a" }, []), [])
    assert.deepStrictEqual(at({}, ["constructor"]), [undefined])
  })

  it.effect.prop(
    "c8 reading a path is total, and reading it again changes nothing",
    { text: Schema.String, pieces: Schema.Array(Schema.Literals(["a", "..", ".", "/", "//", "\\", "\u0000", "b c"])) },
    ({ pieces, text }) =>
      Effect.sync(() => {
        for (const given of [text, pieces.join("/"), `/${pieces.join("")}`]) {
          const path = Paths.parse(given, root)
          if (path === undefined) continue
          assert.notInclude(path, "..")
          assert.deepStrictEqual(Paths.parse(Paths.render(path)), path)
          if (!given.startsWith("/")) assert.strictEqual(Paths.contains(root, path), "yes")
        }
      })
  )
})
