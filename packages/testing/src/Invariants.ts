/**
 * What must hold after any run, however it ended.
 *
 * I1. Every conversation is well formed: each call answered, no orphan answer (L-LIM-04, K2).
 * I2. The events obey the grammar, and the terminal one says what the outcome says.
 * I3. Dispatched lines and settled lines match; an operation settles once; no line is at fault.
 * I4. Folding the lines gives the run's own messages (R1).
 * I5. What the record claims about a call is what really happened: `completed` answered, `failed` answered with an error,
 *     `not-accepted` and abandoned never began. An operation ran at most once, and never without its dispatched line.
 * I6. The tokens of a committed turn are its text (L-STREAM-01).
 *
 * After a crash the record may stop anywhere: I3 lets operations be open, I4 is not asked.
 */
import * as Conversation from "@settle/core/model/Conversation"
import type { Message } from "@settle/core/model/Message"
import * as Replay from "@settle/core/model/Replay"
import * as RunEvent from "@settle/core/model/RunEvent"
import type { RunOutcome } from "@settle/core/model/RunOutcome"
import * as EventGrammar from "./EventGrammar.ts"
import type { Ran } from "./Tools.ts"

/** What a test has in its hands; a part it does not have is not checked. */
export interface Evidence {
  readonly outcome?: RunOutcome | undefined
  readonly events?: ReadonlyArray<RunEvent.RunEvent> | undefined
  readonly replay?: Replay.Replay | undefined
  /** Every call that really began, of all runs of the transcript. */
  readonly ran?: ReadonlyArray<Ran> | undefined
  /** The process died, or its transcript took no more lines. */
  readonly crashed?: boolean | undefined
}

/** Every problem, in words; empty when all holds. */
export const problems = (given: Evidence): ReadonlyArray<string> => {
  const evidence = { ...given, crashed: given.crashed === true || given.outcome?.reason === "transcript-failed" }
  return [
    ...conversations(evidence),
    ...(given.events === undefined ? [] : order(given.events, evidence)),
    ...(given.replay === undefined ? [] : record(given.replay, evidence)),
    ...(given.replay === undefined || given.ran === undefined ? [] : claims(given.replay, given.ran)),
    ...(given.events === undefined || given.ran === undefined ? [] : spoken(given.events, given.ran)),
    ...(given.events === undefined ? [] : tokens(given.events))
  ]
}

/** Throws all problems at once. `where` names the run, its seed for one. */
export const assertHold = (evidence: Evidence, where = "the run"): void => {
  const found = problems(evidence)
  if (found.length > 0) throw new Error(`${where} breaks what must hold:\n  ${found.join("\n  ")}`)
}

const conversations = ({ crashed, outcome, replay }: Evidence): ReadonlyArray<string> => [
  ...(outcome === undefined ? [] : wellFormed("the outcome", outcome.messages)),
  ...(replay === undefined || crashed === true ? [] : wellFormed("the transcript", Replay.messages(replay)))
]

const wellFormed = (whose: string, messages: ReadonlyArray<Message>): ReadonlyArray<string> => {
  const fault = Conversation.fault(messages)
  return fault === undefined
    ? []
    : [`I1 the conversation of ${whose} has an ${fault._tag} at ${fault.index}: ${fault.callId}`]
}

const order = (events: ReadonlyArray<RunEvent.RunEvent>, { crashed, outcome }: Evidence): ReadonlyArray<string> => {
  const fault = crashed === true && outcome === undefined ? EventGrammar.faultSoFar(events) : EventGrammar.fault(events)
  const last = events.at(-1)
  return [
    ...(fault === undefined ? [] : [`I2 ${EventGrammar.render(fault, events)}`]),
    ...(outcome === undefined || last === undefined || !RunEvent.isTerminal(last) ? [] : ends(last, outcome))
  ]
}

const ended = { RunCompleted: "completed", RunFailed: "failed", RunCancelled: "cancelled" } as const

const ends = (terminal: RunEvent.Terminal, outcome: RunOutcome): ReadonlyArray<string> => {
  const says = (what: string, event: unknown, result: unknown) =>
    event === result ? [] : [`I2 the terminal event has ${what} ${String(event)}, the outcome ${String(result)}`]
  return [
    ...says("outcome", ended[terminal._tag], outcome.outcome),
    ...says("final", terminal._tag === "RunCompleted" ? terminal.final : "", outcome.final),
    ...(terminal._tag === "RunCancelled" ? [] : says("reason", terminal.reason, outcome.reason)),
    ...(terminal._tag === "RunFailed" ? says("error", terminal.error, outcome.error) : [])
  ]
}

