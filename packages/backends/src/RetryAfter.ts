/**
 * How long a provider asks to wait, in milliseconds, from the headers and texts in use (X-WIRE-06). Pure: the caller brings the
 * time.
 *
 * A1. `undefined` means that nothing usable was said; a wait in the past is 0; no answer is more than a week.
 * A2. Of several waits the longest counts: a recorded server sends `retry-after-ms: 0` beside `retry-after: 1`.
 */
import * as Json from "@settle/core/model/Json"

const week = 7 * 24 * 3600 * 1000

const clamp = (ms: number): number | undefined =>
  Number.isNaN(ms) ? undefined : Math.min(week, Math.max(0, Math.round(ms)))

const longest = (waits: ReadonlyArray<number | undefined>): number | undefined =>
  waits.reduce(
    (most, wait) => (wait === undefined ? most : most === undefined ? wait : Math.max(most, wait)),
    undefined
  )

/** `Retry-After`: seconds, decimals allowed, or an HTTP date. */
export const parse = (value: string, nowMs: number): number | undefined => {
  const text = value.trim()
  if (/^[+-]?\d+(\.\d+)?$/.test(text)) return clamp(Number(text) * 1000)
  return /[a-z]{3}/i.test(text) ? clamp(Date.parse(text) - nowMs) : undefined
}

const parseMs = (value: string): number | undefined =>
  /^\d+(\.\d+)?$/.test(value.trim()) ? clamp(Number(value.trim())) : undefined

export const fromHeaders = (header: (name: string) => string | undefined, nowMs: number): number | undefined => {
  const ms = header("retry-after-ms")
  const plain = header("retry-after")
  return longest([ms === undefined ? undefined : parseMs(ms), plain === undefined ? undefined : parse(plain, nowMs)])
}

const units: ReadonlyMap<string, number> = new Map([
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000]
])

/** Durations as Go writes them: `174ms`, `4.77s`, `9m38.016s`. */
export const parseDuration = (text: string): number | undefined => {
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text)) return undefined
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)]
  return clamp(parts.reduce((sum, [, count, unit]) => sum + Number(count) * (units.get(unit ?? "") ?? 0), 0))
}

/** "Please try again in 4.77s": some providers say it only in words. */
export const fromText = (text: string): number | undefined => {
  const said = /(?:try again|retry) in ((?:\d+(?:\.\d+)?(?:ms|s|m|h))+)/i.exec(text)?.[1]
  return said === undefined ? undefined : parseDuration(said)
}

/** `error.details[].retryDelay`, where there is no header at all. */
export const fromDetails = (details: Json.Json | undefined): number | undefined => {
  if (!Array.isArray(details)) return undefined
  const waits = details.map((item) =>
    Json.isObject(item) && typeof item["retryDelay"] === "string" ? parseDuration(item["retryDelay"]) : undefined
  )
  return longest(waits)
}
