/** What the world hears of an attempt, and what the run keeps of one that failed. Usage is billed either way (L-CAP-12). */
import * as Caps from "../decide/Caps.ts"
import type * as Marker from "../decide/Marker.ts"
import type { AttemptRecord, Disposition, SuspectReason } from "../model/AttemptRecord.ts"
import type { Usage } from "../model/Usage.ts"
import type { Reply } from "../port/Backend.ts"
import type { Framing } from "./Attempt.ts"
import type { Live } from "./Live.ts"

export interface Failure {
  readonly error: string
  readonly disposition: Disposition
  readonly backoffMs?: number
  readonly errorClass?: string
  readonly errorStatus?: number
  readonly usage?: Usage
  readonly rawText?: string
  readonly finishReason?: string
  readonly reason?: SuspectReason
  /** What a handoff marker may make of it; default `other`. */
  readonly counts?: Marker.Failure
}

/** Adds a settled send to the accumulators. */
export const bill = (live: Live, usage: Usage | undefined): void => {
  live.state.spend = Caps.attempt(live.state.spend, usage)
}

export const failed = (live: Live, framing: Framing, failure: Failure): string => {
  const { attempt, backend, backendIndex, round } = framing
  const error = `[backend ${backendIndex}] ${failure.error}`
  live.feed.emit({
    _tag: "AttemptFailed",
    round,
    attempt,
    backendIndex,
    model: backend.model,
    error,
    disposition: failure.disposition,
    ...(failure.errorClass === undefined ? {} : { errorClass: failure.errorClass }),
    ...(failure.errorStatus === undefined ? {} : { errorStatus: failure.errorStatus }),
    ...(failure.backoffMs === undefined ? {} : { backoff: failure.backoffMs / 1000 }),
    ...(failure.usage === undefined ? {} : { usage: failure.usage })
  })
  keep(live, failure.counts ?? "other", {
    backendIndex,
    model: backend.model,
    error,
    ...(failure.rawText === undefined || failure.rawText === "" ? {} : { rawText: failure.rawText }),
    ...(failure.usage === undefined ? {} : { usage: failure.usage }),
    ...(failure.finishReason === undefined ? {} : { finishReason: failure.finishReason }),
    ...(failure.reason === undefined ? {} : { reason: failure.reason })
  })
  return error
}

/** A backend nothing was sent to: a record, and no frame (L-PRE-03). */
export const skipped = (live: Live, framing: Omit<Framing, "attempt">, problem: string): string => {
  const error = `[backend ${framing.backendIndex}] ${problem}`
  keep(live, "other", {
    backendIndex: framing.backendIndex,
    model: framing.backend.model,
    error,
    disposition: "advance"
  })
  return error
}

const keep = (live: Live, counts: Marker.Failure, record: AttemptRecord): void => {
  live.state.attempts.push(record)
  live.state.scratch.failures.push(counts)
}

export const succeeded = (
  live: Live,
  framing: Framing,
  heard: { readonly reply: Reply; readonly latencyMs: number }
) => {
  const { attempt, backendIndex, round } = framing
  const { latencyMs, reply } = heard
  live.feed.emit({
    _tag: "AttemptSucceeded",
    round,
    attempt,
    backendIndex,
    ...(reply.modelUsed === undefined ? {} : { modelUsed: reply.modelUsed }),
    ...(reply.finishReason === undefined ? {} : { finishReason: reply.finishReason }),
    usage: reply.usage ?? {},
    latencyMs
  })
}
