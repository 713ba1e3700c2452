/**
 * What a run does to the conversation: its events, its end, and what follows. Pure.
 *
 * C1. The text of an attempt stands above only when its turn was committed; what fails is gone without a trace (L-STREAM-01).
 * C2. A run that completed is followed by what it did not take any more; one that stopped or failed by nothing of the kind (D2).
 */
import * as Neutral from "@settle/core/decide/Neutral"
import * as RunEvent from "@settle/core/model/RunEvent"
import type { RunOutcome } from "@settle/core/model/RunOutcome"
import * as Figures from "../Figures.ts"
import * as Screen from "../Screen.ts"
import { Action, type Dialogue, type Input, type Line, type Step } from "./Dialogue.ts"
import * as Editor from "./Editor.ts"
import * as Meter from "./Meter.ts"
import * as Typing from "./Typing.ts"

export const happened = (self: Dialogue, event: RunEvent.RunEvent): Step => {
  const [before, standing] =
    event._tag === "RoundStarted" || RunEvent.isTerminal(event) ? delivered(self) : ([self, []] as const)
  const [screen, shows] = Screen.step(self.screen, event)
  return shows.reduce<Step>(
    ([dialogue, actions], show) => {
      const [next, lines] = shown(dialogue, show)
      return [next, lines.length === 0 ? actions : [...actions, Action.Print({ lines })]]
    },
    [{ ...before, screen, meter: Meter.step(self.meter, event) }, standing]
  )
}

const shown = (self: Dialogue, show: Screen.Show): readonly [Dialogue, ReadonlyArray<Line>] => {
  switch (show._tag) {
    case "Text":
      return [{ ...self, text: self.text + show.text }, []]
    case "Withdraw":
      return [{ ...self, text: "" }, []]
    case "Turn":
      return [{ ...self, text: "" }, turn(show.text)]
    case "Line":
      return [self, [{ tone: show.tone, text: show.text }]]
    case "Running":
      return [{ ...self, calls: show.calls }, []]
  }
}

/** Words of the model, neutral (X-SAFE-03). */
export const turn = (text: string): ReadonlyArray<Line> =>
  text.trim() === ""
    ? []
    : Neutral.block(text.trimEnd())
        .split("\n")
        .map((line) => ({ tone: "plain", text: line }))

export const ended = (self: Dialogue, outcome: RunOutcome, failure: string): Step => {
  const meter = Meter.ended(self.meter, outcome.spent)
  const failed: ReadonlyArray<Line> = failure === "" ? [] : [{ tone: "bad", text: Neutral.block(failure) }]
  const spend: Line = { tone: "quiet", text: Figures.spend(outcome.rounds, outcome.spent) }
  const isCompleted = outcome.outcome === "completed"
  // What was typed after a stop is for the next turn; what was there before a failure is not.
  const queued = isCompleted || self.phase === "cancelling" ? self.queued : []
  return [
    { ...self, phase: "draining", text: "", calls: [], question: undefined, meter, queued },
    [
      Action.Print({ lines: [...failed, spend] }),
      Action.TakeBack({ to: isCompleted ? "queue" : "unsent" }),
      ...(queued === self.queued ? [] : Typing.unsent(self.queued)),
      Action.Print({ lines: [{ tone: "plain", text: "" }] })
    ]
  ]
}

export const takenBack = (self: Dialogue, { texts, to }: Extract<Input, { readonly _tag: "TakenBack" }>): Step => {
  if (texts.length === 0) return [self, []]
  const steers = self.steers.slice(0, self.steers.length - texts.length)
  return to === "queue"
    ? [{ ...self, steers, queued: [texts.join("\n"), ...self.queued] }, []]
    : [{ ...self, steers }, Typing.unsent(texts)]
}

export const pulled = (self: Dialogue, count: number): Step => [{ ...self, taken: self.taken + count }, []]

/** What the run took stands where the run has it: after all of the last round, before the next one. */
const delivered = (self: Dialogue): Step =>
  self.taken === 0
    ? [self, []]
    : [
        { ...self, steers: self.steers.slice(self.taken), taken: 0 },
        [Action.Print({ lines: self.steers.slice(0, self.taken).flatMap(Typing.words) })]
      ]

export const drained = (self: Dialogue): Step => {
  const idle: Dialogue = { ...self, phase: "idle", screen: Screen.empty, steers: [], taken: 0 }
  if (self.isLeaving) return [idle, [Action.Leave({ how: "cancelled" })]]
  const [next, ...queued] = self.queued
  return next === undefined ? [idle, []] : Typing.begin({ ...idle, queued }, next)
}

export const refused = (self: Dialogue, { detail, prompt }: Extract<Input, { readonly _tag: "Refused" }>): Step => {
  const text = [prompt, self.editor.text].filter((each) => each !== "").join("\n")
  const idle: Dialogue = { ...self, phase: "idle", queued: [], editor: Editor.withText(self.editor, text) }
  const print = Action.Print({ lines: [{ tone: "bad", text: Neutral.block(detail) }] })
  const leave = self.isLeaving ? [Action.Leave({ how: "cancelled" })] : []
  return [idle, [print, ...Typing.unsent(self.queued), ...leave]]
}
