/**
 * Which orders of events a run may publish. Each rule is a small machine that sees every event; the first complaint is the
 * fault. The rules are in `internal/rules.ts`:
 *
 * numbering   seq counts from 0 without a gap, one run id, time never goes back
 * terminal    exactly one terminal event, and nothing after it (L-CANC-01)
 * start       RunStarted once, before every event of the driver
 * rounds      each round is the one after the last
 * attempts    tokens only inside an attempt; an attempt ends once, under its own number (L-STREAM-01)
 * turns       an AttemptSucceeded is followed by AssistantMessage and TurnCommitted, or by TurnDiscarded (L-LIM-03, -05)
 * calls       announced, started, answered or abandoned: once each, in this order (L-ROUND-15, L-TOOL-02)
 * asks        an answer has its question
 * compaction  started and done come in pairs, with nothing of the loop between them (L-ROUND-09)
 * parks       parked and resumed come in pairs, with nothing of the loop between them (L-PARK-11)
 * routes      a choice was offered before, in its round (L-ROUTE-06, -13)
 */
import * as RunEvent from "@settle/core/model/RunEvent"
import { rules } from "./internal/rules.ts"
import type { Watch } from "./internal/watch.ts"

export interface Fault {
  /** Index of the event that broke the rule; the number of events when the run just stopped too early. */
  readonly index: number
  readonly rule: string
  readonly problem: string
}

export interface Grammar {
  readonly see: (event: RunEvent.RunEvent) => Fault | undefined
  /** To ask once no event comes any more. */
  readonly end: () => Fault | undefined
}

export const make = (): Grammar => {
  const watches: ReadonlyArray<readonly [string, Watch]> = [...rules].map(([name, rule]) => [name, rule()])
  let index = 0
  const first = (ask: (watch: Watch) => string | undefined, at: number): Fault | undefined => {
    for (const [rule, watch] of watches) {
      const problem = ask(watch)
      if (problem !== undefined) return { index: at, rule, problem }
    }
    return undefined
  }
  return {
    see: (event) => first((watch) => watch.see(event), index++),
    end: () => first((watch) => watch.end?.(), index)
  }
}

/** The first fault of a whole run, or `undefined`. */
export const fault = (events: ReadonlyArray<RunEvent.RunEvent>): Fault | undefined => {
  const grammar = make()
  for (const event of events) {
    const found = grammar.see(event)
    if (found !== undefined) return found
  }
  return grammar.end()
}

/** The first fault of a run that is still going. */
export const faultSoFar = (events: ReadonlyArray<RunEvent.RunEvent>): Fault | undefined => {
  const grammar = make()
  for (const event of events) {
    const found = grammar.see(event)
    if (found !== undefined) return found
  }
  return undefined
}

/** A fault with the events that led to it. */
export const render = (found: Fault, events: ReadonlyArray<RunEvent.RunEvent>): string => {
  const from = Math.max(0, found.index - 12)
  const trail = events
    .slice(from, found.index + 1)
    .map((event, i) => `  ${from + i} ${JSON.stringify(RunEvent.toJson(event))}`)
  return [`event ${found.index} breaks the rule "${found.rule}": ${found.problem}`, ...trail].join("\n")
}
