import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as KilledRun from "./KilledRun.ts"

describe("SIGKILL of a run of nine tool calls", () => {
  it.live(
    "T3 L-TOOL-05 killed early, in the middle and late, the record is true of every call",
    () =>
      Effect.gen(function* () {
        const whole = yield* KilledRun.wholeRun
        yield* Effect.forEach([0.05, 0.3, 0.5, 0.8], (part) => KilledRun.killAfter(whole * part), { concurrency: 2 })
      }),
    60_000
  )
})