const record = (replay: Replay.Replay, { crashed, outcome }: Evidence): ReadonlyArray<string> => {
  if (crashed === true) return []
  return [
    ...replay.pending.map((open) => `I3 ${open.tool} (${open.callId}) was dispatched and never settled`),
    ...replay.faults.map((fault) => `I3 line ${fault.line}: ${fault.problem}`),
    ...(outcome === undefined || sameMessages(Replay.messages(replay), outcome.messages)
      ? []
      : ["I4 the transcript folds into other messages than the run's own"])
  ]
}

const sameMessages = (a: ReadonlyArray<Message>, b: ReadonlyArray<Message>): boolean =>
  Conversation.digest(a) === Conversation.digest(b)

/** Ends with which a call of the outcome may really have ended, once its whole batch is known. */
const claims = (replay: Replay.Replay, ran: ReadonlyArray<Ran>): ReadonlyArray<string> => {
  const byOperation = Map.groupBy(ran, (one) => one.operationId)
  const lined = new Set([...replay.pending, ...replay.settled].map((operation) => operation.opId))
  const abandoned = new Set(
    replay.entries.flatMap(({ mark, message }) => (mark === "abandoned" ? [message.toolCallId] : []))
  )
  return [
    ...[...byOperation].flatMap(([id, all]) => (all.length > 1 ? [`I5 operation ${id} ran ${all.length} times`] : [])),
    ...ran.flatMap((one) => (lined.has(one.operationId) ? [] : [`I5 ${name(one)} ran without a dispatched line`])),
    ...ran.flatMap((one) => (abandoned.has(one.callId) ? [`I5 ${name(one)} is recorded as abandoned and ran`] : [])),
    ...replay.settled.flatMap((settled) => {
      const really = byOperation.get(settled.opId)?.[0]
      return isTrue(settled, really, ran)
        ? []
        : [
            `I5 ${settled.tool} (${settled.callId}) is recorded as ${claimed(settled)} and is ${really?.end ?? "unheard of"}`
          ]
    })
  ]
}

const name = (ran: Ran): string => `${ran.name} (${ran.callId}, operation ${ran.operationId})`
const claimed = ({ outcome, reason }: Replay.SettledOperation) =>
  reason === undefined ? outcome : `${outcome}, ${reason}`

const isTrue = (settled: Replay.SettledOperation, really: Ran | undefined, ran: ReadonlyArray<Ran>): boolean => {
  switch (settled.outcome) {
    case "completed":
      return really?.end === "answered"
    case "failed":
      // A call that was not accepted either said so itself or was never handed on.
      return settled.reason === "not-accepted"
        ? really === undefined || really.end === "not-accepted"
        : hasErred(really, ran)
    case "outcome-unknown":
      // It may have ended in any way since, and may not have begun when the wait ended.
      return settled.reason !== "connection-lost" || really?.end === "lost" || really?.end === "interrupted"
  }
}

/** A batch that throws, or answers too little, is an error of each of its calls (L-TOOL-09, -10). */
const hasErred = (really: Ran | undefined, ran: ReadonlyArray<Ran>): boolean =>
  really !== undefined &&
  (really.end === "errored" ||
    ran.some((one) => one.batch === really.batch && (one.end === "died" || one.end === "missing")))

/** The same claims where there is no transcript: by call id, as the events make them. */
const spoken = (events: ReadonlyArray<RunEvent.RunEvent>, ran: ReadonlyArray<Ran>): ReadonlyArray<string> => {
  const byCall = Map.groupBy(ran, (one) => one.callId)
  return events.flatMap((event) => {
    if (event._tag === "ToolAbandoned" && !event.dispatched && byCall.has(event.id)) {
      return [`I5 ${event.name} (${event.id}) is announced as never run and ran`]
    }
    if (event._tag !== "ToolResult" || event.isError) return []
    return byCall.get(event.id)?.some((one) => one.end === "answered") === true
      ? []
      : [`I5 ${event.name} (${event.id}) has a result and never answered`]
  })
}

const tokens = (events: ReadonlyArray<RunEvent.RunEvent>): ReadonlyArray<string> => {
  const found: Array<string> = []
  let scope = ""
  for (const event of events) {
    if (event._tag === "AttemptStarted") scope = ""
    if (event._tag === "Token") scope += event.text
    if (event._tag === "AssistantMessage" && event.message.content !== scope) {
      found.push(`I6 the tokens ${JSON.stringify(scope)} were committed as ${JSON.stringify(event.message.content)}`)
    }
  }
  return found
}
