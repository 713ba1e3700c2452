/**
 * Consults the compactor at the top of a round and obeys it (L-ROUND-06 … -10).
 *
 * K1. A compaction is appended lines, never a rewrite: a crash at any point leaves the old conversation or the new one.
 * K2. What a pass achieved is kept even when it is not enough (L-CTXEX-02).
 * K3. What its summaries cost counts against the caps, also when a cancel takes the pass (L-CAP-12).
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { isSticky } from "../model/Message.ts"
import * as RunFailure from "../model/RunFailure.ts"
import type * as TranscriptLine from "../model/TranscriptLine.ts"
import type { Usage } from "../model/Usage.ts"
import { Billed, type Compactor, type Pass, type Target } from "../port/Compactor.ts"
import * as AttemptLog from "./AttemptLog.ts"
import * as Commit from "./Commit.ts"
import type * as Live from "./Live.ts"
import type { TurnStyle } from "./TurnStyle.ts"
import * as Weigh from "./Weigh.ts"

export type Compacted = "done" | "cancelled"

export const atTop = (live: Live.Live, style: TurnStyle): Effect.Effect<Compacted, RunFailure.RunFailure> => {
  const { compactor } = live
  if (compactor === undefined) return Effect.succeed("done")
  const tokens = Weigh.figure(live, style.outlook(live))
  if (!compactor.needsCompaction(live.state.conversation.messages, tokens)) return Effect.succeed("done")
  const passing = { compactor, target: undefined, round: live.state.round + 1, before: tokens }
  return Effect.flatMap(pass(live, passing), (done) => {
    if (done === "cancelled") return Effect.succeed<Compacted>("cancelled")
    return done.exhausted ? exhausted(done, compactor.budget) : Effect.succeed<Compacted>("done")
  })
}

/** After the whole chain refused: the round's single forced pass. What it means is the chain's to say. */
export const forced = (live: Live.Live, style: TurnStyle, { compactor, target }: Forced) =>
  pass(live, { compactor, target, round: live.state.round, before: Weigh.figure(live, style.outlook(live)) })

interface Forced {
  readonly compactor: Compactor
  readonly target: Target | undefined
}

interface Passing extends Forced {
  readonly round: number
  readonly before: number | undefined
}

const pass = Effect.fnUntraced(function* (
  live: Live.Live,
  { before, compactor, round, target }: Passing
): Effect.fn.Return<Pass | "cancelled", RunFailure.RunFailure> {
  const { conversation } = live.state
  live.feed.emit({
    _tag: "CompactionStarted",
    ...(before === undefined ? {} : { tokensBefore: before }),
    budget: target?.tokens ?? compactor.budget,
    messageCount: conversation.messages.length,
    round
  })
  const bills = billing(live)
  const compacting = Effect.provideService(compactor.compact([...conversation.messages], target), Billed, bills.told)
  const ended = yield* live.sections.run(compacting)
  if (ended._tag === "Stopped") {
    live.feed.emit({ _tag: "CompactionDone", dropped: 0, fallback: false, round })
    return "cancelled"
  }
  const done = yield* Exit.isSuccess(ended.exit) ? Effect.succeed(ended.exit.value) : Effect.failCause(ended.exit.cause)
  bills.settle(done)
  yield* apply(live, done)
  live.feed.emit({
    _tag: "CompactionDone",
    tokensBefore: done.tokensBefore,
    tokensAfter: done.tokensAfter,
    dropped: done.dropped,
    ...(done.summary === undefined ? {} : { summary: done.summary }),
    fallback: done.fallback,
    round
  })
  return done
})

/** Each bill of a summary counts once: as it comes, else with the pass. */
const billing = (live: Live.Live) => {
  let reported = 0
  return {
    told: (usage: Usage | undefined): void => {
      if (usage !== undefined) reported++
      AttemptLog.bill(live, usage)
    },
    settle: (done: Pass): void => {
      for (const usage of (done.usage ?? []).slice(reported)) AttemptLog.bill(live, usage)
    }
  }
}

const exhausted = (done: Pass, room: number) =>
  Effect.fail(
    RunFailure.failure(
      new RunFailure.ContextExhausted({
        detail: `the conversation needs ${done.tokensAfter} tokens after compaction and there is room for ${room}: raise the context window, or start a new conversation`
      })
    )
  )

/** Elision before compaction, in the file as in memory. */
const apply = Effect.fnUntraced(function* (live: Live.Live, done: Pass) {
  const { conversation } = live.state
  if (done.cutIndex < 0 && done.elisions.length === 0) return
  const drafts = linesOf(live, done)
  const written = yield* Commit.lines(live, drafts)
  const keep = (index: number) => isSticky(conversation.messages[index] ?? { role: "user", content: "" })
  const indexes = conversation.messages.map((_, index) => index)
  const kept = done.cutIndex < 0 ? [] : indexes.slice(0, done.cutIndex + 1).filter(keep)
  const summaryId = done.cutIndex < 0 ? [] : [written.at(-1)]
  conversation.ids = [
    ...kept.map((index) => conversation.ids[index]),
    ...summaryId,
    ...conversation.ids.slice(done.cutIndex + 1)
  ]
  conversation.messages = [...done.messages]
  conversation.revision++
})

const linesOf = (live: Live.Live, done: Pass): ReadonlyArray<TranscriptLine.Draft> => {
  const { ids } = live.state.conversation
  const items = done.elisions.flatMap(({ index, stub }) => {
    const id = ids[index]
    return id === undefined ? [] : [{ id, stub }]
  })
  const through = ids[done.cutIndex]
  return [
    ...(items.length === 0 ? [] : [{ type: "elision" as const, payload: { items } }]),
    ...(through === undefined
      ? []
      : [
          {
            type: "compaction" as const,
            payload: {
              summary: done.summary ?? "",
              replacesThroughId: through,
              tokensBefore: done.tokensBefore,
              tokensAfter: done.tokensAfter,
              fallback: done.fallback
            }
          }
        ])
  ]
}
