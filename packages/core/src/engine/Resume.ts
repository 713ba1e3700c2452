/**
 * The opening of a run: the given messages against the transcript, the tail of open calls, the context line, the catalogue.
 *
 * R1. A run that is refused writes nothing (L-SEED-02).
 * R2. Calls are re-entered only when they are named, before anything is injected (L-TAIL-10, -11).
 */
import * as Effect from "effect/Effect"
import * as Caps from "../decide/Caps.ts"
import * as Handoff from "../decide/Handoff.ts"
import * as Seed from "../decide/Seed.ts"
import * as Tail from "../decide/Tail.ts"
import * as Grant from "../model/Grant.ts"
import type { Message } from "../model/Message.ts"
import type { ToolCall } from "../model/Message.ts"
import * as Replay from "../model/Replay.ts"
import * as RunContext from "../model/RunContext.ts"
import * as RunFailure from "../model/RunFailure.ts"
import type * as TranscriptLine from "../model/TranscriptLine.ts"
import * as Batch from "./Batch.ts"
import * as Catalogue from "./Catalogue.ts"
import * as Commit from "./Commit.ts"
import * as Grants from "./Grants.ts"
import * as Live from "./Live.ts"
import type { Stage } from "./RoundOutcome.ts"
import type { TurnStyle } from "./TurnStyle.ts"

export interface Opening {
  readonly messages: ReadonlyArray<Message>
  readonly resumeToolCalls: ReadonlyArray<string>
}

const empty: Replay.Replay = Replay.make().result()

/** Answers the stage at which a cancel came, if one did. */
export const open = Effect.fnUntraced(function* (
  live: Live.Live,
  style: TurnStyle,
  opening: Opening
): Effect.fn.Return<Stage | undefined, RunFailure.RunFailure> {
  const { context, state } = live
  live.feed.emit({
    _tag: "RunStarted",
    messageCount: opening.messages.length,
    ...(RunContext.isEmpty(context) ? {} : { contextDigest: context.digest })
  })
  const replay = yield* record(live)
  const tail = yield* seed(live, opening, replay)
  state.grantsDigest = Grant.digest(replay.grants ?? [])
  // What was granted or revoked since the last run is in the record before this one acts on it.
  yield* Grants.sync(live)
  yield* contextLine(live, replay)
  if (live.settings.resumeSpend === "transcript") {
    state.spend = Caps.resume(
      state.spend.startedAt,
      replay.entries.filter((entry) => entry.message.role === "assistant").map((entry) => entry.usage)
    )
  }
  if (!(yield* Catalogue.read(live))) return "start"
  if (tail._tag !== "PendingAgain") return undefined
  return yield* reenter(live, style, { calls: tail.calls, replay })
})

const record = (live: Live.Live) =>
  live.transcript === undefined
    ? Effect.succeed(empty)
    : Effect.mapError(live.transcript.replay, (error) =>
        RunFailure.failure(new RunFailure.TranscriptFailed({ detail: error.message, unsettled: [] }))
      )

const seed = Effect.fnUntraced(function* (live: Live.Live, opening: Opening, replay: Replay.Replay) {
  const recorded = Replay.messages(replay)
  const given = opening.messages
  const checked = Seed.check(given, recorded)
  if (checked._tag === "Mismatch") {
    const mismatch = { index: checked.index, given: given.length, recorded: recorded.length }
    return yield* RunFailure.failure(new RunFailure.SeedMismatch(mismatch))
  }
  const tail = Tail.read(given, opening.resumeToolCalls, live.provider !== undefined)
  if (tail._tag === "Refused") {
    const calls = tail.calls.map(({ id, name }) => ({ id, name }))
    return yield* RunFailure.failure(new RunFailure.UnansweredTail({ calls, problem: tail.problem }))
  }
  for (const entry of replay.entries) Commit.inMemory(live, entry.message, entry.id)
  yield* Commit.messages(
    live,
    checked.fresh.map((message) => ({ message, extras: {} }))
  )
  return tail
})

/** One record per run that had a context; an audit line never fails a run (L-CTX-04, -05). */
const contextLine = (live: Live.Live, replay: Replay.Replay) => {
  const { context, runId, transcript } = live
  if (transcript === undefined || RunContext.isEmpty(context)) return Effect.void
  const carried = new Set<string>()
  const sections = context.sections.map(({ digest, name, rendered }) => {
    const carrier = replay.contextCarriers.get(digest)
    if (carrier !== undefined) return { name, digest, renderedIn: carrier }
    if (carried.has(digest)) return { name, digest }
    carried.add(digest)
    return { name, digest, rendered }
  })
  const payload: TranscriptLine.ContextRecord = { runId, digest: context.digest, facts: context.facts, sections }
  return Live.shielded(
    live,
    "the run context could not be recorded",
    transcript.append([{ type: "run-context", payload }])
  )
}

const reenter = Effect.fnUntraced(function* (
  live: Live.Live,
  style: TurnStyle,
  pending: { readonly calls: ReadonlyArray<ToolCall>; readonly replay: Replay.Replay }
): Effect.fn.Return<Stage | undefined, RunFailure.RunFailure> {
  if (live.provider === undefined) return undefined
  live.state.round = 1
  live.state.ledger = Handoff.start({ resumed: true })
  live.feed.emit({ _tag: "RoundStarted", round: 1 })
  const adopted = new Map(pending.replay.pending.map((operation) => [operation.callId, operation.opId]))
  const batch = { provider: live.provider, calls: pending.calls, adopted }
  const end = yield* Batch.run({ live, style, round: 1 }, batch)
  return end === "cancelled" ? "tools" : undefined
})
