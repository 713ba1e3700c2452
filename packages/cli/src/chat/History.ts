/**
 * What was typed before: walking through it, and its lines in a file. Pure.
 *
 * H1. Bounded in number and in size; what repeats the last entry is not kept twice.
 * H2. The draft that was left for the history comes back behind its newest entry.
 * H3. One JSON string a line. A line that is none is left out, and the rest stands.
 */
import * as Json from "@settle/core/model/Json"

export interface History {
  /** Oldest first. */
  readonly entries: ReadonlyArray<string>
  /** Position while walking; `undefined` at the draft. */
  readonly at: number | undefined
  readonly draft: string
}

/** Entries kept. */
export const limit = 500
/** Characters of the longest entry in the file. */
export const longest = 10_000

export const make = (entries: ReadonlyArray<string> = []): History => ({
  entries: entries.slice(-limit),
  at: undefined,
  draft: ""
})

const isNew = (self: History, text: string): boolean => text.trim() !== "" && self.entries.at(-1) !== text

/** Whether an entry is worth a line in the file. */
export const isKept = (self: History, text: string): boolean => isNew(self, text) && text.length <= longest

/** For as long as the process lives, also a long one. */
export const add = (self: History, text: string): History =>
  make(isNew(self, text) ? [...self.entries, text] : self.entries)

/** One entry back, and the text to show; `undefined` at the oldest. */
export const older = (self: History, typed: string): readonly [History, string] | undefined => {
  const at = (self.at ?? self.entries.length) - 1
  const text = self.entries[at]
  return text === undefined ? undefined : [{ ...self, at, draft: self.at === undefined ? typed : self.draft }, text]
}

/** One entry forward; behind the newest the draft. `undefined` when nothing is walked. */
export const newer = (self: History): readonly [History, string] | undefined => {
  if (self.at === undefined) return undefined
  const text = self.entries[self.at + 1]
  return text === undefined ? [{ ...self, at: undefined }, self.draft] : [{ ...self, at: self.at + 1 }, text]
}

/** The line of the file. */
export const line = (text: string): string => `${JSON.stringify(text)}\n`

export const read = (file: string): History =>
  make(
    file.split("\n").flatMap((text) => {
      const value = Json.parse(text)
      return typeof value === "string" && value.length <= longest ? [value] : []
    })
  )

/** Whether a file has grown enough to be written anew. */
export const isOvergrown = (file: string): boolean => file.split("\n").length > 2 * limit
