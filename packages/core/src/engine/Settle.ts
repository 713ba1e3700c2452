/**
 * One call's settle path, in the durable order: tool message, tool-settled line, event (L-TOOL-03).
 *
 * The two lines are one write. A crash between them leaves the message without the settle, which the next process reads as
 * "finished, settle lost" (L-TOOL-05).
 */
import * as Effect from "effect/Effect"
import * as Canonical from "../model/Canonical.ts"
import * as Operation from "../model/Operation.ts"
import type * as RunEvent from "../model/RunEvent.ts"
import * as RunFailure from "../model/RunFailure.ts"
import * as Tool from "../model/Tool.ts"
import type * as TranscriptLine from "../model/TranscriptLine.ts"
import * as Wording from "../decide/Wording.ts"
import * as Commit from "./Commit.ts"
import * as Live from "./Live.ts"
import * as Observation from "./Observation.ts"
import type { Settlement, Verdict } from "./Settlement.ts"
import type { TurnStyle } from "./TurnStyle.ts"

export interface Settling {
  readonly live: Live.Live
  readonly style: TurnStyle
  readonly round: number
}

/** Writes what is known about a dispatched call. */
export const settle = (at: Settling, settlement: Settlement, verdict: Verdict) => {
  switch (verdict._tag) {
    case "Spoke":
      return spoke(at, settlement, verdict)
    case "GaveUp":
      return unknown(at, settlement, verdict)
  }
}

const spoke = (at: Settling, settlement: Settlement, { answer, at: time }: Extract<Verdict, { _tag: "Spoke" }>) =>
  Tool.Answer.$match(answer, {
    Answered: (answered) => heard(at, settlement, { ...answered, time, reason: undefined }),
    Lost: () => unknown(at, settlement, { reason: "connection-lost", at: time }),
    NotAccepted: ({ message }) =>
      heard(at, settlement, {
        content: Wording.notAccepted(settlement.call.name, message),
        isError: true,
        time,
        reason: "not-accepted" as const
      })
  })

interface Heard {
  readonly content: string
  readonly isError: boolean
  readonly time: number
  readonly reason: "not-accepted" | undefined
  readonly callId?: string
  readonly background?: boolean
  readonly parts?: Parameters<TurnStyle["answer"]>[0]["parts"]
}

const heard = Effect.fnUntraced(function* (at: Settling, settlement: Settlement, answer: Heard) {
  const { live, round, style } = at
  const { id, name } = settlement.call
  correctId(at, settlement, answer.callId)
  const operation = settlement.operation()
  const { artifact, content } = yield* Observation.observe(live, operation.operationId, answer.content)
  const resultDigest = Canonical.textDigest(content)
  const message = style.answer({
    call: settlement.call,
    content,
    kind: answer.isError ? "error" : "result",
    ...(answer.parts === undefined ? {} : { parts: answer.parts })
  })
  const outcome = answer.isError ? "failed" : "completed"
  const errorText = answer.isError ? Operation.errorText(content) : undefined
  settlement.settle({
    outcome,
    at: answer.time,
    resultDigest,
    ...(errorText === undefined ? {} : { errorText }),
    ...(answer.reason === undefined ? {} : { reason: answer.reason })
  })
  yield* write(at, settlement, {
    message,
    extras: {
      ...(answer.isError ? { isError: true } : {}),
      ...(answer.background === true ? { background: true } : {}),
      ...(artifact === undefined ? {} : { artifact })
    },
    settled: {
      outcome,
      resultDigest,
      ...(answer.reason === undefined ? {} : { reason: answer.reason }),
      ...(artifact === undefined ? {} : { artifact }),
      ...(errorText === undefined ? {} : { error: errorText })
    }
  })
  live.feed.emit({
    _tag: "ToolResult",
    id,
    name,
    content,
    isError: answer.isError,
    ...(artifact === undefined ? {} : { artifact }),
    round
  })
})

const unknown = Effect.fnUntraced(function* (
  at: Settling,
  settlement: Settlement,
  { at: time, reason }: { readonly reason: Operation.UnknownReason; readonly at: number }
) {
  const content = Wording.outcomeUnknown(reason)
  settlement.settle({ outcome: "outcome-unknown", at: time, reason })
  yield* write(at, settlement, {
    message: at.style.answer({ call: settlement.call, content, kind: "unanswered" }),
    extras: { outcomeUnknown: true, ...(reason === "cancelled" ? { cancelled: true } : {}) },
    settled: { outcome: "outcome-unknown", reason, resultDigest: Canonical.textDigest(content) }
  })
  gone(at, settlement, { reason, dispatched: true })
})

