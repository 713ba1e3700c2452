/**
 * What is wrong with a transcript, what each open call means, and what a repair would append. Pure but for `repair`.
 *
 * H1. Three kinds of open call are told apart (L-TOOL-05): never ran, was running, came back with its settle line lost.
 * H2. A repair only appends, and only what the record itself proves: a call that was running becomes outcome unknown, never failed.
 * H3. What cannot be put right behind the end is named with its way out and left alone.
 * H4. After a repair there is nothing left to repair.
 */
import * as Effect from "effect/Effect"
import * as Wording from "@settle/core/decide/Wording"
import * as Conversation from "@settle/core/model/Conversation"
import * as Message from "@settle/core/model/Message"
import type { Outcome } from "@settle/core/model/Operation"
import * as Replay from "@settle/core/model/Replay"
import type { Idempotency } from "@settle/core/model/Tool"
import type * as TranscriptLine from "@settle/core/model/TranscriptLine"
import type { Transcript, TranscriptError } from "@settle/core/port/Transcript"

interface Called {
  readonly callId: string
  readonly tool: string
  readonly arguments: string
}

interface HandedOver extends Called {
  readonly operationId: string
  readonly idempotency: Idempotency
  /** ISO-8601 UTC. */
  readonly dispatchedAt: string
}

export type OpenCall =
  /** The assistant asked and nothing was handed over: it certainly did not run. */
  | ({ readonly _tag: "NeverRan" } & Called)
  /** Handed over and never heard of again. `isTail`: its turn is the last one and waits for an answer. */
  | ({ readonly _tag: "WasRunning"; readonly isTail: boolean } & HandedOver)
  /** The conversation holds its answer; the line that says so for good is missing. */
  | ({ readonly _tag: "SettleLost"; readonly outcome: Outcome } & HandedOver)

export interface Report {
  readonly calls: ReadonlyArray<OpenCall>
  /** Lines that could not be used, by number. */
  readonly faults: ReadonlyArray<Replay.Fault>
  /** What no appended line can mend. */
  readonly beyondRepair: ReadonlyArray<string>
  /** What `repair` would append; empty when there is nothing to do. */
  readonly repair: ReadonlyArray<TranscriptLine.Draft>
}

/** The dry run. */
export const examine = (replay: Replay.Replay): Report => {
  const messages = Replay.messages(replay)
  const calls = openCalls(replay, messages)
  return { calls, faults: replay.faults, beyondRepair: beyondRepair(replay, messages), repair: calls.flatMap(answer) }
}

export const isSound = (report: Report): boolean =>
  report.calls.length === 0 && report.faults.length === 0 && report.beyondRepair.length === 0

/** Appends what `examine` proposes; answers the report it acted on. */
export const repair = (transcript: Transcript): Effect.Effect<Report, TranscriptError> =>
  Effect.gen(function* () {
    const report = examine(yield* transcript.replay)
    if (report.repair.length > 0) yield* transcript.append(report.repair)
    return report
  })

/** The report in sentences, one a finding. */
export const describe = (report: Report): ReadonlyArray<string> => [
  ...report.calls.map(sentence),
  ...report.faults.map((fault) => `line ${fault.line} was skipped or read in part: ${fault.problem}`),
  ...report.beyondRepair
]

const openCalls = (replay: Replay.Replay, messages: ReadonlyArray<Message.Message>): ReadonlyArray<OpenCall> => {
  const tail = Conversation.openCalls(messages)
  const running = new Map(
    replay.pending.filter((operation) => operation.answered === undefined).map((op) => [op.callId, op] as const)
  )
  const inTail = new Set(tail.map((call) => call.id))
  const behind = replay.pending.filter((op) => op.answered !== undefined || !inTail.has(op.callId))
  return [
    ...tail.map((call): OpenCall => {
      const operation = running.get(call.id)
      return operation === undefined
        ? { _tag: "NeverRan", callId: call.id, tool: call.name, arguments: call.arguments }
        : { _tag: "WasRunning", isTail: true, ...handedOver(operation) }
    }),
    ...behind.map((op): OpenCall =>
      op.answered === undefined
        ? { _tag: "WasRunning", isTail: false, ...handedOver(op) }
        : { _tag: "SettleLost", outcome: op.answered, ...handedOver(op) }
    )
  ]
}

const handedOver = (operation: Replay.PendingOperation): HandedOver => ({
  callId: operation.callId,
  tool: operation.tool,
  arguments: operation.arguments,
  operationId: operation.opId,
  idempotency: operation.idempotency ?? "unknown",
  dispatchedAt: operation.dispatchedAt
})

/** A tool message stands before its settle line here too (T2). */
const answer = (call: OpenCall): ReadonlyArray<TranscriptLine.Draft> => {
  switch (call._tag) {
    case "NeverRan":
      return [
        { type: "message", message: Message.tool(call.callId, Wording.neverStarted), extras: { abandoned: true } }
      ]
    case "WasRunning": {
      const extras = { outcomeUnknown: true, opId: call.operationId }
      const message = Message.tool(call.callId, Wording.interrupted(call.idempotency))
      const settle = settled(call.operationId, "outcome-unknown")
      return call.isTail ? [{ type: "message", message, extras }, settle] : [settle]
    }
    case "SettleLost":
      return [settled(call.operationId, call.outcome)]
  }
}

const settled = (opId: string, outcome: Outcome): TranscriptLine.Draft => ({
  type: "tool-settled",
  payload: { opId, outcome, reason: outcome === "outcome-unknown" ? "process-ended" : "settle-lost" }
})

const sentence = (call: OpenCall): string => {
  const what = `${call.tool} (call ${call.callId})`
  switch (call._tag) {
    case "NeverRan":
      return `${what} never ran: it was not handed over. A repair answers it so; resuming with it named runs it.`
    case "WasRunning":
      return `${what} was running when the process ended, since ${call.dispatchedAt}: whether it took effect is unknown (${call.idempotency}). A repair records that and runs nothing.`
    case "SettleLost":
      return `${what} came back (${call.outcome}) and only its settle line was lost. A repair writes that line.`
  }
}

const beyondRepair = (replay: Replay.Replay, messages: ReadonlyArray<Message.Message>): ReadonlyArray<string> => {
  const tail = new Set(Conversation.openCalls(messages).map((call) => call.id))
  const fault = Conversation.fault(messages)
  if (fault === undefined || (fault._tag === "UnansweredCall" && tail.has(fault.callId))) return []
  const at = `message ${fault.index} (line id ${replay.entries[fault.index]?.id ?? "unknown"})`
  return fault._tag === "UnansweredCall"
    ? [`${at} asks for call ${fault.callId}, and the conversation went on without an answer: fork before it`]
    : [`${at} answers call ${fault.callId}, which nothing before it asked for: fork before it`]
}
