/**
 * Where native tool calling and schema routing differ: the functions both answer. Chosen once per run, so no engine file asks which
 * one is in force.
 */
import type * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type * as Limits from "../decide/Limits.ts"
import type { SuspectReason } from "../model/AttemptRecord.ts"
import type { Message, Part, ToolCall } from "../model/Message.ts"
import type { RunFailure } from "../model/RunFailure.ts"
import type { Reply, Request } from "../port/Backend.ts"
import type { Live } from "./Live.ts"
import type { RoundOutcome } from "./RoundOutcome.ts"

export type Prepared = Data.TaggedEnum<{
  Ask: { readonly request: Request }
  /** Known before asking: no request is sent. */
  Leave: { readonly outcome: RoundOutcome }
}>

/** A reply that its attempt succeeded with. */
export interface Heard {
  readonly reply: Reply
  readonly attempt: number
  readonly latencyMs: number
}

/** What one reply turned out to be. */
export interface Turn {
  readonly message: Message
  readonly calls: ReadonlyArray<ToolCall>
}

export interface Answering {
  readonly call: ToolCall
  readonly content: string
  readonly kind: "result" | "error" | "unanswered"
  readonly parts?: ReadonlyArray<Part>
}

/** A reply this style cannot accept; its attempt failed. */
export interface Rejected {
  readonly reason: SuspectReason
  readonly detail: string
}

export interface TurnStyle {
  /** The next request as it would be sent now, for whoever weighs it. */
  readonly outlook: (live: Live) => Request
  readonly prepare: (live: Live) => Effect.Effect<Prepared, RunFailure>
  /** Whether a call in a reply is a call. Where it is none, a reply of calls alone is empty (L-EMPTY-01). */
  readonly takesCalls: (live: Live) => boolean
  /** Asked before an attempt counts as a success (L-ROUTE-12). */
  readonly reject: (live: Live, reply: Reply) => Rejected | undefined
  readonly interpret: (live: Live, heard: Heard) => Turn
  readonly answer: (answering: Answering) => Message
  /** A turn that asks for nothing more. `undefined` goes on to the ordinary end of a turn. */
  readonly onQuietTurn: (live: Live, turn: Turn) => Effect.Effect<RoundOutcome | undefined, RunFailure>
  readonly onLimit: (
    live: Live,
    reached: Extract<Limits.Verdict, { readonly _tag: "Reached" }>
  ) => Effect.Effect<RoundOutcome, RunFailure>
}
