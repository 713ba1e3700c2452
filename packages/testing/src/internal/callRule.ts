/**
 *          ToolCall            ToolStarted            ToolResult, ToolAbandoned (dispatched)
 * (none) ----------> announced ----------> inFlight ----------> (none)
 *                        | ToolAbandoned (not dispatched)
 *                        v
 *                      (none)
 *
 * Each round, and each run that did not break down, leaves no call open.
 */
import * as RunEvent from "@settle/core/model/RunEvent"
import { brokeDown, type Watch } from "./watch.ts"

type Phase = "announced" | "inFlight"

/** Why a call may have been left: one that was handed over is never out of budget, one that was not lost no connection. */
const reasons: Readonly<Record<"dispatched" | "never", ReadonlyArray<RunEvent.Of<"ToolAbandoned">["reason"]>>> = {
  dispatched: ["cancelled", "deadline", "connection-lost"],
  never: ["cancelled", "deadline", "budget-exhausted"]
}

export const calls = (): Watch => {
  const open = new Map<string, Phase>()
  let anyStarted = false
  let committed = false
  let asked = false

  const leave = (id: string, from: Phase, tag: string): string | undefined => {
    const phase = open.get(id)
    if (phase !== from) return `${tag} of ${id}, which is ${phase ?? "not open"}`
    open.delete(id)
    return undefined
  }
  const announce = (event: RunEvent.Of<"ToolCall">): string | undefined => {
    // Re-entered calls belong to a turn of the transcript: they come before anything was sent (L-TAIL-10).
    if (asked && !committed) return `ToolCall ${event.id} of a turn that was not committed`
    if (anyStarted) return `ToolCall ${event.id} after a call of the turn has started`
    if (open.has(event.id)) return `ToolCall ${event.id} twice`
    open.set(event.id, "announced")
    return undefined
  }
  const began = (event: RunEvent.Of<"ToolStarted">): string | undefined => {
    const problem = leave(event.id, "announced", event._tag)
    if (problem !== undefined) return problem
    open.set(event.id, "inFlight")
    anyStarted = true
    return undefined
  }
  const abandoned = (event: RunEvent.Of<"ToolAbandoned">): string | undefined => {
    if (!reasons[event.dispatched ? "dispatched" : "never"].includes(event.reason)) {
      return `${event.id} is abandoned as ${event.reason} with dispatched ${event.dispatched}`
    }
    return leave(event.id, event.dispatched ? "inFlight" : "announced", event._tag)
  }
  const noneOpen = (event: RunEvent.RunEvent): string | undefined => {
    for (const [id, phase] of open) return `${event._tag} while call ${id} is ${phase}`
    return undefined
  }
  return {
    see: (event) => {
      switch (event._tag) {
        case "RoundStarted":
          anyStarted = false
          committed = false
          return noneOpen(event)
        case "AttemptStarted":
          asked = true
          return undefined
        case "TurnCommitted":
          committed = true
          return undefined
        case "ToolCall":
          return announce(event)
        case "ToolStarted":
          return began(event)
        case "ToolProgress":
          return open.get(event.id) === "inFlight" ? undefined : `ToolProgress of ${event.id}, which is not in flight`
        case "ToolResult":
          return leave(event.id, "inFlight", event._tag)
        case "ToolAbandoned":
          return abandoned(event)
        case "RunFailed":
          return brokeDown(event) ? undefined : noneOpen(event)
        case "RunCompleted":
        case "RunCancelled":
        case "RunParked":
          return noneOpen(event)
        default:
          return undefined
      }
    }
  }
}
