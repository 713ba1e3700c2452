/**
 * The durable record of one conversation: append-only, one writer.
 *
 * P1. When `append` returns, its lines are in the record as durably as the store promises, in the order given.
 * P2. A failed `append` has changed nothing that later appends or reads depend on.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Replay from "../model/Replay.ts"
import type * as TranscriptLine from "../model/TranscriptLine.ts"

export class WriteFailed extends Schema.TaggedError<WriteFailed>()("WriteFailed", { detail: Schema.String }) {
  override get message(): string {
    return this.detail
  }
}

/** Another process holds the pen. */
export class Locked extends Schema.TaggedError<Locked>()("Locked", {
  pid: Schema.Int,
  host: Schema.String,
  since: Schema.String,
  /** What to do about an owner that cannot be judged from here. */
  advice: Schema.optionalKey(Schema.String)
}) {
  override get message(): string {
    const owner = `it is open for writing in process ${this.pid} on ${this.host} since ${this.since}`
    return this.advice === undefined ? owner : `${owner}; ${this.advice}`
  }
}

/** This writer's lock was taken over after it was believed dead. */
export class Fenced extends Schema.TaggedError<Fenced>()("Fenced", { detail: Schema.String }) {
  override get message(): string {
    return this.detail
  }
}

export class Unreadable extends Schema.TaggedError<Unreadable>()("Unreadable", { detail: Schema.String }) {
  override get message(): string {
    return this.detail
  }
}

export class TranscriptError extends Schema.TaggedError<TranscriptError>()("TranscriptError", {
  operation: Schema.Literals(["open", "append", "read"]),
  /** Where: a path, or the name of the store. */
  place: Schema.String,
  reason: Schema.Union([WriteFailed, Locked, Fenced, Unreadable])
}) {
  override readonly cause = this.reason
  override get message(): string {
    return `could not ${this.operation} the transcript ${this.place}: ${this.reason.message}`
  }
}

export interface Transcript {
  /** Appends in order; answers one line id for each draft. Ids and times are stamped here. */
  readonly append: (
    drafts: ReadonlyArray<TranscriptLine.Draft>
  ) => Effect.Effect<ReadonlyArray<string>, TranscriptError>
  /** The record as it stood when it was opened, this process's own lines included up to now. */
  readonly replay: Effect.Effect<Replay.Replay, TranscriptError>
  /** Shown to people: a path, `memory`. */
  readonly place: string
}

/** Optional part: `undefined` means that nothing is recorded and message ids do not exist (L-GEN-07). */
export const Transcript: Context.Reference<Transcript | undefined> = Context.Reference<Transcript | undefined>(
  "@settle/core/port/Transcript",
  { defaultValue: () => undefined }
)

export const fail = (
  operation: TranscriptError["operation"],
  place: string,
  reason: TranscriptError["reason"]
): Effect.Effect<never, TranscriptError> => Effect.fail(new TranscriptError({ operation, place, reason }))
