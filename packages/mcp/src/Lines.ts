/**
 * Bytes of a pipe, cut into lines. Chunks are joined once for each line, so a line of many megabytes costs its own length and not
 * its square (M13).
 *
 * N1. A character split over two reads arrives whole; CRLF and a byte order mark are not part of a line (M1).
 * N2. No more than `limit` bytes of an unfinished line are ever held; a longer one is reported as `TooLong`, once.
 */
import * as Data from "effect/Data"

export type Cut = Data.TaggedEnum<{
  Line: { readonly text: string }
  TooLong: { readonly bytes: number }
}>
export const Cut = Data.taggedEnum<Cut>()

export interface Lines {
  /** The lines that this read completed. */
  readonly push: (chunk: Uint8Array) => ReadonlyArray<Cut>
  /** The stream ended: what stands there without an end of line, if anything. */
  readonly end: () => ReadonlyArray<Cut>
}

const newline = 0x0a

export const make = (limit: number): Lines => {
  let held: Array<Uint8Array> = []
  let heldBytes = 0
  let overlong = false

  const take = (last: Uint8Array): ReadonlyArray<Cut> => {
    const bytes = Buffer.concat([...held, last], heldBytes + last.byteLength)
    held = []
    heldBytes = 0
    const skipped = overlong
    overlong = false
    if (skipped) return []
    if (bytes.byteLength > limit) return [Cut.TooLong({ bytes: bytes.byteLength })]
    const text = clean(bytes)
    return text === "" ? [] : [Cut.Line({ text })]
  }

  const hold = (rest: Uint8Array): ReadonlyArray<Cut> => {
    if (rest.byteLength === 0 || overlong) return []
    held.push(rest)
    heldBytes += rest.byteLength
    if (heldBytes <= limit) return []
    const bytes = heldBytes
    held = []
    heldBytes = 0
    overlong = true
    return [Cut.TooLong({ bytes })]
  }

  return {
    push: (chunk) => {
      const cuts: Array<Cut> = []
      let from = 0
      for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, from)) {
        cuts.push(...take(chunk.subarray(from, at)))
        from = at + 1
      }
      cuts.push(...hold(chunk.subarray(from)))
      return cuts
    },
    end: () => take(new Uint8Array(0))
  }
}

const clean = (bytes: Buffer): string =>
  bytes
    .toString("utf8")
    .replace(/^\uFEFF/, "")
    .trim()
