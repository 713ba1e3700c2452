/**
 * One tool call, from "the model asked" to "what we know about what happened".
 *
 *        dispatch            settle
 * Proposed ------> Dispatched ------> Completed | Failed | OutcomeUnknown
 *    |
 *    | abandon
 *    v
 * Abandoned
 *
 * O1. `Abandoned` is reachable from `Proposed` only: it claims that nothing happened (O-STATE-04).
 * O2. A terminal state absorbs every further input (O-TRANS-02).
 * O3. No deadline, cancel or loss turns an unanswered call into `Failed` (O-STATE-06); only a provider's own word that the call was
 *     never accepted does (X-CANC-04).
 * O4. Working time excludes every moment in which a human was being asked (O-TIME-03).
 *
 * Times are milliseconds of one clock.
 */
import * as Schema from "effect/Schema"

const called = {
  callId: Schema.String,
  tool: Schema.String,
  /** Canonical comparison text, not the wire text (O-ID-02). */
  arguments: Schema.String,
  idempotency: Schema.Literals(["read-only", "idempotent", "destructive", "unknown"]),
  /** Before dispatch the operation's own id; with a transcript, the id of its tool-dispatched line (O-ID-01). */
  operationId: Schema.String
}

const handedOver = {
  ...called,
  dispatchedAt: Schema.Finite,
  /** Closed ask spans. */
  askedMs: Schema.Finite
}

const settled = { ...handedOver, settledAt: Schema.Finite }

export const UnknownReason = Schema.Literals(["deadline", "cancelled", "connection-lost"])
export type UnknownReason = typeof UnknownReason.Type
export const AbandonReason = Schema.Literals(["deadline", "cancelled", "budget-exhausted"])
export type AbandonReason = typeof AbandonReason.Type

export const Operation = Schema.TaggedUnion({
  Proposed: called,
  Dispatched: { ...handedOver, askDepth: Schema.Int, askSince: Schema.Finite },
  Completed: { ...settled, resultDigest: Schema.String },
  Failed: {
    ...settled,
    resultDigest: Schema.String,
    errorText: Schema.String,
    reason: Schema.optionalKey(Schema.Literal("not-accepted"))
  },
  OutcomeUnknown: { ...settled, reason: UnknownReason },
  Abandoned: { ...called, reason: AbandonReason }
})
export type Operation = typeof Operation.Type
type In<Tag extends Operation["_tag"]> = Extract<Operation, { readonly _tag: Tag }>

export const Input = Schema.TaggedUnion({
  Dispatch: { at: Schema.Finite, operationId: Schema.optionalKey(Schema.String) },
  AskBegan: { at: Schema.Finite },
  AskEnded: { at: Schema.Finite },
  Answered: { at: Schema.Finite, isError: Schema.Boolean, resultDigest: Schema.String, errorText: Schema.String },
  NotAccepted: { at: Schema.Finite, resultDigest: Schema.String, errorText: Schema.String },
  GaveUp: { at: Schema.Finite, reason: UnknownReason },
  Abandon: { reason: AbandonReason }
})
export type Input = typeof Input.Type

export interface Proposal {
  readonly callId: string
  readonly tool: string
  readonly arguments: string
  readonly idempotency: In<"Proposed">["idempotency"]
  readonly operationId: string
}

export const propose = (proposal: Proposal): Operation => ({ _tag: "Proposed", ...proposal })

/** `undefined` means "too late" or "not from here": the caller lost and does nothing (O-TRANS-01). */
export const step = (self: Operation, input: Input): Operation | undefined => {
  switch (self._tag) {
    case "Proposed":
      return fromProposed(self, input)
    case "Dispatched":
      return fromDispatched(self, input)
    case "Completed":
    case "Failed":
    case "OutcomeUnknown":
    case "Abandoned":
      return undefined
  }
}

const fromProposed = (self: In<"Proposed">, input: Input): Operation | undefined => {
  switch (input._tag) {
    case "Dispatch":
      return {
        ...self,
        _tag: "Dispatched",
        operationId: input.operationId ?? self.operationId,
        dispatchedAt: input.at,
        askedMs: 0,
        askDepth: 0,
        askSince: 0
      }
    case "Abandon":
      return { ...self, _tag: "Abandoned", reason: input.reason }
    case "AskBegan":
    case "AskEnded":
    case "Answered":
    case "NotAccepted":
    case "GaveUp":
      return undefined
  }
}

