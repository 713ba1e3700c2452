/** What the conversation costs: tokens and money of all its runs, and how full the window is. Pure. */
import type * as RunEvent from "@settle/core/model/RunEvent"
import type { Spent } from "@settle/core/model/RunOutcome"
import * as Usage from "@settle/core/model/Usage"
import * as Figures from "../Figures.ts"

export interface Sum {
  readonly tokens: number
  /** `undefined` as long as nothing reported one. */
  readonly cost: number | undefined
}

export interface Meter {
  /** Runs that ended. */
  readonly past: Sum
  readonly runs: number
  /** The run that works, as its attempts reported it. */
  readonly live: Sum
  /** Tokens of the last request, with its answer where it was reported. */
  readonly context: number | undefined
}

const nothing: Sum = { tokens: 0, cost: undefined }

export const empty: Meter = { past: nothing, runs: 0, live: nothing, context: undefined }

/** Another session begins: its window is empty, the money is spent all the same. */
export const newSession = (self: Meter): Meter => ({ ...self, context: undefined })

const plus = (a: Sum, b: Sum): Sum => ({
  tokens: a.tokens + b.tokens,
  cost: a.cost === undefined && b.cost === undefined ? undefined : (a.cost ?? 0) + (b.cost ?? 0)
})

export const step = (self: Meter, event: RunEvent.RunEvent): Meter => {
  switch (event._tag) {
    case "RunStarted":
      return { ...self, live: nothing }
    case "RoundStarted":
      return event.tokens === undefined ? self : { ...self, context: event.tokens }
    case "AttemptSucceeded":
      return { ...billed(self, event.usage), context: Usage.total(event.usage) ?? self.context }
    case "AttemptFailed":
      return event.usage === undefined ? self : billed(self, event.usage)
    case "CompactionDone":
      return event.tokensAfter === undefined ? self : { ...self, context: event.tokensAfter }
    default:
      return self
  }
}

const billed = (self: Meter, usage: Usage.Usage): Meter => ({
  ...self,
  live: plus(self.live, { tokens: Usage.total(usage) ?? 0, cost: usage.cost })
})

/** The run's own account replaces what was added up while it worked. */
export const ended = (self: Meter, spent: Spent | undefined): Meter => ({
  ...self,
  past: plus(self.past, spent === undefined ? self.live : { tokens: spent.totalTokens, cost: spent.cost }),
  live: nothing,
  runs: self.runs + 1
})

/** For the status line; what is not known is left out. */
export const parts = (self: Meter, window: number | undefined): ReadonlyArray<string> => {
  const sum = plus(self.past, self.live)
  return [
    sum.tokens > 0 ? [`${Figures.count(sum.tokens)} tokens`] : [],
    sum.cost === undefined ? [] : [Figures.cost(sum.cost)],
    self.context === undefined || window === undefined ? [] : [`context ${percent(self.context, window)}`]
  ].flat()
}

const percent = (part: number, whole: number): string => `${Math.round((part / whole) * 100)} %`

/** For `/cost`. */
export const lines = (self: Meter, window: number | undefined): ReadonlyArray<string> => {
  const sum = plus(self.past, self.live)
  const money = sum.cost === undefined ? "no cost was reported" : Figures.cost(sum.cost)
  const spent = `  spent    ${Figures.count(sum.tokens)} tokens, ${money}, in ${Figures.plural(self.runs, "run")}`
  const context = self.context === undefined ? "nothing was sent yet" : `${Figures.count(self.context)} tokens`
  const of =
    window === undefined
      ? " (no window is configured)"
      : self.context === undefined
        ? ` of ${Figures.count(window)}`
        : ` of ${Figures.count(window)}, ${percent(self.context, window)}`
  return [spent, `  context  ${context}${of}`]
}
