/** Reads a body in given pieces, without a network, whatever the protocol. */
import type * as Backend from "@settle/core/port/Backend"
import { Result } from "effect"
import * as BodyReader from "../src/BodyReader.ts"

export interface Read {
  readonly chunks: ReadonlyArray<Backend.Chunk>
  readonly result: Result.Result<Backend.Reply, BodyReader.Failure>
}

export interface How extends Partial<BodyReader.Settling> {
  readonly ending?: BodyReader.Ending
  readonly maxEventSize?: number
  readonly maxReplySize?: number
}

/** What every assembly is made with. */
export interface Limits {
  readonly scrub: (text: string) => string
  readonly maxReplySize: number
}

export type Reader<H extends How = How> = (pieces: Iterable<Uint8Array>, how?: H) => Read

export const reader =
  <H extends How>(make: (limits: Limits, how: H | undefined) => BodyReader.Assembly): Reader<H> =>
  (pieces, how) => {
    const limits = { scrub: (text: string) => text, maxReplySize: how?.maxReplySize ?? 64 << 20 }
    const reader = new BodyReader.BodyReader(make(limits, how), how?.maxEventSize ?? 8 << 20)
    const chunks: Array<Backend.Chunk> = []
    for (const piece of pieces) {
      reader.push(piece)
      chunks.push(...reader.take())
    }
    const ending = how?.ending ?? { _tag: "Closed" }
    if (ending._tag === "Closed") reader.end()
    chunks.push(...reader.take())
    const taken = how?.taken ?? new Set()
    const fresh = Array.from({ length: reader.freshIds(taken) }, (_, n) => `call_fresh_${n}`)
    const result = reader.result(ending, { taken, fresh, tools: how?.tools ?? [], kept: how?.kept ?? "prefix" })
    chunks.push(...reader.take())
    return { chunks, result }
  }

export const reply = (given: Read): Backend.Reply =>
  Result.getOrThrowWith(given.result, (f) => new Error(f.reason.message))

export const failure = (given: Read): BodyReader.Failure =>
  Result.getOrThrowWith(Result.flip(given.result), () => new Error("succeeded"))

/** The text that was streamed. */
export const streamed = (given: Read): string =>
  given.chunks.map((chunk) => (chunk._tag === "Text" ? chunk.text : "")).join("")