const fromDispatched = (self: In<"Dispatched">, input: Input): Operation | undefined => {
  switch (input._tag) {
    case "AskBegan":
      return { ...self, askDepth: self.askDepth + 1, askSince: self.askDepth === 0 ? input.at : self.askSince }
    case "AskEnded":
      return askEnded(self, input.at)
    case "Answered":
      return input.isError
        ? { ...close(self, input.at), _tag: "Failed", resultDigest: input.resultDigest, errorText: input.errorText }
        : { ...close(self, input.at), _tag: "Completed", resultDigest: input.resultDigest }
    case "NotAccepted":
      return {
        ...close(self, input.at),
        _tag: "Failed",
        reason: "not-accepted",
        resultDigest: input.resultDigest,
        errorText: input.errorText
      }
    case "GaveUp":
      return { ...close(self, input.at), _tag: "OutcomeUnknown", reason: input.reason }
    case "Dispatch":
    case "Abandon":
      return undefined
  }
}

const askEnded = (self: In<"Dispatched">, at: number): Operation | undefined => {
  if (self.askDepth === 0) return undefined
  if (self.askDepth > 1) return { ...self, askDepth: self.askDepth - 1 }
  return { ...self, askDepth: 0, askedMs: self.askedMs + Math.max(0, at - self.askSince) }
}

/** A settle closes an ask that is still open. */
const close = (self: In<"Dispatched">, at: number) => ({
  callId: self.callId,
  tool: self.tool,
  arguments: self.arguments,
  idempotency: self.idempotency,
  operationId: self.operationId,
  dispatchedAt: self.dispatchedAt,
  askedMs: askedMs(self, at),
  settledAt: at
})

/** Milliseconds a human was asked so far, an open question included. */
export const askedMs = (self: Operation, now: number): number => {
  switch (self._tag) {
    case "Proposed":
    case "Abandoned":
      return 0
    case "Dispatched":
      return self.askedMs + (self.askDepth > 0 ? Math.max(0, now - self.askSince) : 0)
    case "Completed":
    case "Failed":
    case "OutcomeUnknown":
      return self.askedMs
  }
}

/** The clock of the deadline: time since dispatch less ask time; 0 before dispatch, frozen at settle, never negative (O-TIME-03). */
export const workingMs = (self: Operation, now: number): number => {
  switch (self._tag) {
    case "Proposed":
    case "Abandoned":
      return 0
    case "Dispatched":
      return Math.max(0, now - self.dispatchedAt - askedMs(self, now))
    case "Completed":
    case "Failed":
    case "OutcomeUnknown":
      return Math.max(0, self.settledAt - self.dispatchedAt - self.askedMs)
  }
}

/** Milliseconds between dispatch and settle, once both happened (O-TIME-01). */
export const durationMs = (self: Operation): number | undefined =>
  hasEnvelope(self) ? self.settledAt - self.dispatchedAt : undefined

const hasEnvelope = Operation.isAnyOf(["Completed", "Failed", "OutcomeUnknown"])

export const isSettled = Operation.isAnyOf(["Completed", "Failed", "OutcomeUnknown", "Abandoned"])

export type Outcome = "completed" | "failed" | "outcome-unknown"
export const outcomes: ReadonlyArray<Outcome> = ["completed", "failed", "outcome-unknown"]

/** The durable name of a settled state; `undefined` before the end and for `Abandoned`, which has no envelope. */
export const outcome = (self: Operation): Outcome | undefined => {
  switch (self._tag) {
    case "Completed":
      return "completed"
    case "Failed":
      return "failed"
    case "OutcomeUnknown":
      return "outcome-unknown"
    case "Proposed":
    case "Dispatched":
    case "Abandoned":
      return undefined
  }
}

/** Identity for the identical-call guard: the tool, NUL, the canonical arguments. */
export const signature = (self: { readonly tool: string; readonly arguments: string }): string =>
  `${self.tool}\u0000${self.arguments}`

/** First non-blank line of an error, at most 200 characters and an ellipsis. */
export const errorText = (content: string): string => {
  const line =
    content
      .split(/\r\n|\r|\n/)
      .find((l) => l.trim() !== "")
      ?.trim() ?? ""
  const points = [...line]
  return points.length > 200 ? `${points.slice(0, 200).join("")}…` : line
}
