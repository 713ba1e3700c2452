/**
 * The ledger of accepted batches: what the handoff boundary asks, and what a marker may promise (L-HAND, L-MARK-06, -07).
 *
 * H1. Every accepted batch counts, one with a failed or unknown operation too (L-HAND-06).
 * H2. What spoils the ledger spoils it for the rest of the run.
 * H3. Natively an operation counts when it completed; routed, when it was answered, an error included (L-HAND-10).
 */
import type { Operation } from "../model/Operation.ts"

export type Routing = "native" | "schema"

/** One settled call of an accepted batch. `background`: its answer was only an acknowledgement. */
export interface Settled {
  readonly operation: Operation
  readonly background: boolean
}

export interface Ledger {
  readonly batches: number
  /** Every accepted call, in order. */
  readonly callIds: ReadonlyArray<string>
  /** Named calls that did not complete. */
  readonly notCompleted: ReadonlyArray<string>
  /** Named calls that nobody answered. */
  readonly notAnswered: ReadonlyArray<string>
  /** An id was empty or used twice, an answer was only an acknowledgement, or the run began with resumed calls. */
  readonly spoiled: boolean
}

export const start = (options: { readonly resumed: boolean }): Ledger => ({
  batches: 0,
  callIds: [],
  notCompleted: [],
  notAnswered: [],
  spoiled: options.resumed
})

export const accept = (ledger: Ledger, batch: ReadonlyArray<Settled>): Ledger => {
  const operations = batch.map((settled) => settled.operation)
  const callIds = [...ledger.callIds, ...operations.map((operation) => operation.callId)]
  const ambiguous = new Set(callIds).size !== callIds.length || callIds.includes("")
  const unanswered = operations.filter((operation) => !isAnswered(operation)).map(named)
  const incomplete = operations.filter((operation) => operation._tag !== "Completed").map(named)
  return {
    batches: ledger.batches + 1,
    callIds,
    notCompleted: [...ledger.notCompleted, ...incomplete],
    notAnswered: [...ledger.notAnswered, ...unanswered],
    spoiled: ledger.spoiled || ambiguous || batch.some((settled) => settled.background)
  }
}

const isAnswered = (operation: Operation): boolean => operation._tag === "Completed" || operation._tag === "Failed"

const named = (operation: Operation): string => `${operation.tool} (${operation.callId})`

/** Calls that keep the boundary from handing over under this routing, in order (L-HAND-07, -10). */
export const incomplete = (ledger: Ledger, routing: Routing): ReadonlyArray<string> =>
  routing === "native" ? ledger.notCompleted : ledger.notAnswered

/** Is the collected prefix whole, and does the failing round stand right behind it (L-MARK-04, -06, -20)? */
export const isIntact = (ledger: Ledger, routing: Routing, failingRound: number): boolean =>
  !ledger.spoiled && incomplete(ledger, routing).length === 0 && ledger.batches === failingRound - 1
