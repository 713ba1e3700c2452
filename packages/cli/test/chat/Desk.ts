/** Drives the machine of the conversation without a terminal: keys and happenings in, actions and the seen lines out. */
import type * as RunEvent from "@settle/core/model/RunEvent"
import type { RunOutcome } from "@settle/core/model/RunOutcome"
import * as Dialogue from "../../src/chat/Dialogue.ts"
import * as History from "../../src/chat/History.ts"
import * as Keys from "../../src/chat/Keys.ts"
import * as Machine from "../../src/chat/Machine.ts"
import * as View from "../../src/chat/View.ts"

export const seat: Dialogue.Seat = { model: "main", session: "s", window: 1000 }

export const completed: RunOutcome = { outcome: "completed", final: "ok", messages: [], rounds: 1, attempts: [] }

export class Desk {
  dialogue: Dialogue.Dialogue
  /** All that was wanted done, in order; prints apart. */
  actions: Array<Dialogue.Action> = []
  standing: Array<string> = []
  now = 10_000
  /** What the run has not taken. */
  mailbox: Array<string> = []

  constructor(entries: ReadonlyArray<string> = []) {
    this.dialogue = Dialogue.make(seat, History.make(entries), this.now)
  }

  input(input: Dialogue.Input): this {
    const [next, actions] = Machine.step(this.dialogue, input)
    this.dialogue = next
    for (const action of actions) {
      if (action._tag === "Print") this.standing.push(...action.lines.map(({ text }) => text))
      else this.actions.push(action)
      if (action._tag === "Steer") this.mailbox.push(action.text)
      if (action._tag === "TakeBack") {
        const texts = this.mailbox
        this.mailbox = []
        this.input(Dialogue.Input.TakenBack({ texts, to: action.to }))
      }
    }
    return this
  }

  /** Keys as a terminal sends them, a second after the last ones. */
  type(text: string): this {
    this.now += 1000
    return this.atOnce(text)
  }

  /** Keys without a pause before them. */
  atOnce(text: string): this {
    const [state, keys] = Keys.feed(Keys.empty, text)
    for (const key of [...keys, ...Keys.flush(state)[1]]) this.input(Dialogue.Input.Typed({ key, at: this.now }))
    return this
  }

  event(draft: RunEvent.Draft): this {
    return this.input(Dialogue.Input.Happened({ event: { ...draft, runId: "r", seq: 0, ts: this.now } }))
  }

  /** The run takes what is there. */
  pull(): this {
    const count = this.mailbox.length
    this.mailbox = []
    return this.input(Dialogue.Input.Pulled({ count }))
  }

  end(outcome: RunOutcome["outcome"] = "completed", failure = ""): this {
    return this.input(Dialogue.Input.Ended({ outcome: { ...completed, outcome }, failure })).input(
      Dialogue.Input.Drained()
    )
  }

  ask(text: string, keys: string | undefined): this {
    return this.input(Dialogue.Input.Asked({ text, keys, at: this.now }))
  }

  tags(): ReadonlyArray<string> {
    return this.actions.map(({ _tag }) => _tag)
  }

  frame(columns = 60, rows = 20): View.Frame {
    return View.frame(this.dialogue, { columns, rows })
  }

  seen(columns = 60, rows = 20): ReadonlyArray<string> {
    return this.frame(columns, rows).lines.map(({ text }) => text)
  }
}
