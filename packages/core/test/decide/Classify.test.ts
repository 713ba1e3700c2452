import { assert, describe, it } from "@effect/vitest"
import * as Backoff from "../../src/decide/Backoff.ts"
import * as Classify from "../../src/decide/Classify.ts"
import * as Disposition from "../../src/decide/Disposition.ts"
import * as Schema from "effect/Schema"

const http = (status: number, overflow = false) => Classify.classify({ errorClass: "http", status, overflow })

const facts = (over: Partial<Disposition.Facts>): Disposition.Facts => ({
  bucket: Classify.Bucket.RetrySame(),
  attempt: 1,
  maxRetries: 3,
  hasNext: false,
  backoffCapMs: 30_000,
  jitterMs: 250,
  ...over
})
const advance = Classify.Bucket.Advance({ overflow: false })
const overflow = Classify.Bucket.Advance({ overflow: true })

describe("Classify", () => {
  it("L-FAIL-01 L-FAIL-08 sorts statuses and classes as the table says", () => {
    for (const status of [400, 401, 402, 403, 404]) assert.strictEqual(http(status)._tag, "Abort", String(status))
    for (const status of [500, 502, 503, 529, 599]) assert.strictEqual(http(status)._tag, "RetrySame", String(status))
    for (const status of [405, 409, 413, 422, 429, 600]) assert.deepStrictEqual(http(status), advance, String(status))
    assert.deepStrictEqual(Classify.classify({ errorClass: "http", overflow: false }), advance)
    assert.deepStrictEqual(Classify.classify({ errorClass: "timeout", overflow: false }), advance)
    assert.deepStrictEqual(Classify.classify({ errorClass: "response", overflow: false }), advance)
    assert.strictEqual(Classify.classify({ errorClass: "connection", overflow: false })._tag, "RetrySame")
    assert.strictEqual(Classify.classify({ errorClass: "unknown", overflow: false })._tag, "RetrySame")
    assert.strictEqual(Classify.classify({ errorClass: undefined, overflow: false })._tag, "RetrySame")
  })

  it("L-400-01 L-400-02 a 400 about the window advances, any other aborts", () => {
    assert.deepStrictEqual(http(400, true), overflow)
    assert.strictEqual(http(400, false)._tag, "Abort")
  })

  it("F10 a rate limit whose text mentions tokens is no window, status first", () => {
    assert.deepStrictEqual(http(429, true), advance)
    for (const status of [401, 402, 403, 404]) assert.strictEqual(http(status, true)._tag, "Abort")
  })

  it("X-WIRE-02 an error inside a 200 stream is what the HTTP error it names would be", () => {
    assert.deepStrictEqual(Classify.classify({ errorClass: "http", status: 429, overflow: false }), http(429))
    assert.deepStrictEqual(Classify.classify({ errorClass: "http", status: 503, overflow: false }), http(503))
  })

  it("L-TIME-03 L-TIME-05 a silent stream advances, a connect that expired is tried again", () => {
    assert.deepStrictEqual(Classify.classify({ errorClass: "timeout", overflow: false }), advance)
    assert.strictEqual(Classify.classify({ errorClass: "connection", overflow: false })._tag, "RetrySame")
  })
})

describe("Backoff", () => {
  it("L-FAIL-07 doubles from one second up to the cap", () => {
    const at = (attempt: number) => Backoff.ms({ attempt, jitterMs: 500, capMs: 30_000 })
    assert.deepStrictEqual([1, 2, 3, 4, 5, 6, 7].map(at), [1500, 2500, 4500, 8500, 16_500, 30_000, 30_000])
    assert.strictEqual(Backoff.ms({ attempt: 1, jitterMs: 0, capMs: 400 }), 400)
    assert.deepStrictEqual([0, 0.5].map(Backoff.jitterMs), [0, 250])
  })

  it.prop(
    "L-FAIL-07 a wait is never longer than the cap and never shorter than the power, cap aside",
    { attempt: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 60 })), unit: Schema.Finite },
    ({ attempt, unit }) => {
      const wait = Backoff.ms({ attempt, jitterMs: Backoff.jitterMs(unit), capMs: 30_000 })
      assert.isAtMost(wait, 30_000)
      assert.isAtLeast(wait, Math.min(30_000, 2 ** (attempt - 1) * 1000))
      assert.isAtMost(wait, 2 ** (attempt - 1) * 1000 + 500)
    }
  )
})

