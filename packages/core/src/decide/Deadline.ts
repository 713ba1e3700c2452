/** What is left on a group's clock: the longest-working operation in it, humans excluded (L-DL-09, -10, -11). */
import * as Data from "effect/Data"
import * as Operation from "../model/Operation.ts"

export type Deadline = Data.TaggedEnum<{
  Passed: {}
  /** Look again after this many milliseconds. */
  Sleep: { readonly ms: number }
  /** The clock stands still until a question is answered. */
  Asking: {}
}>
export const Deadline = Data.taggedEnum<Deadline>()

export const look = (operations: ReadonlyArray<Operation.Operation>, now: number, deadlineMs: number): Deadline => {
  const worked = Math.max(0, ...operations.map((operation) => Operation.workingMs(operation, now)))
  if (worked >= deadlineMs) return Deadline.Passed()
  const asking = operations.some((operation) => operation._tag === "Dispatched" && operation.askDepth > 0)
  return asking ? Deadline.Asking() : Deadline.Sleep({ ms: deadlineMs - worked })
}
