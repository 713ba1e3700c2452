/** What a run leaves: one record however it ended. */
import * as Schema from "effect/Schema"
import { AttemptRecord } from "./AttemptRecord.ts"
import { Message } from "./Message.ts"
import { EmptyHandoffMarker, HandoffMarker } from "./RunEvent.ts"
import { Reason } from "./RunFailure.ts"

const optional = Schema.optionalKey

/**
 * Spend of one run. Optional keys appear only when some attempt reported that number (L-CAP-07). Times are seconds of working
 * time, parked time apart. `complete` is false as soon as one attempt reported neither a total nor both halves.
 */
export const Spent = Schema.Struct({
  totalTokens: Schema.Finite,
  wallClock: Schema.Finite,
  complete: Schema.Boolean,
  cost: optional(Schema.Finite),
  /** True when a part of `cost` came from a price list. */
  costComputed: optional(Schema.Boolean),
  promptTokens: optional(Schema.Finite),
  completionTokens: optional(Schema.Finite),
  cachedPromptTokens: optional(Schema.Finite),
  parkedSeconds: optional(Schema.Finite)
})
export type Spent = typeof Spent.Type

export const RunOutcome = Schema.Struct({
  outcome: Schema.Literals(["completed", "failed", "cancelled"]),
  /** The answer; empty when there is none, and on every failed or cancelled run. */
  final: Schema.String,
  messages: Schema.Array(Message),
  rounds: Schema.Int,
  attempts: Schema.Array(AttemptRecord),
  error: optional(Schema.String),
  reason: optional(Schema.String),
  spent: optional(Spent),
  retrieval_handoff: optional(HandoffMarker),
  empty_retrieval_handoff: optional(EmptyHandoffMarker)
})
export type RunOutcome = typeof RunOutcome.Type

/** `result` of a failed run: the reason, and everything the run leaves. */
export class RunFailed extends Schema.TaggedError<RunFailed>()("RunFailed", { reason: Reason, outcome: RunOutcome }) {
  override readonly cause = this.reason
  override get message(): string {
    return this.reason.message
  }
}

/** `result` of a cancelled run. */
export class RunCancelled extends Schema.TaggedError<RunCancelled>()("RunCancelled", { outcome: RunOutcome }) {
  override get message(): string {
    return "the run was cancelled"
  }
}
