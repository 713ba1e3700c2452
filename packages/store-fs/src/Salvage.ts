/**
 * What can be saved of a bad line. Pure.
 *
 * A raw NUL cannot stand inside a record, and `{"v":1,"type":"` cannot stand inside a JSON string: both are safe places to cut. Where
 * the second may be a value inside a torn record nothing is cut and nothing is guessed.
 */
import { isUtf8 } from "node:buffer"
import * as Json from "@settle/core/model/Json"

/** How every record of ours begins. */
const marker = Buffer.from('{"v":1,"type":"')

export interface Salvaged {
  readonly records: ReadonlyArray<{ readonly value: Json.Json; readonly text: string }>
  readonly problems: ReadonlyArray<string>
  /** End of the last record, in bytes of the input; 0 without one. */
  readonly keep: number
}

/** Every record in a bad line, and a word for all the rest. `nuls` were in front of the bytes. */
export const salvage = (bytes: Buffer, nuls: number): Salvaged => {
  const records: Array<Salvaged["records"][number]> = []
  const problems: Array<string> = []
  let keep = 0
  let zeros = nuls
  for (let at = 0; at < bytes.length;) {
    const zero = bytes.indexOf(0, at)
    const stop = zero < 0 ? bytes.length : zero
    for (const [from, to] of pieces(bytes, at, stop)) {
      const piece = bytes.subarray(from, to)
      const text = piece.toString("utf8").trim()
      if (text === "") continue
      const value = Json.parse(text)
      if (value === undefined) {
        problems.push(`not a record: ${quote(text)}`)
        continue
      }
      records.push({ value, text })
      keep = to
      if (!isUtf8(piece)) problems.push("bytes that are not UTF-8 were read as U+FFFD")
    }
    at = stop
    while (at < bytes.length && bytes[at] === 0) {
      zeros++
      at++
    }
  }
  if (zeros > 0) problems.push(`${zeros} NUL byte${zeros === 1 ? "" : "s"}, as a lost write leaves them`)
  if (records.length > 1) problems.push(`${records.length} records stand on one line`)
  return { records, problems, keep }
}

/** One piece when it is a record as a whole; else cut before each place where another record begins. */
const pieces = (bytes: Buffer, from: number, to: number): ReadonlyArray<readonly [number, number]> => {
  const whole = bytes.subarray(from, to)
  if (Json.parse(whole.toString("utf8").trim()) !== undefined) return [[from, to]]
  const cuts = [from]
  for (let at = whole.indexOf(marker, 1); at >= 0; at = whole.indexOf(marker, at + 1)) {
    if (!isNested(whole, at)) cuts.push(from + at)
  }
  return cuts.map((cut, index) => [cut, cuts[index + 1] ?? to] as const)
}

/** After `:`, `,` or `[` it may be a value inside a torn record: no record of ours, and never taken for one. */
const isNested = (bytes: Buffer, at: number): boolean => {
  let before = at - 1
  while (before >= 0 && bytes[before] === 32) before--
  return before >= 0 && ":,[".includes(String.fromCharCode(bytes[before] ?? 0))
}

const quote = (text: string): string => JSON.stringify(text.length > 80 ? `${text.slice(0, 80).toWellFormed()}…` : text)

/** True for the first bytes of a record, with NUL behind them perhaps; for none too. */
export const isStart = (bytes: Buffer): boolean => {
  const bare = bytes.subarray(0, bytes.indexOf(0) < 0 ? bytes.length : bytes.indexOf(0))
  const length = Math.min(bare.length, marker.length)
  return bare.subarray(0, length).equals(marker.subarray(0, length))
}
