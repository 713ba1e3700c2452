/** Reads a body of a content stream in given pieces, without a network. */
import { Assembly } from "../../src/gemini/Assemble.ts"
import * as Reading from "../Reading.ts"

export { failure, reply, streamed, type Read } from "../Reading.ts"

export const read = Reading.reader((limits) => new Assembly(limits))

export const text = (body: string, how: Reading.How = {}): Reading.Read => read([Buffer.from(body)], how)

export const event = (data: unknown): string => `data: ${JSON.stringify(data)}\r\n\r\n`

/** A chunk of one candidate's parts. */
export const chunk = (parts: ReadonlyArray<object>, more: object = {}): string =>
  event({ candidates: [{ content: { role: "model", parts }, index: 0 }], modelVersion: "m", ...more })

export const words = (...texts: ReadonlyArray<string>): string => texts.map((text) => chunk([{ text }])).join("")

export const call = (name: string, args?: object, more: object = {}): object => ({
  functionCall: { name, ...(args === undefined ? {} : { args }) },
  ...more
})

export const ended = (finishReason: string, usageMetadata: object = {}): string =>
  event({ candidates: [{ finishReason, index: 0 }], usageMetadata, modelVersion: "m" })
