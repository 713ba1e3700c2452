import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import type * as Json from "@settle/core/model/Json"
import * as Framing from "../src/Framing.ts"
import * as Scratch from "./Scratch.ts"

interface Seen {
  readonly records: ReadonlyArray<readonly [number, Json.Json]>
  readonly faults: ReadonlyArray<readonly [number, string]>
  readonly end: Framing.End
}

const read = (parts: ReadonlyArray<Uint8Array>, options: Framing.Options = {}): Seen => {
  const records: Array<readonly [number, Json.Json]> = []
  const faults: Array<readonly [number, string]> = []
  const framing = Framing.make(
    {
      line: (value, number) => records.push([number, value]),
      fault: (number, problem) => faults.push([number, problem])
    },
    options
  )
  for (const part of parts) framing.push(part)
  return { records, faults, end: framing.end() }
}
const readText = (text: string, options: Framing.Options = {}) => read([Buffer.from(text)], options)

const split = (bytes: Uint8Array, cuts: ReadonlyArray<number>): ReadonlyArray<Uint8Array> => {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  const parts: Array<Uint8Array> = []
  let from = 0
  for (const place of [...places, bytes.length]) {
    // A reused block, as a reader hands over: its bytes change after the push.
    parts.push(bytes.slice(from, place))
    from = place
  }
  return parts
}

/** Every kind of line a file can hold, the bad ones too. */
const pool: ReadonlyArray<Uint8Array> = [
  Scratch.message("a", "user", "plain"),
  Scratch.message("b", "user", "💥 你好 \u0000 \u2028 é"),
  `${Scratch.message("c", "user", "crlf")}\r`,
  "",
  "   ",
  '{"type":"mess',
  "\u0000".repeat(700),
  `\u0000\u0000${Scratch.message("d", "user", "behind nul")}`,
  `${Scratch.message("e", "user", "before nul")}\u0000\u0000\u0000`,
  `{"v":1,"type":"message","id":"x","ts"${Scratch.message("f", "user", "glued")}`,
  `\uFEFF${Scratch.message("g", "user", "bom")}`,
  '"\\ud800 alone"',
  "[1,2,3]",
  "x".repeat(300)
]
  .map((text) => Buffer.from(text))
  .concat([
    Buffer.from([0x7b, 0xff, 0xfe, 0x7d]),
    Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xe4, 0xbd]), Buffer.from('"}')])
  ])

