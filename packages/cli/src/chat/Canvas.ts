/** The part of the screen that lives, and what waits to be printed above it: what the terminal shows is known here alone. */
import * as Effect from "effect/Effect"
import type { Device } from "../Out.ts"
import type { Dialogue, Line } from "./Dialogue.ts"
import * as Paint from "./Paint.ts"
import * as View from "./View.ts"

export interface Canvas {
  readonly print: (lines: ReadonlyArray<Line>) => void
  readonly draw: (dialogue: Dialogue) => Effect.Effect<void>
  readonly erase: Effect.Effect<void>
  readonly clear: Effect.Effect<void>
}

export const make = (stdout: Device): Canvas => {
  let drawn = Paint.nothing
  let columns = stdout.size().columns
  let standing: ReadonlyArray<Line> = []
  const { hasColor } = stdout
  /** What waits stands where it belongs, whatever becomes of the screen then. */
  const erase = Effect.suspend(() => {
    const printed = standing.map((line) => `${Paint.toned(line, hasColor)}\r\n`).join("")
    const text = `${Paint.erased(drawn)}${printed}`
    standing = []
    drawn = Paint.nothing
    return stdout.write(text)
  })
  return {
    print: (lines) => {
      standing = [...standing, ...lines]
    },
    draw: (dialogue) =>
      Effect.suspend(() => {
        const size = stdout.size()
        const before = size.columns === columns ? "" : Paint.resized(drawn, size.columns)
        if (before !== "") drawn = Paint.nothing
        columns = size.columns
        const [next, text] = Paint.paint(drawn, { frame: View.frame(dialogue, size), standing, hasColor })
        drawn = next
        standing = []
        return stdout.write(before + text)
      }),
    erase,
    clear: Effect.andThen(erase, stdout.write("\u001b[H\u001b[2J"))
  }
}
