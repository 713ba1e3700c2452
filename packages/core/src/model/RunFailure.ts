/**
 * The ends a run chose, one class each. `reason` is the stable name a host switches on; ends that a run suffered (a spent chain,
 * an abort) have none, since the attempts say it all (L-FAIL-09, L-REASON-01).
 */
import * as Schema from "effect/Schema"

export class AttemptsSpent extends Schema.TaggedError<AttemptsSpent>()("AttemptsSpent", { last: Schema.String }) {
  get reason(): undefined {
    return undefined
  }
  override get message(): string {
    return this.last
  }
}

export class SeedMismatch extends Schema.TaggedError<SeedMismatch>()("SeedMismatch", {
  index: Schema.Int,
  given: Schema.Int,
  recorded: Schema.Int
}) {
  get reason(): undefined {
    return undefined
  }
  override get message(): string {
    return this.given < this.recorded && this.index === this.given
      ? `the conversation handed over has ${this.given} messages and the transcript has ${this.recorded}: start from the transcript's own messages`
      : `message ${this.index} differs from message ${this.index} of the transcript: start from the transcript's own messages; nothing was written`
  }
}

export class UnansweredTail extends Schema.TaggedError<UnansweredTail>()("UnansweredTail", {
  calls: Schema.Array(Schema.Struct({ id: Schema.String, name: Schema.String })),
  problem: Schema.String
}) {
  get reason(): undefined {
    return undefined
  }
  override get message(): string {
    const named = this.calls.map((call) => `${call.name} (${call.id})`).join(", ")
    return `${this.problem}: ${named}. Either answer every open call with a tool message, or name all of them in resumeToolCalls to run them again`
  }
}

export class TranscriptFailed extends Schema.TaggedError<TranscriptFailed>()("TranscriptFailed", {
  detail: Schema.String,
  /** Operations that ran and have no durable settle. */
  unsettled: Schema.Array(Schema.String)
}) {
  get reason(): "transcript-failed" {
    return "transcript-failed"
  }
  override get message(): string {
    const tail =
      this.unsettled.length === 0 ? "" : `. No durable settle: ${this.unsettled.join(", ")}; it was not run again`
    return `${this.detail}${tail}`
  }
}

/** A defect of the driver itself: the run still ends (L-RUN-08). */
export class DriverCrashed extends Schema.TaggedError<DriverCrashed>()("DriverCrashed", { detail: Schema.String }) {
  get reason(): undefined {
    return undefined
  }
  override get message(): string {
    return `the run crashed: ${this.detail}. This is a bug in Settle or in a part it was given`
  }
}

export class CatalogueFailed extends Schema.TaggedError<CatalogueFailed>()("CatalogueFailed", {
  detail: Schema.String
}) {
  get reason(): undefined {
    return undefined
  }
  override get message(): string {
    return `the tools could not be listed: ${this.detail}`
  }
}

export class ContextExhausted extends Schema.TaggedError<ContextExhausted>()("ContextExhausted", {
  detail: Schema.String
}) {
  get reason(): "context-exhausted" {
    return "context-exhausted"
  }
  override get message(): string {
    return this.detail
  }
}

export class BudgetExhausted extends Schema.TaggedError<BudgetExhausted>()("BudgetExhausted", {
  cap: Schema.Literals(["cost", "total-tokens", "wall-clock"]),
  spent: Schema.Finite,
  limit: Schema.Finite
}) {
  get reason(): "budget-exhausted" {
    return "budget-exhausted"
  }
  override get message(): string {
    const unit = { cost: "", "total-tokens": " tokens", "wall-clock": " seconds of work" }[this.cap]
    return `the run reached its ${this.cap} cap: spent ${this.spent} of ${this.limit}${unit}. Raise the cap, or go on in a new run`
  }
}

/** A reply that must not be committed, and is not worth sending for again (L-LEN, L-EMPTY, L-ROUTE-28). */
export class SuspectReply extends Schema.TaggedError<SuspectReply>()("SuspectReply", {
  reason: Schema.Literals(["empty-completion", "unexplained-length", "completion-truncated", "invalid-action"]),
  detail: Schema.String
}) {
  override get message(): string {
    return this.detail
  }
}

export class ParkIdle extends Schema.TaggedError<ParkIdle>()("ParkIdle", {
  operations: Schema.Array(Schema.String),
  seconds: Schema.Finite
}) {
  get reason(): "park-idle" {
    return "park-idle"
  }
  override get message(): string {
    return `nothing arrived for ${this.seconds} seconds; never answered: ${this.operations.join(", ")}; whether they took effect is unknown`
  }
}

export class HandoffIncomplete extends Schema.TaggedError<HandoffIncomplete>()("HandoffIncomplete", {
  calls: Schema.Array(Schema.String)
}) {
  get reason(): "handoff-incomplete-tools" {
    return "handoff-incomplete-tools"
  }
  override get message(): string {
    return `the handoff boundary was reached with operations that did not complete: ${this.calls.join(", ")}. What was collected is in the messages of the outcome`
  }
}

export const Reason = Schema.Union([
  AttemptsSpent,
  SeedMismatch,
  UnansweredTail,
  TranscriptFailed,
  DriverCrashed,
  CatalogueFailed,
  ContextExhausted,
  BudgetExhausted,
  SuspectReply,
  ParkIdle,
  HandoffIncomplete
])
export type Reason = typeof Reason.Type

/** The only error inside the engine. */
export class RunFailure extends Schema.TaggedError<RunFailure>()("RunFailure", { reason: Reason }) {
  override readonly cause = this.reason
  override get message(): string {
    return this.reason.message
  }
}

export const failure = (reason: Reason): RunFailure => new RunFailure({ reason })
