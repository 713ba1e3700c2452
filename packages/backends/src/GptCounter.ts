/**
 * Tokens of OpenAI's encodings, counted and not estimated.
 *
 * G1. The text of a message is counted exactly; the frame around it follows OpenAI's published rule for chats, and tool declarations
 *     are counted as the JSON they are sent as.
 * G2. No text can block the process or throw: a long unbroken run is counted in slices, and the names of special tokens are text.
 * G3. The tables (60 MB in memory, most of a second) are loaded when a counter is made, not when this module is.
 *
 * For other makers' models an exact offline tokenizer does not exist: use the estimate, which a bill corrects.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Message } from "@settle/core/model/Message"
import * as Words from "@settle/core/model/Message"
import * as Prefix from "@settle/core/model/Prefix"
import type { Declaration } from "@settle/core/model/Tool"
import { TokenCounter } from "@settle/core/port/TokenCounter"

/** `o200k_base`: GPT-4o and later; `cl100k_base`: GPT-4 and GPT-3.5. */
export type Encoding = "o200k_base" | "cl100k_base"

type CountTokens = (text: string, options: EncodeOptions) => number
interface EncodeOptions {
  readonly allowedSpecial: Set<string>
  readonly disallowedSpecial: Set<string>
}

const frame = { perMessage: 4, reply: 3, perPart: 1200 }

/** Loads the tables of one encoding. */
export const make = (encoding: Encoding = "o200k_base"): Effect.Effect<TokenCounter> =>
  Effect.map(
    Effect.promise(() => load(encoding)),
    (countTokens) => counter(encoding, countTokens)
  )

export const layer = (encoding: Encoding = "o200k_base"): Layer.Layer<never> =>
  Layer.effect(TokenCounter, make(encoding))

const load = (encoding: Encoding): Promise<CountTokens> => {
  switch (encoding) {
    case "o200k_base":
      return import("gpt-tokenizer/encoding/o200k_base").then((module) => module.countTokens)
    case "cl100k_base":
      return import("gpt-tokenizer/encoding/cl100k_base").then((module) => module.countTokens)
  }
}

const counter = (unit: Encoding, countTokens: CountTokens): TokenCounter => {
  const plain = { allowedSpecial: new Set<string>(), disallowedSpecial: new Set<string>() }
  const tokens = (text: string): number => guarded(text, (piece) => countTokens(piece, plain))
  const messages = new WeakMap<Message, number>()
  const catalogues = new WeakMap<ReadonlyArray<Declaration>, number>()
  const weigh = (message: Message): number => {
    const known = messages.get(message)
    if (known !== undefined) return known
    const calls = Words.callsOf(message).reduce((n, call) => n + tokens(call.name) + tokens(call.arguments) + 3, 0)
    const parts = (message.parts ?? []).reduce(
      (n, part) => n + (part._tag === "ResourceLink" ? tokens(part.uri) : frame.perPart),
      0
    )
    const made = frame.perMessage + tokens(message.content) + calls + parts
    messages.set(message, made)
    return made
  }
  const countMessages = Prefix.fold(0, (sum: number, message: Message) => sum + weigh(message))
  const countTools = (tools: ReadonlyArray<Declaration>): number => {
    const known = catalogues.get(tools)
    if (known !== undefined) return known
    const made = tools.reduce((n, tool) => n + tokens(declared(tool)), 0)
    catalogues.set(tools, made)
    return made
  }
  return {
    unit,
    countMessages: (all) => countMessages(all),
    countText: (text) => frame.perMessage + tokens(text),
    countTools,
    countRequest: ({ conversation, head, tail, tools }) =>
      countMessages(conversation.messages) +
      [head, tail].reduce((n, message) => n + (message === undefined ? 0 : weigh(message)), 0) +
      countTools(tools) +
      frame.reply,
    recordUsage: () => undefined,
    invalidate: () => undefined
  }
}

const declared = (tool: Declaration): string =>
  JSON.stringify({ name: tool.name, description: tool.description ?? "", parameters: tool.parameters })

const slice = 400

/** Merging is quadratic in the length of one unbroken run of letters, spaces or signs: such a run is counted in slices. */
const guarded = (text: string, count: (piece: string) => number): number => {
  if (text.length < slice) return count(text)
  let total = 0
  let from = 0
  for (const run of text.matchAll(/[\p{L}\p{M}]{400,}|\s{400,}|[^\s\p{L}\p{N}]{400,}/gu)) {
    if (run.index > from) total += count(text.slice(from, run.index))
    total += sliced(run[0], count)
    from = run.index + run[0].length
  }
  return from === text.length ? total : total + count(text.slice(from))
}

const sliced = (run: string, count: (piece: string) => number): number => {
  let total = 0
  let from = 0
  while (from < run.length) {
    const last = run.charCodeAt(from + slice - 1)
    const end = from + (last >= 0xd800 && last <= 0xdbff ? slice + 1 : slice)
    total += count(run.slice(from, end))
    from = end
  }
  return total
}
