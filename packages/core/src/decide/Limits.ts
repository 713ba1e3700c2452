/**
 * May this batch run? Asked before anything of the turn is committed (L-ROUND-12, L-LIM, L-IDENT, L-EXEMPT).
 *
 * M1. Only dispatched calls are in the tally; abandoned ones are not (L-IDENT-05).
 * M2. The identical count spans history and the batch itself (L-IDENT-03).
 * M3. An exempt call is skipped before counting (L-EXEMPT-03).
 */
import * as Data from "effect/Data"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Canonical from "../model/Canonical.ts"
import type { ToolCall } from "../model/Message.ts"
import * as Operation from "../model/Operation.ts"
import * as Pattern from "../model/Pattern.ts"
import type { Settings } from "../model/Settings.ts"

export interface Tally {
  readonly rounds: number
  readonly calls: number
  readonly identical: HashMap.HashMap<string, number>
}

export const empty: Tally = { rounds: 0, calls: 0, identical: HashMap.empty() }

export const afterDispatch = (tally: Tally, signatures: ReadonlyArray<string>): Tally => ({
  rounds: tally.rounds,
  calls: tally.calls + signatures.length,
  identical: signatures.reduce(
    (counts, signature) => HashMap.modifyAt(counts, signature, (n) => Option.some(Option.getOrElse(n, () => 0) + 1)),
    tally.identical
  )
})

export const afterBatch = (tally: Tally): Tally => ({ ...tally, rounds: tally.rounds + 1 })

export type Verdict = Data.TaggedEnum<{
  Allowed: {}
  Reached: {
    readonly limit: "tool-rounds" | "tool-calls" | "identical-calls"
    readonly count: number
    readonly max: number
  }
}>
export const Verdict = Data.taggedEnum<Verdict>()

type Bounds = Pick<Settings, "maxToolRounds" | "maxToolCalls" | "maxIdenticalCalls" | "identicalCallExempt">

export const check = (tally: Tally, batch: ReadonlyArray<ToolCall>, bounds: Bounds): Verdict => {
  const known = beforeAsking(tally, bounds, batch.length)
  return known._tag === "Reached" ? known : identical(tally, batch, bounds)
}

/** What can be known without the reply: no round left, or no room for `wanted` more calls (L-ROUTE-22). */
export const beforeAsking = (tally: Tally, bounds: Bounds, wanted: number): Verdict => {
  if (tally.rounds >= bounds.maxToolRounds) {
    return Verdict.Reached({ limit: "tool-rounds", count: tally.rounds, max: bounds.maxToolRounds })
  }
  const calls = tally.calls + wanted
  return calls > bounds.maxToolCalls
    ? Verdict.Reached({ limit: "tool-calls", count: calls, max: bounds.maxToolCalls })
    : Verdict.Allowed()
}

const identical = (tally: Tally, batch: ReadonlyArray<ToolCall>, bounds: Bounds): Verdict => {
  const here = new Map<string, number>()
  for (const call of batch) {
    if (Pattern.matchesAny(bounds.identicalCallExempt, call.name)) continue
    const key = signatureOf(call)
    const count = (here.get(key) ?? Option.getOrElse(HashMap.get(tally.identical, key), () => 0)) + 1
    here.set(key, count)
    if (count > bounds.maxIdenticalCalls) {
      return Verdict.Reached({ limit: "identical-calls", count, max: bounds.maxIdenticalCalls })
    }
  }
  return Verdict.Allowed()
}

export const signatureOf = (call: ToolCall): string =>
  Operation.signature({ tool: call.name, arguments: Canonical.callArguments(call.arguments) })
