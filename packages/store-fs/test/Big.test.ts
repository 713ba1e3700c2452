import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Big from "./Big.ts"
import * as Child from "./Child.ts"
import * as Scratch from "./Scratch.ts"

describe("a long transcript", () => {
  it.live(
    "J9 X-STORE-04 200 MB open without being held in memory",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const file = yield* Scratch.file()
          Big.write(file, 200 * 1024 * 1024)
          const child = yield* Child.startOnHeap(96, "big.ts", [file])
          yield* child.exited
          assert.isNotEmpty(child.out(), child.errors())
          const seen = JSON.parse(child.out())
          assert.deepStrictEqual([seen.faults, seen.last], [[], "the end"])
          assert.isBelow(seen.entries, 200)
        })
      ),
    60_000
  )
})
