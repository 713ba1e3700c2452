/**
 * What `/` commands do that need more than the conversation itself. Each answers lines; a refusal is a line like any other.
 *
 * M1. They say what the commands of the shell say: the same code writes into a captured stdout.
 */
import * as Effect from "effect/Effect"
import * as Neutral from "@settle/core/decide/Neutral"
import * as Listed from "../commands/Sessions.ts"
import * as ModelsCommand from "../commands/Models.ts"
import * as ToolsCommand from "../commands/Tools.ts"
import * as Failure from "../Failure.ts"
import * as Out from "../Out.ts"
import * as Sessions from "@settle/store-fs/Sessions"
import type { Line } from "./Dialogue.ts"
import type { Seats } from "./Seats.ts"
import type { Command } from "./Slash.ts"

export interface Given {
  readonly seats: Seats
  /** `--config`. */
  readonly file: string | undefined
}

const plain = (text: string): ReadonlyArray<Line> =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => ({ tone: "plain", text: line }))

const bad = (text: string): ReadonlyArray<Line> => [{ tone: "bad", text: Neutral.block(text) }]

/** The stdout of a command as text, and after it the paragraph of its failure. */
const captured = <E, R>(command: Effect.Effect<unknown, E, R>) =>
  Effect.gen(function* () {
    const out = yield* Out.Out
    let text = ""
    const device: Out.Device = {
      ...out.stdout,
      isTerminal: false,
      hasColor: false,
      write: (piece) => Effect.sync(() => void (text += piece))
    }
    const failed = yield* refusalOf(Effect.provideService(command, Out.Out, { ...out, stdout: device, stderr: device }))
    return [...(text === "" ? [] : plain(text)), ...failed]
  })

/** Nothing when it went well. */
const refusalOf = <E, R>(effect: Effect.Effect<unknown, E, R>): Effect.Effect<ReadonlyArray<Line>, never, R> =>
  effect.pipe(
    Effect.as<ReadonlyArray<Line>>([]),
    Effect.catch((error) => Effect.succeed(bad(Failure.ofError(error).text)))
  )

const noFile = bad("Nothing is written yet: the session begins with its first turn.")

/** Asks nothing of the run; may be done while one works. */
export const look = Effect.fn("Commands.look")(function* (command: Command, { file, seats }: Given) {
  const at = seats.session()
  const config = file === undefined ? {} : { config: file }
  switch (command.name) {
    case "tools": {
      const provider = seats.provider()
      return provider === undefined
        ? plain(ToolsCommand.none)
        : yield* captured(ToolsCommand.print(provider, seats.config, "text"))
    }
    case "models":
      return yield* captured(ModelsCommand.models({ ...config, output: "text" }))
    case "sessions":
      return yield* captured(Listed.list({ all: false, output: "text" }))
    case "doctor":
      return at === undefined || !(yield* seats.isWritten)
        ? noFile
        : yield* captured(Listed.doctor({ session: at.path, repair: false, output: "text" }))
    case "export": {
      if (at === undefined || !(yield* seats.isWritten)) return noFile
      const to = command.to ?? `${at.name}.md`
      return yield* captured(Listed.write({ session: at.path, to, format: /\.html?$/i.test(to) ? "html" : "md" }))
    }
    default:
      return []
  }
})

/** Changes the place of the conversation; only between runs. */
export const move = Effect.fn("Commands.move")(function* (command: Command, { seats }: Given) {
  const { model, session } = seats.seat()
  const moved = refusalOf(placed(command, seats))
  const lines = yield* moved
  const now = seats.seat()
  const isNew = now.session !== session
  const said = [
    ...(now.model === model ? [] : [`model ${now.model}`]),
    ...(isNew && now.session !== undefined ? [`session ${now.session}`] : [])
  ]
  return { lines: [...lines, ...said.map((text): Line => ({ tone: "quiet", text: Neutral.line(text) }))], isNew }
})

const placed = Effect.fnUntraced(function* (command: Command, seats: Seats) {
  switch (command.name) {
    case "model":
      return yield* seats.toModel(command.to)
    case "session":
      return yield* seats.toSession(command.to)
    case "rename":
      return yield* seats.rename(command.to)
    case "clear":
      return yield* seats.toSession(undefined)
    case "fork": {
      const at = seats.session()
      if (at === undefined || !(yield* seats.isWritten))
        return yield* Failure.usage("Nothing is written yet that could be forked.")
      const name = command.to ?? (yield* Sessions.newName)
      yield* captured(Listed.fork({ session: at.path, name })).pipe(
        Effect.filterOrFail(
          (lines) => lines.every(({ tone }) => tone !== "bad"),
          (lines) => new Failure.CommandError({ code: 2, detail: lines.map(({ text }) => text).join(" ") })
        )
      )
      return yield* seats.toSession(name)
    }
    default:
      return
  }
})
