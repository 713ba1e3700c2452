/** One round, top to bottom, in the order of L-ROUND-01. */
import * as Effect from "effect/Effect"
import * as Boundary from "../decide/Boundary.ts"
import * as Handoff from "../decide/Handoff.ts"
import * as Limits from "../decide/Limits.ts"
import * as Failure from "../model/RunFailure.ts"
import * as Batch from "./Batch.ts"
import * as Commit from "./Commit.ts"
import * as Compact from "./Compact.ts"
import * as Grants from "./Grants.ts"
import * as Inject from "./Inject.ts"
import type { Live } from "./Live.ts"
import { RoundOutcome } from "./RoundOutcome.ts"
import * as RoundTrip from "./RoundTrip.ts"
import * as Spending from "./Spending.ts"
import type { Turn, TurnStyle } from "./TurnStyle.ts"
import * as Weigh from "./Weigh.ts"

export const round = Effect.fnUntraced(function* (
  live: Live,
  style: TurnStyle
): Effect.fn.Return<RoundOutcome, Failure.RunFailure> {
  const gate = yield* boundary(live)
  if (gate !== undefined) return gate
  yield* Inject.completions(live)
  yield* Inject.steers(live)
  yield* Spending.check(live)
  const compacted = yield* Compact.atTop(live, style)
  if (compacted === "cancelled" || live.sections.isCancelled()) return RoundOutcome.Cancelled({ stage: "compaction" })

  live.state.round++
  const tokens = Weigh.figure(live, style.outlook(live))
  live.feed.emit({
    _tag: "RoundStarted",
    round: live.state.round,
    ...(tokens === undefined ? {} : { tokens })
  })
  const prepared = yield* style.prepare(live)
  if (prepared._tag === "Leave") return prepared.outcome
  const trip = yield* Effect.tapError(RoundTrip.ask(live, style, prepared.request), (failure) =>
    abandonTurn(live, failure)
  )
  if (trip._tag === "Cancelled") return discard(live, "cancelled", RoundOutcome.Cancelled({ stage: trip.stage }))
  return yield* conclude(live, style, trip)
})

/** Cancel, then the handoff with its caps; steers are not pulled where no request follows (L-HAND-04, -12). */
const boundary = Effect.fnUntraced(function* (
  live: Live
): Effect.fn.Return<RoundOutcome | undefined, Failure.RunFailure> {
  const { handoffAfterToolRounds, toolRouting } = live.settings
  const gate = Boundary.decide({
    cancelled: live.sections.isCancelled(),
    capReached: Spending.reached(live) !== undefined,
    handoffAfter: handoffAfterToolRounds,
    acceptedBatches: live.state.ledger.batches,
    incomplete: Handoff.incomplete(live.state.ledger, toolRouting)
  })
  switch (gate._tag) {
    case "Proceed":
      return undefined
    case "Cancelled":
      return RoundOutcome.Cancelled({ stage: "start" })
    case "CapReached":
      return yield* Effect.as(Spending.check(live), undefined)
    case "HandOver":
      return RoundOutcome.HandedOver({ reason: "tool-round-handoff" })
    case "Incomplete":
      return yield* Failure.failure(new Failure.HandoffIncomplete({ calls: gate.calls }))
  }
})

/** A spent chain discards its turn and saves the grants; a window that will not fit had no turn to discard. */
const abandonTurn = (live: Live, failure: Failure.RunFailure) => {
  if (failure.reason._tag === "ContextExhausted" || failure.reason._tag === "TranscriptFailed") return Effect.void
  discard(live, "failed", undefined)
  return Grants.sync(live)
}

/** Limits first, before anything of the turn is written: a discarded turn leaves no trace (L-ROUND-12, L-LIM-03). */
const conclude = Effect.fnUntraced(function* (
  live: Live,
  style: TurnStyle,
  trip: Extract<RoundTrip.Trip, { readonly _tag: "Replied" }>
) {
  const turn = style.interpret(live, trip)
  if (turn.calls.length > 0) {
    const verdict = Limits.check(live.state.tally, turn.calls, live.settings)
    if (verdict._tag === "Reached") {
      const { count, limit, max } = verdict
      live.feed.emit({ _tag: "LimitReached", limit, count, max })
      discard(live, "limit", undefined)
      return yield* style.onLimit(live, verdict)
    }
  }
  const early = turn.calls.length === 0 ? yield* style.onQuietTurn(live, turn) : undefined
  if (early !== undefined) return early
  yield* Effect.tapError(commit(live, turn, trip), () => Effect.sync(() => discard(live, "failed", undefined)))
  if (turn.calls.length === 0 || live.provider === undefined) return RoundOutcome.Answered({ final: trip.reply.text })
  const batch = { provider: live.provider, calls: turn.calls }
  const end = yield* Batch.run({ live, style, round: live.state.round }, batch)
  return end === "cancelled" ? RoundOutcome.Cancelled({ stage: "tools" }) : RoundOutcome.Again()
})

const commit = Effect.fnUntraced(function* (
  live: Live,
  turn: Turn,
  { reply }: Extract<RoundTrip.Trip, { readonly _tag: "Replied" }>
) {
  const { round } = live.state
  const reasoning = reply.reasoning === undefined || reply.reasoning === "" ? {} : { reasoning: reply.reasoning }
  const [messageId] = yield* Commit.messages(live, [
    {
      message: turn.message,
      extras: {
        ...reasoning,
        ...(reply.usage === undefined ? {} : { usage: reply.usage }),
        ...(reply.finishReason === undefined ? {} : { finishReason: reply.finishReason })
      }
    }
  ])
  live.feed.emit({ _tag: "AssistantMessage", message: turn.message, ...reasoning, round })
  live.feed.emit({ _tag: "TurnCommitted", ...(messageId === undefined ? {} : { messageId }), round })
})

const discard = <A>(live: Live, reason: "limit" | "cancelled" | "failed", then: A): A => {
  live.feed.emit({ _tag: "TurnDiscarded", reason, round: live.state.round })
  return then
}
