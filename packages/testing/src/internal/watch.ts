/** What a rule of the event grammar is. */
import type * as RunEvent from "@settle/core/model/RunEvent"

/** Answers what is wrong, or `undefined`. */
export interface Watch {
  readonly see: (event: RunEvent.RunEvent) => string | undefined
  readonly end?: () => string | undefined
}
export type Rule = () => Watch

/** A run that failed on its own record, on a spent chain or by a bug may leave a pair open. */
export const brokeDown = (event: RunEvent.RunEvent): boolean =>
  event._tag === "RunFailed" && (event.reason === undefined || event.reason === "transcript-failed")
