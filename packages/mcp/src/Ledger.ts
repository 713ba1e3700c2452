/**
 * The requests of one connection: which are open, and what became of writing them.
 *
 * G1. An answer is passed on at most once, and only to a request that is open: a second answer, an unknown id and an answer after
 *     a cancel change nothing and are counted (M9).
 * G2. A request is `not-accepted` only when its last byte certainly never left this process, or the server said so (X-CANC-04).
 */
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js"

export type Fate = "not-accepted" | "unknown"

export interface Ledger {
  /** A message is about to be written. */
  readonly sending: (message: JSONRPCMessage) => void
  /** It certainly did not arrive. */
  readonly unsent: (message: JSONRPCMessage) => void
  readonly isOpen: (id: number) => boolean
  /** Closes the request of that id; false when there is none open. */
  readonly answered: (id: number) => boolean
  /** Forgets which request was written last. */
  readonly mark: () => void
  /** Id of the request written since `mark`; both are called in one turn around the SDK's request, so it is that one. */
  readonly last: () => number | undefined
  /** Read once, after a request failed. `undefined` id: it was never written at all. */
  readonly fate: (id: number | undefined) => Fate
  /** Answers that belonged to nobody. */
  readonly strays: () => number
}

export const make = (): Ledger => {
  const open = new Set<number>()
  const unsent = new Set<number>()
  let last: number | undefined = undefined
  let strays = 0
  return {
    sending: (message) => {
      const id = requestId(message)
      if (id !== undefined) {
        open.add(id)
        last = id
        return
      }
      const cancelled = cancelledId(message)
      if (cancelled !== undefined) open.delete(cancelled)
    },
    unsent: (message) => {
      const id = requestId(message)
      if (id === undefined) return
      open.delete(id)
      unsent.add(id)
    },
    isOpen: (id) => open.has(id),
    answered: (id) => {
      if (open.delete(id)) return true
      strays++
      return false
    },
    mark: () => {
      last = undefined
    },
    last: () => last,
    fate: (id) => {
      if (id === undefined) return "not-accepted"
      open.delete(id)
      return unsent.delete(id) ? "not-accepted" : "unknown"
    },
    strays: () => strays
  }
}

export const requestId = (message: JSONRPCMessage): number | undefined =>
  "method" in message && "id" in message && typeof message.id === "number" ? message.id : undefined

export const cancelledId = (message: JSONRPCMessage): number | undefined => {
  if (!("method" in message) || message.method !== "notifications/cancelled") return undefined
  const id: unknown = message.params?.["requestId"]
  return typeof id === "number" ? id : undefined
}
