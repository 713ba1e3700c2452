/** Numbers as people read them. Pure. */
import type { Spent } from "@settle/core/model/RunOutcome"

/** Milliseconds: `0.3 s`, `42 s`, `2 min 5 s`, `1 h 3 min`. */
export const duration = (ms: number): string => {
  const seconds = Math.max(0, ms) / 1000
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole} s`
  const minutes = Math.floor(whole / 60)
  if (minutes < 60) return whole % 60 === 0 ? `${minutes} min` : `${minutes} min ${whole % 60} s`
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** `12,345`. */
export const count = (value: number): string =>
  Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ",")

/** `1 call`, `3 calls`. */
export const plural = (value: number, noun: string): string => `${count(value)} ${noun}${value === 1 ? "" : "s"}`

/** US dollars: `$1.20`, `$0.0042`. */
export const cost = (value: number): string => `$${value >= 0.1 || value === 0 ? value.toFixed(2) : value.toFixed(4)}`

/** The last line of a run: rounds, tokens, money, working time. */
export const spend = (rounds: number, spent: Spent | undefined): string => {
  const parts = [plural(rounds, "round")]
  if (spent !== undefined) {
    if (spent.totalTokens > 0)
      parts.push(`${count(spent.totalTokens)} tokens${spent.complete ? "" : " (some sends reported none)"}`)
    if (spent.cost !== undefined)
      parts.push(`${cost(spent.cost)}${spent.costComputed === true ? " by list price" : ""}`)
    parts.push(duration(spent.wallClock * 1000))
  }
  return parts.join(" · ")
}
