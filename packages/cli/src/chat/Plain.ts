/**
 * A conversation without a terminal to draw on: each line is one turn, `/` commands included, and each turn is shown as `settle run`
 * shows it.
 *
 * P1. Lines are read one at a time, each after the turn of the one before; a question is answered by the next line.
 * P2. A run that fails is told and the next line has its turn; the exit code remembers it.
 */
import * as Effect from "effect/Effect"
import { Asker, none } from "@settle/core/port/Asker"
import { RunFailed } from "@settle/core/model/RunOutcome"
import type { Shared } from "../commands/Flags.ts"
import * as Drive from "../Drive.ts"
import * as ExitCode from "../Exit.ts"
import * as Failure from "../Failure.ts"
import * as Lines from "../Lines.ts"
import * as Out from "../Out.ts"
import * as Render from "../Render.ts"
import * as TerminalAsker from "../TerminalAsker.ts"
import * as Commands from "./Commands.ts"
import type { Line } from "./Dialogue.ts"
import * as Meter from "./Meter.ts"
import type { Seats } from "./Seats.ts"
import * as Slash from "./Slash.ts"

export interface Options {
  readonly input: Shared
  readonly seats: Seats
  readonly isAttended: boolean
}

export const talk = Effect.fn("Plain.talk")(function* ({ input, isAttended, seats }: Options) {
  const out = yield* Out.Out
  const lines = Lines.make(process.stdin)
  const render = Render.make(out)
  const asker = isAttended ? TerminalAsker.make({ render, lines, device: out.stderr }) : none
  let meter = Meter.empty
  let failed = false

  const turn = Effect.fnUntraced(function* (prompt: string) {
    const run = yield* Effect.provideService(seats.run(prompt), Asker, asker)
    const session = seats.session()
    const ended = yield* Effect.result(Drive.drive(run, { output: input.output, render, session }))
    const outcome = yield* run.outcome
    seats.keep(outcome.messages)
    meter = Meter.ended(meter, outcome.spent)
    if (ended._tag === "Success") return
    if (!(ended.failure instanceof RunFailed)) return yield* Effect.fail(ended.failure)
    failed = true
    yield* out.stderr.write(`${Failure.ofError(ended.failure).text}\n`)
  })
  /** Whether there is more to do. */
  const ordered = Effect.fnUntraced(function* (command: Slash.Command) {
    const given = { seats, file: input.config }
    switch (command.name) {
      case "quit":
        return false
      case "help":
        yield* said(Slash.help.map(plain))
        return true
      case "cost":
        yield* said(Meter.lines(meter, seats.seat().window).map(plain))
        return true
      default:
        yield* said(yield* Commands.look(command, given))
        yield* said((yield* Commands.move(command, given)).lines)
        return true
    }
  })

  while (true) {
    const line = yield* lines.next
    if (line === undefined) break
    if (line.trim() === "") continue
    const slash = Slash.parse(line)
    if (slash._tag === "Words") yield* turn(slash.text)
    else if (slash._tag === "Wrong") yield* said([{ tone: "bad", text: slash.detail }])
    else if (!(yield* ordered(slash.command))) break
  }
  if (failed) return yield* new Failure.CommandError({ code: ExitCode.failed, detail: "" })
})

const plain = (text: string): Line => ({ tone: "plain", text })

/** Everything but answers goes to stderr. */
export const said = Effect.fnUntraced(function* (lines: ReadonlyArray<Line>) {
  const { stderr } = yield* Out.Out
  for (const { text, tone } of lines) {
    yield* stderr.write(`${Render.toned(stderr, tone === "strong" ? "plain" : tone, text)}\n`)
  }
})