describe("Disposition", () => {
  it("L-FAIL-02 an abort stops the chain even with another backend", () => {
    const decided = Disposition.decide(facts({ bucket: Classify.Bucket.Abort(), hasNext: true }))
    assert.strictEqual(decided._tag, "Abort")
    assert.strictEqual(Disposition.reported(decided), "abort")
  })

  it("L-FAIL-03 L-FAIL-05 retry-same waits, until the third failure of three attempts", () => {
    assert.deepStrictEqual(Disposition.decide(facts({})), Disposition.Disposition.RetrySame({ backoffMs: 1250 }))
    assert.deepStrictEqual(
      Disposition.decide(facts({ attempt: 2 })),
      Disposition.Disposition.RetrySame({ backoffMs: 2250 })
    )
    assert.strictEqual(Disposition.decide(facts({ attempt: 3, hasNext: true }))._tag, "Advance")
    assert.strictEqual(Disposition.decide(facts({ attempt: 3 }))._tag, "GiveUp")
    assert.strictEqual(Disposition.decide(facts({ attempt: 1, maxRetries: 1 }))._tag, "GiveUp")
  })

  it("L-FAIL-04 L-ADV-03 an advance with a next backend does not wait", () => {
    assert.strictEqual(Disposition.decide(facts({ bucket: advance, hasNext: true }))._tag, "Advance")
  })

  it("L-FAIL-06 L-ADV-02 a spent budget is reported as advance, on the last backend too", () => {
    assert.strictEqual(Disposition.reported(Disposition.decide(facts({ attempt: 3 }))), "advance")
    assert.strictEqual(Disposition.reported(Disposition.decide(facts({ attempt: 3, hasNext: true }))), "advance")
    assert.strictEqual(Disposition.reported(Disposition.decide(facts({ bucket: advance }))), "retry-same")
  })

  it("L-ADV-01 L-TIME-04 an advance with nowhere to go waits and spends the same budget", () => {
    assert.deepStrictEqual(
      Disposition.decide(facts({ bucket: advance, attempt: 2 })),
      Disposition.Disposition.RetrySame({ backoffMs: 2250 })
    )
    assert.strictEqual(Disposition.decide(facts({ bucket: advance, attempt: 3 }))._tag, "GiveUp")
  })

  it("F11 L-ADV-04 L-400-03 a window refusal is never sent again", () => {
    assert.deepStrictEqual(
      Disposition.decide(facts({ bucket: overflow })),
      Disposition.Disposition.GiveUp({ window: true, note: "" })
    )
    assert.strictEqual(Disposition.decide(facts({ bucket: overflow, hasNext: true }))._tag, "Advance")
    assert.deepStrictEqual(Disposition.afterWindow(false), Disposition.Disposition.GiveUp({ window: true, note: "" }))
    assert.strictEqual(Disposition.afterWindow(true)._tag, "Advance")
  })

  it("X-WIRE-06 a wait the provider asks for is kept up to the cap", () => {
    const wait = (retryAfterMs: number) => Disposition.decide(facts({ retryAfterMs }))
    assert.deepStrictEqual(wait(7000), Disposition.Disposition.RetrySame({ backoffMs: 7000 }))
    assert.deepStrictEqual(wait(0), Disposition.Disposition.RetrySame({ backoffMs: 1250 }))
    assert.deepStrictEqual(wait(30_000), Disposition.Disposition.RetrySame({ backoffMs: 30_000 }))
  })

  it("F12 X-WIRE-06 a longer one moves on, or fails saying so", () => {
    const longer = facts({ bucket: advance, retryAfterMs: 3_600_000 })
    const failed = Disposition.decide(longer)
    assert.deepStrictEqual(
      failed,
      Disposition.Disposition.GiveUp({
        window: false,
        note: "it asks to wait 3600 s, longer than the longest wait of 30 s (backoffCap)"
      })
    )
    assert.strictEqual(Disposition.decide({ ...longer, hasNext: true })._tag, "Advance")
    assert.strictEqual(Disposition.decide(facts({ retryAfterMs: 3_600_000, hasNext: true }))._tag, "Advance")
  })

  it.prop(
    "L-FAIL-05 L-ADV-04 no sequence sends more than maxRetries times to one backend",
    {
      maxRetries: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 6 })),
      statuses: Schema.Array(Schema.Literals([400, 429, 500, 503, 413])),
      overflow: Schema.Boolean,
      hasNext: Schema.Boolean
    },
    ({ hasNext, maxRetries, overflow, statuses }) => {
      let sends = 1
      for (const status of statuses) {
        const bucket = http(status, overflow)
        const decided = Disposition.decide(facts({ bucket, attempt: sends, maxRetries, hasNext }))
        if (decided._tag !== "RetrySame") break
        assert.isFalse(bucket._tag === "Advance" && bucket.overflow)
        sends++
      }
      assert.isAtMost(sends, maxRetries)
    }
  )
})
