import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as Caps from "../../src/decide/Caps.ts"

const fresh = Caps.start(1000)

describe("Caps", () => {
  it("L-CAP-06 L-CAP-07 says total and time always, the rest only when somebody reported it", () => {
    assert.deepStrictEqual(Caps.spent(fresh, 3500), { totalTokens: 0, wallClock: 2.5, complete: true })
    const one = Caps.attempt(fresh, { promptTokens: 10, completionTokens: 4, totalTokens: 14, cost: 0.25 })
    const two = Caps.attempt(one, { promptTokens: 3, completionTokens: 2, cachedPromptTokens: 1 })
    assert.deepStrictEqual(Caps.spent(two, 1000), {
      totalTokens: 19,
      wallClock: 0,
      complete: true,
      cost: 0.25,
      promptTokens: 13,
      completionTokens: 6,
      cachedPromptTokens: 1
    })
  })

  it("F5 L-CAP-05 cost that nobody reported is absent, not zero", () => {
    const spent = Caps.spent(Caps.attempt(fresh, { totalTokens: 5 }), 1000)
    assert.isFalse("cost" in spent)
    assert.isUndefined(Caps.reached(Caps.attempt(fresh, { totalTokens: 5 }), { maxCost: 0.01 }, 1000))
  })

  it("L-CAP-08 a total alone leaves the split absent", () => {
    const spent = Caps.spent(Caps.attempt(fresh, { totalTokens: 10 }), 1000)
    assert.deepStrictEqual(spent, { totalTokens: 10, wallClock: 0, complete: true })
  })

  it("L-CAP-09 cached tokens never add to the total", () => {
    const self = Caps.attempt(fresh, { promptTokens: 100, completionTokens: 1, cachedPromptTokens: 90 })
    assert.strictEqual(self.totalTokens, 101)
  })

  it("L-CAP-10 L-PARK-19 parked time is not working time and is shown only after a park", () => {
    const parked = Caps.park(fresh, 60_000)
    assert.deepStrictEqual(Caps.spent(parked, 63_000), {
      totalTokens: 0,
      wallClock: 2,
      complete: true,
      parkedSeconds: 60
    })
    assert.isUndefined(Caps.reached(parked, { maxWallClockMs: 2001 }, 63_000))
    assert.deepStrictEqual(Caps.reached(parked, { maxWallClockMs: 2000 }, 63_000), {
      cap: "wall-clock",
      spent: 2,
      limit: 2
    })
    assert.strictEqual(Caps.spent(parked, 2000).wallClock, 0)
  })

  it("L-CAP-11 a run starts at zero", () => {
    assert.deepStrictEqual(Caps.spent(Caps.start(5), 5), { totalTokens: 0, wallClock: 0, complete: true })
  })

  it("L-CAP-04 L-CAP-12 a cap is reached at exactly its value, and says cap, spend and limit", () => {
    const ten = Array.from({ length: 10 }).reduce<Caps.Spend>(
      (self) => Caps.attempt(self, { totalTokens: 7, cost: 0.1 }),
      fresh
    )
    assert.deepStrictEqual(Caps.reached(ten, { maxCost: 1 }, 1000), { cap: "cost", spent: 1, limit: 1 })
    assert.deepStrictEqual(Caps.reached(ten, { maxTotalTokens: 70 }, 1000), {
      cap: "total-tokens",
      spent: 70,
      limit: 70
    })
    assert.isUndefined(Caps.reached(ten, { maxTotalTokens: 71, maxCost: 1.01, maxWallClockMs: 1 }, 1000))
  })

  it("L-CAP-12 an attempt that reported neither a total nor both halves makes the record incomplete", () => {
    assert.isTrue(Caps.attempt(fresh, { promptTokens: 1, completionTokens: 2 }).complete)
    assert.isTrue(Caps.attempt(fresh, { totalTokens: 2 }).complete)
    const half = Caps.attempt(fresh, { promptTokens: 8 })
    assert.isFalse(half.complete)
    assert.strictEqual(half.totalTokens, 8)
    assert.isFalse(Caps.attempt(fresh, undefined).complete)
    assert.isFalse(Caps.attempt(Caps.attempt(fresh, { cost: 1 }), { totalTokens: 2 }).complete)
  })

  it("L-ABS-01 L-ABS-02 L-ABS-03 another run's money counts as own money, its time does not", () => {
    const child = { totalTokens: 50, wallClock: 900, complete: false, cost: 0.5, promptTokens: 40, parkedSeconds: 3 }
    const parent = Caps.absorb(Caps.attempt(fresh, { totalTokens: 50, cost: 0.5 }), child)
    assert.deepStrictEqual(Caps.spent(parent, 2000), {
      totalTokens: 100,
      wallClock: 1,
      complete: false,
      cost: 1,
      promptTokens: 40
    })
    assert.strictEqual(Caps.reached(parent, { maxCost: 1, maxWallClockMs: 60_000 }, 2000)?.cap, "cost")
  })

  it("L-ABS-04 a grandchild's spend arrives through its parent's record", () => {
    const leaf = Caps.spent(Caps.attempt(fresh, { totalTokens: 5, cost: 0.2 }), 1000)
    const middle = Caps.spent(Caps.absorb(Caps.attempt(fresh, { totalTokens: 1 }), leaf), 1000)
    assert.strictEqual(Caps.absorb(fresh, middle).cost, 0.2)
    assert.strictEqual(Caps.absorb(fresh, middle).totalTokens, 6)
  })

  it("L-CAP-05 a computed part marks the sum, a reported one does not", () => {
    const reported = Caps.attempt(fresh, { totalTokens: 1, cost: 1 })
    assert.isFalse("costComputed" in Caps.spent(reported, 1000))
    const mixed = Caps.attempt(reported, { totalTokens: 1, cost: 2, costComputed: true })
    assert.strictEqual(Caps.spent(mixed, 1000).costComputed, true)
    assert.strictEqual(Caps.spent(Caps.absorb(fresh, Caps.spent(mixed, 1000)), 1000).costComputed, true)
  })

  it("X-SPEND-01 rebuilds what a transcript already cost", () => {
    const resumed = Caps.resume(0, [
      { totalTokens: 10, cost: 0.5 },
      { totalTokens: 5, cost: 0.25 }
    ])
    assert.deepStrictEqual(Caps.spent(resumed, 0), { totalTokens: 15, wallClock: 0, complete: true, cost: 0.75 })
    assert.isFalse(Caps.resume(0, [undefined]).complete)
  })

  it("P8 X-SPEND-02 three children at once cannot borrow more than is left", () => {
    const caps = { maxCost: 1 }
    const spent = Caps.attempt(fresh, { totalTokens: 1, cost: 0.4 })
    const first = Caps.reserve(spent, caps, { maxCost: 0.5 })
    assert.isTrue(first._tag === "Granted")
    if (first._tag !== "Granted") return
    assert.deepStrictEqual(first.loan, { maxCost: 0.5 })
    const second = Caps.reserve(first.spend, caps, { maxCost: 0.5 })
    assert.isTrue(second._tag === "Granted")
    if (second._tag !== "Granted") return
    assert.closeTo(second.loan.maxCost ?? 0, 0.1, 1e-9)
    assert.deepStrictEqual(Caps.reserve(second.spend, caps, {})._tag, "Refused")
  })

  it("X-SPEND-02 what a child did not use is given back when it settles", () => {
    const caps = { maxTotalTokens: 100 }
    const granted = Caps.reserve(fresh, caps, {})
    if (granted._tag !== "Granted") return assert.fail("not granted")
    assert.deepStrictEqual(granted.loan, { maxTotalTokens: 100 })
    assert.strictEqual(Caps.reserve(granted.spend, caps, {})._tag, "Refused")
    const settled = Caps.absorb(Caps.giveBack(granted.spend, caps, granted.loan), {
      totalTokens: 30,
      wallClock: 0,
      complete: true
    })
    const next = Caps.reserve(settled, caps, {})
    assert.deepStrictEqual(next._tag === "Granted" ? next.loan : {}, { maxTotalTokens: 70 })
  })

  it("P8 X-SPEND-02 a cap of 0 lets nothing be spent and nothing be lent", () => {
    assert.strictEqual(Caps.reached(fresh, { maxCost: 0 }, 1000)?.cap, "cost")
    assert.strictEqual(Caps.reached(fresh, { maxTotalTokens: 0 }, 1000)?.cap, "total-tokens")
    assert.strictEqual(Caps.reserve(fresh, { maxCost: 0 }, {})._tag, "Refused")
    const asked = Caps.reserve(fresh, {}, { maxCost: 0 })
    assert.deepStrictEqual(asked._tag === "Granted" ? asked.loan : {}, { maxCost: 0 })
  })

  it.prop(
    "X-SPEND-02 spent and lent together never pass the cap",
    { asks: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 }))) },
    ({ asks }) => {
      const caps = { maxTotalTokens: 100 }
      let self = Caps.attempt(fresh, { totalTokens: 20 })
      let lent = 0
      for (const ask of asks) {
        const answer = Caps.reserve(self, caps, { maxTotalTokens: ask })
        if (answer._tag === "Refused") continue
        self = answer.spend
        lent += answer.loan.maxTotalTokens ?? 0
      }
      assert.isAtMost(20 + lent, 100)
    }
  )
})
