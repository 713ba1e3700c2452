/** A turn without calls: over, straight into another round, or a park (L-PARK-02, -03). */
import * as Data from "effect/Data"
import type { BusState } from "../model/Completion.ts"

export type TurnEnd = Data.TaggedEnum<{ Complete: {}; Again: {}; Park: {} }>
export const TurnEnd = Data.taggedEnum<TurnEnd>()

export const decide = (bus: BusState): TurnEnd => {
  if (bus.queued > 0) return TurnEnd.Again()
  return bus.outstanding > 0 ? TurnEnd.Park() : TurnEnd.Complete()
}
