/** The rules of `EventGrammar`: one small machine each, and none reads another. */
import * as Canonical from "@settle/core/model/Canonical"
import * as RunEvent from "@settle/core/model/RunEvent"
import { calls } from "./callRule.ts"
import { brokeDown, type Rule } from "./watch.ts"

/** Published by others than the driver, at any time of a run. */
const fromOutside: ReadonlySet<RunEvent.Tag> = new Set<RunEvent.Tag>([
  "Log",
  "Subagent",
  "BackgroundOpStarted",
  "BackgroundOpSettled",
  "AskPending",
  "AskAnswered"
])

const numbering: Rule = () => {
  let next = 0
  let runId: string | undefined
  let last = -Infinity
  return {
    see: (event) => {
      if (event.seq !== next) return `seq is ${event.seq}, not ${next}`
      if (runId !== undefined && event.runId !== runId) return `run id is ${event.runId}, not ${runId}`
      if (event.ts < last) return `time went back from ${last} to ${event.ts}`
      next++
      runId = event.runId
      last = event.ts
      return undefined
    }
  }
}

const terminal: Rule = () => {
  let ended: string | undefined
  return {
    see: (event) => {
      if (ended !== undefined) return `${event._tag} after ${ended}`
      if (RunEvent.isTerminal(event)) ended = event._tag
      return undefined
    },
    end: () => (ended === undefined ? "no terminal event" : undefined)
  }
}

const start: Rule = () => {
  let started = false
  return {
    see: (event) => {
      if (event._tag !== "RunStarted") {
        return started || fromOutside.has(event._tag) ? undefined : `${event._tag} before RunStarted`
      }
      if (started) return "RunStarted twice"
      started = true
      return undefined
    }
  }
}

const rounds: Rule = () => {
  let current = 0
  let reentered = false
  return {
    see: (event) => {
      if (event._tag === "ToolCall" && current === 0) reentered = true
      if (event._tag !== "RoundStarted") return undefined
      const expected = current === 0 && reentered ? 2 : current + 1
      if (event.round !== expected) return `round ${event.round} where ${expected} is next`
      current = event.round
      return undefined
    }
  }
}

const attempts: Rule = () => {
  let round: number | undefined
  let last = 0
  let open = false
  let aborted = false
  const isOpen = (event: { readonly round?: number; readonly attempt?: number }) =>
    open && (event.round ?? round) === round && (event.attempt ?? last) === last
  return {
    see: (event) => {
      switch (event._tag) {
        case "RoundStarted":
          if (open) return `round ${event.round} starts inside attempt ${last}`
          round = event.round
          last = 0
          aborted = false
          return undefined
        case "AttemptStarted":
          if (open) return `attempt ${event.attempt} starts inside attempt ${last}`
          if (aborted) return `attempt ${event.attempt} after an abort`
          if (event.round !== round) return `an attempt of round ${event.round} in round ${round}`
          if (event.attempt !== last + 1) return `attempt ${event.attempt} where ${last + 1} is next`
          last = event.attempt
          open = true
          return undefined
        case "Token":
          return isOpen(event) ? undefined : "a token outside its attempt"
        case "AttemptFailed":
          if (!isOpen(event)) return `attempt ${event.attempt} failed and is not open`
          open = false
          aborted = event.disposition === "abort"
          return undefined
        case "AttemptSucceeded":
          if (!isOpen(event)) return `attempt ${event.attempt} succeeded and is not open`
          open = false
          return undefined
        case "TurnDiscarded":
          if (open && event.reason !== "cancelled")
            return `the turn is discarded (${event.reason}) inside attempt ${last}`
          open = false
          return undefined
        case "RunCompleted":
          return open ? `the run completed inside attempt ${last}` : undefined
        default:
          return undefined
      }
    }
  }
}

type Turn = "none" | "asked" | "succeeded" | "spoken" | "committed" | "discarded"

