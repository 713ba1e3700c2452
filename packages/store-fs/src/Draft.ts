/** What a writer hands over, checked before it is written: a line that the replay would refuse never reaches the file. Pure. */
import * as TranscriptLine from "@settle/core/model/TranscriptLine"

type Draft = TranscriptLine.Draft

export interface Known {
  readonly isOpen: (operationId: string) => boolean
  readonly hasMessage: (id: string) => boolean
}

/** True for a line that names messages, and so can only be checked against all of them. */
export const namesMessages = (draft: Draft): boolean => draft.type === "compaction" || draft.type === "elision"

/** Operations that these lines settle. */
export const settles = (drafts: ReadonlyArray<Draft>): ReadonlyArray<string> =>
  drafts.flatMap((draft) => (draft.type === "tool-settled" ? [draft.payload.opId] : []))

/** What is wrong with the first bad line; undefined when all are good. */
export const check = (drafts: ReadonlyArray<Draft>, known: Known): string | undefined => {
  const settled = new Set<string>()
  for (const draft of drafts) {
    const problem = checkOne(draft, known, settled)
    if (problem !== undefined) return `${problem}; nothing was written`
  }
  return undefined
}

const checkOne = (draft: Draft, known: Known, settled: Set<string>): string | undefined => {
  switch (draft.type) {
    case "custom":
      if (draft.name.trim() === "") return "a line of one's own needs a type"
      return TranscriptLine.builtIn.has(draft.name) ? `the type ${draft.name} is written by Settle only` : undefined
    case "tool-settled": {
      const { opId } = draft.payload
      if (!known.isOpen(opId) || settled.has(opId)) return `tool-settled names ${opId}, which is no open operation`
      settled.add(opId)
      return undefined
    }
    case "compaction": {
      const { replacesThroughId } = draft.payload
      return known.hasMessage(replacesThroughId)
        ? undefined
        : `compaction names ${replacesThroughId}, which is no message`
    }
    case "elision": {
      if (draft.payload.items.length === 0) return "an elision without items says nothing"
      const absent = draft.payload.items.find((item) => !known.hasMessage(item.id))
      return absent === undefined ? undefined : `elision names ${absent.id}, which is no message`
    }
    case "session-meta":
    case "message":
    case "grants":
    case "tool-dispatched":
    case "run-context":
      return undefined
  }
}

export interface Stamp {
  /** Milliseconds. */
  readonly at: number
  readonly maxLineBytes: number
}

/** The lines as text, each with its LF; or why they cannot be lines. */
export const encode = (
  drafts: ReadonlyArray<Draft>,
  ids: ReadonlyArray<string>,
  stamp: Stamp
): string | { readonly problem: string } => {
  let text = ""
  for (const [index, draft] of drafts.entries()) {
    const line = encodeOne(draft, ids[index] ?? "", stamp.at)
    if (typeof line !== "string") return line
    // A UTF-16 unit takes three bytes at most, so most lines need no counting.
    if (line.length * 3 > stamp.maxLineBytes && Buffer.byteLength(line) > stamp.maxLineBytes) {
      const problem = `a ${draft.type} line of ${Buffer.byteLength(line)} bytes is over the bound of ${stamp.maxLineBytes} (maxLineBytes); nothing was written`
      return { problem }
    }
    text += line + "\n"
  }
  return text
}

const encodeOne = (draft: Draft, id: string, at: number): string | { readonly problem: string } => {
  try {
    return TranscriptLine.encode(draft, id, at)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    return { problem: `a ${draft.type} line cannot be written as JSON (${reason}); nothing was written` }
  }
}
