/**
 * What a run has spent, and which cap that reaches (L-CAP, L-ABS, X-SPEND).
 *
 * S1. Absent stays absent: a number appears only when somebody reported it, and is the sum over those who did (L-CAP-07, -08).
 * S2. Cached tokens are a part of the prompt and never add to the total (L-CAP-09).
 * S3. A cap is reached at exactly its value (L-CAP-12), so a cap of 0 allows nothing (X-SPEND-02).
 * S4. Working time excludes parked time, and another run's time is never absorbed (L-CAP-10, L-ABS-03).
 *
 * Times are milliseconds of one clock; `Spent` says seconds. Money is US dollars.
 */
import * as Data from "effect/Data"
import type { Spent } from "../model/RunOutcome.ts"
import * as Usage from "../model/Usage.ts"

export interface Spend {
  readonly startedAt: number
  readonly parkedMs: number
  readonly hasParked: boolean
  readonly totalTokens: number
  readonly complete: boolean
  readonly cost?: number
  readonly costComputed?: boolean
  readonly promptTokens?: number
  readonly completionTokens?: number
  readonly cachedPromptTokens?: number
  /** Handed out to children that have not settled. */
  readonly reservedCost: number
  readonly reservedTokens: number
}

export interface Caps {
  readonly maxCost?: number
  readonly maxTotalTokens?: number
  readonly maxWallClockMs?: number
}

export interface Reached {
  readonly cap: "cost" | "total-tokens" | "wall-clock"
  /** Dollars, tokens or seconds, as the cap is. */
  readonly spent: number
  readonly limit: number
}

export const start = (now: number): Spend => ({
  startedAt: now,
  parkedMs: 0,
  hasParked: false,
  totalTokens: 0,
  complete: true,
  reservedCost: 0,
  reservedTokens: 0
})

type Counted = Partial<Pick<Spend, "cost" | "promptTokens" | "completionTokens" | "cachedPromptTokens">>

/** Adds one settled send, failed ones too; `undefined` when it reported nothing (L-CAP-12). */
export const attempt = (self: Spend, usage: Usage.Usage | undefined): Spend =>
  add(self, {
    counted: usage ?? {},
    totalTokens: usage === undefined ? undefined : Usage.total(usage),
    partial: (usage?.promptTokens ?? 0) + (usage?.completionTokens ?? 0),
    complete: usage !== undefined && Usage.total(usage) !== undefined,
    costComputed: usage?.costComputed === true
  })

/** Adds another run's settled record; its wall clock and its parked time stay behind (L-ABS-01, -03). */
export const absorb = (self: Spend, spent: Spent): Spend =>
  add(self, {
    counted: spent,
    totalTokens: spent.totalTokens,
    partial: 0,
    complete: spent.complete,
    costComputed: spent.costComputed === true
  })

/** A run that goes on counting what its transcript already cost (X-SPEND-01): the usage of each recorded assistant turn. */
export const resume = (now: number, recorded: Iterable<Usage.Usage | undefined>): Spend => {
  let self = start(now)
  for (const usage of recorded) self = attempt(self, usage)
  return self
}

interface Addition {
  readonly counted: Counted
  readonly totalTokens: number | undefined
  /** The halves that are known, where no total is. */
  readonly partial: number
  readonly complete: boolean
  readonly costComputed: boolean
}

const add = (self: Spend, more: Addition): Spend => ({
  ...self,
  totalTokens: self.totalTokens + amount(more.totalTokens ?? more.partial),
  complete: self.complete && more.complete,
  ...sum("cost", self.cost, more.counted.cost),
  ...sum("promptTokens", self.promptTokens, more.counted.promptTokens),
  ...sum("completionTokens", self.completionTokens, more.counted.completionTokens),
  ...sum("cachedPromptTokens", self.cachedPromptTokens, more.counted.cachedPromptTokens),
  ...(more.costComputed && more.counted.cost !== undefined ? { costComputed: true } : {})
})

/** Cents stay cents: sums are rounded far below any price, so that ten times 0.1 reaches a cap of 1. */
const sum = (key: keyof Counted, before: number | undefined, more: number | undefined): Counted =>
  more === undefined ? {} : { [key]: Math.round(((before ?? 0) + amount(more)) * 1e10) / 1e10 }

const amount = (value: number): number => (Number.isFinite(value) && value > 0 ? value : 0)

export const park = (self: Spend, ms: number): Spend => ({
  ...self,
  hasParked: true,
  parkedMs: self.parkedMs + amount(ms)
})

