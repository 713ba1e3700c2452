/**
 * Tokens without a tokenizer: an estimate by classes of characters, corrected by what a provider billed.
 *
 * E1. A bill of P tokens for N messages stands for exactly that prefix; what was appended since is estimated on top of it. A prefix
 *     that changed, or a shorter conversation, forgets the bill (L-CAL-02, K6).
 * E2. Text alone is never measured by the bill, and measuring it never forgets one.
 * E3. Each message is looked at once: its estimate and its digest are kept by its identity, and the sum of a conversation that only
 *     grew goes on from where it was.
 *
 * Not counted: what a protocol sends back beside a message (signed thinking). A bill has it.
 */
import * as Layer from "effect/Layer"
import * as Calibration from "../decide/Calibration.ts"
import type { Message, Part } from "../model/Message.ts"
import * as Words from "../model/Message.ts"
import * as Prefix from "../model/Prefix.ts"
import type { Declaration } from "../model/Tool.ts"
import { TokenCounter, type Report, type RequestParts } from "../port/TokenCounter.ts"

export interface Options {
  /** Tokens around each message: role and separators. Default 8. */
  readonly perMessage?: number
  /** Tokens of one image or recording. Default 1200. */
  readonly perPart?: number
}

interface Bill {
  readonly model: string
  readonly messages: number
  readonly tokens: number
  readonly prefixDigest: string
}

export const make = (options: Options = {}): TokenCounter => {
  const weigh = weights(options)
  let bill: Bill | undefined
  const weighed = Prefix.fold(0, (tokens: number, message: Message) => tokens + weigh.message(message))
  const sum = (messages: ReadonlyArray<Message>, from: number): number => weighed(messages) - weighed(messages, from)
  const matching = (messages: ReadonlyArray<Message>): Bill | undefined => {
    if (bill !== undefined && !covers(bill, messages)) bill = undefined
    return bill
  }
  const countMessages = (messages: ReadonlyArray<Message>): number => {
    const known = matching(messages)
    return known === undefined ? sum(messages, 0) : known.tokens + sum(messages, known.messages)
  }
  return {
    unit: "estimate",
    countMessages,
    countText: weigh.text,
    countTools: weigh.tools,
    countRequest: (parts: RequestParts) => {
      const messages = parts.conversation.messages
      const known = matching(messages)
      if (known !== undefined) return known.tokens + sum(messages, known.messages)
      const context = [parts.head, parts.tail].reduce((n, m) => n + (m === undefined ? 0 : weigh.message(m)), 0)
      return sum(messages, 0) + context + weigh.tools(parts.tools)
    },
    recordUsage: (report) => {
      if (bill !== undefined && bill.model !== report.model) bill = undefined
      bill = read(report) ?? bill
    },
    invalidate: () => {
      bill = undefined
    }
  }
}

/** Replaces nothing by default: a loop without this layer, a budget or a compactor counts nothing. */
export const layer = (options: Options = {}): Layer.Layer<never> => Layer.sync(TokenCounter, () => make(options))

const read = (report: Report): Bill | undefined =>
  report.promptTokens !== undefined && report.promptTokens > 0 && report.messageCount >= 0
    ? {
        model: report.model,
        messages: report.messageCount,
        tokens: report.promptTokens,
        prefixDigest: report.prefixDigest
      }
    : undefined

/** A bill without a digest is trusted. */
const covers = (bill: Bill, messages: ReadonlyArray<Message>): boolean =>
  messages.length >= bill.messages &&
  (bill.prefixDigest === "" || Calibration.prefixDigest(messages, bill.messages) === bill.prefixDigest)

