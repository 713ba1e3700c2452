/** Reads a body in given pieces, without a network. */
import { Assembly } from "../../src/openai-chat/Assemble.ts"
import * as Reading from "../Reading.ts"

export { failure, reply, streamed, type Read } from "../Reading.ts"

export interface How extends Reading.How {
  readonly cumulative?: boolean
}

export const read: Reading.Reader<How> = Reading.reader(
  (limits, how) => new Assembly({ ...limits, cumulative: how?.cumulative ?? false })
)

export const text = (body: string, how: How = {}): Reading.Read => read([Buffer.from(body)], how)

export const event = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`
export const done = "data: [DONE]\n\n"
export const delta = (value: unknown, finish: string | null = null): string =>
  event({ id: "c", model: "m", choices: [{ index: 0, delta: value, finish_reason: finish }] })
export const content = (value: string): string => delta({ content: value })
export const call = (...fragments: ReadonlyArray<unknown>): string => delta({ tool_calls: fragments })
export const finished = (reason: string): string => delta({}, reason) + done
