/**
 * Puts what `Screen` shows on two streams: the answer on stdout, everything else on stderr.
 *
 * R1. A pipe gets the text of a turn once it stands; only a terminal sees it grow, because only there can it be taken back
 *     (L-STREAM-01).
 * R2. A terminal never gets a character that is not neutral (X-SAFE-03); a pipe gets the answer exactly as it is.
 * R3. Live lines are below everything else and are gone before anything else is written.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { displayWidth } from "effect/cli/CliOutput"
import * as Figures from "./Figures.ts"
import * as Neutral from "@settle/core/decide/Neutral"
import type { Device } from "./Out.ts"
import type * as Screen from "./Screen.ts"

export interface Render {
  readonly show: (show: Screen.Show) => Effect.Effect<void>
  /** Redraws the times of the calls in flight. */
  readonly tick: Effect.Effect<void>
  /** Runs a dialogue with the person: live lines are gone, and what comes meanwhile is shown afterwards. */
  readonly aside: <A>(dialogue: Effect.Effect<A>) => Effect.Effect<A>
}

export interface Streams {
  readonly stdout: Device
  readonly stderr: Device
}

const codes: Record<Screen.Tone, string> = { plain: "", quiet: "2", good: "32", warning: "33", bad: "31" }

/** Text in a colour, where the device has any. */
export const toned = (device: Device, tone: Screen.Tone, text: string): string =>
  device.hasColor && codes[tone] !== "" ? `\u001b[${codes[tone]}m${text}\u001b[0m` : text

/** How many rows a text takes on a terminal so wide. */
export const rowsOf = (text: string, columns: number): number =>
  text.split("\n").reduce((rows, line) => rows + Math.max(1, Math.ceil(displayWidth(line) / Math.max(1, columns))), 0)

const withoutTabs = (text: string): string => text.replaceAll("\t", "    ")

export const make = (streams: Streams): Render => {
  const { stderr, stdout } = streams
  /** What is on the terminal of the turn that is being written. */
  let open = ""
  let drawn = 0
  let calls: ReadonlyArray<Screen.Running> = []
  let asides = 0
  let waiting: ReadonlyArray<Screen.Show> = []

  const erase = Effect.suspend(() => {
    const rows = drawn
    drawn = 0
    return rows === 0 ? Effect.void : stderr.write(`\u001b[${rows}A\u001b[0J`)
  })
  const draw = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    if (!stderr.isTerminal || calls.length === 0 || open !== "") return Effect.void
    drawn = calls.length
    return stderr.write(calls.map((call) => liveLine(call, now, stderr)).join(""))
  })
  const above = (write: Effect.Effect<void>) => Effect.andThen(Effect.andThen(erase, write), draw)

  const grow = (text: string) => {
    if (!stdout.isTerminal) return Effect.void
    const before = Neutral.block(open.slice(-2)).length
    const piece = withoutTabs(Neutral.block(open.slice(-2) + text).slice(before))
    open += text
    return Effect.andThen(erase, stdout.write(piece))
  }
  const withdraw = () => {
    const shown = withoutTabs(Neutral.block(open))
    open = ""
    if (!stdout.isTerminal || shown === "") return Effect.void
    const { columns, rows } = stdout.size()
    const taken = rowsOf(shown, columns)
    return taken < rows
      ? stdout.write(`\r${taken > 1 ? `\u001b[${taken - 1}A` : ""}\u001b[0J`)
      : stdout.write(`\n${toned(stdout, "quiet", "↑ the text above is withdrawn: its attempt failed")}\n`)
  }
  const turn = (text: string, isAnswer: boolean) => {
    if (stdout.isTerminal) {
      const rest = open === text ? Effect.void : Effect.andThen(withdraw(), grow(text))
      const end = Effect.suspend(() => {
        const needsEnd = open !== "" && !open.endsWith("\n")
        open = ""
        return needsEnd ? stdout.write("\n") : Effect.void
      })
      return Effect.andThen(rest, end)
    }
    if (text === "") return Effect.void
    const ended = text.endsWith("\n") ? text : `${text}\n`
    return isAnswer ? stdout.write(ended) : above(stderr.write(toned(stderr, "quiet", Neutral.block(ended))))
  }

  const show = (one: Screen.Show) => {
    switch (one._tag) {
      case "Text":
        return grow(one.text)
      case "Withdraw":
        return withdraw()
      case "Turn":
        return turn(one.text, one.isAnswer)
      case "Line":
        return above(stderr.write(`${toned(stderr, one.tone, one.text)}\n`))
      case "Running":
        calls = one.calls
        return above(Effect.void)
    }
  }
  const resumed = Effect.suspend(() => {
    asides--
    if (asides > 0) return Effect.void
    const late = waiting
    waiting = []
    return Effect.andThen(Effect.forEach(late, show, { discard: true }), above(Effect.void))
  })

  return {
    tick: Effect.suspend(() => (drawn === 0 ? Effect.void : above(Effect.void))),
    aside: (dialogue) =>
      Effect.acquireUseRelease(
        Effect.suspend(() => {
          asides++
          return erase
        }),
        () => dialogue,
        () => resumed
      ),
    show: (one) =>
      Effect.suspend(() => {
        if (asides === 0) return show(one)
        waiting = [...waiting, one]
        return Effect.void
      })
  }
}

/** One row at most: a longer one could not be erased. */
const liveLine = (call: Screen.Running, now: number, device: Device): string => {
  const text = `⋯ ${call.label} ${Figures.duration(now - call.since)}${call.note === "" ? "" : ` · ${call.note}`}`
  const { columns } = device.size()
  const cut = displayWidth(text) < columns ? text : `${cutTo(text, columns - 2)}…`
  return `${toned(device, "quiet", cut)}\n`
}

const cutTo = (text: string, columns: number): string => {
  let kept = ""
  let width = 0
  for (const character of text) {
    width += displayWidth(character)
    if (width > columns) break
    kept += character
  }
  return kept
}
