/** Many seeds of one scene; SETTLE_SEEDS sets how many (the slow proof runs 20,000). A seed that ever failed stays below. */
import { World } from "@settle/testing"
import { assert, describe, it } from "vitest"
import * as Scene from "./Scene.ts"

const count = Number(process.env["SETTLE_SEEDS"] ?? "400")

/** Seeds that once broke an invariant. */
const kept: ReadonlyArray<number> = []

const explore = async (options: Scene.Options, from: number, seeds: number) => {
  const histories = new Set(
    await World.seeds({ from, count: seeds }, (seed) => World.run(Scene.scene(options), { seed }))
  )
  return histories.size
}

describe("races of a run, under many seeds", () => {
  it("T16 O-TRANS-02 L-CANC-01 L-DL-13 X-CANC-01 cancel, deadline, answer, question and steer in every order break nothing", async () => {
    const histories = await explore({ cancel: true, park: false }, 0, count)
    assert.isAbove(histories, Math.min(20, count / 10))
  }, 600_000)

  it("L-DRAIN-01 L-DRAIN-02 L-PARK-12 without a cancel every scene ends, and drained is never before the result", async () => {
    const histories = await explore({ cancel: false, park: true }, 1_000_000, Math.ceil(count / 2))
    assert.isAbove(histories, 5)
  }, 600_000)

  it("L-PARK-08 a cancel and a report race for a parked run", async () => {
    await explore({ cancel: true, park: true }, 2_000_000, Math.ceil(count / 2))
  }, 600_000)

  it.each(kept)("O-TRANS-02 seed %i, which once failed", async (seed) => {
    await World.run(Scene.scene({ cancel: true, park: false }), { seed })
    await World.run(Scene.scene({ cancel: true, park: true }), { seed })
  })
})