/** Working time: elapsed less parked, whole milliseconds, never negative. */
export const workedMs = (self: Spend, now: number): number =>
  Math.max(0, Math.round(now - self.startedAt - self.parkedMs))

/** The first cap that is reached, in the order cost, tokens, time; `undefined` when none is. */
export const reached = (self: Spend, caps: Caps, now: number): Reached | undefined => {
  const cost = self.cost ?? 0
  if (caps.maxCost !== undefined && cost >= caps.maxCost) return { cap: "cost", spent: cost, limit: caps.maxCost }
  if (caps.maxTotalTokens !== undefined && self.totalTokens >= caps.maxTotalTokens) {
    return { cap: "total-tokens", spent: self.totalTokens, limit: caps.maxTotalTokens }
  }
  const worked = workedMs(self, now)
  return caps.maxWallClockMs !== undefined && worked >= caps.maxWallClockMs
    ? { cap: "wall-clock", spent: worked / 1000, limit: caps.maxWallClockMs / 1000 }
    : undefined
}

/** The record a run hands back (L-CAP-06). */
export const spent = (self: Spend, now: number): Spent => ({
  totalTokens: self.totalTokens,
  wallClock: workedMs(self, now) / 1000,
  complete: self.complete,
  ...(self.cost === undefined ? {} : { cost: self.cost }),
  ...(self.costComputed === undefined ? {} : { costComputed: self.costComputed }),
  ...(self.promptTokens === undefined ? {} : { promptTokens: self.promptTokens }),
  ...(self.completionTokens === undefined ? {} : { completionTokens: self.completionTokens }),
  ...(self.cachedPromptTokens === undefined ? {} : { cachedPromptTokens: self.cachedPromptTokens }),
  ...(self.hasParked ? { parkedSeconds: Math.round(self.parkedMs) / 1000 } : {})
})

/** Part of the parent's caps lent to one child. A key is absent where the parent has no such cap and the child asked for none. */
export interface Loan {
  readonly maxCost?: number
  readonly maxTotalTokens?: number
}

export type Reservation = Data.TaggedEnum<{
  Granted: { readonly spend: Spend; readonly loan: Loan }
  /** Nothing is left to lend. */
  Refused: { readonly reached: Reached }
}>
export const Reservation = Data.taggedEnum<Reservation>()

/** Reserves before a child starts, so that children side by side cannot overshoot together (X-SPEND-02, P8). */
export const reserve = (self: Spend, caps: Caps, asked: Loan): Reservation => {
  const cost = lend(caps.maxCost, (self.cost ?? 0) + self.reservedCost, asked.maxCost)
  const tokens = lend(caps.maxTotalTokens, self.totalTokens + self.reservedTokens, asked.maxTotalTokens)
  if (cost?.empty) return Reservation.Refused({ reached: { cap: "cost", ...cost.bound } })
  if (tokens?.empty) return Reservation.Refused({ reached: { cap: "total-tokens", ...tokens.bound } })
  return Reservation.Granted({
    spend: {
      ...self,
      reservedCost: self.reservedCost + (caps.maxCost === undefined ? 0 : (cost?.lent ?? 0)),
      reservedTokens: self.reservedTokens + (caps.maxTotalTokens === undefined ? 0 : (tokens?.lent ?? 0))
    },
    loan: {
      ...(cost === undefined ? {} : { maxCost: cost.lent }),
      ...(tokens === undefined ? {} : { maxTotalTokens: tokens.lent })
    }
  })
}

interface Lent {
  readonly lent: number
  readonly empty: boolean
  readonly bound: { readonly spent: number; readonly limit: number }
}

const lend = (max: number | undefined, used: number, asked: number | undefined): Lent | undefined => {
  if (max === undefined) {
    return asked === undefined ? undefined : { lent: asked, empty: false, bound: { spent: 0, limit: asked } }
  }
  const left = Math.max(0, max - used)
  return { lent: Math.min(asked ?? left, left), empty: left <= 0, bound: { spent: used, limit: max } }
}

/** The child settled: its loan goes back whole, and what it spent comes in through `absorb`. */
export const giveBack = (self: Spend, caps: Caps, loan: Loan): Spend => ({
  ...self,
  reservedCost: caps.maxCost === undefined ? 0 : Math.max(0, self.reservedCost - (loan.maxCost ?? 0)),
  reservedTokens: caps.maxTotalTokens === undefined ? 0 : Math.max(0, self.reservedTokens - (loan.maxTotalTokens ?? 0))
})
