import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Big from "./Big.ts"
import * as Child from "./Child.ts"
import * as Scratch from "./Scratch.ts"

describe("a transcript beyond every string", () => {
  it.live("J9 X-STORE-04 1.2 GB with one line of 80 MB: both sides of it, its true size, and little memory", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const file = yield* Scratch.file()
        const line = Big.write(file, 1200 * 1024 * 1024, 80 * 1024 * 1024)
        const child = yield* Child.startOnHeap(128, "big.ts", [file])
        yield* child.exited
        assert.isNotEmpty(child.out(), child.errors())
        const seen = JSON.parse(child.out())
        assert.strictEqual(seen.faults.length, 1)
        assert.strictEqual(seen.faults[0].line, line)
        assert.match(
          seen.faults[0].problem,
          /^the line is 8388\d{4} bytes long and the bound is 67108864 \(maxLineBytes\)/
        )
        assert.strictEqual(seen.last, "the end")
        assert.isBelow(seen.entries, 200)
      })
    )
  )
})
