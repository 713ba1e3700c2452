/** What every store of full results must do. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Canonical from "@settle/core/model/Canonical"
import type { Artifacts } from "@settle/core/port/Artifacts"

export interface Subject {
  readonly artifacts: Artifacts
  /** The bytes behind a name that `store` answered, as text. */
  readonly read: (file: string) => Effect.Effect<string, unknown>
}

/** Registers the suite. `make` gives a fresh store for each test; the clock is the real one. */
export const suite = (name: string, make: Effect.Effect<Subject, unknown, Scope.Scope>): void => {
  describe(`${name} as an artifact store`, () => {
    it.live("stores the whole text and measures it", () =>
      Effect.gen(function* () {
        const { artifacts, read } = yield* make
        const content = `aé😀\r\n\u0000${"x".repeat(100_000)}`
        const stored = yield* artifacts.store("op-1", content)
        assert.strictEqual(yield* read(stored.file), content)
        assert.strictEqual(stored.digest, Canonical.textDigest(content))
        assert.strictEqual(stored.bytes, new TextEncoder().encode(content).length)
        assert.strictEqual(stored.chars, [...content].length)
      })
    )

    it.live("keeps the results of different operations apart", () =>
      Effect.gen(function* () {
        const { artifacts, read } = yield* make
        const [a, b] = [yield* artifacts.store("op-a", "a"), yield* artifacts.store("op-b", "b")]
        assert.notStrictEqual(a.file, b.file)
        assert.deepStrictEqual([yield* read(a.file), yield* read(b.file)], ["a", "b"])
      })
    )

    it.live("X-SAFE-02 an operation id from outside is never a path: the name is a basename of safe characters", () =>
      Effect.gen(function* () {
        const { artifacts, read } = yield* make
        for (const id of ["../../etc/passwd", "/root", "a\\b", "a\u0000b", "__proto__", "con: *?", "日本"]) {
          const { file } = yield* artifacts.store(id, id)
          assert.match(file, /^[A-Za-z0-9_.-]+\.txt$/)
          assert.strictEqual(yield* read(file), id)
        }
      })
    )

    it.live("stores for many operations at once", () =>
      Effect.gen(function* () {
        const { artifacts, read } = yield* make
        const ids = Array.from({ length: 20 }, (_, n) => `op-${n}`)
        const stored = yield* Effect.forEach(ids, (id) => artifacts.store(id, id.repeat(1000)), {
          concurrency: "unbounded"
        })
        for (const [at, { file }] of stored.entries()) assert.strictEqual(yield* read(file), ids[at]?.repeat(1000))
      })
    )
  })
}
