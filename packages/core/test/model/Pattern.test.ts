import { assert, describe, it } from "@effect/vitest"
import * as Pattern from "../../src/model/Pattern.ts"

describe("Pattern", () => {
  it("L-CONC-01 L-EXEMPT-01 is an exact name, or a prefix with a star at its end", () => {
    assert.isTrue(Pattern.matches("fs_read", "fs_read"))
    assert.isFalse(Pattern.matches("fs_read", "fs_read2"))
    assert.isFalse(Pattern.matches("fs_read", "xfs_read"))
    assert.isTrue(Pattern.matches("fs_*", "fs_"))
    assert.isTrue(Pattern.matches("fs_*", "fs_read"))
    assert.isFalse(Pattern.matches("fs_*", "fs"))
    assert.isTrue(Pattern.matches("*", ""))
  })

  it("L-CONC-01 nothing else is a glob", () => {
    assert.isFalse(Pattern.matches("fs.read", "fs_read"))
    assert.isFalse(Pattern.matches("fs_?", "fs_a"))
    assert.isFalse(Pattern.matches("[ab]", "a"))
    assert.isTrue(Pattern.matches("a+b", "a+b"))
  })

  it("any pattern of a list may match, none of an empty one", () => {
    assert.isTrue(Pattern.matchesAny(["a", "b*"], "bc"))
    assert.isFalse(Pattern.matchesAny(["a", "b*"], "c"))
    assert.isFalse(Pattern.matchesAny([], "a"))
  })

  it("L-CONC-13 says why a value is no pattern", () => {
    assert.isUndefined(Pattern.fault("fs_*"))
    assert.strictEqual(Pattern.fault({ tool: "x" }), "a pattern is a string, not object")
    assert.strictEqual(Pattern.fault(null), "a pattern is a string, not null")
    assert.strictEqual(Pattern.fault(" "), "a pattern is not blank")
    assert.strictEqual(Pattern.fault("a*b"), '"a*b": a "*" may only stand at the end')
    assert.strictEqual(Pattern.fault("a**"), '"a**": a "*" may only stand at the end')
  })
})
