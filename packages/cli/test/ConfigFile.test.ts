import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { place, settle } from "./Process.ts"

const named = (name: string) => ({ models: { [name]: { protocol: "embedded" } } })

describe("ConfigFile", () => {
  it.live("finds --config first, then the nearest settle.json upwards, then the user's own, then none", () =>
    Effect.gen(function* () {
      const where = yield* place
      where.write("../config/settle/settle.json", named("users"))
      where.write("a/b/keep", "")
      where.write("other.json", named("given"))
      const names = (cwd: string, ...args: ReadonlyArray<string>) =>
        Effect.map(settle(where, ["models", "--output", "json", ...args], { cwd: `${where.folder}/${cwd}` }), (ran) => {
          assert.deepStrictEqual([ran.code, ran.stderr], [0, ""])
          return JSON.parse(ran.stdout).map((row: { name: string }) => row.name)
        })
      assert.deepStrictEqual(yield* names("a/b"), ["users"])
      where.write("settle.json", named("projects"))
      assert.deepStrictEqual(yield* names("a/b"), ["projects"])
      where.write("a/settle.json", named("nearer"))
      assert.deepStrictEqual(yield* names("a/b"), ["nearer"])
      assert.deepStrictEqual(yield* names("a/b", "--config", "../../other.json"), ["given"])
      assert.deepStrictEqual(yield* names("."), ["projects"])
    }).pipe(Effect.scoped)
  )
})
