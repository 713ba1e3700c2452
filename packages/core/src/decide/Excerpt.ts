/**
 * An oversized result as it enters the conversation: head, one marker line, tail (L-ART-06).
 *
 * E1. Characters are code points; a cut never falls inside a surrogate pair or between CR and LF (J10).
 * E2. What is kept of the text has at most `limit` characters.
 * E3. The whole text is measured once and never copied into an array.
 */
import * as Data from "effect/Data"

export interface Cut {
  readonly head: string
  readonly tail: string
  /** Code points of the whole text. */
  readonly chars: number
  /** UTF-8 bytes of the whole text. */
  readonly bytes: number
  readonly elidedChars: number
}

/** Where the whole text is, or why it is nowhere. `digest`: SHA-256 of its UTF-8 bytes, hex. */
export type Whereabouts = Data.TaggedEnum<{
  Stored: { readonly file: string; readonly digest: string }
  /** No transcript, so no place beside it (L-ART-05). */
  NoPlace: { readonly digest: string }
  /** Writing it failed (L-ART-04). */
  StoreFailed: { readonly digest: string }
}>
export const Whereabouts = Data.taggedEnum<Whereabouts>()

/** `undefined`: the text is not longer than `limit` and stays as it is. */
export const cut = (text: string, limit: number): Cut | undefined => {
  if (text.length <= limit) return undefined
  const { bytes, chars } = measure(text)
  if (chars <= limit) return undefined
  const room = Math.max(0, Math.floor(limit))
  const headChars = Math.ceil((3 * room) / 4)
  const headEnd = wholeBefore(text, forward(text, headChars))
  const tailStart = wholeAfter(text, backward(text, room - headChars))
  const head = text.slice(0, headEnd)
  const tail = text.slice(tailStart)
  return { head, tail, chars, bytes, elidedChars: chars - measure(head).chars - measure(tail).chars }
}

/** The marker line a model reads. */
export const marker = (cut: Cut, where: Whereabouts): string => {
  const facts = `elided ${grouped(cut.elidedChars)} chars (${grouped(cut.bytes)} bytes total)`
  switch (where._tag) {
    case "Stored":
      return `[... ${facts}; full result: ${where.file} sha256 ${where.digest} ...]`
    case "NoPlace":
      return `[... ${facts}; full result not stored: there is no place to put it; sha256 ${where.digest} ...]`
    case "StoreFailed":
      return `[... ${facts}; full result not stored: it could not be stored; sha256 ${where.digest} ...]`
  }
}

export const render = (cut: Cut, where: Whereabouts): string => `${cut.head}\n${marker(cut, where)}\n${cut.tail}`

export const utf8Bytes = (text: string): number => measure(text).bytes

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff

/** True when the position lies between the two halves of one character. */
const insidePair = (text: string, at: number): boolean =>
  at > 0 && at < text.length && isHigh(text.charCodeAt(at - 1)) && isLow(text.charCodeAt(at))

const betweenCrLf = (text: string, at: number): boolean =>
  at > 0 && at < text.length && text.charCodeAt(at - 1) === 13 && text.charCodeAt(at) === 10

const measure = (text: string): { readonly chars: number; readonly bytes: number } => {
  let chars = 0
  let bytes = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    chars++
    if (unit < 0x80) bytes += 1
    else if (unit < 0x800) bytes += 2
    else if (insidePair(text, at + 1)) {
      bytes += 4
      at++
    } else bytes += 3
  }
  return { chars, bytes }
}

const forward = (text: string, chars: number): number => {
  let at = 0
  for (let n = 0; n < chars && at < text.length; n++) at += insidePair(text, at + 1) ? 2 : 1
  return at
}

const backward = (text: string, chars: number): number => {
  let at = text.length
  for (let n = 0; n < chars && at > 0; n++) at -= insidePair(text, at - 1) ? 2 : 1
  return at
}

const wholeBefore = (text: string, at: number): number => (betweenCrLf(text, at) ? at - 1 : at)
const wholeAfter = (text: string, at: number): number => (betweenCrLf(text, at) ? at + 1 : at)

const grouped = (value: number): string => String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ",")
