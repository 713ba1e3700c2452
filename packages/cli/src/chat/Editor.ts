/**
 * The line that is being typed: text, cursor, and what each key does to them. Pure.
 *
 * E1. The cursor is always between two graphemes; a key never leaves half of one.
 * E2. Text is what was typed or pasted, with line feeds for line ends; only control characters are left out.
 * E3. `step` answers `undefined` for a key that means nothing here: it is somebody else's.
 */
import type { Key, Name } from "./Keys.ts"
import * as Width from "./Width.ts"

export interface Editor {
  readonly text: string
  /** Offset into `text`. */
  readonly cursor: number
  /** What the last deletion to an end of the line took. */
  readonly taken: string
}

export const empty: Editor = { text: "", cursor: 0, taken: "" }

export const withText = (self: Editor, text: string): Editor => ({ ...self, text, cursor: text.length })

export const step = (self: Editor, key: Key): Editor | undefined => {
  switch (key._tag) {
    case "Text":
    case "Paste":
      return insert(self, clean(key.text))
    case "Named":
      return moved(self, key.name) ?? changed(self, key.name)
  }
}

const clean = (text: string): string => text.replace(/\r\n?/g, "\n").replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, "")

export const insert = (self: Editor, text: string): Editor => {
  const before = self.text.slice(0, self.cursor) + text
  return snapped({ ...self, text: before + self.text.slice(self.cursor), cursor: before.length })
}

/** An accent typed behind a letter, or a joiner before an emoji, may have made one of two: the cursor goes behind it. */
const snapped = (self: Editor): Editor => {
  let at = 0
  for (const grapheme of Width.graphemes(self.text)) {
    if (at >= self.cursor) break
    at += grapheme.length
  }
  return { ...self, cursor: at }
}

const moved = (self: Editor, name: Name): Editor | undefined => {
  switch (name) {
    case "left":
      return { ...self, cursor: before(self) }
    case "right":
      return { ...self, cursor: after(self) }
    case "word-left":
      return { ...self, cursor: wordBefore(self) }
    case "word-right":
      return { ...self, cursor: wordAfter(self) }
    case "home":
      return { ...self, cursor: lineStart(self) }
    case "end":
      return { ...self, cursor: lineEnd(self) }
    case "up":
      return lineUp(self)
    case "down":
      return lineDown(self)
    default:
      return undefined
  }
}

const changed = (self: Editor, name: Name): Editor | undefined => {
  switch (name) {
    case "newline":
      return insert(self, "\n")
    case "backspace":
      return without(self, before(self), self.cursor)
    case "delete":
      return without(self, self.cursor, after(self))
    case "delete-word":
      return taking(self, wordBefore(self), self.cursor)
    case "delete-to-start":
      return taking(self, lineStart(self), self.cursor)
    case "delete-to-end":
      return taking(self, self.cursor, lineEnd(self))
    case "restore":
      return insert(self, self.taken)
    default:
      return undefined
  }
}

const without = (self: Editor, from: number, to: number): Editor =>
  snapped({ ...self, text: self.text.slice(0, from) + self.text.slice(to), cursor: from })

const taking = (self: Editor, from: number, to: number): Editor =>
  from === to ? self : { ...without(self, from, to), taken: self.text.slice(from, to) }

const before = ({ cursor, text }: Editor): number =>
  cursor - (Width.graphemes(text.slice(0, cursor)).at(-1)?.length ?? 0)
const after = ({ cursor, text }: Editor): number => cursor + (Width.graphemes(text.slice(cursor))[0]?.length ?? 0)

const wordBefore = ({ cursor, text }: Editor): number =>
  text
    .slice(0, cursor)
    .replace(/[^\p{L}\p{N}\p{M}_]*$/u, "")
    .replace(/[\p{L}\p{N}\p{M}_]*$/u, "").length
const wordAfter = ({ cursor, text }: Editor): number =>
  text.length -
  text
    .slice(cursor)
    .replace(/^[^\p{L}\p{N}\p{M}_]*/u, "")
    .replace(/^[\p{L}\p{N}\p{M}_]*/u, "").length

/** A search from before the text would begin at its first character. */
const lineStart = ({ cursor, text }: Editor): number => (cursor === 0 ? 0 : text.lastIndexOf("\n", cursor - 1) + 1)
const lineEnd = ({ cursor, text }: Editor): number => {
  const end = text.indexOf("\n", cursor)
  return end < 0 ? text.length : end
}

/** `undefined` on the first line: the key is for the history. */
const lineUp = (self: Editor): Editor | undefined => {
  const start = lineStart(self)
  return start === 0 ? undefined : inLine(self, lineStart({ ...self, cursor: start - 1 }), columnOf(self))
}

const lineDown = (self: Editor): Editor | undefined => {
  const end = lineEnd(self)
  return end === self.text.length ? undefined : inLine(self, end + 1, columnOf(self))
}

const columnOf = (self: Editor): number => Width.of(self.text.slice(lineStart(self), self.cursor))

const inLine = (self: Editor, start: number, column: number): Editor => {
  let at = start
  let width = 0
  for (const grapheme of Width.graphemes(self.text.slice(start, lineEnd({ ...self, cursor: start })))) {
    width += Width.of(grapheme)
    if (width > column) break
    at += grapheme.length
  }
  return { ...self, cursor: at }
}
