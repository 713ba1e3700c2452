/**
 * When a server that died may be started again. Pure.
 *
 * B1. A start that failed costs a wait; the death of a connection that stood costs none at first. Each further failure doubles
 *     the wait, up to half a minute, and half a minute of standing forgets them all.
 * B2. Nothing is started for its own sake: the time only says what the next use may do.
 */

/** A connection that stood so long has forgotten its failures, milliseconds. */
const steady = 30_000
const first = 1_000
const longest = 30_000

export interface Failures {
  readonly count: number
  /** Time from which a start may be tried, milliseconds of the clock. */
  readonly retryAt: number
}

export const none: Failures = { count: 0, retryAt: 0 }

export interface Failure {
  readonly now: number
  /** How long the connection stood, milliseconds; `undefined` when there never was one. */
  readonly stoodFor: number | undefined
}

export const failed = (before: Failures, failure: Failure): Failures => {
  const stood = failure.stoodFor
  const count = stood !== undefined && stood >= steady ? 1 : before.count + 1
  const doublings = stood === undefined ? count - 1 : count - 2
  const wait = doublings < 0 ? 0 : Math.min(longest, first * 2 ** Math.min(doublings, 20))
  return { count, retryAt: failure.now + wait }
}

/** Milliseconds to wait still; 0 when it may be tried. */
export const left = (failures: Failures, now: number): number => Math.max(0, failures.retryAt - now)
