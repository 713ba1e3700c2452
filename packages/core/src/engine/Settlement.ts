/**
 * One call in flight: its operation, and the race for what is known about it.
 *
 * S1. `offer` is win-or-lose and never fails: the first verdict stands, everyone later hears `false` (O-TRANS-01).
 * S2. Verdict and wake-up are one synchronous step: no interruption fits between them.
 * S3. Settling what was never dispatched, or with an outcome that is none of the three, is a bug and throws (O-TRANS-03).
 */
import * as Deferred from "effect/Deferred"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { ToolCall } from "../model/Message.ts"
import * as Operation from "../model/Operation.ts"
import type * as Tool from "../model/Tool.ts"

export type Verdict = Data.TaggedEnum<{
  Spoke: { readonly answer: Tool.Answer; readonly at: number }
  GaveUp: { readonly reason: Operation.UnknownReason; readonly at: number }
}>
export const Verdict = Data.taggedEnum<Verdict>()

export interface Settlement {
  readonly call: ToolCall
  /** The open tool-dispatched line of a dead process: this operation began before this run (L-TAIL-08). */
  readonly adopted: string | undefined
  readonly operation: () => Operation.Operation
  readonly offer: (verdict: Verdict) => boolean
  readonly verdict: Effect.Effect<Verdict>
  /** The answer was only an acknowledgement: the work goes on behind it. */
  readonly isBackground: () => boolean
  readonly dispatch: (at: number, operationId: string | undefined) => boolean
  readonly settle: (input: SettleInput) => boolean
  readonly abandon: (reason: Operation.AbandonReason) => boolean
  readonly askBegan: (at: number) => boolean
  readonly askEnded: (at: number) => boolean
}

export interface SettleInput {
  readonly outcome: Operation.Outcome
  readonly at: number
  readonly reason?: Operation.UnknownReason | "not-accepted"
  readonly resultDigest?: string
  readonly errorText?: string
}

export const make = (call: ToolCall, proposal: Operation.Proposal, adopted?: string): Settlement => {
  const decided = Deferred.makeUnsafe<Verdict>()
  let self = Operation.propose(proposal)
  let background = false
  const apply = (input: Operation.Input): boolean => {
    const next = Operation.step(self, input)
    if (next === undefined) return false
    self = next
    return true
  }
  return {
    call,
    adopted,
    operation: () => self,
    offer: (verdict) => {
      if (Deferred.isDoneUnsafe(decided)) return false
      // Before the wake-up: whoever waits may run at once inside it, to the end of the batch.
      background = verdict._tag === "Spoke" && verdict.answer._tag === "Answered" && verdict.answer.background === true
      return Deferred.doneUnsafe(decided, Exit.succeed(verdict))
    },
    verdict: Deferred.await(decided),
    isBackground: () => background,
    dispatch: (at, operationId) =>
      apply(operationId === undefined ? { _tag: "Dispatch", at } : { _tag: "Dispatch", at, operationId }),
    settle: (input) => {
      if (self._tag === "Proposed") throw new TypeError(`call ${proposal.callId} is settled before it was dispatched`)
      return apply(toInput(input))
    },
    abandon: (reason) => apply({ _tag: "Abandon", reason }),
    askBegan: (at) => apply({ _tag: "AskBegan", at }),
    askEnded: (at) => apply({ _tag: "AskEnded", at })
  }
}

const toInput = (input: SettleInput): Operation.Input => {
  const { at, errorText = "", reason, resultDigest = "" } = input
  switch (input.outcome) {
    case "completed":
      return { _tag: "Answered", at, isError: false, resultDigest, errorText }
    case "failed":
      return reason === "not-accepted"
        ? { _tag: "NotAccepted", at, resultDigest, errorText }
        : { _tag: "Answered", at, isError: true, resultDigest, errorText }
    case "outcome-unknown":
      return { _tag: "GaveUp", at, reason: reason === undefined || reason === "not-accepted" ? "cancelled" : reason }
    default:
      throw new TypeError(`"${String(input.outcome)}" is no outcome of a dispatched call`)
  }
}
