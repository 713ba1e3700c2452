import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as KilledRun from "./KilledRun.ts"

const kills = 200

/** Two processes at a time; most of it is starting them. */
const limit = 1_500_000

describe("SIGKILL of a run of nine tool calls", () => {
  it.live(
    `T3 L-TOOL-05 ${kills} kills: every resume opens, no call runs again, and the record is true of every call`,
    () =>
      Effect.gen(function* () {
        const whole = yield* KilledRun.wholeRun
        const moments = Array.from({ length: kills }, (_, i) => (whole * 1.1 * i) / kills)
        const seen = yield* Effect.forEach(moments, KilledRun.killAfter, { concurrency: 2 })
        const kinds = new Set(seen.flatMap((one) => one.split(",")))
        assert.isTrue(kinds.has("WasRunning"), [...kinds].join(" "))
        assert.isTrue(kinds.has("NeverRan"), [...kinds].join(" "))
      }),
    limit
  )
})
