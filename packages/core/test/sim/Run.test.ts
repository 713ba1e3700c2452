/** Some seeds of each scene; the long proof (Run.slow.ts) plays 20,000. A seed that ever failed stays below. */
import { World } from "@settle/testing"
import { assert, describe, it } from "vitest"
import * as Scene from "./Scene.ts"

/** Seeds that once broke an invariant. */
const kept: ReadonlyArray<number> = []

describe("races of a run, under many seeds", () => {
  it("T16 O-TRANS-02 L-CANC-01 L-DL-13 X-CANC-01 cancel, deadline, answer, question and steer in every order break nothing", async () => {
    const histories = await Scene.explore({ cancel: true, park: false }, { from: 0, count: 150 })
    assert.isAbove(histories, 20)
  }, 120_000)

  it("L-DRAIN-01 L-DRAIN-02 L-PARK-12 without a cancel every scene ends, and drained is never before the result", async () => {
    const histories = await Scene.explore({ cancel: false, park: true }, { from: 1_000_000, count: 75 })
    assert.isAbove(histories, 5)
  }, 120_000)

  it("L-PARK-08 a cancel and a report race for a parked run", async () => {
    await Scene.explore({ cancel: true, park: true }, { from: 2_000_000, count: 75 })
  }, 120_000)

  it("X-CANC-05 X-STORE-06 L-SHIM-05 L-LIM-04 L-CANC-04 failing sends and lines, interrupted questions, limits and a closing scope break nothing", async () => {
    const histories = await Scene.exploreAll(Scene.storm, { from: 3_000_000, count: 150 })
    assert.isAbove(histories, 40)
  }, 120_000)

  it("X-CANC-05 a scope that closes while a run begins leaves no run behind", async () => {
    assert.strictEqual(await Scene.exploreAll(Scene.closing, { from: 4_000_000, count: 300 }), 2)
  }, 120_000)

  it.each(kept)("O-TRANS-02 seed %i, which once failed", async (seed) => {
    await World.run(Scene.scene({ cancel: true, park: false }), { seed })
    await World.run(Scene.scene({ cancel: true, park: true }), { seed })
  })
})
