/** Words, quoted texts and lines of what was said: what an argument may be copied from. */
import { cutMark, isCut } from "./Prompt.ts"

/** Words that are never a name. */
export const common: ReadonlySet<string> = new Set(
  (
    "a an the my our your me i you we it is are was there of on in for to with from and or about any all every some that this " +
    "which where what who how do does did have has had can could would will please pls file files find search show read open " +
    "tell locate look document documents called named stuff something anything everything mention mentions current working " +
    "whole folder directory here word name names"
  ).split(" ")
)

const spoken =
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"
/** Number words and their digits. */
export const numbers: ReadonlyMap<string, string> = new Map(spoken.split(" ").map((word, value) => [word, `${value}`]))

export const isCommon = (word: string): boolean => common.has(word.toLowerCase())

/** A word without the quotes, brackets and punctuation around it. */
export const bare = (word: string): string => word.replace(/^["'`(\[{<]+/, "").replace(/(?:["'`)\]}>,.;:!?]|'s)+$/, "")

export const words = (text: string): ReadonlyArray<string> =>
  text
    .split(/\s+/)
    .map(bare)
    .filter((word) => word !== "")

const quoted = /"([^"\n]{1,160})"|`([^`\n]{1,160})`|(?<![A-Za-z])'([^'\n]{1,160})'(?![A-Za-z])/g

/** What stands in quotes. An apostrophe inside a word is none. */
export const quotes = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(quoted)].map(([, double, back, single]) => double ?? back ?? single ?? "")

/** Lines that are not blank. The last one of a cut text is not whole and left out, unless it is the only one. */
export const lines = (text: string): ReadonlyArray<string> => {
  const all = text
    .replace(cutMark, "")
    .split("\n")
    .filter((line) => line.trim() !== "")
  return isCut(text) && all.length > 1 ? all.slice(0, -1) : all
}

/** Names in a listing, without `[FILE]` and `[DIR]`. */
export const entries = (text: string): ReadonlyArray<string> =>
  lines(text).map((line) => line.replace(/^\[(?:FILE|DIR)\] /, ""))

/** On one line. */
export const squeeze = (text: string): string => text.replace(/\s+/g, " ").trim()
