import { assert, describe, it } from "@effect/vitest"
import * as History from "../../src/chat/History.ts"

const of = (...entries: ReadonlyArray<string>) => History.make(entries)

describe("History", () => {
  it("walks back and forth, and gives the draft back", () => {
    const first = History.older(of("one", "two"), "dra")
    assert.strictEqual(first?.[1], "two")
    const second = first && History.older(first[0], "two")
    assert.strictEqual(second?.[1], "one")
    assert.isUndefined(second && History.older(second[0], "one"), "the oldest")
    const forth = second && History.newer(second[0])
    assert.strictEqual(forth?.[1], "two")
    assert.deepStrictEqual(forth && History.newer(forth[0])?.[1], "dra")
    assert.isUndefined(History.newer(of("one")), "nothing is walked")
  })

  it("keeps what is worth it, and not without end", () => {
    assert.deepStrictEqual(History.add(of("a"), "a").entries, ["a"])
    assert.deepStrictEqual(History.add(of("a"), " ").entries, ["a"])
    assert.isFalse(History.isKept(of("a"), "x".repeat(History.longest + 1)), "not in the file")
    assert.strictEqual(History.add(of("a"), "x".repeat(History.longest + 1)).entries.length, 2, "but here")
    const full = Array.from({ length: 600 }, (_, n) => `${n}`).reduce(History.add, of())
    assert.deepStrictEqual([full.entries.length, full.entries[0], full.entries.at(-1)], [History.limit, "100", "599"])
  })

  it("its file survives bad lines", () => {
    const file = `${History.line("one\ntwo")}not json\n{"a":1}\n${History.line("日本")}`
    assert.deepStrictEqual(History.read(file).entries, ["one\ntwo", "日本"])
    assert.isTrue(History.isOvergrown(History.line("x").repeat(1001)))
    assert.isFalse(History.isOvergrown(file))
  })
})
