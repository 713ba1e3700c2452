/**
 * Answers and events of a remote server, read as they come.
 *
 * Y1. A request whose stream broke off is looked for again under its last event id, never sent again; where that is impossible it
 *     is lost (M5).
 * Y2. The wait before a stream is looked for again is the one that the server asked for, doubled with each vain attempt.
 */
import * as Json from "@settle/core/model/Json"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Sse from "effect/encoding/Sse"
import type * as Http from "./Http.ts"
import * as McpError from "./McpError.ts"
import * as RemoteSession from "./RemoteSession.ts"
import * as Wire from "./Wire.ts"

const firstRetry = 1_000
const longestRetry = 30_000
/** A server that wants to be asked again at once is not asked more often than this. */
const shortestRetry = 50
/** Attempts to find a broken stream again, without one event in between. */
const maxResumes = 5

/** The answer to request `id`, from whatever its response is. */
export const answerOf = (
  state: RemoteSession.RemoteSession,
  response: Http.Response,
  id: number
): Effect.Effect<void, McpError.Reason> =>
  Effect.gen(function* () {
    const type = (response.header("content-type") ?? "").split(";")[0]?.trim().toLowerCase()
    if (type === "text/event-stream") return yield* untilAnswered(state, response, id)
    const text = yield* Effect.mapError(response.text(RemoteSession.maxMessage), (error) =>
      RemoteSession.lost(error.detail)
    )
    if (type === "application/json") Wire.line(text).forEach((heard) => RemoteSession.hear(state, heard))
    if (!state.ledger.isOpen(id)) return
    return yield* Effect.fail(
      RemoteSession.lost(`its answer is no MCP: ${Json.render(text.slice(0, 300))} (${type ?? "of no type"})`)
    )
  })

/** Reads the request's stream, and the streams that continue it, until the answer was heard (Y1). */
const untilAnswered = (
  state: RemoteSession.RemoteSession,
  first: Http.Response,
  id: number
): Effect.Effect<void, McpError.Reason> =>
  Effect.gen(function* () {
    const place: Place = { lastEventId: undefined, retry: firstRetry, events: 0 }
    yield* events(state, first, place, () => state.ledger.isOpen(id))
    for (let attempt = 0; state.ledger.isOpen(id); attempt++) {
      if (place.lastEventId === undefined || attempt >= maxResumes) {
        return yield* Effect.fail(RemoteSession.lost("its stream ended before the answer and cannot be taken up again"))
      }
      const before = place.events
      yield* Effect.sleep(Math.min(place.retry * 2 ** attempt, longestRetry))
      yield* Effect.scoped(
        Effect.gen(function* () {
          const next = yield* RemoteSession.admitted(state, { method: "GET", lastEventId: place.lastEventId })
          yield* events(state, next, place, () => state.ledger.isOpen(id))
        })
      ).pipe(Effect.catch((error) => (retryable(error) ? Effect.void : Effect.fail(afterwards(state, error)))))
      if (place.events > before) attempt = -1
    }
  })

/** The request itself was accepted long ago: what its continuation meets says nothing else about it. */
const afterwards = (state: RemoteSession.RemoteSession, error: McpError.Reason): McpError.Reason => {
  RemoteSession.endWithSession(state, error)
  return McpError.isNotAcceptedReason(error) ? RemoteSession.lost(error.message) : error
}

const retryable = (error: McpError.Reason): boolean =>
  error._tag === "NotAccepted" ||
  error._tag === "ConnectionLost" ||
  (error._tag === "HttpRefused" && error.status >= 500)

/** The server's own stream, for as long as the session stands; a server without one answers 405. */
export const listen = (state: RemoteSession.RemoteSession): Effect.Effect<void, McpError.Reason> =>
  Effect.gen(function* () {
    const place: Place = { lastEventId: undefined, retry: firstRetry, events: 0 }
    for (let failures = 0; state.ended === undefined;) {
      const before = place.events
      const outcome = yield* Effect.scoped(
        Effect.gen(function* () {
          const response = yield* RemoteSession.admitted(state, { method: "GET", lastEventId: place.lastEventId })
          yield* events(state, response, place, () => true)
        })
      ).pipe(
        Effect.as(true),
        Effect.catch((error) =>
          Effect.sync(() => {
            RemoteSession.endWithSession(state, error)
            return retryable(error)
          })
        )
      )
      if (!outcome) return
      failures = place.events > before ? 0 : failures + 1
      yield* Effect.sleep(Math.min(place.retry * 2 ** Math.min(Math.max(failures - 1, 0), 10), longestRetry))
    }
  })

interface Place {
  lastEventId: string | undefined
  retry: number
  events: number
}

/** Hears every event of one stream; a break ends it like an end does. */
const events = (
  state: RemoteSession.RemoteSession,
  response: Http.Response,
  place: Place,
  more: () => boolean
): Effect.Effect<void, McpError.Reason> => {
  let tooLong = false
  const parser = Sse.makeParser(
    (event) => {
      if (event._tag === "Retry") {
        place.retry = Math.max(shortestRetry, Duration.toMillis(event.duration))
        return
      }
      place.events++
      if (event.id !== undefined && event.id !== "") place.lastEventId = event.id
      if (event.data !== "" && event.event === "message")
        Wire.line(event.data).forEach((heard) => RemoteSession.hear(state, heard))
    },
    { maxEventSize: RemoteSession.maxMessage }
  )
  const reading = response.each((text) => {
    tooLong = parser.feed(text) !== undefined
    return !tooLong && more()
  })
  return Effect.andThen(
    Effect.ignore(reading),
    Effect.suspend(() =>
      tooLong
        ? Effect.fail(
            RemoteSession.lost(`it wrote a message of more than ${RemoteSession.maxMessage / 1024 / 1024} MB`)
          )
        : Effect.void
    )
  )
}
