/**
 * Exactly one terminal event, and the outcome that goes with it.
 *
 * E1. Terminal event and result are one step: whoever sees the event finds the result kept (L-RUN-04).
 * E2. A defect of the driver ends the run like any failure: nobody who awaits it hangs (L-RUN-08).
 */
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import * as Marker from "../decide/Marker.ts"
import type * as RunEvent from "../model/RunEvent.ts"
import * as RunFailure from "../model/RunFailure.ts"
import * as RunOutcome from "../model/RunOutcome.ts"
import * as Live from "./Live.ts"
import * as Spending from "./Spending.ts"
import type { RunEnd } from "./RoundOutcome.ts"

export interface Ending {
  readonly terminal: RunEvent.Terminal
  readonly outcome: RunOutcome.RunOutcome
  readonly result: Exit.Exit<RunOutcome.RunOutcome, RunOutcome.RunFailed | RunOutcome.RunCancelled>
}

export const ending = (live: Live.Live, exit: Exit.Exit<RunEnd, RunFailure.RunFailure>): Ending => {
  if (Exit.isFailure(exit)) return failed(live, toFailure(exit.cause))
  return exit.value._tag === "Completed" ? completed(live, exit.value) : cancelled(live, exit.value)
}

/** A number from outside that is none (a bill of NaN) is no reason for a run not to end. */
const unchecked = { disableChecks: true } as const

const base = (live: Live.Live) => ({
  messages: [...live.state.conversation.messages],
  rounds: live.state.round,
  attempts: [...live.state.attempts],
  ...Spending.record(live)
})

const completed = (live: Live.Live, { final, reason }: Extract<RunEnd, { readonly _tag: "Completed" }>): Ending => {
  const named = reason === undefined ? {} : { reason }
  const outcome: RunOutcome.RunOutcome = { outcome: "completed", final, ...base(live), ...named }
  const messageCount = outcome.messages.length
  return {
    outcome,
    result: Exit.succeed(outcome),
    terminal: { _tag: "RunCompleted", final, rounds: outcome.rounds, messageCount, ...named }
  }
}

const cancelled = (live: Live.Live, { stage }: Extract<RunEnd, { readonly _tag: "Cancelled" }>): Ending => {
  const outcome: RunOutcome.RunOutcome = { outcome: "cancelled", final: "", ...base(live) }
  return {
    outcome,
    result: Exit.fail(new RunOutcome.RunCancelled({ outcome }, unchecked)),
    terminal: { _tag: "RunCancelled", stage, ...(live.state.round === 0 ? {} : { round: live.state.round }) }
  }
}

/** A part left values behind that no outcome may hold: the run ends without them. */
export const crashed = (live: Live.Live, cause: Cause.Cause<never>): Ending => {
  const { conversation, round } = live.state
  return failedWith(live, new RunFailure.DriverCrashed({ detail: Live.describe(cause) }), {
    messages: [...conversation.messages],
    rounds: round,
    attempts: []
  })
}

const failed = (live: Live.Live, reason: RunFailure.Reason): Ending =>
  failedWith(live, reason, { ...base(live), ...handedBack(live, reason) })

type Left = Pick<RunOutcome.RunOutcome, "messages" | "rounds" | "attempts" | "spent"> & Marker.Markers

const failedWith = (live: Live.Live, reason: RunFailure.Reason, left: Left): Ending => {
  const error = reason.message
  const named = reason.reason === undefined ? {} : { reason: reason.reason }
  const { attempts: _attempts, messages: _messages, rounds: _rounds, spent: _spent, ...markers } = left
  const outcome: RunOutcome.RunOutcome = { outcome: "failed", final: "", ...left, error, ...named }
  const at = live.state.round === 0 ? {} : { round: live.state.round }
  return {
    outcome,
    result: Exit.fail(new RunOutcome.RunFailed({ reason, outcome }, unchecked)),
    terminal: { _tag: "RunFailed", error, attempts: outcome.attempts, ...at, ...named, ...markers }
  }
}

/** A failed closing turn may leave a collected prefix that is whole (L-MARK). */
const handedBack = (live: Live.Live, reason: RunFailure.Reason): Marker.Markers => {
  if (reason._tag !== "SuspectReply") return {}
  const { ledger, round, scratch } = live.state
  return Marker.decide({
    routing: live.settings.toolRouting,
    handoffAfter: live.settings.handoffAfterToolRounds,
    ledger,
    round,
    reason: reason.reason,
    failures: scratch.failures,
    compacted: scratch.compacted,
    cancelled: live.sections.isCancelled(),
    capReached: Spending.reached(live) !== undefined
  })
}

const toFailure = (cause: Cause.Cause<RunFailure.RunFailure>): RunFailure.Reason => {
  const squashed = Cause.squash(cause)
  if (squashed instanceof RunFailure.RunFailure) return squashed.reason
  return new RunFailure.DriverCrashed({ detail: Live.describe(cause) })
}
