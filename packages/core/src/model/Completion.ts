/** Reports of background work, and the inventory of what has not reported yet. */
import type * as Json from "./Json.ts"

/** A report, to become one framed user turn. At least one of head, body and tail is not empty. */
export interface Deliverable {
  readonly kind: string
  readonly seq: number
  readonly operationId?: string
  readonly head: string
  /** Goes through the excerpt seam; head and tail never do (L-PARK-14). */
  readonly body: string
  readonly tail: string
  readonly extras: Json.JsonObject
}

export interface Outstanding {
  readonly operationId: string
  readonly kind: string
  readonly label?: string
  readonly meta: Json.JsonObject
}

/** One atomic look at the bus (L-PARK-02). */
export interface BusState {
  readonly outstanding: number
  readonly queued: number
}

export const isQuiet = (state: BusState): boolean => state.outstanding === 0 && state.queued === 0
