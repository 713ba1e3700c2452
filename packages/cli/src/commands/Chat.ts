/**
 * `settle chat`: a conversation. On a terminal it draws; without one, or with `--output json|events`, each line of stdin is a turn.
 */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as HistoryFile from "../chat/HistoryFile.ts"
import { Input as Happening } from "../chat/Dialogue.ts"
import * as Plain from "../chat/Plain.ts"
import * as Seats from "../chat/Seats.ts"
import * as Talk from "../chat/Talk.ts"
import * as ConfigFile from "../ConfigFile.ts"
import * as Drive from "../Drive.ts"
import * as ExitCode from "../Exit.ts"
import * as Failure from "../Failure.ts"
import * as Out from "../Out.ts"
import * as Prompt from "../Prompt.ts"
import * as TerminalAsker from "../TerminalAsker.ts"
import type { Shared } from "./Flags.ts"

export const chat = Effect.fn("commands.Chat")(function* (input: Shared) {
  const out = yield* Out.Out
  const isDrawn = process.stdin.isTTY === true && out.stdout.isTerminal && input.output === "text"
  const { config, root } = yield* ConfigFile.load(input.config)
  const system = yield* Prompt.system(input.system)
  const inbox = yield* Talk.inbox
  const say: Seats.Options["say"] = isDrawn
    ? (lines) => Effect.sync(() => void Queue.offerUnsafe(inbox.inputs, Happening.Said({ lines })))
    : (lines) => Effect.provideService(Plain.said(lines), Out.Out, out)
  const seats = yield* Seats.make({ input, config, root, system, steers: inbox.steers, say })
  const isAttended = TerminalAsker.isAttended(input.ask, process.stdin.isTTY === true && out.stderr.isTerminal)
  if (!isDrawn) return yield* Plain.talk({ input, seats, isAttended })
  const history = yield* HistoryFile.open()
  const left = yield* Talk.talk({ inbox, seats, history, file: input.config, mayAsk: isAttended })
  const session = (yield* seats.isWritten) ? seats.session() : undefined
  if (session !== undefined) yield* Drive.say(`session ${session.name} · settle chat --session ${session.name} goes on`)
  switch (left) {
    case "done":
      return
    case "at-once":
      // What holds the process now is a call that does not come back; the record says already that nobody knows its outcome.
      yield* out.flush
      return process.exit(ExitCode.cancelled)
    case "cancelled":
      return yield* new Failure.CommandError({ code: ExitCode.cancelled, detail: "" })
  }
}, Effect.scoped)
