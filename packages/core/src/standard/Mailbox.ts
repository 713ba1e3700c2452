/**
 * Steers as a mailbox: what is offered wakes a parked run at once and waits for the next boundary of a working one.
 *
 * M1. Every text is pulled once, in the order offered.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import { SteerSource } from "../port/SteerSource.ts"

export interface Mailbox {
  readonly offer: (text: string) => Effect.Effect<void>
  readonly source: SteerSource
}

export const make: Effect.Effect<Mailbox> = Effect.map(Queue.unbounded<string>(), (queue) => ({
  offer: (text) => Effect.asVoid(Queue.offer(queue, text)),
  source: { pull: Queue.clear(queue), arrived: Effect.asVoid(Queue.peek(queue)) }
}))

export const layer = (mailbox: Mailbox): Layer.Layer<never> => Layer.succeed(SteerSource, mailbox.source)
