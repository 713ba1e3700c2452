import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import * as World from "../src/World.ts"

/** A tool and its deadline meet at the same instant; who wins is a matter of order. */
const race = Effect.gen(function* () {
  const won = yield* Deferred.make<string>()
  const trace: Array<string> = []
  const racer = (name: string, ms: number) =>
    Effect.gen(function* () {
      yield* Effect.sleep(ms)
      trace.push(`${yield* Clock.currentTimeMillis} ${name} ${yield* Random.nextIntBetween(0, 1000)}`)
      yield* Deferred.succeed(won, name)
    })
  const fibers = yield* Effect.forEach(["answer", "deadline"], (name) => Effect.forkChild(racer(name, 1000)))
  yield* Effect.sleep("1 hour")
  yield* Fiber.joinAll(fibers)
  return { winner: yield* Deferred.await(won), trace, at: yield* Clock.currentTimeMillis }
})

describe("World", () => {
  it("replays a seed exactly (W1)", async () => {
    assert.deepStrictEqual(await World.run(race, { seed: 7 }), await World.run(race, { seed: 7 }))
  })

  it("explores both orders of one instant, an hour of virtual time each (W1, W2)", async () => {
    const began = performance.now()
    const results = await World.seeds({ count: 200 }, (seed) => World.run(race, { seed }))
    const wins = results.filter((result) => result.winner === "answer").length
    assert.isAbove(wins, 40)
    assert.isBelow(wins, 160)
    assert.isTrue(results.every((result) => result.at === 3_600_000))
    assert.isBelow(performance.now() - began, 20_000)
  })

  it("names a deadlock with its seed and its time (W3)", async () => {
    const stuck = Effect.andThen(Effect.sleep(5), Effect.never)
    const error = await World.run(stuck, { seed: 3 }).then(
      () => undefined,
      (e: unknown) => e
    )
    assert.instanceOf(error, World.Deadlock)
    assert.strictEqual(error.message, "seed 3: at 5 ms of virtual time every fiber waits and none sleeps")
  })

  it("ends an effect that never ends (W3)", async () => {
    const endless = Effect.forever(Effect.sleep("1 second"))
    const error = await World.run(endless, { seed: 3, maxSteps: 500 }).then(
      () => undefined,
      (e: unknown) => e
    )
    assert.instanceOf(error, World.Endless)
    assert.match(error.message, /^seed 3: not at an end after 500 steps/)
  })

  it("leaves a detached fiber behind (W4)", async () => {
    const leaves = Effect.gen(function* () {
      yield* Effect.forkDetach(Effect.forever(Effect.sleep("1 second")))
      yield* Effect.sleep("1 minute")
      return "done"
    })
    assert.strictEqual(await World.run(leaves, { seed: 1 }), "done")
  })

  it("time is whole milliseconds, and a sleep is never shorter than asked (W2)", async () => {
    const slept = Effect.gen(function* () {
      const times: Array<number> = []
      for (const ms of [0.2, 0, 1.5, 1e-5]) {
        yield* Effect.sleep(ms)
        times.push(yield* Clock.currentTimeMillis)
      }
      return times
    })
    assert.deepStrictEqual(
      await World.run(slept, { seed: 1, startAt: 1e12 }),
      [1, 1, 3, 4].map((at) => 1e12 + at)
    )
  })

  it("waits for a promise of the real world", async () => {
    const real = Effect.promise(() => new Promise<number>((resolve) => setTimeout(() => resolve(4), 5)))
    assert.strictEqual(await World.run(real, { seed: 1, patienceMs: 2000 }), 4)
  })

  it("rejects with what broke the effect, and names the seed of many", async () => {
    const error = await World.seeds({ from: 4, count: 3 }, (seed) =>
      World.run(seed === 5 ? Effect.die(new Error("broken")) : Effect.void, { seed })
    ).then(
      () => undefined,
      (e: unknown) => e
    )
    assert.instanceOf(error, World.SeedFailed)
    assert.strictEqual(error.message, "seed 5: broken")
  })
})
