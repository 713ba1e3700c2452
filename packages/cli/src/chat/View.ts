/**
 * The live part of the screen: what is below everything that stands. Pure; `Paint` puts it there.
 *
 * V1. It never has more rows than the window less one, nor a row wider than the window less one: it can always be erased.
 * V2. The input line and the status line are always there; what is streamed gives way first.
 * V3. Everything that was not written here is neutral (X-SAFE-03), also what the person pasted.
 */
import * as Neutral from "@settle/core/decide/Neutral"
import * as Figures from "../Figures.ts"
import type * as Screen from "../Screen.ts"
import type { Dialogue, Line, Question, Tone } from "./Dialogue.ts"
import type * as Editor from "./Editor.ts"
import * as Meter from "./Meter.ts"
import * as Width from "./Width.ts"

export interface Size {
  readonly columns: number
  readonly rows: number
}

export interface Frame {
  readonly lines: ReadonlyArray<Line>
  /** From the frame's first row and column, both from 0. */
  readonly cursor: { readonly row: number; readonly column: number }
}

const shown = { calls: 6, waiting: 4 }

export const frame = (self: Dialogue, size: Size): Frame => {
  const columns = Math.max(10, size.columns) - 1
  const rows = Math.max(4, size.rows) - 1
  const input = inputOf(self, columns, Math.max(1, Math.floor(rows / 3)))
  const question = self.question === undefined ? [] : questionOf(self.question, columns)
  const status: ReadonlyArray<Line> = [statusOf(self, columns)]
  const extra = [...callsOf(self, columns), ...waitingOf(self, columns)]
  const left = rows - input.lines.length - status.length
  // A question that is too long for the window shows its end, where the answers stand, and says what is missing.
  const asked = lastOf(question, left, columns)
  const beside = extra.slice(0, Math.max(0, left - asked.length))
  const text = textOf(self, columns, left - asked.length - beside.length)
  const above = [...text, ...beside, ...asked]
  return {
    lines: [...above, ...input.lines, ...status],
    cursor:
      self.question !== undefined && self.question.keys === undefined
        ? { row: above.length - 1, column: Math.min(columns, Width.of(above.at(-1)?.text ?? "")) }
        : { row: above.length + input.row, column: input.column }
  }
}

/** The last rows of the attempt that streams. */
const textOf = (self: Dialogue, columns: number, rows: number): ReadonlyArray<Line> => {
  if (self.text === "" || rows <= 0) return []
  const far = self.text.length - rows * columns * 2
  // From a line's start on, so that rows do not shift while text comes.
  const from = far <= 0 ? 0 : self.text.lastIndexOf("\n", far) + 1
  const all = Width.wrap(Neutral.block(self.text.slice(from)), columns)
  return all.slice(-rows).map((text) => ({ tone: "plain", text }))
}

const callsOf = ({ calls, now }: Dialogue, columns: number): ReadonlyArray<Line> => {
  const more = calls.length - shown.calls
  const lines = calls.slice(0, shown.calls).map((call) => callLine(call, now, columns))
  return [...lines, ...(more > 0 ? [`⋯ and ${more} more`] : [])].map(quiet)
}

/** Its state stays in sight, however long its arguments are. */
const callLine = ({ label, note, since }: Screen.Running, now: number, columns: number): string => {
  const state = Width.cut(
    ` ${Figures.duration(now - since)}${note === "" ? "" : ` · ${note}`}`,
    Math.floor(columns / 2)
  )
  return Width.cut(`⋯ ${label}`, columns - Width.of(state)) + state
}

const waitingOf = ({ queued, steers }: Dialogue, columns: number): ReadonlyArray<Line> => {
  const all = [...steers.map((text) => `↳ ${Neutral.line(text)}`), ...queued.map((text) => `⏭ ${Neutral.line(text)}`)]
  const more = all.length - shown.waiting
  return [...all.slice(0, shown.waiting), ...(more > 0 ? [`… and ${more} more lines wait`] : [])].map((text) =>
    quiet(Width.cut(text, columns))
  )
}

const quiet = (text: string): Line => ({ tone: "quiet", text })

const questionOf = (question: Question, columns: number): ReadonlyArray<Line> => {
  const answer = question.keys === undefined ? Neutral.line(question.answer.text) : ""
  return Width.wrap(question.text + answer, columns).map((text, index) => ({
    tone: index === 0 ? "warning" : "plain",
    text
  }))
}

const lastOf = (lines: ReadonlyArray<Line>, rows: number, columns: number): ReadonlyArray<Line> => {
  if (lines.length <= rows) return lines
  const missing = lines.length - Math.max(0, rows - 1)
  return [
    {
      tone: "warning",
      text: Width.cut(`… ${missing} rows of the question do not fit: make the window larger`, columns)
    },
    ...lines.slice(missing)
  ]
}

interface InputRows {
  readonly lines: ReadonlyArray<Line>
  readonly row: number
  readonly column: number
}

const prompt = "› "

/** The rows of the input around the cursor. */
const inputOf = ({ editor }: Dialogue, columns: number, most: number): InputRows => {
  const laid = layOut(editor, columns - prompt.length)
  const first = Math.max(0, Math.min(laid.row - most + 1, laid.rows.length - most))
  const from = Math.max(0, Math.max(first, laid.row - most + 1))
  return {
    lines: laid.rows
      .slice(from, from + most)
      .map((text, index) => ({ tone: "plain", text: `${from + index === 0 ? prompt : "  "}${text}` })),
    row: laid.row - from,
    column: laid.column + prompt.length
  }
}

/** Rows, and where the cursor is among them. */
const layOut = ({ cursor, text }: Editor.Editor, columns: number) => {
  const rows: Array<string> = [""]
  let width = 0
  let at = 0
  let place = { row: 0, column: 0 }
  const mark = () => {
    if (at === cursor)
      place = width < columns ? { row: rows.length - 1, column: width } : { row: rows.length, column: 0 }
  }
  for (const grapheme of Width.graphemes(text)) {
    mark()
    at += grapheme.length
    if (grapheme === "\n") {
      rows.push("")
      width = 0
      continue
    }
    const seen = grapheme === "\t" ? "    " : Neutral.line(grapheme)
    const wide = Width.of(seen)
    if (width + wide > columns && width > 0) {
      rows.push("")
      width = 0
    }
    rows.push((rows.pop() ?? "") + seen)
    width += wide
  }
  mark()
  if (place.row === rows.length) rows.push("")
  return { rows, ...place }
}

const statusOf = (self: Dialogue, columns: number): Line => {
  const { hint, phase, seat } = self
  const time = Figures.duration(self.now - self.since)
  const state = {
    idle: [],
    working: [`working ${time}`],
    cancelling: ["cancelling"],
    draining: ["waiting for the last calls"]
  }[phase]
  const facts = [
    ...(hint === "" ? [] : [hint]),
    ...state,
    Neutral.line(seat.model),
    ...(seat.session === undefined ? ["no session"] : [Neutral.line(seat.session)]),
    ...Meter.parts(self.meter, seat.window),
    ...(hint === "" ? advice(self) : [])
  ]
  const tone: Tone = hint === "" ? "quiet" : "warning"
  return { tone, text: Width.cut(facts.join(" · "), columns) }
}

const advice = ({ phase, question }: Dialogue): ReadonlyArray<string> => {
  if (question !== undefined) return ["Esc cancels"]
  if (phase === "working") return ["Enter steers, Tab queues, Esc cancels"]
  return phase === "idle" ? ["/help"] : []
}