const weights = ({ perMessage = 8, perPart = 1200 }: Options) => {
  const messages = new WeakMap<Message, number>()
  const catalogues = new WeakMap<ReadonlyArray<Declaration>, number>()
  const text = (content: string): number => perMessage + Math.ceil(estimate(content))
  const part = (one: Part): number => (one._tag === "ResourceLink" ? Math.ceil(estimate(one.uri)) : perPart)
  const fresh = (message: Message): number =>
    Words.callsOf(message).reduce(
      (n, call) => n + Math.ceil(estimate(JSON.stringify(call))),
      (message.parts ?? []).reduce((n, one) => n + part(one), text(message.content))
    )
  return {
    text,
    message: (message: Message): number => remembered(messages, message, fresh),
    tools: (tools: ReadonlyArray<Declaration>): number =>
      remembered(catalogues, tools, (all) => all.reduce((n, tool) => n + text(declared(tool)), 0))
  }
}

const remembered = <Key extends object>(kept: WeakMap<Key, number>, key: Key, make: (key: Key) => number): number => {
  const known = kept.get(key)
  if (known !== undefined) return known
  const made = make(key)
  kept.set(key, made)
  return made
}

const declared = (tool: Declaration): string =>
  JSON.stringify({ name: tool.name, description: tool.description ?? "", parameters: tool.parameters })

/** Estimated tokens of a text, not rounded: within about a tenth of a common tokenizer on prose, code, JSON and most scripts. */
export const estimate = (text: string): number => {
  let tokens = 0
  let from = 0
  for (const run of text.matchAll(/[A-Za-z0-9+/_-]{120,}={0,2}/g)) {
    if (!isEncoded(run[0])) continue
    tokens += classes(text.slice(from, run.index)) + run[0].length * perEncoded
    from = run.index + run[0].length
  }
  return tokens + classes(from === 0 ? text : text.slice(from))
}

/** Base64 is cut finer than words: tokens of one character. */
const perEncoded = 0.67

/** Mixed letters and digits, without the long pieces that a path or an identifier has. A sample is enough. */
const isEncoded = (run: string): boolean => {
  const sample = run.slice(0, 400)
  return /[A-Z]/.test(sample) && /[a-z]/.test(sample) && /\d/.test(sample) && classes(sample) > 0.38 * sample.length
}

/**
 * One pass over the characters, since a result may have megabytes. A word (capitals, then small letters) is one token up to seven
 * letters, digits are a token in threes, a space is free before a word.
 */
const classes = (text: string): number => {
  let tokens = 0
  let at = 0
  while (at < text.length) {
    const code = text.charCodeAt(at)
    const from = at
    if (isLetter(code)) {
      while (isUpper(text.charCodeAt(at))) at++
      while (isLower(text.charCodeAt(at))) at++
      tokens += at - from <= 7 ? 1 : Math.ceil((at - from) / 5)
    } else if (isDigit(code)) {
      while (at < from + 3 && isDigit(text.charCodeAt(at))) at++
      tokens += 1
    } else if (isSpace(code)) {
      let breaks = false
      for (let next = code; isSpace(next); next = text.charCodeAt(++at)) breaks ||= next === 10 || next === 13
      tokens += breaks ? 0.7 : at - from > 1 ? 0.6 : isDigit(text.charCodeAt(at)) ? 1 : 0
    } else {
      const point = code > 0x7f ? (text.codePointAt(at) ?? code) : code
      at += point > 0xffff ? 2 : 1
      tokens += point <= 0x7f ? 0.6 : point < 0x600 ? 0.35 : point > 0xffff ? 2 : 0.7
    }
  }
  return tokens
}

const isUpper = (code: number): boolean => code >= 65 && code <= 90
const isLower = (code: number): boolean => code >= 97 && code <= 122
const isLetter = (code: number): boolean => isUpper(code) || isLower(code)
const isDigit = (code: number): boolean => code >= 48 && code <= 57

/** White space as a regular expression has it. */
const isSpace = (code: number): boolean =>
  code === 32 ||
  (code >= 9 && code <= 13) ||
  (code >= 0xa0 &&
    (code === 0xa0 ||
      code === 0x1680 ||
      (code >= 0x2000 && code <= 0x200a) ||
      code === 0x2028 ||
      code === 0x2029 ||
      code === 0x202f ||
      code === 0x205f ||
      code === 0x3000 ||
      code === 0xfeff))
