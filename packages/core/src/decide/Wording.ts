/**
 * Every sentence of ours that a model reads, byte for byte, in one place.
 *
 * W1. A sentence about a call that never ran says that it did not run; one about a call whose answer never came says that whether it
 *     took effect is unknown. Neither speaks of failure (L-DL-05, L-CANC-08).
 */
import type { AbandonReason, UnknownReason } from "../model/Operation.ts"
import type { Idempotency } from "../model/Tool.ts"

/** L-LIM-02. */
export const limitReached =
  "Tool call limit reached. Do not call tools again. Answer using the information already available, and state if more tool work would be needed."

/** Answer to a call that was never handed over. */
export const neverRan = (reason: AbandonReason): string => {
  switch (reason) {
    case "cancelled":
      return "The run was cancelled before this call was started: it did not run."
    case "budget-exhausted":
      return "The run reached its spending cap before this call was started: it did not run."
    case "deadline":
      return "An earlier call of this turn did not return within its time, so this call was not started: it did not run."
  }
}

/** Answer to a call that was handed over and not heard of again. */
export const outcomeUnknown = (reason: UnknownReason): string => {
  switch (reason) {
    case "cancelled":
      return "The run was cancelled before this call returned: whether it took effect is unknown."
    case "deadline":
      return "This call did not return within the time allowed: whether it took effect is unknown."
    case "connection-lost":
      return "The connection to the tool was lost before this call returned: whether it took effect is unknown."
  }
}

/** Answer, written by the next process, to a call that was running when the last one died. */
export const interrupted = (idempotency: Idempotency): string =>
  `The process ended while this call was running: whether it took effect is unknown.${caution(idempotency)}`

const caution = (idempotency: Idempotency): string => {
  switch (idempotency) {
    case "read-only":
      return " It is classified as read-only, so asking again is harmless."
    case "idempotent":
      return " It is classified as idempotent: doing it again has the effect of doing it once."
    case "destructive":
      return " It is classified as destructive and may have taken effect: look before doing it again."
    case "unknown":
      return " Look before doing it again."
  }
}

/** Answer, written by the next process, to a call the last one had not started. */
export const neverStarted = "The process ended before this call was started: it did not run."

/** A probe found the effect of a call whose answer never came. */
export const landed =
  "This call did not return within the time allowed, and a check afterwards found that it took effect."

/** A probe found that a call whose work has ended left no effect. */
export const didNotLand =
  "This call did not return within the time allowed, and a check afterwards found that it did not take effect."

/** Goes behind `notAccepted`. */
export const argumentsNotAnObject = (given: string): string => {
  const points = [...given]
  const shown = points.length > 120 ? `${points.slice(0, 120).join("")}…` : given
  return `its arguments are not a JSON object (${shown}). Send the call again with an object that fits the tool's parameters.`
}

export const noResult = (tool: string): string => `The tool ${tool} answered without a result for this call.`

export const answerOfNoShape = (tool: string, given: string): string =>
  `The tool ${tool} answered with something that is no tool result: ${given}`

export const toolThrew = (tool: string, detail: string): string => `The tool ${tool} broke: ${detail}`

export const notAccepted = (tool: string, detail: string): string =>
  `The call to ${tool} was not accepted and did not run: ${detail}`

/** First line of an injected background turn when its producer gave none. */
export const injectedHead = (kind: string, operationId: string | undefined): string =>
  `[background event] This is an automated ${kind} report${operationId === undefined ? "" : ` about ${operationId}`}; the user has said nothing.`
