import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { IdGenerator } from "../../src/port/IdGenerator.ts"

const ids = (count: number) => Effect.flatMap(IdGenerator, (generator) => Effect.replicateEffect(generator.next, count))

describe("IdGenerator", () => {
  it.effect("answers version 4 uuids, all different", () =>
    Effect.gen(function* () {
      const made = yield* ids(2000)
      for (const id of made) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      assert.strictEqual(new Set(made).size, made.length)
    })
  )

  it.effect("uses every digit at every free place", () =>
    Effect.gen(function* () {
      const made = yield* ids(2000)
      for (let at = 0; at < 36; at++) {
        const digits = new Set(made.map((id) => id.charAt(at))).size
        const fixed = [8, 13, 18, 23, 14].includes(at)
        assert.strictEqual(digits, fixed ? 1 : at === 19 ? 4 : 16, `place ${at}`)
      }
    })
  )

  it.effect("one seed, one sequence", () =>
    Effect.gen(function* () {
      const seeded = (seed: string) => ids(5).pipe(Random.withSeed(seed))
      assert.deepStrictEqual(yield* seeded("a"), yield* seeded("a"))
      assert.notDeepEqual(yield* seeded("a"), yield* seeded("b"))
    })
  )
})
