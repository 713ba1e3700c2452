/**
 * Collects the events of one run, and answers whether their order was legal.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as RunEvent from "@settle/core/model/RunEvent"
import * as EventGrammar from "./EventGrammar.ts"

export interface Recording {
  readonly events: ReadonlyArray<RunEvent.RunEvent>
  /** First event that had no right to be there, or `undefined`. */
  readonly fault: EventGrammar.Fault | undefined
}

/** A recording in progress. */
export interface Recorder<E> {
  /** Grows. */
  readonly events: ReadonlyArray<RunEvent.RunEvent>
  /** The first event, past or future, that it is true of. */
  readonly until: (is: (event: RunEvent.RunEvent) => boolean) => Effect.Effect<RunEvent.RunEvent>
  /** The first event of a kind. */
  readonly seen: <T extends RunEvent.Tag>(tag: T) => Effect.Effect<RunEvent.Of<T> & RunEvent.Stamp>
  /** Ends when the stream does. */
  readonly done: Effect.Effect<Recording, E>
}

export const of = (events: ReadonlyArray<RunEvent.RunEvent>): Recording => ({
  events,
  fault: EventGrammar.fault(events)
})

/** Reads a whole run. */
export const collect = <E, R>(stream: Stream.Stream<RunEvent.RunEvent, E, R>): Effect.Effect<Recording, E, R> =>
  Effect.map(Stream.runCollect(stream), of)

/** Starts reading beside the test. */
export const start = <E, R>(
  stream: Stream.Stream<RunEvent.RunEvent, E, R>
): Effect.Effect<Recorder<E>, never, R | Scope.Scope> =>
  Effect.gen(function* () {
    const events: Array<RunEvent.RunEvent> = []
    const waiting = new Set<(event: RunEvent.RunEvent) => void>()
    const take = (event: RunEvent.RunEvent) => {
      events.push(event)
      for (const tell of waiting) tell(event)
    }
    const fiber = yield* Effect.forkScoped(
      Stream.runForEach(stream, (event) => Effect.sync(() => take(event))),
      { startImmediately: true }
    )
    const until = <A extends RunEvent.RunEvent>(is: (event: RunEvent.RunEvent) => event is A): Effect.Effect<A> =>
      Effect.suspend(() => {
        const past = events.find(is)
        if (past !== undefined) return Effect.succeed(past)
        const found = Deferred.makeUnsafe<A>()
        const tell = (event: RunEvent.RunEvent) => {
          if (is(event)) Deferred.doneUnsafe(found, Effect.succeed(event))
        }
        waiting.add(tell)
        return Effect.ensuring(
          Deferred.await(found),
          Effect.sync(() => waiting.delete(tell))
        )
      })
    return {
      events,
      until: (is) => until((event): event is RunEvent.RunEvent => is(event)),
      seen: <T extends RunEvent.Tag>(tag: T) => until(isTag(tag)),
      done: Effect.map(Fiber.join(fiber), () => of(events))
    }
  })

const isTag =
  <T extends RunEvent.Tag>(tag: T) =>
  (event: RunEvent.RunEvent): event is RunEvent.Of<T> & RunEvent.Stamp =>
    event._tag === tag

/** Events of one kind, in order. */
export const all = <T extends RunEvent.Tag>(
  recording: { readonly events: ReadonlyArray<RunEvent.RunEvent> },
  tag: T
): ReadonlyArray<RunEvent.Of<T> & RunEvent.Stamp> => recording.events.filter(isTag(tag))

export const tags = (recording: { readonly events: ReadonlyArray<RunEvent.RunEvent> }): ReadonlyArray<RunEvent.Tag> =>
  recording.events.map((event) => event._tag)

/** The text a screen shows at the end: tokens of failed attempts are taken back (L-STREAM-01). */
export const text = (recording: { readonly events: ReadonlyArray<RunEvent.RunEvent> }): string => {
  let kept = ""
  let scope = ""
  for (const event of recording.events) {
    if (event._tag === "AttemptStarted" || event._tag === "AttemptFailed") scope = ""
    if (event._tag === "Token") scope += event.text
    if (event._tag === "AttemptSucceeded") {
      kept += scope
      scope = ""
    }
  }
  return kept
}

/** Throws what was wrong with the order, with the events that led there. */
export const assertLegal = (recording: Recording): void => {
  if (recording.fault !== undefined) throw new Error(EventGrammar.render(recording.fault, recording.events))
}
