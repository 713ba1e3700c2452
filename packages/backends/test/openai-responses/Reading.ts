/** Reads a body of a responses stream in given pieces, without a network. */
import { Assembly } from "../../src/openai-responses/Assemble.ts"
import * as Reading from "../Reading.ts"

export { failure, reply, streamed, type Read } from "../Reading.ts"

export const read = Reading.reader((limits) => new Assembly(limits))

export const text = (body: string, how: Reading.How = {}): Reading.Read => read([Buffer.from(body)], how)

export const event = (type: string, data: object = {}): string =>
  `event: response.${type}\ndata: ${JSON.stringify({ type: `response.${type}`, ...data })}\n\n`

export const start = (response: object = {}): string =>
  event("created", { response: { id: "resp_1", object: "response", model: "m", status: "in_progress", ...response } })

const item = (output_index: number, before: object, pieces: string, after: object): string =>
  event("output_item.added", { output_index, item: before }) +
  pieces +
  event("output_item.done", { output_index, item: after })

export const words = (output_index: number, ...texts: ReadonlyArray<string>): string => {
  const message = { type: "message", id: `msg_${output_index}`, role: "assistant" }
  const at = { output_index, item_id: message.id, content_index: 0 }
  const whole = texts.join("")
  return item(
    output_index,
    { ...message, content: [] },
    texts.map((delta) => event("output_text.delta", { ...at, delta })).join("") +
      event("output_text.done", { ...at, text: whole }),
    { ...message, content: [{ type: "output_text", text: whole, annotations: [] }] }
  )
}

export const toolCall = (
  output_index: number,
  { id, name }: { readonly id: string; readonly name: string },
  ...pieces: ReadonlyArray<string>
): string => {
  const call = { type: "function_call", id: `fc_${output_index}`, call_id: id, name }
  const at = { output_index, item_id: call.id }
  const whole = pieces.join("")
  return item(
    output_index,
    { ...call, arguments: "" },
    pieces.map((delta) => event("function_call_arguments.delta", { ...at, delta })).join("") +
      event("function_call_arguments.done", { ...at, arguments: whole }),
    { ...call, arguments: whole }
  )
}

export const thought = (output_index: number, more: object = {}): string => {
  const reasoning = { type: "reasoning", id: `rs_${output_index}`, summary: [] }
  return item(output_index, reasoning, "", { ...reasoning, ...more })
}

export const ended = (response: object = {}): string =>
  event("completed", { response: { id: "resp_1", model: "m", status: "completed", output: [], ...response } })
