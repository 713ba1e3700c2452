import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import * as Child from "./Child.ts"
import * as Scratch from "./Scratch.ts"

describe("a killed writer", () => {
  for (const [durability, writers] of [
    ["fsync", 1],
    ["fsync", 20],
    ["flush", 20]
  ] as const) {
    it.live(
      `X-STORE-02 every line that was acknowledged is there after SIGKILL: ${durability}, ${writers} writing`,
      () =>
        Effect.scoped(
          Effect.gen(function* () {
            const file = yield* Scratch.file()
            let last = 0
            for (const delay of [5, 90]) {
              const child = yield* Child.start("writer.ts", [file, durability, String(writers)])
              yield* child.prints("open")
              yield* Effect.sleep(delay)
              yield* child.kill
              const acknowledged = child.out().split("\n").slice(1, -1)
              const seen = yield* Scratch.using({ path: file }, (transcript) =>
                Effect.map(transcript.replay, (replay) => ({ replay, notices: transcript.notices }))
              )
              const contents = seen.replay.entries.slice(last).map((entry) => entry.message.content.split(" ")[0] ?? "")
              const found = new Set(contents)
              for (const line of acknowledged) assert.isTrue(found.has(line), `${line} was acknowledged and is gone`)
              assert.strictEqual(found.size, contents.length, "nothing is there twice")
              // More than was acknowledged may have landed: at most one append of each writer.
              assert.isAtMost(found.size, acknowledged.length + writers)
              assert.strictEqual(seen.replay.faults.length, seen.notices.length, seen.notices.join())
              last = seen.replay.entries.length
            }
            assert.isAbove(last, 0)
            assert.isFalse(fs.existsSync(`${file}.lock`))
          })
        ),
      60_000
    )
  }
})
