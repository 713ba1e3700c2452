/**
 * Does a failed run hand its collected prefix back, and in which words (L-MARK)?
 *
 * K1. v1 and v2 belong to a native run with the handoff switched on, v3 to a routed run; never together (L-MARK-19).
 * K2. Every failed attempt of the round must be one a handoff may follow (L-MARK-08, -09).
 * K3. A recovery nobody tried is not handed over: an empty or unexplained end needs its second attempt (L-MARK-10).
 */
import type { SuspectReason } from "../model/AttemptRecord.ts"
import type { EmptyHandoffMarker, HandoffMarker } from "../model/RunEvent.ts"
import * as Handoff from "./Handoff.ts"

/** How one failed attempt of the round ended: `other` is a transport error, a timeout, a skip, a window refusal, reasoning alone. */
export type Failure = SuspectReason | "other"

export interface Facts {
  readonly routing: Handoff.Routing
  /** 0: no handoff. */
  readonly handoffAfter: number
  readonly ledger: Handoff.Ledger
  /** The round that failed. */
  readonly round: number
  /** Why the run ends. */
  readonly reason: SuspectReason
  /** Failed attempts and skips of that round, in order. */
  readonly failures: ReadonlyArray<Failure>
  readonly compacted: boolean
  readonly cancelled: boolean
  readonly capReached: boolean
}

/** Keys as they stand on the event and on the outcome; empty when nothing is handed back. */
export interface Markers {
  readonly retrieval_handoff?: HandoffMarker
  readonly empty_retrieval_handoff?: EmptyHandoffMarker
}

export const decide = (facts: Facts): Markers => {
  if (facts.compacted || facts.cancelled || facts.capReached) return {}
  if (!Handoff.isIntact(facts.ledger, facts.routing, facts.round) || !qualifies(facts)) return {}
  if (facts.routing === "schema") return { retrieval_handoff: marker(facts, "llm.agent.retrieval-handoff.v3") }
  if (facts.handoffAfter === 0 || facts.ledger.batches === 0) return {}
  const v2 = { retrieval_handoff: marker(facts, "llm.agent.retrieval-handoff.v2") }
  return facts.failures.every((failure) => failure === "empty-completion")
    ? { ...v2, empty_retrieval_handoff: emptyMarker(facts) }
    : v2
}

const suspects: ReadonlySet<Failure> = new Set<Failure>(["empty-completion", "unexplained-length"])
const ends: ReadonlySet<Failure> = new Set<Failure>([...suspects, "completion-truncated"])
const routedEnds: ReadonlySet<Failure> = new Set<Failure>([...ends, "invalid-action"])

const qualifies = (facts: Facts): boolean => {
  const allowed = facts.routing === "schema" ? routedEnds : ends
  const { failures } = facts
  if (failures.at(-1) !== facts.reason || !failures.every((failure) => allowed.has(failure))) return false
  if (suspects.has(facts.reason)) return failures.length === 2
  return failures.length === 1 || (failures.length === 2 && suspects.has(failures[0] ?? "other"))
}

const marker = (facts: Facts, version: string): HandoffMarker => ({
  version,
  round: facts.round,
  completed_tool_rounds: facts.ledger.batches,
  completed_tool_call_ids: facts.ledger.callIds,
  failure_reason: facts.reason,
  failed_attempts: facts.failures.length
})

const emptyMarker = (facts: Facts): EmptyHandoffMarker => ({
  version: "llm.agent.empty-retrieval-handoff.v1",
  round: facts.round,
  completed_tool_rounds: facts.ledger.batches,
  completed_tool_call_ids: facts.ledger.callIds,
  empty_attempts: facts.failures.length
})
