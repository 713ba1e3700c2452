/**
 * What opening a file for writing has to do first. Pure.
 *
 * R1. A file that is not a transcript is refused and stays as it is, byte for byte.
 * R2. Only the last line is ever removed, and only what of it is in no record; everything else is added behind the end.
 */
import type * as Framing from "./Framing.ts"

export interface Facts {
  readonly end: Framing.End
  /** Records that could be used. */
  readonly records: number
  readonly hasMeta: boolean
  readonly faults: ReadonlyArray<{ readonly problem: string }>
}

export interface Cut {
  /** Bytes of the file that stay. */
  readonly at: number
  /** Bytes that go, to be kept in a file beside. */
  readonly bytes: number
  readonly line: number
  readonly problem: string
}

export type Plan =
  | { readonly _tag: "Refuse"; readonly detail: string }
  | {
      readonly _tag: "Open"
      readonly cut: Cut | undefined
      /** Line end to add behind the last record, or nothing. */
      readonly newline: string
      /** A session-meta line is to be written: the file is new, or its first line was lost (J7). */
      readonly header: "none" | "new" | "rebuilt"
    }

export const plan = (facts: Facts): Plan => {
  const { end, hasMeta, records } = facts
  const { tail } = end
  const isNew = records === 0 && end.written === 0 && (tail === undefined || tail.isHeaderStart)
  if (records === 0 && !isNew) return refuse(facts)
  const torn = tail?.torn === undefined || tail.keep === tail.bytes ? undefined : tail
  return {
    _tag: "Open",
    cut:
      torn === undefined
        ? undefined
        : {
            at: end.bytes - torn.bytes + torn.keep,
            bytes: torn.bytes - torn.keep,
            line: torn.number,
            problem: torn.torn ?? ""
          },
    newline: tail !== undefined && tail.keep > 0 ? end.newline : "",
    header: hasMeta ? "none" : isNew ? "new" : "rebuilt"
  }
}

const refuse = (facts: Facts): Plan => {
  const first = facts.faults[0]?.problem ?? facts.end.tail?.torn ?? "it holds no record"
  return {
    _tag: "Refuse",
    detail: `none of its ${facts.end.lines} line${facts.end.lines === 1 ? "" : "s"} is a record of a transcript (the first problem: ${first}); it was left untouched`
  }
}
