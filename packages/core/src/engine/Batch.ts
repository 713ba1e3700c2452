/**
 * The calls of one turn, group by group in model order. Caps and cancel are asked between groups, where nothing is in flight; what is
 * behind the boundary is abandoned (L-TOOL, L-CAP-01, L-CANC-07).
 */
import * as Effect from "effect/Effect"
import * as Grouping from "../decide/Grouping.ts"
import * as Handoff from "../decide/Handoff.ts"
import * as Limits from "../decide/Limits.ts"
import * as Wording from "../decide/Wording.ts"
import * as Canonical from "../model/Canonical.ts"
import type { ToolCall } from "../model/Message.ts"
import * as Operation from "../model/Operation.ts"
import type { RunFailure } from "../model/RunFailure.ts"
import * as Settings from "../model/Settings.ts"
import type { ToolProvider } from "../port/ToolProvider.ts"
import * as Commit from "./Commit.ts"
import * as Dispatch from "./Dispatch.ts"
import * as Grants from "./Grants.ts"
import type { Live } from "./Live.ts"
import * as Settle from "./Settle.ts"
import * as Settlement from "./Settlement.ts"
import * as Spending from "./Spending.ts"

export interface Batch {
  readonly provider: ToolProvider
  readonly calls: ReadonlyArray<ToolCall>
  /** Open envelopes of a dead process, adopted instead of written again, by call id (L-TAIL-08). */
  readonly adopted?: ReadonlyMap<string, string>
}

export type BatchEnd = "done" | "cancelled"

export const run = Effect.fnUntraced(function* (at: Settle.Settling, batch: Batch) {
  const { live, round } = at
  for (const call of batch.calls) live.feed.emit({ _tag: "ToolCall", ...call, round })
  const settlements: Array<Settlement.Settlement> = []
  for (const call of batch.calls) settlements.push(yield* propose(live, call, batch.adopted))
  return yield* Effect.tapError(walk(at, batch, settlements), () => closeInMemory(at, settlements))
})

const propose = (live: Live, call: ToolCall, adopted: Batch["adopted"]) =>
  Effect.map(live.ids.next, (operationId) => {
    const declared = live.state.catalogue.find((declaration) => declaration.name === call.name)
    const proposal = {
      callId: call.id,
      tool: call.name,
      arguments: Canonical.callArguments(call.arguments),
      idempotency: Settings.idempotencyOf(live.settings, call.name, declared?.idempotency),
      operationId
    }
    return Settlement.make(call, proposal, adopted?.get(call.id))
  })

const walk = Effect.fnUntraced(function* (
  at: Settle.Settling,
  batch: Batch,
  settlements: ReadonlyArray<Settlement.Settlement>
): Effect.fn.Return<BatchEnd, RunFailure> {
  const { live } = at
  let from = 0
  for (const group of Grouping.split(batch.calls, live.settings.concurrentTools)) {
    const behind = settlements.slice(from)
    if (from > 0) yield* Effect.tapError(Spending.check(live), () => leave(at, behind, "budget-exhausted"))
    if (live.sections.isCancelled()) {
      yield* leave(at, behind, "cancelled")
      return "cancelled"
    }
    const members = behind.slice(0, group.length)
    const end = yield* Dispatch.dispatch(at, { provider: batch.provider, members })
    from += group.length
    live.state.tally = Limits.afterDispatch(live.state.tally, members.map(signature))
    yield* Grants.sync(live)
    if (end === "answered") continue
    yield* leave(at, settlements.slice(from), end)
    if (end === "cancelled") return "cancelled"
    break
  }
  live.state.tally = Limits.afterBatch(live.state.tally)
  account(live, settlements)
  return "done"
})

/** Kept only where a handoff may read it. */
const account = (live: Live, settlements: ReadonlyArray<Settlement.Settlement>): void => {
  if (live.settings.handoffAfterToolRounds === 0 && live.settings.toolRouting === "native") return
  live.state.ledger = Handoff.accept(
    live.state.ledger,
    settlements.map((settlement) => ({ operation: settlement.operation(), background: settlement.isBackground() }))
  )
}

const signature = (settlement: Settlement.Settlement): string => Operation.signature(settlement.operation())

/** Everything behind the boundary is known not to have run, but for what a dead process had begun. */
const leave = Effect.fnUntraced(function* (
  at: Settle.Settling,
  behind: ReadonlyArray<Settlement.Settlement>,
  reason: Operation.AbandonReason
) {
  for (const settlement of behind) yield* Settle.leave(at, settlement, reason)
  if (reason !== "deadline") yield* Grants.sync(at.live)
})

/** The transcript takes no more lines; the conversation handed back must still answer every call. */
const closeInMemory = (at: Settle.Settling, settlements: ReadonlyArray<Settlement.Settlement>) =>
  Effect.sync(() => {
    for (const settlement of settlements) {
      if (!settlement.abandon("cancelled")) continue
      const content =
        settlement.adopted === undefined
          ? Wording.neverRan("cancelled")
          : Wording.interrupted(settlement.operation().idempotency)
      Commit.inMemory(at.live, at.style.answer({ call: settlement.call, content, kind: "unanswered" }), undefined)
    }
  })
