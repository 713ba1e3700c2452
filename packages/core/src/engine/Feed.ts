/**
 * The one ordered stream of a run, for any number of subscribers (L-GEN-06).
 *
 * F1. `seq` has no gap and no repeat.
 * F2. Nothing follows a terminal event; a late emitter hears `false`.
 * F3. A subscriber has a queue of its own: a slow one delays nobody, and never the run.
 * F4. The first subscriber gets the run from its start, later ones what follows.
 */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import * as RunEvent from "../model/RunEvent.ts"

export interface Feed {
  /** False: the run is over and the event was dropped. A terminal event is refused here; see `close`. */
  readonly emit: (draft: Exclude<RunEvent.Draft, RunEvent.Terminal>) => boolean
  /** The last event. */
  readonly close: (terminal: RunEvent.Terminal) => boolean
  readonly isClosed: () => boolean
  readonly events: Stream.Stream<RunEvent.RunEvent>
}

type Subscriber = Queue.Queue<RunEvent.RunEvent, Cause.Done>

export const make = (runId: string, now: () => number): Feed => {
  const subscribers = new Set<Subscriber>()
  let backlog: Array<RunEvent.RunEvent> | undefined = []
  let seq = 0
  let closed = false

  const publish = (draft: RunEvent.Draft): void => {
    const event: RunEvent.RunEvent = { ...draft, runId, seq: seq++, ts: now() }
    if (backlog !== undefined) backlog.push(event)
    else for (const subscriber of subscribers) Queue.offerUnsafe(subscriber, event)
  }

  const subscribe = Effect.map(Queue.unbounded<RunEvent.RunEvent, Cause.Done>(), (queue) => {
    if (backlog !== undefined) {
      Queue.offerAllUnsafe(queue, backlog)
      backlog = undefined
    }
    if (closed) Queue.endUnsafe(queue)
    else subscribers.add(queue)
    return queue
  })

  return {
    emit: (draft) => {
      if (closed) return false
      publish(draft)
      return true
    },
    close: (terminal) => {
      if (closed) return false
      closed = true
      publish(terminal)
      for (const subscriber of subscribers) Queue.endUnsafe(subscriber)
      subscribers.clear()
      return true
    },
    isClosed: () => closed,
    events: Stream.unwrap(
      Effect.map(
        Effect.acquireRelease(subscribe, (queue) =>
          Effect.sync(() => {
            subscribers.delete(queue)
            Queue.shutdownUnsafe(queue)
          })
        ),
        Stream.fromQueue
      )
    )
  }
}