/** Answers a call that this run did not hand over. */
export const leave = (at: Settling, settlement: Settlement, reason: Operation.AbandonReason) =>
  settlement.adopted === undefined ? abandon(at, settlement, reason) : leaveBegun(at, settlement)

/** A dead process had handed it over: nobody knows whether it ran, whatever keeps this run from running it again (O-STATE-04). */
const leaveBegun = Effect.fnUntraced(function* (at: Settling, settlement: Settlement) {
  const now = at.live.now()
  const reason = "connection-lost"
  if (!settlement.dispatch(now, settlement.adopted)) return
  started(at, settlement)
  settlement.settle({ outcome: "outcome-unknown", at: now, reason })
  const content = Wording.interrupted(settlement.operation().idempotency)
  yield* write(at, settlement, {
    message: at.style.answer({ call: settlement.call, content, kind: "unanswered" }),
    extras: { outcomeUnknown: true },
    settled: { outcome: "outcome-unknown", reason: "process-ended", resultDigest: Canonical.textDigest(content) }
  })
  gone(at, settlement, { reason, dispatched: true })
})

/** Never handed over by anybody: it is known not to have run, and has no envelope. */
const abandon = Effect.fnUntraced(function* (at: Settling, settlement: Settlement, reason: Operation.AbandonReason) {
  if (!settlement.abandon(reason)) return
  const message = at.style.answer({ call: settlement.call, content: Wording.neverRan(reason), kind: "unanswered" })
  yield* kept(at.live, message, Commit.messages(at.live, [{ message, extras: { abandoned: true } }]))
  gone(at, settlement, { reason, dispatched: false })
})

/** Said of every call that is in the record as handed over, before anything else is said of it (L-TOOL-02). */
export const started = (at: Settling, { call }: Settlement) =>
  at.live.feed.emit({ _tag: "ToolStarted", id: call.id, name: call.name, round: at.round })

const gone = (at: Settling, { call }: Settlement, why: Pick<RunEvent.Of<"ToolAbandoned">, "reason" | "dispatched">) =>
  at.live.feed.emit({ _tag: "ToolAbandoned", id: call.id, name: call.name, ...why, round: at.round })

interface Record {
  readonly message: Commit.Item["message"]
  readonly extras: TranscriptLine.Extras
  readonly settled: Omit<TranscriptLine.ToolSettled, "opId" | "duration">
}

const write = (at: Settling, settlement: Settlement, record: Record) => {
  const operation = settlement.operation()
  const opId = operation.operationId
  const settled: TranscriptLine.ToolSettled = {
    opId,
    duration: (Operation.durationMs(operation) ?? 0) / 1000,
    ...record.settled
  }
  const written = Commit.messages(
    at.live,
    [{ message: record.message, extras: record.extras }],
    [{ type: "tool-settled", payload: settled }]
  )
  return Effect.mapError(kept(at.live, record.message, written), (failure) => withoutSettle(failure, settlement))
}

/** What is known stays in the conversation that is handed back, even where the transcript could not take it (X-STORE-06). */
const kept = <A>(live: Live.Live, message: Commit.Item["message"], write: Effect.Effect<A, RunFailure.RunFailure>) =>
  Effect.tapError(write, () => Effect.sync(() => Commit.inMemory(live, message, undefined)))

/** Adds a call that ran and has no durable settle to what the failure names. */
export const withoutSettle = (failure: RunFailure.RunFailure, settlement: Settlement): RunFailure.RunFailure => {
  if (failure.reason._tag !== "TranscriptFailed") return failure
  const { operationId, tool } = settlement.operation()
  const unsettled = [...failure.reason.unsettled, `${tool} (operation ${operationId})`]
  return RunFailure.failure(new RunFailure.TranscriptFailed({ detail: failure.reason.detail, unsettled }))
}

/** The model's own id is the only one a transcript may hold (L-ROUND-16, -17). */
const correctId = (at: Settling, settlement: Settlement, given: string | undefined): void => {
  const { id, name } = settlement.call
  if (given === undefined || given === id) return
  Live.log(at.live, "warning", {
    message: `the provider answered ${name} under another id; filed under the model's own`,
    tool: name,
    callId: id,
    providerId: given
  })
}
