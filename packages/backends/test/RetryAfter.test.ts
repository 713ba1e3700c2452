import { assert, describe, it } from "@effect/vitest"
import * as RetryAfter from "../src/RetryAfter.ts"

const now = Date.UTC(2026, 0, 1, 12, 0, 0)
const from = (headers: Readonly<Record<string, string>>) => RetryAfter.fromHeaders((name) => headers[name], now)

describe("how long to wait", () => {
  it("X-WIRE-06 Retry-After in seconds", () => {
    assert.strictEqual(from({ "retry-after": "25" }), 25_000)
    assert.strictEqual(from({ "retry-after": "1.5" }), 1500)
    assert.strictEqual(from({ "retry-after": "0" }), 0)
    assert.strictEqual(from({ "retry-after": "-3" }), 0)
  })

  it("X-WIRE-06 Retry-After as a date", () => {
    assert.strictEqual(from({ "retry-after": "Thu, 01 Jan 2026 12:00:30 GMT" }), 30_000)
    assert.strictEqual(from({ "retry-after": "Thu, 01 Jan 2026 11:00:00 GMT" }), 0)
  })

  it("F12 X-WIRE-06 an absurd wait is bounded, a senseless one is none", () => {
    assert.strictEqual(from({ "retry-after": "3600" }), 3_600_000)
    assert.strictEqual(from({ "retry-after": "1e999" }), undefined)
    assert.strictEqual(from({ "retry-after": "99999999999999" }), 7 * 24 * 3600 * 1000)
    assert.strictEqual(from({ "retry-after": "soon" }), undefined)
    assert.strictEqual(from({ "retry-after": "" }), undefined)
    assert.strictEqual(from({}), undefined)
  })

  it("X-WIRE-06 retry-after-ms, and the longer one of two", () => {
    assert.strictEqual(from({ "retry-after-ms": "250" }), 250)
    assert.strictEqual(from({ "retry-after-ms": "0", "retry-after": "1" }), 1000)
  })

  it("X-WIRE-06 waits that stand only in the text or the details", () => {
    assert.strictEqual(RetryAfter.fromText("Please try again in 174ms."), 174)
    assert.strictEqual(RetryAfter.fromText("Please try again in 4.77s. Visit …"), 4770)
    assert.strictEqual(RetryAfter.fromText("Please try again in 9m38.016s"), 578_016)
    assert.strictEqual(RetryAfter.fromText("Please retry in 48.939935699s."), 48_940)
    assert.strictEqual(RetryAfter.fromText("try again later"), undefined)
    assert.strictEqual(RetryAfter.fromDetails([{ "@type": "x.RetryInfo", retryDelay: "34.4s" }, {}]), 34_400)
  })
})
