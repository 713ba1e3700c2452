/**
 * The calls that are being waited for, and the questions open about them. One group at a time, so a question belongs to every call
 * of it (L-DL-11).
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Settlement } from "./Settlement.ts"

export interface InFlight {
  readonly enter: (group: ReadonlyArray<Settlement>) => void
  readonly leave: () => void
  readonly has: (callId: string) => boolean
  readonly askBegan: (at: number) => void
  readonly askEnded: (at: number) => void
  /** Completes when no question is open. */
  readonly asksClosed: Effect.Effect<void>
}

export const make = (): InFlight => {
  let group: ReadonlyArray<Settlement> = []
  let asks = 0
  let closed: Deferred.Deferred<void> | undefined
  return {
    enter: (next) => {
      group = next
    },
    leave: () => {
      group = []
    },
    has: (callId) => group.some((settlement) => settlement.call.id === callId),
    askBegan: (at) => {
      asks++
      closed ??= Deferred.makeUnsafe<void>()
      for (const settlement of group) settlement.askBegan(at)
    },
    askEnded: (at) => {
      asks--
      for (const settlement of group) settlement.askEnded(at)
      if (asks > 0 || closed === undefined) return
      const waited = closed
      closed = undefined
      // Last: whoever waits may run at once inside it.
      Deferred.doneUnsafe(waited, Exit.void)
    },
    asksClosed: Effect.suspend(() => (closed === undefined ? Effect.void : Deferred.await(closed)))
  }
}
