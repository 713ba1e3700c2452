/** The CallScope of one run: what a provider says becomes an event of that run, and nothing once it ended (L-SHIM). */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Json from "../model/Json.ts"
import type { CallScope } from "../port/CallScope.ts"
import type { Feed } from "./Feed.ts"
import type { InFlight } from "./InFlight.ts"

interface Handles {
  readonly runId: string
  readonly feed: Feed
  readonly inFlight: InFlight
  readonly now: () => number
  readonly isCancelled: () => boolean
}

export const make = (
  { feed, inFlight, isCancelled, now, runId }: Handles,
  syncGrants: () => Effect.Effect<void>
): CallScope => ({
  runId,
  live: Effect.sync(() => !feed.isClosed()),
  isCancelled: Effect.sync(isCancelled),
  isAwaited: (callId) => Effect.sync(() => inFlight.has(callId)),
  log: (level, logger, data) => Effect.sync(() => void feed.emit({ _tag: "Log", level, logger, data })),
  progress: ({ callId, message, progress, total }) =>
    Effect.sync(() => {
      if (!inFlight.has(callId)) return
      feed.emit({
        _tag: "ToolProgress",
        id: callId,
        progress,
        ...(total === undefined ? {} : { total }),
        ...(message === undefined ? {} : { message })
      })
    }),
  asking: <A extends Json.Json, E, R>(request: Json.JsonObject, ask: Effect.Effect<A, E, R>) =>
    // Whether it was answered, failed or was interrupted: an AskPending is never left open (L-SHIM-05).
    Effect.acquireUseRelease(
      Effect.sync(() => {
        const tool = typeof request["tool"] === "string" ? { tool: request["tool"] } : {}
        feed.emit({ _tag: "AskPending", request, ...tool })
        inFlight.askBegan(now())
      }),
      () => ask,
      (_, exit) =>
        Effect.sync(() => {
          // Told before the clock goes on: a cancelled run that waited for the answer ends inside `askEnded`.
          feed.emit({ _tag: "AskAnswered", request, ...(Exit.isSuccess(exit) ? { answer: exit.value } : {}) })
          inFlight.askEnded(now())
        })
    ),
  grantsChanged: Effect.suspend(() => (feed.isClosed() ? Effect.void : syncGrants()))
})
