import { describe, it } from "vitest"
import * as Scene from "./Scene.ts"

const limit = 1_500_000

describe("races of a run, under 20,000 seeds", () => {
  it(
    "O-TRANS-02 L-CANC-01 L-DL-13 10,000 seeds of a run that is cancelled",
    async () => {
      await Scene.explore({ cancel: true, park: false }, { from: 10_000_000, count: 10_000 })
    },
    limit
  )

  it(
    "L-PARK-08 5,000 seeds of a parked run that is cancelled",
    async () => {
      await Scene.explore({ cancel: true, park: true }, { from: 20_000_000, count: 5_000 })
    },
    limit
  )

  it(
    "L-DRAIN-01 L-DRAIN-02 5,000 seeds of a run that nobody cancels",
    async () => {
      await Scene.explore({ cancel: false, park: true }, { from: 30_000_000, count: 5_000 })
    },
    limit
  )
})
