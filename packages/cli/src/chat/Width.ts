/**
 * Text in columns of a terminal. Pure.
 *
 * W1. A grapheme is never cut: an emoji with its joiners, a letter with its accents stay together.
 * W2. What leaves `cut` and `wrap` is never wider than was asked for, unless one grapheme alone is.
 */
import { displayWidth } from "effect/cli/CliOutput"

/** Columns that a text takes: 2 for wide characters and emoji, 0 for what only changes its neighbour. */
export const of = (text: string): number => (isPlain(text) ? text.length : displayWidth(text))

/** Most text is this, and the segmenter is slow. */
const isPlain = (text: string): boolean => /^[ -~]*$/.test(text)

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" })

/** What a person sees as one character each. */
export const graphemes = (text: string): ReadonlyArray<string> =>
  isPlain(text) ? text.split("") : Array.from(segmenter.segment(text), ({ segment }) => segment)

/** At most so many columns, with `…` where something is missing. */
export const cut = (text: string, columns: number): string => {
  if (of(text) <= columns) return text
  let kept = ""
  let width = 0
  for (const grapheme of graphemes(text)) {
    width += of(grapheme)
    if (width > columns - 1) break
    kept += grapheme
  }
  return columns < 1 ? "" : `${kept}…`
}

/** The rows of a text: its own lines, each broken where the columns end. A tab is four spaces. */
export const wrap = (text: string, columns: number): ReadonlyArray<string> =>
  text
    .replaceAll("\t", "    ")
    .split("\n")
    .flatMap((line) => rowsOf(line, Math.max(1, columns)))

const rowsOf = (line: string, columns: number): ReadonlyArray<string> => {
  if (of(line) <= columns) return [line]
  const rows: Array<string> = []
  let row = ""
  let width = 0
  for (const grapheme of graphemes(line)) {
    const wide = of(grapheme)
    if (width + wide > columns && row !== "") {
      rows.push(row)
      row = ""
      width = 0
    }
    row += grapheme
    width += wide
  }
  return [...rows, row]
}
