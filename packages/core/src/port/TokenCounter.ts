/** How many tokens. Counts of different counters are different units: never compared as numbers (L-CTX-10). */
import * as Context from "effect/Context"
import type { Conversation } from "../model/Conversation.ts"
import type { Message } from "../model/Message.ts"
import type { Declaration } from "../model/Tool.ts"

/** What was billed for a request this counter can recognise again. */
export interface Report {
  readonly model: string
  readonly promptTokens: number | undefined
  readonly completionTokens: number | undefined
  readonly messageCount: number
  readonly prefixDigest: string
}

export interface RequestParts {
  readonly conversation: Conversation
  readonly head?: Message
  readonly tail?: Message
  readonly tools: ReadonlyArray<Declaration>
}

export interface TokenCounter {
  /** Name of the tokenizer, or `estimate`. */
  readonly unit: string
  readonly countMessages: (messages: ReadonlyArray<Message>) => number
  readonly countText: (text: string) => number
  readonly countTools: (tools: ReadonlyArray<Declaration>) => number
  /** The whole request, framing included. */
  readonly countRequest: (parts: RequestParts) => number
  /** Learns from a bill. */
  readonly recordUsage: (report: Report) => void
  /** The next request has another shape: forget. */
  readonly invalidate: () => void
}

/** Optional part: without one, and without a budget or a compactor, nothing is counted. */
export const TokenCounter: Context.Reference<TokenCounter | undefined> = Context.Reference<TokenCounter | undefined>(
  "@settle/core/port/TokenCounter",
  { defaultValue: () => undefined }
)
