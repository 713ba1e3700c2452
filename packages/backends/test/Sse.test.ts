import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Sse from "../src/Sse.ts"

interface Framed {
  readonly events: ReadonlyArray<Sse.Event>
  readonly alive: boolean
  readonly fault: Sse.Fault | undefined
}

const frame = (pieces: Iterable<Uint8Array>, options: { readonly maxEventSize?: number } = {}): Framed => {
  const framer = new Sse.Framer(options)
  const batches: Array<Sse.Batch> = []
  for (const piece of pieces) batches.push(framer.push(piece))
  batches.push(framer.end())
  return {
    events: batches.flatMap((batch) => batch.events),
    alive: batches.some((batch) => batch.alive),
    fault: batches.at(-1)?.fault
  }
}

const bytewise = (body: Uint8Array): ReadonlyArray<Uint8Array> => [...body].map((byte) => Uint8Array.of(byte))

/** The same however it is cut: whole, byte by byte, and in two at every place. */
const framed = (body: string | Uint8Array): ReadonlyArray<Sse.Event> => {
  const bytes = typeof body === "string" ? Buffer.from(body) : body
  const whole = frame([bytes]).events
  assert.deepStrictEqual(frame(bytewise(bytes)).events, whole)
  for (let at = 1; at < bytes.length; at++) {
    assert.deepStrictEqual(frame([bytes.subarray(0, at), bytes.subarray(at)]).events, whole, `cut at ${at}`)
  }
  return whole
}

const message = (data: string): Sse.Event => ({ name: "message", data })

