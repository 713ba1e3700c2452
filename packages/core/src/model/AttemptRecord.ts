/** Diagnostics of one send that failed, or of one backend that was skipped. */
import * as Schema from "effect/Schema"
import { Usage } from "./Usage.ts"

/** What the loop does about a failure, not what a classifier said in the abstract (L-FAIL-06). */
export const Disposition = Schema.Literals(["retry-same", "advance", "abort"])
export type Disposition = typeof Disposition.Type

/** Failures of a finished reply, named on their record (L-LEN-21, L-ROUTE-28). */
export const SuspectReason = Schema.Literals([
  "empty-completion",
  "unexplained-length",
  "completion-truncated",
  "invalid-action"
])
export type SuspectReason = typeof SuspectReason.Type

export const AttemptRecord = Schema.Struct({
  backendIndex: Schema.Int,
  model: Schema.String,
  /** Prefixed `[backend N] `. */
  error: Schema.String,
  /** Text that had streamed, when there was any. */
  rawText: Schema.optionalKey(Schema.String),
  usage: Schema.optionalKey(Usage),
  finishReason: Schema.optionalKey(Schema.String),
  reason: Schema.optionalKey(SuspectReason),
  /** Only on the record of a preflight skip (L-PRE-06). */
  disposition: Schema.optionalKey(Disposition)
})
export type AttemptRecord = typeof AttemptRecord.Type
