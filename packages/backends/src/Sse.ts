/**
 * Server-sent events out of bytes, as providers really send them. Pure: one framer for one body.
 *
 * E1. The events are the same however the bytes were cut into reads: inside a code point, between CR and LF, anywhere.
 * E2. One leading byte order mark goes, and only one (S1). CR, LF and CRLF each end a line (S2).
 * E3. A code point that the body does not finish is a fault; a wrong byte in the middle becomes U+FFFD (S3).
 * E4. Comments and empty events carry nothing, but they are life (S4, S11).
 * E5. What one event may hold is bounded, on one line or on many (S6); a line is searched once, however many reads it took.
 * E6. A last event without its blank line counts: some servers end that way.
 */

export interface Event {
  /** `message` unless the server named it. `error-line` is a line `error: …`, `stray` a line of bare JSON: neither is SSE. */
  readonly name: string
  readonly data: string
}

export type Fault =
  { readonly _tag: "TooLarge"; readonly limit: number } | { readonly _tag: "IncompleteText"; readonly bytes: number }

export interface Batch {
  readonly events: ReadonlyArray<Event>
  /** Something whole arrived that carries nothing: a comment, an empty event. */
  readonly alive: boolean
  readonly fault?: Fault
}

/** Characters one event may hold: 8 Mi. */
export const defaultMaxEventSize = 8 * 1024 * 1024

const lineFeed = 10
const colon = 58
const brace = 123

/** How many bytes at the end begin a code point that is not whole yet. */
const openTail = (bytes: Uint8Array): number => {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if ((byte & 0xc0) === 0x80) continue
    const need = byte >= 0xf5 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 1
    return need > back ? back : 0
  }
  return 0
}

/** Text of bytes that come in pieces. */
export class Utf8 {
  #open: Uint8Array | undefined
  #started = false

  /** Bytes of a code point still waiting for the rest. */
  get pending(): number {
    return this.#open?.length ?? 0
  }

  text(bytes: Uint8Array): string {
    const whole = this.#open === undefined ? bytes : Buffer.concat([this.#open, bytes])
    const open = openTail(whole)
    this.#open = open === 0 ? undefined : Uint8Array.from(whole.subarray(whole.length - open))
    const buffer = Buffer.isBuffer(whole) ? whole : Buffer.from(whole.buffer, whole.byteOffset, whole.length)
    const text = buffer.toString("utf8", 0, whole.length - open)
    if (this.#started || text === "") return text
    this.#started = true
    return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
  }
}

export class Framer {
  readonly #maxEventSize: number
  readonly #utf8 = new Utf8()
  #afterCr = false
  /** Pieces of a line whose end has not come. */
  #held: Array<string> = []
  #heldSize = 0
  #name = ""
  #data: string | undefined
  #alive = false
  #fault: Fault | undefined

  constructor(options: { readonly maxEventSize?: number | undefined } = {}) {
    this.#maxEventSize = options.maxEventSize ?? defaultMaxEventSize
  }

  push(bytes: Uint8Array): Batch {
    const events: Array<Event> = []
    this.#lines(this.#unify(this.#utf8.text(bytes)), events)
    return this.#batch(events)
  }

  /** The body is over: what is held is the last line and the last event. */
  end(): Batch {
    const events: Array<Event> = []
    const pending = this.#utf8.pending
    if (pending > 0) this.#fault ??= { _tag: "IncompleteText", bytes: pending }
    if (this.#heldSize > 0) this.#line(this.#release(""), events)
    if (this.#data !== undefined) this.#dispatch(events)
    return this.#batch(events)
  }

  #batch(events: Array<Event>): Batch {
    const alive = this.#alive
    this.#alive = false
    return this.#fault === undefined ? { events, alive } : { events, alive, fault: this.#fault }
  }

  /** Every line end as LF. A CR at the end of a read ends its line at once; an LF that follows belongs to it. */
  #unify(given: string): string {
    let text = given
    if (this.#afterCr && text !== "") {
      this.#afterCr = false
      if (text.charCodeAt(0) === lineFeed) text = text.slice(1)
    }
    if (!text.includes("\r")) return text
    this.#afterCr = text.endsWith("\r")
    return text.replace(/\r\n?/g, "\n")
  }

  #lines(text: string, events: Array<Event>): void {
    if (this.#fault !== undefined) return
    let from = 0
    let end = text.indexOf("\n")
    if (end >= 0 && this.#heldSize > 0) {
      this.#line(this.#release(text.slice(0, end)), events)
      from = end + 1
      end = text.indexOf("\n", from)
    }
    for (; end >= 0; from = end + 1, end = text.indexOf("\n", from)) {
      if (end === from) this.#dispatch(events)
      else if (text.startsWith("data: ", from)) this.#addData(text.slice(from + 6, end))
      else this.#line(text.slice(from, end), events)
    }
    if (from < text.length) this.#hold(from === 0 ? text : text.slice(from))
  }

  #hold(piece: string): void {
    this.#held.push(piece)
    this.#heldSize += piece.length
    this.#bound(this.#heldSize + (this.#data?.length ?? 0))
  }

  #release(last: string): string {
    const line = this.#held.join("") + last
    this.#held = []
    this.#heldSize = 0
    return line
  }

  #bound(size: number): void {
    if (size > this.#maxEventSize) this.#fault ??= { _tag: "TooLarge", limit: this.#maxEventSize }
  }

  #addData(value: string): void {
    this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`
    this.#bound(this.#data.length)
  }

  #line(line: string, events: Array<Event>): void {
    const first = line.charCodeAt(0)
    if (line === "") return this.#dispatch(events)
    if (first === colon) {
      this.#alive = true
      return
    }
    if (first === brace) {
      events.push({ name: "stray", data: line })
      return
    }
    const at = line.indexOf(":")
    const field = at < 0 ? line : line.slice(0, at)
    const value = at < 0 ? "" : line.slice(line.charCodeAt(at + 1) === 32 ? at + 2 : at + 1)
    if (field === "data") this.#addData(value)
    else if (field === "event") this.#name = value
    else if (field === "error") events.push({ name: "error-line", data: value })
  }

  #dispatch(events: Array<Event>): void {
    const data = this.#data
    const name = this.#name
    this.#data = undefined
    this.#name = ""
    if (this.#fault !== undefined) return
    if (data === undefined || data === "") {
      this.#alive = true
      return
    }
    events.push({ name: name === "" ? "message" : name, data })
  }
}