const turns: Rule = () => {
  let turn: Turn = "none"
  let limit = false
  const move = (from: ReadonlyArray<Turn>, to: Turn, tag: string) => {
    if (!from.includes(turn)) return `${tag} when the turn is ${turn}`
    turn = to
    return undefined
  }
  const settled = (event: RunEvent.RunEvent) => {
    if (turn === "spoken") return `${event._tag} between AssistantMessage and TurnCommitted`
    return turn === "succeeded" ? `${event._tag} after AttemptSucceeded: neither committed nor discarded` : undefined
  }
  return {
    see: (event) => {
      if (fromOutside.has(event._tag)) return undefined
      if (limit && !afterLimit(event)) return `${event._tag} after LimitReached`
      limit = event._tag === "LimitReached"
      switch (event._tag) {
        case "RoundStarted":
        case "AttemptStarted": {
          const problem = settled(event)
          if (event._tag === "AttemptStarted") return problem ?? move(["none"], "asked", event._tag)
          turn = "none"
          return problem
        }
        case "AttemptFailed":
          return move(["asked"], "none", event._tag)
        case "AttemptSucceeded":
          return move(["asked"], "succeeded", event._tag)
        case "AssistantMessage":
          return move(["succeeded"], "spoken", event._tag)
        case "TurnCommitted":
          return move(["spoken"], "committed", event._tag)
        case "TurnDiscarded":
          return move(["none", "asked", "succeeded"], "discarded", event._tag)
        case "RunCompleted":
        case "RunFailed":
        case "RunCancelled":
        case "RunParked":
          return settled(event)
        default:
          return turn === "spoken" ? settled(event) : undefined
      }
    }
  }
}

/** Native: the turn is discarded. Routed, known before asking: the run is complete (L-ROUTE-22). */
const afterLimit = (event: RunEvent.RunEvent): boolean =>
  event._tag === "TurnDiscarded"
    ? event.reason === "limit"
    : event._tag === "RunCompleted" && event.reason === "tool-limit"

const asks: Rule = () => {
  const open = new Map<string, number>()
  return {
    see: (event) => {
      if (event._tag !== "AskPending" && event._tag !== "AskAnswered") return undefined
      const key = Canonical.json(event.request)
      const count = (open.get(key) ?? 0) + (event._tag === "AskPending" ? 1 : -1)
      if (count < 0) return `an answer to a question nobody asked: ${key}`
      open.set(key, count)
      return undefined
    }
  }
}

/** What may stand between the two halves of a pair: words from outside, and the delivery of reports. */
const stays = (event: RunEvent.RunEvent) => fromOutside.has(event._tag)

const compaction: Rule = () => {
  let open = false
  return {
    see: (event) => {
      if (event._tag === "CompactionStarted") {
        if (open) return "CompactionStarted twice"
        open = true
        return undefined
      }
      if (event._tag === "CompactionDone") {
        if (!open) return "CompactionDone without CompactionStarted"
        open = false
        return undefined
      }
      if (!open || stays(event) || event._tag === "RunCancelled" || brokeDown(event)) return undefined
      return `${event._tag} inside a compaction`
    }
  }
}

const parks: Rule = () => {
  let open = false
  let due: "RunCancelled" | "RunFailed" | undefined
  return {
    see: (event) => {
      if (stays(event)) return undefined
      if (due !== undefined && event._tag !== due) return `${event._tag} where ${due} is due after the park`
      if (event._tag === "RunParked") {
        if (open) return "RunParked twice"
        open = true
        return undefined
      }
      if (event._tag === "RunResumed") {
        if (!open) return "RunResumed without RunParked"
        open = false
        due = event.reason === "cancelled" ? "RunCancelled" : event.reason === "idle" ? "RunFailed" : undefined
        return undefined
      }
      return open ? `${event._tag} inside a park` : undefined
    }
  }
}

const routes: Rule = () => {
  const offered = new Set<number>()
  return {
    see: (event) => {
      if (event._tag === "RouteOffered") offered.add(event.round)
      return event._tag === "RouteChosen" && !offered.has(event.round)
        ? `a choice in round ${event.round} without an offer`
        : undefined
    }
  }
}

export const rules: ReadonlyMap<string, Rule> = new Map(
  Object.entries({ numbering, terminal, start, rounds, attempts, turns, calls, asks, compaction, parks, routes })
)
