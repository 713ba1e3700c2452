/** Reads a body of a messages stream in given pieces, without a network. */
import { Assembly } from "../../src/anthropic/Assemble.ts"
import * as Reading from "../Reading.ts"

export { failure, reply, streamed, type Read } from "../Reading.ts"

export const read = Reading.reader((limits) => new Assembly(limits))

export const text = (body: string, how: Reading.How = {}): Reading.Read => read([Buffer.from(body)], how)

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
