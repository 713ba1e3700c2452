import { describe, it } from "vitest"
import * as Scene from "./Scene.ts"

const limit = 1_500_000

describe("races of a run, under 25,000 seeds", () => {
  it(
    "X-CANC-05 X-STORE-06 L-SHIM-05 L-LIM-04 5,000 seeds of everything at once",
    async () => {
      await Scene.exploreAll(Scene.storm, { from: 40_000_000, count: 5_000 })
    },
    limit
  )

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
