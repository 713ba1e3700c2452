import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Ledger from "../src/Ledger.ts"
import * as Lines from "../src/Lines.ts"
import * as Wire from "../src/Wire.ts"

const bytes = (text: string) => new TextEncoder().encode(text)
const collect = (chunks: ReadonlyArray<Uint8Array>, limit = 1_000) => {
  const lines = Lines.make(limit)
  return [...chunks.flatMap((chunk) => lines.push(chunk)), ...lines.end()].map((cut) =>
    cut._tag === "Line" ? cut.text : cut._tag
  )
}

describe("lines", () => {
  it.effect.prop(
    "M1 however the bytes are cut, the lines are the same",
    { texts: Schema.Array(Schema.String), at: Schema.Array(Schema.Int) },
    ({ texts, at }) =>
      Effect.sync(() => {
        const whole = bytes(texts.map((text) => `${text.replaceAll("\n", " ")}\r\n`).join(""))
        const cuts = [...new Set(at.map((n) => Math.abs(n) % (whole.length + 1)))].sort((a, b) => a - b)
        const chunks = [0, ...cuts].map((from, i) => whole.subarray(from, cuts[i] ?? whole.length))
        assert.deepStrictEqual(collect(chunks, 1e6), collect([whole], 1e6))
      }),
    { arbitrary: { runs: 100 } }
  )
  it("M1 a byte order mark, CRLF and empty lines are not part of a line; a last line needs no end", () => {
    assert.deepStrictEqual(collect([bytes("\uFEFF{}\r\n\r\n\uFEFFa\nb")]), ["{}", "a", "b"])
  })
  it("M13 a line over the limit is told once, is not kept, and the next one is whole", () => {
    assert.deepStrictEqual(
      collect([bytes("x".repeat(800)), bytes("x".repeat(800)), bytes("x".repeat(800)), bytes("x\nnext\n")]),
      ["TooLong", "next"]
    )
    assert.deepStrictEqual(collect([bytes(`${"x".repeat(1_001)}\nnext\n`)]), ["TooLong", "next"])
  })
})

describe("messages", () => {
  const tags = (text: string) => Wire.line(text).map((heard) => heard._tag)
  it("M1 what is no JSON-RPC is noise", () => {
    for (const text of [
      "Server ready",
      "{",
      '{"level":30}',
      "[]x",
      "7",
      '"x"',
      '{"jsonrpc":"1.0","id":1,"result":{}}',
      '{"jsonrpc":"2.0"}'
    ]) {
      assert.deepStrictEqual(tags(text), ["Noise"], text)
    }
    assert.deepStrictEqual(tags("[]"), [])
  })
  it("M1 a message behind a banner on the same line is heard", () => {
    assert.deepStrictEqual(tags('ready {x} {"jsonrpc":"2.0","id":1,"result":{}}'), ["Answer"])
  })
  it("M9 only ids of our kind are answers", () => {
    const id = (value: unknown) => Wire.line(JSON.stringify({ jsonrpc: "2.0", id: value, result: {} }))[0]
    assert.strictEqual(id(3)?._tag === "Answer" && id(3)?._tag, "Answer")
    assert.strictEqual(id("3")?._tag, "Answer")
    for (const odd of ["", " 3", "03", "0x3", null, 1.5, true, {}])
      assert.strictEqual(id(odd)?._tag, "Noise", String(odd))
  })
  it("M1 a batch is heard one by one, with requests and notifications", () => {
    const batch = [
      { jsonrpc: "2.0", id: "s1", method: "ping" },
      { jsonrpc: "2.0", method: "notifications/x" },
      { jsonrpc: "2.0", id: 1, result: {} }
    ]
    assert.deepStrictEqual(tags(JSON.stringify(batch)), ["Request", "Notification", "Answer"])
  })
  it.effect.prop(
    "M1 any line is heard without harm",
    { text: Schema.String, json: Schema.Json },
    ({ text, json }) =>
      Effect.sync(() => {
        Wire.line(text)
        Wire.line(JSON.stringify({ jsonrpc: "2.0", id: 1, result: json, _meta: json }))
        Wire.line(JSON.stringify({ jsonrpc: "2.0", id: 1, error: json }))
        Wire.line(JSON.stringify({ jsonrpc: "2.0", method: json, params: json, id: json }))
      }),
    { arbitrary: { runs: 200 } }
  )
})

describe("requests", () => {
  const request = (id: number) => ({ jsonrpc: "2.0", id, method: "tools/call" }) as const
  it("M9 an id is answered once; after a cancel not at all", () => {
    const ledger = Ledger.make()
    ledger.sending(request(1))
    ledger.sending(request(2))
    ledger.sending({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 2 } })
    assert.deepStrictEqual(
      [ledger.answered(1), ledger.answered(1), ledger.answered(2), ledger.answered(7)],
      [true, false, false, false]
    )
    assert.strictEqual(ledger.strays(), 3)
  })
  it("X-CANC-04 only a request whose writing failed, or that was never written, is not accepted", () => {
    const ledger = Ledger.make()
    ledger.mark()
    assert.strictEqual(ledger.fate(ledger.last()), "not-accepted")
    ledger.sending(request(1))
    assert.strictEqual(ledger.last(), 1)
    assert.strictEqual(ledger.fate(1), "unknown")
    ledger.unsent(request(1))
    assert.strictEqual(ledger.fate(1), "not-accepted")
  })
})
