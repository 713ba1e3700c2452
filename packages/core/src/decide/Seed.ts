/** The messages a run was given against those its transcript already has, by digest (L-SEED). */
import * as Data from "effect/Data"
import * as Message from "../model/Message.ts"

export type Seed = Data.TaggedEnum<{
  /** The given messages continue the record; these are new. */
  Extends: { readonly fresh: ReadonlyArray<Message.Message> }
  Mismatch: { readonly index: number }
}>
export const Seed = Data.taggedEnum<Seed>()

export const check = (given: ReadonlyArray<Message.Message>, recorded: ReadonlyArray<Message.Message>): Seed => {
  for (const [index, message] of recorded.entries()) {
    const mine = given[index]
    if (mine === undefined) return Seed.Mismatch({ index: given.length })
    if (mine !== message && Message.digest(mine) !== Message.digest(message)) return Seed.Mismatch({ index })
  }
  return Seed.Extends({ fresh: given.slice(recorded.length) })
}
