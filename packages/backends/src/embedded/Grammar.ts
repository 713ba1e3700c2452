/**
 * What an argument may be: a choice of programs, each a row of parts, each part a choice of sources. A literal is copied whole; a
 * span is copied from one of a text's word starts to one of its word ends. The model chooses, byte by byte; the grammar only
 * forbids.
 *
 * A1. A state is never changed: `advance` answers the next one, or `undefined` where the grammar forbids the bytes.
 * A2. From every state a whole value can be reached: a source is never entered, or gone on with, where it cannot end any more.
 * A3. Bytes are those of the text inside a JSON string, already escaped: what was accepted is always a JSON string's inside.
 */
export interface Source {
  readonly bytes: Uint8Array
  /** Byte positions where a copy may begin. */
  readonly starts: ReadonlyArray<number>
  /** Byte positions where a copy may end. */
  readonly ends: ReadonlySet<number>
  /** The last of `ends`. */
  readonly last: number
}

export type Part = ReadonlyArray<Source>
export type Program = ReadonlyArray<Part>

interface Cursor {
  readonly program: Program
  readonly part: number
  readonly source: Source
  readonly at: number
}

export interface State {
  readonly cursors: ReadonlyArray<Cursor>
  /** What was accepted so far is a whole value. */
  readonly complete: boolean
}

const utf8 = new TextEncoder()
const text = new TextDecoder()

/** The inside of a text's JSON string. */
export const escape = (value: string): string => JSON.stringify(value).slice(1, -1)

const whole = (value: string): Source => {
  const bytes = utf8.encode(escape(value))
  return { bytes, starts: [0], ends: new Set([bytes.length]), last: bytes.length }
}

/** Exactly this text. */
export const literal = (value: string): Part => [whole(value)]

/** One of these texts; empty ones and repetitions do not count. */
export const oneOf = (values: Iterable<string>): Part => [...new Set(values)].filter((value) => value !== "").map(whole)

/** Any span of a text that begins at a word or behind a quote and ends at a word's end. */
export const spans = (value: string): Source => {
  const characters = [...value]
  const bytes: Array<number> = []
  const starts: Array<number> = []
  const ends = new Set<number>()
  for (const [i, character] of characters.entries()) {
    const blank = /\s/.test(character)
    const before = characters[i - 1]
    const after = characters[i + 1]
    if (!blank && (before === undefined || /[\s"'`(\[:>]/.test(before))) starts.push(bytes.length)
    bytes.push(...utf8.encode(escape(character)))
    if (!blank && (after === undefined || /[\s"'`)\].,;:!?]/.test(after))) ends.add(bytes.length)
  }
  const last = Math.max(0, ...ends)
  return { bytes: Uint8Array.from(bytes), starts: starts.filter((start) => start < last), ends, last }
}

/** Before the first byte. A program with a part that nothing can fill is left out. */
export const start = (programs: Iterable<Program>): State => {
  const cursors: Array<Cursor> = []
  for (const program of programs) {
    if (program.length > 0 && program.every((part) => part.length > 0)) enter(program, 0, cursors)
  }
  return { cursors, complete: false }
}

/** Whether there is any value at all. */
export const isPossible = (programs: Iterable<Program>): boolean => start(programs).cursors.length > 0

/** Puts a cursor at every beginning of a part; answers whether the program is over instead. */
const enter = (program: Program, part: number, into: Array<Cursor>): boolean => {
  const sources = program[part]
  if (sources === undefined) return true
  for (const source of sources) for (const at of source.starts) into.push({ program, part, source, at })
  return false
}

export const advance = (self: State, bytes: Uint8Array): State | undefined => {
  let now = self
  for (const byte of bytes) {
    const cursors: Array<Cursor> = []
    let complete = false
    for (const { at, part, program, source } of now.cursors) {
      if (source.bytes[at] !== byte) continue
      if (source.ends.has(at + 1) && enter(program, part + 1, cursors)) complete = true
      if (at + 1 < source.last) cursors.push({ program, part, source, at: at + 1 })
    }
    if (cursors.length === 0 && !complete) return undefined
    now = { cursors, complete }
  }
  return now
}

/** The bytes that may come next. */
export const nextBytes = (self: State): ReadonlySet<number> =>
  new Set(self.cursors.map(({ at, source }) => source.bytes[at] ?? -1))

/** What must follow where only one continuation is left, so that the model need not be asked; `undefined` where there is a choice. */
export const forced = (self: State): string | undefined => {
  if (self.complete) return self.cursors.length === 0 ? "" : undefined
  let only: string | undefined
  for (const cursor of self.cursors) {
    const rest = restOf(cursor)
    if (rest === "ended") continue
    if (rest === "open" || (only !== undefined && only !== rest.text)) return undefined
    only = rest.text
  }
  return only
}

const restOf = ({ at, part, program, source }: Cursor): "open" | "ended" | { readonly text: string } => {
  const insideCharacter = (source.bytes[at]! & 0xc0) === 0x80
  const [end, ...moreEnds] = source.ends
  if (insideCharacter || end === undefined || moreEnds.length > 0) return "open"
  let rest = text.decode(source.bytes.subarray(at, end))
  for (const sources of program.slice(part + 1)) {
    const [next, ...others] = sources
    if (next === undefined || others.length > 0 || next.starts.length !== 1 || next.ends.size !== 1) return "open"
    rest += text.decode(next.bytes.subarray(next.starts[0], next.last))
  }
  return end <= at ? "ended" : { text: rest }
}
