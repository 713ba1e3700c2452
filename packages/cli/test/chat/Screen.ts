/** A small terminal screen: what a person would see of what was written. Knows the sequences the chat sends, and dies on others. */
import * as Width from "../../src/chat/Width.ts"

interface Cell {
  readonly text: string
  /** The second column of a wide character. */
  readonly isTail: boolean
  readonly style: string
}

interface Row {
  cells: Array<Cell>
  /** Goes on in the next row: it was broken by the terminal. */
  wraps: boolean
}

const blank: Cell = { text: " ", isTail: false, style: "" }

export class Screen {
  columns: number
  rows: number
  /** All rows, those that scrolled away first. */
  private lines: Array<Row> = [{ cells: [], wraps: false }]
  private row = 0
  private column = 0
  private wrapping = true
  private pending = false
  private style = ""
  private rest = ""
  modes = new Set<string>()
  bytes = 0

  constructor(columns: number, rows: number) {
    this.columns = columns
    this.rows = rows
  }

  private get top(): number {
    return Math.max(0, this.lines.length - this.rows)
  }

  write(text: string): void {
    this.bytes += text.length
    let left = this.rest + text
    this.rest = ""
    while (left !== "") {
      const sequence = /^\u001b\[([?0-9;]*)([A-Za-z])/.exec(left)
      if (sequence !== null) {
        this.control(sequence[1] ?? "", sequence[2] ?? "")
        left = left.slice(sequence[0].length)
      } else if (left[0] === "\u001b") {
        if (!/^\u001b(\[[?0-9;]*)?$/.test(left))
          throw new Error(`unknown sequence ${JSON.stringify(left.slice(0, 20))}`)
        this.rest = left
        return
      } else if (left[0] === "\r") {
        this.column = 0
        this.pending = false
        left = left.slice(1)
      } else if (left[0] === "\n") {
        this.down(false)
        left = left.slice(1)
      } else {
        const plain = /^[^\u001b\r\n]+/.exec(left)?.[0] ?? left
        for (const grapheme of Width.graphemes(plain)) this.put(grapheme)
        left = left.slice(plain.length)
      }
    }
  }

  private at(row: number): Row {
    while (this.lines.length <= row) this.lines.push({ cells: [], wraps: false })
    const line = this.lines[row]
    if (line === undefined) throw new Error("no row")
    return line
  }

  private down(wraps: boolean): void {
    this.at(this.row).wraps = wraps
    this.row++
    this.pending = false
    this.at(this.row)
  }

  private put(grapheme: string): void {
    const wide = Width.of(grapheme)
    if (wide === 0) return
    if (this.wrapping && (this.pending || this.column + wide > this.columns)) {
      this.down(true)
      this.column = 0
    }
    if (this.column + wide > this.columns) this.column = this.columns - wide
    const { cells } = this.at(this.row)
    while (cells.length < this.column) cells.push(blank)
    cells[this.column] = { text: grapheme, isTail: false, style: this.style }
    if (wide === 2) cells[this.column + 1] = { text: "", isTail: true, style: this.style }
    this.column += wide
    if (this.column >= this.columns) {
      this.pending = true
      this.column = this.columns - 1
    }
  }

  private control(given: string, final: string): void {
    const count = Number(given === "" ? 1 : given)
    this.pending = false
    switch (final) {
      case "A":
        this.row = Math.max(this.top, this.row - count)
        return
      case "C":
        this.column = Math.min(this.columns - 1, this.column + count)
        return
      case "H":
        this.row = this.top
        this.column = 0
        return
      case "K": {
        const line = this.at(this.row)
        line.cells = line.cells.slice(0, this.column)
        line.wraps = false
        return
      }
      case "J": {
        const from = given === "2" ? this.top : this.row
        this.at(from).cells = given === "2" ? [] : this.at(from).cells.slice(0, this.column)
        for (let row = from + 1; row < this.lines.length; row++) this.lines[row] = { cells: [], wraps: false }
        return
      }
      case "m":
        this.style = given === "0" ? "" : given
        return
      case "h":
      case "l":
        if (given === "?7") this.wrapping = final === "h"
        if (final === "h") this.modes.add(given)
        else this.modes.delete(given)
        return
      default:
        throw new Error(`unknown sequence ESC [ ${given} ${final}`)
    }
  }

  /** The window gets another size; rows are broken anew, as most terminals do. */
  resize(columns: number, rows: number): void {
    const logical: Array<{ cells: Array<Cell>; cursor: number | undefined }> = []
    let current: Array<Cell> = []
    let cursor: number | undefined
    this.lines.forEach((line, index) => {
      if (index === this.row) cursor = current.length + this.column
      current.push(...line.cells)
      if (line.wraps) return
      logical.push({ cells: current, cursor })
      current = []
      cursor = undefined
    })
    this.columns = columns
    this.rows = rows
    this.lines = []
    for (const line of logical) {
      const first = this.lines.length
      do {
        let cut = Math.min(columns, line.cells.length)
        if (line.cells[cut]?.isTail === true) cut--
        const cells = line.cells.splice(0, cut)
        this.lines.push({ cells, wraps: line.cells.length > 0 })
      } while (line.cells.length > 0)
      if (line.cursor !== undefined) {
        this.row = Math.min(first + Math.floor(line.cursor / columns), Math.max(first, this.lines.length))
        this.column = line.cursor % columns
        this.at(this.row)
      }
    }
  }

  private textOf(line: Row): string {
    return line.cells
      .map((cell) => cell.text)
      .join("")
      .trimEnd()
  }

  /** What is visible now, without empty rows at the end. */
  visible(): ReadonlyArray<string> {
    const all = this.lines.slice(this.top).map((line) => this.textOf(line))
    while (all.at(-1) === "") all.pop()
    return all
  }

  /** Everything, scrolled away or not. */
  all(): string {
    return this.lines
      .map((line) => this.textOf(line))
      .join("\n")
      .trimEnd()
  }

  /** Everything, with what the terminal broke put together again. */
  text(): string {
    return this.lines
      .map((line) => (line.wraps ? this.textOf(line) : `${this.textOf(line)}\n`))
      .join("")
      .trimEnd()
  }

  cursor(): { readonly row: number; readonly column: number } {
    return { row: this.row - this.top, column: this.column }
  }

  styles(): ReadonlySet<string> {
    return new Set(this.lines.flatMap((line) => line.cells.map((cell) => cell.style)))
  }
}
