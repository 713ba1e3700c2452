/**
 * The asker of a conversation: questions stand in the live part of the screen, above the input line, one at a time.
 *
 * A1. What is shown is what `TerminalAsker` shows, neutral and bounded (X-SAFE-03); here one key answers it.
 * A2. A question that nobody waits for any more is gone from the screen.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Asker from "@settle/core/port/Asker"
import type { Device } from "../Out.ts"
import * as TerminalAsker from "../TerminalAsker.ts"
import { Input } from "./Dialogue.ts"

export interface Approval {
  readonly asker: Asker.Asker
  /** The answer to the question that stands; `undefined` for none. */
  readonly answer: (text: string | undefined) => void
}

export interface Desk {
  readonly offer: (input: Input) => void
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly device: Device
}

export const make = ({ device, now, offer }: Desk): Approval => {
  let text = ""
  let waiting: Deferred.Deferred<string | undefined> | undefined
  const put = (keys: string | undefined) =>
    Effect.suspend(() => {
      const answered = Deferred.makeUnsafe<string | undefined>()
      waiting = answered
      offer(Input.Asked({ text, keys, at: now() }))
      return Effect.tap(Deferred.await(answered), (answer) => Effect.sync(() => settled(answer, keys)))
    })
  /** What was answered stands above; a form keeps what was filled in. */
  const settled = (answer: string | undefined, keys: string | undefined) => {
    const [first = ""] = text.split("\n")
    if (keys !== undefined)
      offer(Input.Said({ lines: [{ tone: "quiet", text: `${first} ${answer ?? "not answered"}` }] }))
    text = `${text}${answer ?? ""}\n`
  }
  const asker = TerminalAsker.make({
    device: { ...device, hasColor: false, write: (piece) => Effect.sync(() => void (text += piece)) },
    lines: { next: put(undefined), pick: put },
    render: {
      show: () => Effect.void,
      tick: Effect.void,
      aside: (dialogue) =>
        Effect.acquireUseRelease(
          Effect.sync(() => {
            text = ""
          }),
          () => dialogue,
          () =>
            Effect.sync(() => {
              waiting = undefined
              offer(Input.AskOver())
            })
        )
    }
  })
  return {
    asker,
    answer: (given) => {
      if (waiting !== undefined) Deferred.doneUnsafe(waiting, Exit.succeed(given))
    }
  }
}
