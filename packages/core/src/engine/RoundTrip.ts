/**
 * Walks the chain for one round until there is a reply that may be committed, or the run has failed (L-ROUND-11). Every round trip
 * starts again from the first backend (L-GEN-01); at most one compaction is forced in a round (K1).
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Chain from "../decide/Chain.ts"
import * as Target from "../decide/Target.ts"
import * as RunFailure from "../model/RunFailure.ts"
import type { Reply, Request } from "../port/Backend.ts"
import type { TokenCounter } from "../port/TokenCounter.ts"
import * as Compact from "./Compact.ts"
import * as Link from "./Link.ts"
import type { Live } from "./Live.ts"
import type { Stage } from "./RoundOutcome.ts"
import * as RunState from "./RunState.ts"
import type { TurnStyle } from "./TurnStyle.ts"

export type Trip = Data.TaggedEnum<{
  Replied: { readonly reply: Reply; readonly attempt: number; readonly latencyMs: number }
  Cancelled: { readonly stage: Stage }
}>
export const Trip = Data.taggedEnum<Trip>()

/** What a whole walk left when nobody answered. */
interface Refused {
  readonly _tag: "Refused"
  readonly ends: ReadonlyArray<Chain.LinkEnd>
  readonly errors: ReadonlyArray<string>
  readonly refusals: ReadonlyArray<Target.Refusal<TokenCounter>>
}

export const ask = Effect.fnUntraced(function* (
  live: Live,
  style: TurnStyle,
  request: Request
): Effect.fn.Return<Trip, RunFailure.RunFailure> {
  live.state.scratch = RunState.scratch()
  while (true) {
    const walked = yield* walk(live, style, request)
    if (walked._tag !== "Refused") return walked
    const facts = {
      ends: walked.ends,
      hasCompactor: live.compactor !== undefined,
      compacted: live.state.scratch.compacted
    }
    const next = Chain.decide(facts)
    if (next._tag === "Spent") {
      return yield* RunFailure.failure(new RunFailure.AttemptsSpent({ last: walked.errors.at(-1) ?? "no backend" }))
    }
    const shrunk = next._tag === "Compact" ? yield* shrink(live, style, walked) : "no"
    if (shrunk === "cancelled") return Trip.Cancelled({ stage: "compaction" })
    if (shrunk === "no") {
      const detail = Chain.exhaustedText(walked.errors, { ...facts, compacted: live.state.scratch.compacted })
      return yield* RunFailure.failure(new RunFailure.ContextExhausted({ detail }))
    }
  }
})

const walk = Effect.fnUntraced(function* (
  live: Live,
  style: TurnStyle,
  request: Request
): Effect.fn.Return<Trip | Refused, RunFailure.RunFailure> {
  const ends: Array<Chain.LinkEnd> = []
  const errors: Array<string> = []
  const refusals: Array<Target.Refusal<TokenCounter>> = []
  for (const [index, backend] of live.chain.entries()) {
    const result = yield* Link.take({ live, style, request, backend, index })
    if (result._tag === "Replied") return Trip.Replied(result)
    if (result._tag === "Cancelled") return Trip.Cancelled(result)
    ends.push(result.end)
    errors.push(result.error)
    if (result.refusal !== undefined) refusals.push(result.refusal)
  }
  return { _tag: "Refused", ends, errors, refusals }
})

/** The one forced compaction of a round; worth another walk only when the conversation became smaller. */
const shrink = Effect.fnUntraced(function* (live: Live, style: TurnStyle, walked: Refused) {
  const { compactor } = live
  if (compactor === undefined) return "no" as const
  live.state.scratch.compacted = true
  const target = Target.best(walked.refusals)
  const pass = yield* Compact.forced(live, style, { compactor, target })
  if (pass === "cancelled") return "cancelled" as const
  return Chain.mayWalkAgain(pass) ? ("yes" as const) : ("no" as const)
})
