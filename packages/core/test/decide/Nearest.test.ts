import { assert, describe, it } from "@effect/vitest"
import * as Nearest from "../../src/decide/Nearest.ts"

describe("Nearest", () => {
  it("finds the word that was meant, and none where nothing is near", () => {
    assert.strictEqual(Nearest.nearest("undr", ["under", "host"]), "under")
    assert.strictEqual(Nearest.nearest("hsot", ["under", "host"]), "host")
    assert.isUndefined(Nearest.nearest("banana", ["under", "host"]))
    assert.strictEqual(Nearest.hint("banana", ["under"]), "")
  })
})
