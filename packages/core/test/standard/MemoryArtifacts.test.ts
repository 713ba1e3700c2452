import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Canonical from "../../src/model/Canonical.ts"
import * as Artifacts from "../../src/port/Artifacts.ts"
import * as MemoryArtifacts from "../../src/standard/MemoryArtifacts.ts"

describe("MemoryArtifacts", () => {
  it.effect("stores the whole text under a safe name and measures it in bytes and characters", () =>
    Effect.gen(function* () {
      const artifacts = yield* MemoryArtifacts.make()
      const stored = yield* artifacts.store("../op:1 ü", "aé😀")
      assert.deepStrictEqual(stored, {
        file: ".._op_1__.txt",
        digest: Canonical.textDigest("aé😀"),
        bytes: 7,
        chars: 3
      })
      assert.deepStrictEqual([...(yield* artifacts.files)], [[".._op_1__.txt", "aé😀"]])
    })
  )

  it.effect("the layer provides the port", () =>
    Effect.gen(function* () {
      const artifacts = yield* Artifacts.Artifacts
      assert.isDefined(artifacts)
      assert.strictEqual((yield* artifacts.store("a", "")).bytes, 0)
    }).pipe(Effect.provide(MemoryArtifacts.layer))
  )
})
