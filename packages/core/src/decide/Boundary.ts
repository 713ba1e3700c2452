/** The round top, first look: who may go on (L-ROUND-01, L-HAND-04). Checks in the order of the spec. */
import * as Data from "effect/Data"

export type Boundary = Data.TaggedEnum<{
  Proceed: {}
  Cancelled: {}
  CapReached: {}
  HandOver: {}
  Incomplete: { readonly calls: ReadonlyArray<string> }
}>
export const Boundary = Data.taggedEnum<Boundary>()

export interface Facts {
  readonly cancelled: boolean
  readonly capReached: boolean
  /** 0: no handoff. */
  readonly handoffAfter: number
  readonly acceptedBatches: number
  /** Calls of accepted batches that do not count as complete under the routing in force. */
  readonly incomplete: ReadonlyArray<string>
}

export const decide = (facts: Facts): Boundary => {
  if (facts.cancelled) return Boundary.Cancelled()
  if (facts.handoffAfter === 0 || facts.acceptedBatches < facts.handoffAfter) return Boundary.Proceed()
  if (facts.capReached) return Boundary.CapReached()
  return facts.incomplete.length > 0 ? Boundary.Incomplete({ calls: facts.incomplete }) : Boundary.HandOver()
}
