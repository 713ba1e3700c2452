/**
 * Bytes of a transcript into records and faults, a block at a time. Pure but for the sink it feeds; holds one partial line at most.
 *
 * F1. Any cut of the same bytes into pushes gives the same records, faults and end.
 * F2. Lines end at LF only; a CR before it is white space. A partial multi-byte character waits for its rest.
 * F3. Nothing is silent: every byte that is not white space, a BOM or part of a record is named in a fault with its line.
 * F4. What can be saved of a bad line is saved: a raw NUL cannot stand inside a record, and `{"v":1,"type":"` cannot stand inside a
 *     JSON string, so both are safe places to cut (J1, J2). Where it may be a nested value nothing is cut and nothing is guessed.
 * F5. A line longer than the bound is dropped while it is read, and its true length is told (J9).
 */
import { isUtf8 } from "node:buffer"
import * as Json from "@settle/core/model/Json"
import * as Salvage from "./Salvage.ts"

export interface Sink {
  /** One decoded record. `text` is its JSON text, a CR perhaps included; `number` is the 1-based line. */
  readonly line: (value: Json.Json, number: number, text: string) => void
  readonly fault: (number: number, problem: string) => void
}

export interface Options {
  /** Longest line in bytes, without its LF. Default 64 MiB. */
  readonly maxLineBytes?: number
  /** Number of the line before the first byte. Default 0. */
  readonly linesBefore?: number
}

/** What follows the last LF. */
export interface Tail {
  readonly number: number
  /** Bytes from the last LF to the end of the file. */
  readonly bytes: number
  /** How many of them, from the front, belong to whole records; the rest is torn. */
  readonly keep: number
  /** What is wrong with the rest; undefined when only the line end is missing. */
  readonly torn: string | undefined
  /** It holds no record, and is blank, NUL alone, or the first bytes of one: what a header that was being written leaves. */
  readonly isHeaderStart: boolean
}

export interface End {
  readonly bytes: number
  /** Complete lines and the tail, blank ones included. */
  readonly lines: number
  /** Lines, other than blank ones, that a LF ended. */
  readonly written: number
  /** The file's own line end, by its first line. */
  readonly newline: "\n" | "\r\n"
  readonly tail: Tail | undefined
}

export interface Framing {
  /** The bytes may be reused by the caller afterwards. */
  readonly push: (bytes: Uint8Array) => void
  readonly end: () => End
}

export const defaultMaxLineBytes = 64 * 1024 * 1024
/** A buffer beyond this is given back once its line is read. */
const keptBytes = 4 * 1024 * 1024
const pieceBytes = 64 * 1024
const lineFeed = 10
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf])

interface State {
  readonly sink: Sink
  readonly max: number
  number: number
  bytes: number
  written: number
  crlf: boolean
  isFirst: boolean
  held: Buffer
  heldLength: number
  /** NUL bytes at the start of the partial line, counted and not kept. */
  nuls: number
  /** Length of a partial line beyond the bound; 0 while within it. */
  oversized: number
}

export const make = (sink: Sink, options: Options = {}): Framing => {
  const state: State = {
    sink,
    max: options.maxLineBytes ?? defaultMaxLineBytes,
    number: options.linesBefore ?? 0,
    bytes: 0,
    written: 0,
    crlf: false,
    isFirst: true,
    held: Buffer.alloc(0),
    heldLength: 0,
    nuls: 0,
    oversized: 0
  }
  return { push: (bytes) => push(state, asBuffer(bytes)), end: () => end(state) }
}

const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

const push = (state: State, chunk: Buffer): void => {
  state.bytes += chunk.length
  let start = 0
  if (hasPartial(state)) {
    const first = chunk.indexOf(lineFeed)
    if (first < 0) return hold(state, chunk)
    hold(state, chunk.subarray(0, first))
    closeHeld(state)
    start = first + 1
  }
  const last = chunk.lastIndexOf(lineFeed)
  if (last >= start) {
    wholeLines(state, chunk.subarray(start, last))
    start = last + 1
  }
  if (start < chunk.length) hold(state, chunk.subarray(start))
}

const hasPartial = (state: State): boolean => state.heldLength > 0 || state.nuls > 0 || state.oversized > 0

const hold = (state: State, part: Buffer): void => {
  let from = 0
  if (state.heldLength === 0 && state.oversized === 0) {
    from = leadingNuls(part)
    state.nuls += from
  }
  const length = part.length - from
  if (state.oversized > 0 || state.heldLength + length > state.max) {
    state.oversized += (state.oversized > 0 ? 0 : state.heldLength) + length
    state.heldLength = 0
    state.held = Buffer.alloc(0)
    return
  }
  if (state.heldLength + length > state.held.length) {
    const grown = Buffer.allocUnsafe(Math.min(state.max, Math.max(4096, 2 * (state.heldLength + length))))
    state.held.copy(grown, 0, 0, state.heldLength)
    state.held = grown
  }
  part.copy(state.held, state.heldLength, from)
  state.heldLength += length
}

