/** What a round leaves for the driver, and what the driver leaves for the closing. Failures travel as RunFailure. */
import * as Data from "effect/Data"
import type * as RunEvent from "../model/RunEvent.ts"

export type Stage = NonNullable<RunEvent.Of<"RunCancelled">["stage"]>

export type RoundOutcome = Data.TaggedEnum<{
  Again: {}
  /** A committed turn without calls: a quiet bus ends the run, a busy one parks it. */
  Answered: { readonly final: string }
  /** The conversation goes back to the host without an answer. */
  HandedOver: { readonly reason: "tool-round-handoff" | "no-tool-needed" | "tool-limit" }
  Cancelled: { readonly stage: Stage }
}>
export const RoundOutcome = Data.taggedEnum<RoundOutcome>()

export type RunEnd = Data.TaggedEnum<{
  Completed: { readonly final: string; readonly reason: string | undefined }
  Cancelled: { readonly stage: Stage }
}>
export const RunEnd = Data.taggedEnum<RunEnd>()
