/** Reads a body of a messages stream in given pieces, without a network. */
import type * as Backend from "@settle/core/port/Backend"
import { Result } from "effect"
import { Assembly } from "../../src/anthropic/Assemble.ts"
import * as BodyReader from "../../src/BodyReader.ts"

export interface Read {
  readonly chunks: ReadonlyArray<Backend.Chunk>
  readonly result: Result.Result<Backend.Reply, BodyReader.Failure>
}

export interface How extends Partial<BodyReader.Settling> {
  readonly ending?: BodyReader.Ending
  readonly maxEventSize?: number
  readonly maxReplySize?: number
}

export const read = (pieces: Iterable<Uint8Array>, how: How = {}): Read => {
  const assembly = new Assembly({ scrub: (text) => text, maxReplySize: how.maxReplySize ?? 64 << 20 })
  const reader = new BodyReader.BodyReader(assembly, how.maxEventSize ?? 8 << 20)
  const chunks: Array<Backend.Chunk> = []
  for (const piece of pieces) {
    reader.push(piece)
    chunks.push(...reader.take())
  }
  const ending = how.ending ?? { _tag: "Closed" }
  if (ending._tag === "Closed") reader.end()
  chunks.push(...reader.take())
  const taken = how.taken ?? new Set()
  const fresh = Array.from({ length: reader.freshIds(taken) }, (_, n) => `call_fresh_${n}`)
  const result = reader.result(ending, { taken, fresh, tools: how.tools ?? [], kept: how.kept ?? "prefix" })
  chunks.push(...reader.take())
  return { chunks, result }
}

export const text = (body: string, how: How = {}): Read => read([Buffer.from(body)], how)

export const event = (type: string, data: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`

export const start = (message: object = {}): string =>
  event("message_start", {
    message: { id: "msg_1", type: "message", role: "assistant", model: "m", content: [], ...message }
  })

/** One whole block: its start, its deltas, its stop. */
export const block = (index: number, content_block: object, ...deltas: ReadonlyArray<object>): string =>
  event("content_block_start", { index, content_block }) +
  deltas.map((delta) => event("content_block_delta", { index, delta })).join("") +
  event("content_block_stop", { index })

export const words = (index: number, ...texts: ReadonlyArray<string>): string =>
  block(index, { type: "text", text: "" }, ...texts.map((text) => ({ type: "text_delta", text })))

export const toolUse = (index: number, id: string, name: string, ...pieces: ReadonlyArray<string>): string =>
  block(
    index,
    { type: "tool_use", id, name, input: {} },
    ...pieces.map((partial_json) => ({ type: "input_json_delta", partial_json }))
  )

export const ended = (stop_reason: string | null, usage: object = {}): string =>
  event("message_delta", { delta: { stop_reason, stop_sequence: null }, usage }) + event("message_stop")

export const reply = (given: Read): Backend.Reply =>
  Result.getOrThrowWith(given.result, (f) => new Error(f.reason.message))

export const failure = (given: Read): BodyReader.Failure =>
  Result.getOrThrowWith(Result.flip(given.result), () => new Error("succeeded"))

/** The text that was streamed. */
export const streamed = (given: Read): string =>
  given.chunks.map((chunk) => (chunk._tag === "Text" ? chunk.text : "")).join("")
