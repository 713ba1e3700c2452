/**
 * Frames become what a terminal is sent. Pure.
 *
 * P1. Only rows that changed are sent; an unchanged frame sends nothing. Nothing flickers: what is written is never erased first.
 * P2. What stands is printed above the frame and never touched again.
 * P3. A row of the frame never wraps, whatever a terminal thinks of the width of a character: wrapping is off while it is drawn.
 */
import type { Line, Tone } from "./Dialogue.ts"
import type { Frame } from "./View.ts"
import * as Width from "./Width.ts"

/** What the terminal shows of the last frame. */
export interface Drawn {
  readonly rows: ReadonlyArray<string>
  readonly cursor: { readonly row: number; readonly column: number }
}

export const nothing: Drawn = { rows: [], cursor: { row: 0, column: 0 } }

const codes: Record<Tone, string> = { plain: "", strong: "1", quiet: "2", good: "32", warning: "33", bad: "31" }

export const toned = (line: Line, hasColor: boolean): string =>
  hasColor && codes[line.tone] !== "" && line.text !== ""
    ? `\u001b[${codes[line.tone]}m${line.text}\u001b[0m`
    : line.text

/** The whole update reaches the screen at once, where the terminal can do that. */
const together = (text: string): string =>
  text === "" ? "" : `\u001b[?2026h\u001b[?25l${text}\u001b[?25h\u001b[?2026l`

const up = (rows: number): string => (rows > 0 ? `\u001b[${rows}A` : "")

export interface Update {
  readonly frame: Frame
  /** To be printed above it. */
  readonly standing: ReadonlyArray<Line>
  readonly hasColor: boolean
}

export const paint = (drawn: Drawn, { frame, hasColor, standing }: Update): readonly [Drawn, string] => {
  const next: Drawn = { rows: frame.lines.map((line) => toned(line, hasColor)), cursor: frame.cursor }
  if (standing.length > 0) {
    const printed = standing.map((line) => `${toned(line, hasColor)}\r\n`).join("")
    return [next, together(`${erased(drawn)}${printed}${written(next, [])}`)]
  }
  if (isSame(drawn, next)) return [next, ""]
  return [next, together(`\r${up(drawn.cursor.row)}${written(next, drawn.rows)}`)]
}

/** Goes to the frame's first row and clears from there on. */
export const erased = (drawn: Drawn): string => (drawn.rows.length === 0 ? "\r" : `\r${up(drawn.cursor.row)}\u001b[J`)

const isSame = (a: Drawn, b: Drawn): boolean =>
  a.cursor.row === b.cursor.row &&
  a.cursor.column === b.cursor.column &&
  a.rows.length === b.rows.length &&
  a.rows.every((row, index) => row === b.rows[index])

/** From the first row on: each row where it differs, what is below the last one cleared, the cursor put in its place. */
const written = (next: Drawn, before: ReadonlyArray<string>): string => {
  const rows = next.rows.map((row, index) => (row === before[index] ? "" : `\r${row}\u001b[K`)).join("\r\n")
  const clear = before.length > next.rows.length ? "\r\n\u001b[J\u001b[A" : ""
  const { column, row } = next.cursor
  const back = `\r${up(next.rows.length - 1 - row)}${column > 0 ? `\u001b[${column}C` : ""}`
  return `\u001b[?7l${rows}${clear}\u001b[?7h${back}`
}

/**
 * The window changed: its rows may have been broken anew by the terminal, so that the frame begins higher up or lower down. Goes
 * there and clears; what stood above is the terminal's.
 */
export const resized = (drawn: Drawn, columns: number): string => {
  const above = drawn.rows.slice(0, drawn.cursor.row).reduce((sum, row) => sum + height(row, columns), 0)
  return together(`\r${up(above + Math.floor(drawn.cursor.column / Math.max(1, columns)))}\u001b[J`)
}

const height = (row: string, columns: number): number => Math.max(1, Math.ceil(Width.of(row) / Math.max(1, columns)))
