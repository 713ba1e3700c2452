/**
 * The conversation at the terminal: its state, what can happen to it, and what it can want done. `Machine` steps it, `Talk` obeys.
 *
 *         Start            Cancel              Ended
 * Idle ---------> Working --------> Cancelling -------> Draining
 *   ^                |     Ended                           |
 *   |                +-------------------------------------+
 *   +------------------------ Drained ---------------------+
 *
 * D1. A line for the run that works (steer), a stop, and a line for the next turn (submit) are different things, kept in the order
 *     they were typed. After a stop every line is a submit: nothing typed then reaches the run that is ending (T16).
 * D2. What was meant for a run that stopped or failed is said to be unsent, and is in the history; it is neither lost, nor sent again
 *     unasked, nor mixed into what is being typed (T16).
 * D3. The next turn begins when the last one is drained, never before (L-RUN-03).
 * D4. A question is answered by a key that was pressed for it: a person in the middle of typing answers nothing.
 */
import * as Data from "effect/Data"
import type * as RunEvent from "@settle/core/model/RunEvent"
import type { RunOutcome } from "@settle/core/model/RunOutcome"
import * as Screen from "../Screen.ts"
import * as Editor from "./Editor.ts"
import * as History from "./History.ts"
import type { Key } from "./Keys.ts"
import * as Meter from "./Meter.ts"
import type * as Slash from "./Slash.ts"

export type Tone = Screen.Tone | "strong"

export interface Line {
  readonly tone: Tone
  readonly text: string
}

export type Phase = "idle" | "working" | "cancelling" | "draining"

export interface Question {
  readonly text: string
  /** Keys that answer it; `undefined` for one that is answered with a line. */
  readonly keys: string | undefined
  /** Milliseconds since the epoch: nothing was typed since then. */
  readonly quietSince: number
  /** The line that answers it. */
  readonly answer: Editor.Editor
}

/** What is in use: shown in the status line. */
export interface Seat {
  readonly model: string
  readonly session: string | undefined
  /** Tokens of the window, where it is known. */
  readonly window: number | undefined
}

/** Of lines that no run took: the next turn, or none. */
export type Fate = "queue" | "unsent"

export interface Dialogue {
  readonly phase: Phase
  readonly seat: Seat
  /** Milliseconds since the epoch: now, and when the run began. */
  readonly now: number
  readonly since: number
  readonly editor: Editor.Editor
  readonly history: History.History
  readonly screen: Screen.Screen
  /** Of the attempt that streams. */
  readonly text: string
  readonly calls: ReadonlyArray<Screen.Running>
  /** Offered to the run; the first `taken` of them it took, and they stand as soon as its next round begins. */
  readonly steers: ReadonlyArray<string>
  readonly taken: number
  /** Turns to come. */
  readonly queued: ReadonlyArray<string>
  readonly question: Question | undefined
  readonly meter: Meter.Meter
  readonly hint: string
  /** When Ctrl-C was pressed the first time, and whether it stopped a run. */
  readonly armed: { readonly at: number; readonly stopped: boolean } | undefined
  /** Somebody asked the process to leave as soon as the run is drained. */
  readonly isLeaving: boolean
}

export const make = (seat: Seat, history: History.History, now: number): Dialogue => ({
  phase: "idle",
  seat,
  now,
  since: now,
  editor: Editor.empty,
  history,
  screen: Screen.empty,
  text: "",
  calls: [],
  steers: [],
  taken: 0,
  queued: [],
  question: undefined,
  meter: Meter.empty,
  hint: "",
  armed: undefined,
  isLeaving: false
})

export type Input = Data.TaggedEnum<{
  Typed: { readonly key: Key; readonly at: number }
  Ticked: { readonly at: number }
  Happened: { readonly event: RunEvent.RunEvent }
  /** `failure` is the paragraph about a run that failed. */
  Ended: { readonly outcome: RunOutcome; readonly failure: string }
  Drained: {}
  /** The run could not begin. */
  Refused: { readonly detail: string; readonly prompt: string }
  /** The run took the first steers that it had not taken. */
  Pulled: { readonly count: number }
  /** The last steers, which no run took. */
  TakenBack: { readonly texts: ReadonlyArray<string>; readonly to: Fate }
  Asked: { readonly text: string; readonly keys: string | undefined; readonly at: number }
  AskOver: {}
  Said: { readonly lines: ReadonlyArray<Line> }
  Seated: { readonly seat: Seat; readonly isNew: boolean }
  /** A signal asks the process to leave. */
  Stopped: {}
}>
export const Input = Data.taggedEnum<Input>()

export type Action = Data.TaggedEnum<{
  Print: { readonly lines: ReadonlyArray<Line> }
  Start: { readonly prompt: string }
  Steer: { readonly text: string }
  /** Steers that no run took are answered with `TakenBack`. */
  TakeBack: { readonly to: Fate }
  Cancel: {}
  Answer: { readonly text: string | undefined }
  Command: { readonly command: Slash.Command }
  Remember: { readonly text: string }
  Leave: { readonly how: "done" | "cancelled" | "at-once" }
  Suspend: {}
  Redraw: {}
}>
export const Action = Data.taggedEnum<Action>()

export type Step = readonly [Dialogue, ReadonlyArray<Action>]
