/**
 * A transcript that breaks on purpose, around a real one.
 *
 * F1. A crash falls on one line, also in the middle of an append: the lines before it are in the record, those after it never
 *     will be. The line itself has landed, is lost, or is torn in half.
 * F2. The process that crashed hears nothing any more: its append never returns, and neither does a later one.
 * F3. A failing append has written nothing, and the record goes on behind it.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as TranscriptLine from "@settle/core/model/TranscriptLine"
import * as Transcript from "@settle/core/port/Transcript"

export type Fault =
  /** `at` counts the lines this process appends, from 0. */
  | { readonly _tag: "Crash"; readonly at: number; readonly how: "landed" | "lost" | "torn" }
  /** `at` counts appends, from 0; so many in a row fail, by default one. */
  | { readonly _tag: "Fail"; readonly at: number; readonly times?: number; readonly detail?: string }

export interface FaultyTranscript {
  readonly transcript: Transcript.Transcript
  /** Completes at the crash. */
  readonly crashed: Effect.Effect<void>
  /** What a torn line left at the end of the record: half of its text. */
  readonly torn: Effect.Effect<string | undefined>
  /** Lines handed over so far, the faulty one included. */
  readonly lines: Effect.Effect<number>
}

export const crash = (at: number, how: "landed" | "lost" | "torn"): Fault => ({ _tag: "Crash", at, how })
export const fail = (at: number, times = 1): Fault => ({ _tag: "Fail", at, times })

/** Without a fault it only counts. */
export const make = (inner: Transcript.Transcript, fault?: Fault): Effect.Effect<FaultyTranscript> =>
  Effect.sync(() => {
    const down = Deferred.makeUnsafe<void>()
    let lines = 0
    let appends = 0
    let torn: string | undefined
    let isDown = false

    const die = Effect.andThen(Deferred.succeed(down, undefined), Effect.never)
    const crashing = (drafts: ReadonlyArray<TranscriptLine.Draft>, first: number, how: "landed" | "lost" | "torn") =>
      Effect.suspend(() => {
        isDown = true
        const hit = drafts[first]
        if (how === "torn" && hit !== undefined) torn = half(hit)
        const survive = drafts.slice(0, how === "landed" ? first + 1 : first)
        return Effect.andThen(survive.length === 0 ? Effect.succeed([]) : inner.append(survive), die)
      })
    const append: Transcript.Transcript["append"] = (drafts) =>
      Effect.suspend(() => {
        if (isDown) return Effect.never
        const number = appends++
        const from = lines
        lines += drafts.length
        if (fault?._tag === "Fail" && number >= fault.at && number < fault.at + (fault.times ?? 1)) {
          const detail = fault.detail ?? "no space left on the device"
          return Transcript.fail("append", inner.place, new Transcript.WriteFailed({ detail }))
        }
        return fault?._tag === "Crash" && fault.at >= from && fault.at < lines
          ? crashing(drafts, fault.at - from, fault.how)
          : inner.append(drafts)
      })
    return {
      transcript: { ...inner, append },
      crashed: Deferred.await(down),
      torn: Effect.sync(() => torn),
      lines: Effect.sync(() => lines)
    }
  })

const half = (draft: TranscriptLine.Draft): string => {
  const text = TranscriptLine.encode(draft, "torn", 0)
  return text.slice(0, text.length >> 1)
}