describe("Framing", () => {
  it.effect.prop(
    "X-STORE-04 any cut of the same bytes gives the same records, faults and end",
    {
      picks: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 }))),
      cuts: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100_000 }))),
      isEnded: Schema.Boolean,
      isBounded: Schema.Boolean
    },
    ({ cuts, isBounded, isEnded, picks }) =>
      Effect.sync(() => {
        const chosen = picks.map((pick) => pool[pick % pool.length] ?? Buffer.alloc(0))
        const all = Buffer.concat(chosen.flatMap((line, i) => (i === 0 ? [line] : [Buffer.from("\n"), line])))
        const bytes = isEnded ? Buffer.concat([all, Buffer.from("\n")]) : all
        const options = isBounded ? { maxLineBytes: 200 } : {}
        const whole = read([bytes], options)
        assert.deepStrictEqual(read(split(bytes, cuts), options), whole)
        const each = [...bytes].map((byte) => Uint8Array.of(byte))
        assert.deepStrictEqual(read(each, options), whole)
      }),
    { arbitrary: { runs: 150 } }
  )

  it("X-STORE-04 lines end at LF only: U+2028, U+0085, VT, FF and a lone CR are inside", () => {
    const odd = "a\u2028b\u2029c\u0085d\u000be\u000cf"
    const seen = readText(Scratch.lines(Scratch.message("a", "user", odd), `{"cr":1}\r`, '{"x":1}'))
    assert.strictEqual(seen.records.length, 3)
    assert.deepStrictEqual(seen.faults, [])
    assert.include(JSON.stringify(seen.records[0]), "\u2028")
  })

  it("J7 blank and CRLF lines are no faults, and keep their numbers", () => {
    const seen = readText('\n{"a":1}\r\n\r\n  \n{"b":2}\r\n')
    assert.deepStrictEqual(seen.records, [
      [2, { a: 1 }],
      [5, { b: 2 }]
    ])
    assert.deepStrictEqual(seen.faults, [])
    assert.strictEqual(seen.end.lines, 5)
    assert.strictEqual(seen.end.written, 2)
  })

  it("J7 the file's own line end is known", () => {
    assert.strictEqual(readText('{"a":1}\r\n{"b":2}').end.newline, "\r\n")
    assert.strictEqual(readText('{"a":1}\n{"b":2}').end.newline, "\n")
  })

  it("J2 NUL bytes are named with their line, and both sides are kept", () => {
    const seen = readText(`{"a":1}\n${"\u0000".repeat(700)}\n{"b":2}\u0000\u0000\n\u0000{"c":3}\n`)
    assert.deepStrictEqual(seen.records, [
      [1, { a: 1 }],
      [3, { b: 2 }],
      [4, { c: 3 }]
    ])
    assert.deepStrictEqual(seen.faults, [
      [2, "700 NUL bytes, as a lost write leaves them"],
      [3, "2 NUL bytes, as a lost write leaves them"],
      [4, "1 NUL byte, as a lost write leaves them"]
    ])
  })

  it("J1 a record glued to a torn one is saved, the torn one named", () => {
    const good = Scratch.message("b", "user", "whole")
    const seen = readText(`{"type":"mess${good}\n`)
    assert.deepStrictEqual(seen.records, [[1, JSON.parse(good)]])
    assert.deepStrictEqual(seen.faults, [[1, 'not a record: "{\\"type\\":\\"mess"']])
  })

  it("J1 an envelope inside a torn record is never taken for a record", () => {
    const inner = Scratch.message("inner", "user", "quoted by a tool")
    const outer = `{"v":1,"type":"custom","id":"o","ts":"t","payload":{"seen":${inner}`
    const seen = readText(`${outer}\n${outer}}}\n`)
    assert.deepStrictEqual(
      seen.records.map(([number]) => number),
      [2]
    )
    assert.strictEqual(seen.faults.length, 1)
  })

  it("J9 a line beyond the bound is skipped with its true length, and the next is read", () => {
    const seen = readText(`{"a":"${"x".repeat(100)}"}\n{"b":2}\n`, { maxLineBytes: 50 })
    assert.deepStrictEqual(seen.records, [[2, { b: 2 }]])
    assert.deepStrictEqual(seen.faults, [
      [1, "the line is 108 bytes long and the bound is 50 (maxLineBytes); it was skipped"]
    ])
  })

  it("J10 lone surrogate escapes and bytes that are not UTF-8 do not stop a line", () => {
    const bytes = Buffer.concat([
      Buffer.from('{"a":"\\ud800"}\n{"b":"'),
      Buffer.from([0xf0, 0x9f]),
      Buffer.from('"}\n')
    ])
    const seen = read([bytes])
    assert.deepStrictEqual(seen.records, [
      [1, { a: "\ud800" }],
      [2, { b: "\ufffd" }]
    ])
    assert.deepStrictEqual(seen.faults, [[2, "bytes that are not UTF-8 were read as U+FFFD"]])
  })

  it("J14 an escaped U+0000 inside a string is data", () => {
    assert.deepStrictEqual(readText('{"a":"x\\u0000y"}\n').records, [[1, { a: "x\u0000y" }]])
  })

  it("X-STORE-03 the tail tells what of it is whole", () => {
    assert.isUndefined(readText('{"a":1}\n').end.tail)
    assert.deepInclude(readText('{"a":1}').end.tail, { bytes: 7, keep: 7, torn: undefined })
    assert.deepInclude(readText('{"a":1}\n{"b').end.tail, {
      number: 2,
      bytes: 3,
      keep: 0,
      torn: 'not a record: "{\\"b"'
    })
    assert.deepInclude(readText('{"a":1}\u0000\u0000').end.tail, { bytes: 9, keep: 7 })
    assert.deepInclude(readText('\u0000{"a":1}\u0000').end.tail, { bytes: 9, keep: 8 })
    assert.deepInclude(readText("  ").end.tail, { bytes: 2, keep: 2, torn: undefined, isHeaderStart: true })
    assert.deepInclude(readText('{"v":1,"ty').end.tail, { keep: 0, isHeaderStart: true })
    assert.deepInclude(readText("hello").end.tail, { keep: 0, isHeaderStart: false })
  })
})
