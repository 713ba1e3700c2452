/**
 * Text from outside (a model, a tool, a server, a file) made safe to show to a person (X-SAFE-03). Pure.
 *
 * N1. Nothing that leaves here moves a cursor, changes a colour, turns the reading order or hides: such characters stand as
 *     `⟨U+001B⟩`.
 * N2. Visible text is unchanged, and so are the joiners inside an emoji, which cannot hide anything.
 * N3. A shortened value says how long it was and carries its digest, so that two long values cannot be taken for one another.
 */
import * as Canonical from "../model/Canonical.ts"
import * as Json from "../model/Json.ts"

/** Everything without a shape of its own: control, format (bidi, zero width), separators of lines, lone surrogates, fillers. */
const shapeless = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu
const joiner = /[\u200d\ufe0f]/
const emojiBefore = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f\u20e3]$/u

const named = (character: string): string =>
  `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`

const replace = (text: string, kept: string): string =>
  text.replace(shapeless, (character, offset: number) =>
    kept.includes(character) ||
    (joiner.test(character) && emojiBefore.test(text.slice(Math.max(0, offset - 2), offset)))
      ? character
      : named(character)
  )

/** Text over several lines: line feeds and tabs stay, CR LF becomes LF. */
export const block = (text: string): string => replace(text.replaceAll("\r\n", "\n"), "\n\t")

/** Text for one line: line breaks become `⏎`, tabs a space. */
export const line = (text: string): string => replace(text.replace(/\r\n|\n|\r/g, "⏎").replaceAll("\t", " "), "")

/** `line`, at most `max` characters (default 120) plus the note of what is missing. */
export const bounded = (text: string, max = 120): string => {
  const points = [...text]
  if (points.length <= max) return line(text)
  const tail = Math.floor(max / 4)
  const head = points.slice(0, max - tail).join("")
  const note = `[${points.length} characters, sha256 ${Canonical.textDigest(text).slice(0, 12)}]`
  return `${line(head)} … ${line(points.slice(-tail).join(""))} ${note}`
}

/** A call as a person reads it: `files_read(path: "a.txt")`; each argument bounded by `max` (default 60 characters). */
export const call = (name: string, args: string, max = 60): string => `${bounded(name, 80)}(${argumentsOf(args, max)})`

const argumentsOf = (text: string, max: number): string => {
  const value = Json.parse(text)
  if (!Json.isObject(value)) return text.trim() === "" ? "" : bounded(text, max * 2)
  const entries = Object.entries(value)
  const shown = entries.slice(0, 8).map(([key, v]) => `${bounded(key, 40)}: ${bounded(JSON.stringify(v), max)}`)
  const more = entries.length > 8 ? [`… ${entries.length - 8} more arguments`] : []
  return [...shown, ...more].join(", ")
}
