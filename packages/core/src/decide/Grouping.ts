/** A batch as runs of neighbours that may go together; the order is never changed (L-CONC-02, -03, -04). */
import type { ToolCall } from "../model/Message.ts"
import * as Pattern from "../model/Pattern.ts"

export type Group = readonly [ToolCall, ...ReadonlyArray<ToolCall>]

export const split = (
  calls: ReadonlyArray<ToolCall>,
  concurrent: ReadonlyArray<Pattern.Pattern>
): ReadonlyArray<Group> => {
  const groups: Array<[ToolCall, ...Array<ToolCall>]> = []
  let joins = false
  for (const call of calls) {
    const may = Pattern.matchesAny(concurrent, call.name)
    const last = groups.at(-1)
    if (last !== undefined && joins && may) last.push(call)
    else groups.push([call])
    joins = may
  }
  return groups
}