describe("framing", () => {
  it("S1 one leading byte order mark goes, and only one", () => {
    assert.deepStrictEqual(framed("\uFEFFdata: a\n\n"), [message("a")])
    assert.deepStrictEqual(framed("\uFEFF\uFEFFdata: a\n\ndata: \uFEFFb\n\n"), [message("\uFEFFb")])
  })

  it("S2 CR, LF and CRLF end a line, also cut between CR and LF", () => {
    for (const end of ["\n", "\r", "\r\n"]) {
      assert.deepStrictEqual(framed(`data: a${end}data: b${end}${end}data: c${end}${end}`), [
        message("a\nb"),
        message("c")
      ])
    }
    assert.deepStrictEqual(framed("data: a\r\n\rdata: b\n\r\n"), [message("a"), message("b")])
  })

  it("S2 a lone CR delivers at once and does not wait for an LF", () => {
    const framer = new Sse.Framer()
    assert.deepStrictEqual(framer.push(Buffer.from("data: a\r\r")).events, [message("a")])
    assert.deepStrictEqual(framer.push(Buffer.from("\ndata: b\n\n")).events, [message("b")])
  })

  it("S3 a code point split over reads arrives whole", () => {
    assert.deepStrictEqual(framed("data: a🙂é漢b\n\n"), [message("a🙂é漢b")])
  })

  it("S3 a code point that the body does not finish is a fault", () => {
    const whole = Buffer.from("data: a🙂")
    for (const missing of [1, 2, 3]) {
      const cut = whole.subarray(0, whole.length - missing)
      assert.deepStrictEqual(frame([cut]).fault, { _tag: "IncompleteText", bytes: 4 - missing })
      assert.deepStrictEqual(frame(bytewise(cut)).fault, { _tag: "IncompleteText", bytes: 4 - missing })
    }
    assert.isUndefined(frame([whole]).fault)
  })

  it("S3 a wrong byte in the middle is replaced and costs nothing else", () => {
    const body = Buffer.concat([Buffer.from("data: a"), Uint8Array.of(0xff, 0xe2, 0x82), Buffer.from("b\n\n")])
    assert.deepStrictEqual(framed(body), [message("a\uFFFD\uFFFDb")])
  })

  it("S4 S11 comments and empty events carry nothing and are signs of life", () => {
    const framer = new Sse.Framer()
    for (const line of [": PROCESSING\n\n", ":\n", ": \n\n", "data:\n\n", "data: \n\n", "event: ping\n\n"]) {
      const batch = framer.push(Buffer.from(line))
      assert.deepStrictEqual(batch.events, [], JSON.stringify(line))
      assert.isTrue(batch.alive, JSON.stringify(line))
    }
    assert.isFalse(framer.push(Buffer.from("data: a\n")).alive)
  })

  it("S4 a comment between the lines of an event, and after an id, belongs to nothing", () => {
    assert.deepStrictEqual(framed("id: 7\ndata: a\n: PROCESSING\ndata: b\nretry: 5\n\n: x\n\n"), [message("a\nb")])
  })

  it("S5 the event's name defaults to message, the space after the colon is optional", () => {
    assert.deepStrictEqual(framed("data:x\n\nevent:\ndata: y\n\nevent:error\ndata:  z\n\ndata\ndata: w\n\n"), [
      message("x"),
      message("y"),
      { name: "error", data: " z" },
      message("\nw")
    ])
  })

  it("S5 a data line before its event line still belongs to it", () => {
    assert.deepStrictEqual(framed("data: a\nevent: named\n\ndata: b\n\n"), [{ name: "named", data: "a" }, message("b")])
  })

  it("S6 an event that grows without end is a fault, on one line and on many", () => {
    const options = { maxEventSize: 1000 }
    const line = function* () {
      for (let n = 0; n < 50; n++) yield Buffer.from("x".repeat(50))
    }
    assert.deepStrictEqual(frame(line(), options).fault, { _tag: "TooLarge", limit: 1000 })
    const lines = function* () {
      for (let n = 0; n < 600; n++) yield Buffer.from("data: x\n")
    }
    assert.deepStrictEqual(frame(lines(), options).fault, { _tag: "TooLarge", limit: 1000 })
    const comments = function* () {
      for (let n = 0; n < 500; n++) yield Buffer.from(": still here\n")
    }
    assert.isUndefined(frame(comments(), options).fault)
    assert.isUndefined(frame([Buffer.from(`data: ${"y".repeat(900)}\n\n`.repeat(5))], options).fault)
  })

  it("S6 a line that comes in tiny reads is searched once", () => {
    const framer = new Sse.Framer()
    const piece = Buffer.from("0123456789abcdef")
    framer.push(Buffer.from("data: "))
    const before = performance.now()
    for (let n = 0; n < 200_000; n++) framer.push(piece)
    const took = performance.now() - before
    assert.strictEqual(framer.push(Buffer.from("\n\n")).events[0]?.data.length, 3_200_000)
    // joining at every read would copy 320 GB
    assert.isBelow(took, 5000)
  })

  it("S8 a last event without its blank line counts", () => {
    assert.deepStrictEqual(framed("data: a\n\ndata: [DONE]"), [message("a"), message("[DONE]")])
  })

  it("S9 lines that are no SSE but say something are noticed", () => {
    assert.deepStrictEqual(framed('data: a\n\nerror: {"message":"x"}\n{"error":"y"}\nwhatever\n'), [
      message("a"),
      { name: "error-line", data: '{"message":"x"}' },
      { name: "stray", data: '{"error":"y"}' }
    ])
  })

  const Piece = Schema.Literals([
    "data: ",
    "event: x",
    ":c",
    "a",
    "🙂",
    "é",
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    "data:",
    "{",
    "\uFEFF"
  ])

  it.effect.prop(
    "S2 S3 any stream frames the same whatever the reads",
    { pieces: Schema.Array(Piece), sizes: Schema.Array(Schema.Literals([1, 2, 3, 5, 8])) },
    ({ pieces, sizes }) =>
      Effect.sync(() => {
        const body = Buffer.from(pieces.join(""))
        const reads: Array<Uint8Array> = []
        for (let at = 0, n = 0; at < body.length; n++) {
          const size = sizes[n % Math.max(1, sizes.length)] ?? 4
          reads.push(body.subarray(at, at + size))
          at += size
        }
        assert.deepStrictEqual(frame(reads).events, frame([body]).events)
      }),
    { arbitrary: { runs: 300 } }
  )
})
