/** How long one wait between two sends is: min(2^(n-1) + jitter, cap) seconds (L-FAIL-07). */

/** Upper bound of the jitter, in milliseconds. */
export const maxJitterMs = 500

/** `unit` is a random number in [0, 1). */
export const jitterMs = (unit: number): number => Math.max(0, Math.min(1, unit)) * maxJitterMs

export interface Wait {
  /** How many sends to this backend have failed, from 1. */
  readonly attempt: number
  readonly jitterMs: number
  readonly capMs: number
}

export const ms = (wait: Wait): number =>
  Math.min(2 ** Math.max(0, wait.attempt - 1) * 1000 + Math.max(0, wait.jitterMs), wait.capMs)