const leadingNuls = (bytes: Buffer): number => {
  let count = 0
  while (count < bytes.length && bytes[count] === 0) count++
  return count
}

const closeHeld = (state: State): void => {
  const { nuls, oversized } = state
  const held = state.held.subarray(0, state.heldLength)
  state.heldLength = 0
  state.nuls = 0
  state.oversized = 0
  if (oversized > 0) tooLong(state, oversized)
  else oneLine(state, held, nuls)
  if (state.held.length > keptBytes) state.held = Buffer.alloc(0)
}

/** In pieces small enough for the young generation: a string of a megabyte would stay until a full collection. */
const wholeLines = (state: State, bytes: Buffer): void => {
  let start = 0
  while (bytes.length - start > pieceBytes) {
    const before = bytes.lastIndexOf(lineFeed, start + pieceBytes)
    const stop = before >= start ? before : bytes.indexOf(lineFeed, start + pieceBytes)
    if (stop < 0) break
    someLines(state, bytes.subarray(start, stop))
    start = stop + 1
  }
  someLines(state, bytes.subarray(start))
}

/** The hot path: one decode for a piece, one `JSON.parse` for a line. */
const someLines = (state: State, bytes: Buffer): void => {
  if (bytes.length > state.max || !isUtf8(bytes)) return eachLine(state, bytes)
  const texts = bytes.toString("utf8").split("\n")
  for (const text of texts) {
    const value = Json.parse(text)
    if (value === undefined) oneLine(state, Buffer.from(text), 0)
    else emit(state, value, text)
  }
}

const eachLine = (state: State, bytes: Buffer): void => {
  let start = 0
  while (start <= bytes.length) {
    const next = bytes.indexOf(lineFeed, start)
    const stop = next < 0 ? bytes.length : next
    const line = bytes.subarray(start, stop)
    const nuls = leadingNuls(line)
    if (line.length - nuls > state.max) tooLong(state, line.length - nuls)
    else oneLine(state, line.subarray(nuls), nuls)
    start = stop + 1
  }
}

const emit = (state: State, value: Json.Json, text: string): void => {
  if (state.isFirst) {
    state.isFirst = false
    state.crlf = text.endsWith("\r")
  }
  state.number++
  state.written++
  state.sink.line(value, state.number, text)
}

const tooLong = (state: State, length: number): void => {
  state.isFirst = false
  state.number++
  state.written++
  state.sink.fault(
    state.number,
    `the line is ${length} bytes long and the bound is ${state.max} (maxLineBytes); it was skipped`
  )
}

/** A line off the hot path: blank, bad, or put together from two blocks. */
const oneLine = (state: State, given: Buffer, nuls: number): void => {
  const bare = state.isFirst ? withoutMark(given) : given
  const text = nuls === 0 && isUtf8(bare) ? bare.toString("utf8") : undefined
  const value = text === undefined ? undefined : Json.parse(text)
  if (text !== undefined && value !== undefined) return emit(state, value, text)
  state.crlf = state.isFirst ? given.at(-1) === 13 : state.crlf
  state.isFirst = false
  state.number++
  const found = Salvage.salvage(bare, nuls)
  if (found.records.length > 0 || found.problems.length > 0) state.written++
  for (const record of found.records) state.sink.line(record.value, state.number, record.text)
  for (const problem of found.problems) state.sink.fault(state.number, problem)
}

const withoutMark = (bytes: Buffer): Buffer => (bytes.subarray(0, 3).equals(byteOrderMark) ? bytes.subarray(3) : bytes)

const end = (state: State): End => {
  const tail = hasPartial(state) ? readTail(state) : undefined
  return { bytes: state.bytes, lines: state.number, written: state.written, newline: state.crlf ? "\r\n" : "\n", tail }
}

const readTail = (state: State): Tail => {
  const number = ++state.number
  const isFirst = state.isFirst
  if (state.oversized > 0) {
    const problem = `the line is ${state.oversized} bytes long so far and the bound is ${state.max} (maxLineBytes); it was skipped`
    const bytes = state.nuls + state.oversized
    return { number, bytes, keep: bytes, torn: problem, isHeaderStart: false }
  }
  const given = state.held.subarray(0, state.heldLength)
  const bare = isFirst ? withoutMark(given) : given
  const before = state.nuls + (given.length - bare.length)
  const bytes = state.nuls + given.length
  const found = Salvage.salvage(bare, state.nuls)
  for (const record of found.records) state.sink.line(record.value, number, record.text)
  if (found.problems.length === 0) {
    return { number, bytes, keep: bytes, torn: undefined, isHeaderStart: found.records.length === 0 }
  }
  return {
    number,
    bytes,
    keep: found.keep > 0 ? before + found.keep : 0,
    torn: found.problems.join("; "),
    isHeaderStart: found.records.length === 0 && Salvage.isStart(bare)
  }
}
