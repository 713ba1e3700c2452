/** What construction and admission refuse, before anything runs (L-GEN-09, L-RUN-02). */
import * as Schema from "effect/Schema"

export class InvalidSetting extends Schema.TaggedError<InvalidSetting>()("InvalidSetting", {
  setting: Schema.String,
  problem: Schema.String,
  remedy: Schema.String
}) {
  override get message(): string {
    return `${this.setting}: ${this.problem}. ${this.remedy}`
  }
}

export class RunInProgress extends Schema.TaggedError<RunInProgress>()("RunInProgress", {
  runId: Schema.String,
  phase: Schema.Literals(["live", "draining"])
}) {
  override get message(): string {
    return this.phase === "live"
      ? `run ${this.runId} is live: one run at a time on a loop. Await its drained, or make another loop`
      : `run ${this.runId} has its result but work of it still runs: await its drained before the next run`
  }
}

export class NoMessages extends Schema.TaggedError<NoMessages>()("NoMessages", {}) {
  override get message(): string {
    return "a run needs at least one message to begin with"
  }
}

/** Nobody is left to end the run (X-CANC-05). */
export class LoopClosed extends Schema.TaggedError<LoopClosed>()("LoopClosed", {}) {
  override get message(): string {
    return "the scope that owns this loop is closed: build a new loop, or keep the scope (a Layer, a ManagedRuntime) open for as long as runs are started"
  }
}

export const Reason = Schema.Union([InvalidSetting, RunInProgress, NoMessages, LoopClosed])
export type Reason = typeof Reason.Type

export class Refusal extends Schema.TaggedError<Refusal>()("Refusal", { reason: Reason }) {
  override readonly cause = this.reason
  override get message(): string {
    return this.reason.message
  }
}

export const refuse = (reason: Reason): Refusal => new Refusal({ reason })
