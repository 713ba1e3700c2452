/**
 * What a provider may say about calls in flight, bound to the run they belong to. After that run ended every function does nothing
 * and `live` answers false: a late word reaches nobody (L-SHIM-01, -02).
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Json from "../model/Json.ts"

export type LogLevel = "debug" | "info" | "warning" | "error"

export interface Progress {
  readonly callId: string
  readonly progress: number
  readonly total?: number
  readonly message?: string
}

export interface CallScope {
  readonly runId: string
  readonly live: Effect.Effect<boolean>
  /** The run was asked to stop: what has not begun for it must not begin any more (T8). */
  readonly isCancelled: Effect.Effect<boolean>
  /** The run still waits for the answer of this call; false once it was given up, and once the run ended. */
  readonly isAwaited: (callId: string) => Effect.Effect<boolean>
  readonly log: (level: LogLevel, logger: string, data: Json.Json) => Effect.Effect<void>
  /** Dropped unless it names a call in flight (L-SHIM-08). */
  readonly progress: (note: Progress) => Effect.Effect<void>
  /**
   * Frames a question with AskPending and AskAnswered and keeps the asking time off the deadline of the calls in flight. The
   * answer and the failure of `ask` pass through untouched (L-SHIM-04, -05, -06).
   */
  readonly asking: <A extends Json.Json, E, R>(
    request: Json.JsonObject,
    ask: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E, R>
  /** A permission was recorded: write the snapshot now, with the call still running (L-GRANT-03). */
  readonly grantsChanged: Effect.Effect<void>
}

/** For calls outside a run: a tool list in a shell, a test. */
export const none: CallScope = {
  runId: "",
  live: Effect.succeed(false),
  isCancelled: Effect.succeed(false),
  isAwaited: () => Effect.succeed(true),
  log: () => Effect.void,
  progress: () => Effect.void,
  asking: (_request, ask) => ask,
  grantsChanged: Effect.void
}

/** Read by a provider while it executes; the engine provides the one of the run in flight. */
export const CallScope: Context.Reference<CallScope> = Context.Reference<CallScope>("@settle/core/port/CallScope", {
  defaultValue: () => none
})
