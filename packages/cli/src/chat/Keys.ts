/**
 * What a terminal sends, as keys. Pure.
 *
 * K1. A sequence may come in any pieces: an unfinished one waits for its rest.
 * K2. A paste is one key, whatever is in it: nothing in it acts, and it ends only where the terminal says so.
 * K3. An escape that nothing follows is the Esc key; only `flush`, after a pause, can tell. One with a letter that Alt does nothing to
 *     is the Esc key and that letter: they may have come together from a fast hand, and a stop is never lost.
 * K4. A sequence nobody knows is swallowed whole; its bytes are never taken for text.
 */
import * as Data from "effect/Data"

export type Name =
  | "enter"
  | "newline"
  | "tab"
  | "escape"
  | "interrupt"
  | "end-of-input"
  | "suspend"
  | "redraw"
  | "backspace"
  | "delete"
  | "delete-word"
  | "delete-to-start"
  | "delete-to-end"
  | "restore"
  | "left"
  | "right"
  | "word-left"
  | "word-right"
  | "up"
  | "down"
  | "home"
  | "end"

export type Key = Data.TaggedEnum<{
  /** Printable text, in the pieces it came in. */
  Text: { readonly text: string }
  Paste: { readonly text: string }
  Named: { readonly name: Name }
}>
export const Key = Data.taggedEnum<Key>()

export interface Keys {
  /** What is not finished yet. */
  readonly rest: string
  /** What was pasted so far, while a paste is open. */
  readonly pasted: string | undefined
}

export const empty: Keys = { rest: "", pasted: undefined }

const pasteStart = "\u001b[200~"
const pasteEnd = "\u001b[201~"

type Fed = readonly [Keys, ReadonlyArray<Key>]

/** Takes what came; answers the keys that are whole. */
export const feed = (self: Keys, text: string): Fed => {
  const keys: Array<Key> = []
  let { pasted } = self
  let rest = self.rest + text
  while (rest !== "") {
    if (pasted !== undefined) {
      const read = pasting(pasted, rest)
      if (read.end === undefined) return [{ pasted: read.pasted, rest: read.rest }, keys]
      keys.push(Key.Paste({ text: read.end }))
      pasted = undefined
      rest = read.rest
      continue
    }
    const [key, length] = first(rest)
    if (length === 0) break
    rest = rest.slice(length)
    if (key === "paste") pasted = ""
    else if (key !== undefined) keys.push(key)
  }
  return [{ rest, pasted }, keys]
}

/** After a pause: an escape that waited is the Esc key, and half a sequence is dropped. An open paste stays open. */
export const flush = (self: Keys): Fed =>
  self.pasted !== undefined || self.rest === ""
    ? [self, []]
    : [empty, self.rest === "\u001b" || self.rest === "\u001b\u001b" ? [named("escape")] : []]

/** Whether a pause would tell more. */
export const isWaiting = (self: Keys): boolean => self.rest !== "" && self.pasted === undefined

interface Pasting {
  readonly pasted: string
  readonly rest: string
  /** The whole paste, once it ended. */
  readonly end: string | undefined
}

const pasting = (pasted: string, rest: string): Pasting => {
  const end = rest.indexOf(pasteEnd)
  if (end >= 0) return { pasted: "", rest: rest.slice(end + pasteEnd.length), end: pasted + rest.slice(0, end) }
  const kept = overlap(rest, pasteEnd)
  return { pasted: pasted + rest.slice(0, rest.length - kept), rest: rest.slice(rest.length - kept), end: undefined }
}

/** How many characters at the end of `text` may be the beginning of `mark`. */
const overlap = (text: string, mark: string): number => {
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length--) {
    if (text.endsWith(mark.slice(0, length))) return length
  }
  return 0
}

const named = (name: Name): Key => Key.Named({ name })

/** The first key and its length; length 0 when it is not whole, no key when it means nothing. */
const first = (text: string): readonly [Key | "paste" | undefined, number] => {
  const code = text.charCodeAt(0)
  if (code === 0x1b) return escaped(text)
  if (code < 0x20 || code === 0x7f) return [control(text[0] ?? ""), 1]
  const length = /[\u0000-\u001f\u007f]/.exec(text)?.index ?? text.length
  return [Key.Text({ text: text.slice(0, length) }), length]
}

const controls: ReadonlyMap<string, Name> = new Map([
  ["\r", "enter"],
  ["\n", "newline"],
  ["\t", "tab"],
  ["\u0001", "home"],
  ["\u0002", "left"],
  ["\u0003", "interrupt"],
  ["\u0004", "end-of-input"],
  ["\u0005", "end"],
  ["\u0006", "right"],
  ["\u0008", "backspace"],
  ["\u007f", "backspace"],
  ["\u000b", "delete-to-end"],
  ["\u000c", "redraw"],
  ["\u000e", "down"],
  ["\u0010", "up"],
  ["\u0015", "delete-to-start"],
  ["\u0017", "delete-word"],
  ["\u0019", "restore"],
  ["\u001a", "suspend"]
])

const control = (character: string): Key | undefined => {
  const name = controls.get(character)
  return name === undefined ? undefined : named(name)
}

/** With Alt, as terminals send it: an escape in front. */
const alts: ReadonlyMap<string, Name> = new Map([
  ["\r", "newline"],
  ["\n", "newline"],
  ["b", "word-left"],
  ["f", "word-right"],
  ["\u007f", "delete-word"],
  ["\u0008", "delete-word"]
])

const sequences: ReadonlyMap<string, Name> = new Map([
  ["A", "up"],
  ["B", "down"],
  ["C", "right"],
  ["D", "left"],
  ["H", "home"],
  ["F", "end"],
  ["1~", "home"],
  ["7~", "home"],
  ["4~", "end"],
  ["8~", "end"],
  ["3~", "delete"],
  ["1;3D", "word-left"],
  ["1;5D", "word-left"],
  ["1;3C", "word-right"],
  ["1;5C", "word-right"],
  ["13;2u", "newline"],
  ["13;3u", "newline"],
  ["27;2;13~", "newline"],
  ["27;3;13~", "newline"],
  ["27u", "escape"]
])

/** Longer than any sequence a keyboard sends: such a thing is no sequence. */
const longest = 32

/** Some terminals send a sequence with Alt like this: it is no Esc, which would stop a run. */
const doubled = (text: string): readonly [Key | "paste" | undefined, number] => {
  if (text.length === 2) return [undefined, 0]
  if (text[2] !== "[" && text[2] !== "O") return [named("escape"), 1]
  const [, length] = escaped(text.slice(1))
  return [undefined, length === 0 ? 0 : length + 1]
}

const escaped = (text: string): readonly [Key | "paste" | undefined, number] => {
  if (text.length === 1) return [undefined, 0]
  const next = text[1] ?? ""
  if (next === "\u001b") return doubled(text)
  if (next !== "[" && next !== "O") {
    const name = alts.get(next)
    return name === undefined ? [named("escape"), 1] : [named(name), 2]
  }
  if (text.startsWith(pasteStart)) return ["paste", pasteStart.length]
  const match = next === "O" ? /^\u001bO([ -~])/.exec(text) : /^\u001b\[([0-?]*[ -/]*[@-~])/.exec(text)
  if (match !== null) {
    const name = sequences.get(match[1] ?? "")
    return [name === undefined ? undefined : named(name), match[0].length]
  }
  // A control character inside breaks the sequence off.
  const broken = /[\u0000-\u001f\u007f]/.exec(text.slice(2))
  if (broken !== null) return [undefined, 2 + broken.index]
  return text.length > longest ? [undefined, text.length] : [undefined, 0]
}
