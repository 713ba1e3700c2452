/** Reads a body in given pieces, without a network. */
import type * as Backend from "@settle/core/port/Backend"
import type { Declaration } from "@settle/core/model/Tool"
import { Result } from "effect"
import * as BodyReader from "../../src/BodyReader.ts"
import * as Assemble from "../../src/openai-chat/Assemble.ts"

export interface Read {
  readonly chunks: ReadonlyArray<Backend.Chunk>
  readonly result: Result.Result<Backend.Reply, BodyReader.Failure>
}

export interface How {
  readonly tools?: ReadonlyArray<Declaration>
  readonly taken?: ReadonlySet<string>
  readonly cumulative?: boolean
  readonly ending?: BodyReader.Ending
  readonly maxEventSize?: number
  readonly maxReplySize?: number
}

export const read = (pieces: Iterable<Uint8Array>, how: How = {}): Read => {
  const assembly = new Assemble.Assembly({
    scrub: (text) => text,
    maxReplySize: how.maxReplySize ?? 64 << 20,
    cumulative: how.cumulative ?? false
  })
  const reader = new BodyReader.BodyReader(assembly, how.maxEventSize ?? 8 << 20)
  const chunks: Array<Backend.Chunk> = []
  for (const piece of pieces) {
    reader.push(piece)
    chunks.push(...reader.take())
  }
  if ((how.ending?._tag ?? "Closed") === "Closed") reader.end()
  chunks.push(...reader.take())
  const taken = how.taken ?? new Set()
  const fresh = Array.from({ length: reader.freshIds(taken) }, (_, n) => `call_fresh_${n}`)
  const result = reader.result(how.ending ?? { _tag: "Closed" }, {
    taken,
    fresh,
    tools: how.tools ?? [],
    kept: undefined
  })
  chunks.push(...reader.take())
  return { chunks, result }
}

export const text = (body: string, how: How = {}): Read => read([Buffer.from(body)], how)

export const event = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`
export const done = "data: [DONE]\n\n"
export const delta = (value: unknown, finish: string | null = null): string =>
  event({ id: "c", model: "m", choices: [{ index: 0, delta: value, finish_reason: finish }] })
export const content = (value: string): string => delta({ content: value })
export const call = (...fragments: ReadonlyArray<unknown>): string => delta({ tool_calls: fragments })
export const finished = (reason: string): string => delta({}, reason) + done

export const reply = (given: Read): Backend.Reply =>
  Result.getOrThrowWith(given.result, (f) => new Error(f.reason.message))
export const failure = (given: Read): BodyReader.Failure =>
  Result.getOrThrowWith(Result.flip(given.result), () => new Error("succeeded"))

/** The text that was streamed. */
export const streamed = (given: Read): string =>
  given.chunks.map((chunk) => (chunk._tag === "Text" ? chunk.text : "")).join("")
