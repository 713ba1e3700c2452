/**
 * A model somewhere. A backend sends one request and streams one reply; retry, fallback and judgement are the engine's.
 *
 * B1. The stream's last element is exactly one `Finished`, or the stream fails. A body that just stops has failed (X-WIRE-01).
 * B2. Interrupting the reader aborts the request.
 * B3. Each pull of the stream yields what one read brought, as one array: no hop between fibers for each chunk.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { Conversation } from "../model/Conversation.ts"
import type * as Json from "../model/Json.ts"
import type { Message, Replay, ToolCall } from "../model/Message.ts"
import type { Declaration } from "../model/Tool.ts"
import { Usage } from "../model/Usage.ts"

export interface Request {
  /** Read before the stream is first pulled; it may grow afterwards. */
  readonly conversation: Conversation
  /** What is true now, around the conversation and never part of it (L-CTX-01). */
  readonly head?: Message
  readonly tail?: Message
  /** The same array for as long as the catalogue is the same: what was derived from it may be kept by identity. */
  readonly tools: ReadonlyArray<Declaration>
  /** Constrains the reply to one JSON value of this schema. */
  readonly schema?: { readonly name: string; readonly schema: Json.JsonObject }
  /** Lowers the backend's own completion cap for this request. */
  readonly maxTokens?: number
}

/** How a reply says it ended. `raw` on the reply keeps the provider's own word. */
export type Finish = "stop" | "tool-calls" | "length" | "content-filter" | "context-window" | "error" | "unknown"

export interface Reply {
  /** Visible text. */
  readonly text: string
  readonly reasoning?: string
  /** Whole calls, in order of first appearance, under stable ids of ours (D2, D11). */
  readonly toolCalls: ReadonlyArray<ToolCall>
  /** Calls whose arguments were not whole when the reply ended: never executed, only measured (L-LEN-14). */
  readonly partialCalls: ReadonlyArray<ToolCall>
  readonly finish: Finish
  /** As sent; absent when it was derived. */
  readonly finishReason?: string
  readonly usage?: Usage
  readonly modelUsed?: string
  readonly replay?: Replay
  /** Protocol oddities that were tolerated, for the log. */
  readonly warnings: ReadonlyArray<string>
}

/** One element of a streamed reply. */
export type Chunk = Data.TaggedEnum<{
  Text: { readonly text: string }
  Reasoning: { readonly text: string }
  /** For display only; `index` counts calls from 0 in order of first appearance. */
  ToolArguments: { readonly index: number; readonly name: string; readonly text: string }
  /** Bytes without content (a comment, a ping): the connection lives, the answer does not move (S11). */
  Alive: {}
  Finished: { readonly reply: Reply }
}>
export const Chunk = Data.taggedEnum<Chunk>()

/** No connection, or it broke while connecting or sending. */
export class ConnectionFailed extends Schema.TaggedError<ConnectionFailed>()("ConnectionFailed", {
  detail: Schema.String
}) {
  override get message(): string {
    return `no connection: ${this.detail}`
  }
}

/** Nothing arrived for too long. */
export class TimedOut extends Schema.TaggedError<TimedOut>()("TimedOut", {
  seconds: Schema.Finite,
  waitedFor: Schema.Literals(["headers", "bytes", "content"])
}) {
  override get message(): string {
    return `no ${this.waitedFor} for ${this.seconds} seconds`
  }
}

/** The provider refused: an HTTP status, or an error object inside a 200 stream (X-WIRE-02), with the status it names. */
export class Refused extends Schema.TaggedError<Refused>()("Refused", {
  status: Schema.Int,
  /** The provider's own code or type, when it gave one. */
  code: Schema.optionalKey(Schema.String),
  detail: Schema.String,
  inStream: Schema.Boolean,
  retryAfterMs: Schema.optionalKey(Schema.Finite)
}) {
  override get message(): string {
    const code = this.code === undefined ? "" : ` (${this.code})`
    return `${this.inStream ? "error in the stream, as" : ""} HTTP ${this.status}${code}: ${this.detail}`.trim()
  }
}

/** An answer came and cannot be used: cut, not the protocol, filtered. */
export class BadResponse extends Schema.TaggedError<BadResponse>()("BadResponse", {
  problem: Schema.Literals(["cut", "malformed", "too-large", "filtered"]),
  detail: Schema.String
}) {
  override get message(): string {
    return this.detail
  }
}

export const Reason = Schema.Union([ConnectionFailed, TimedOut, Refused, BadResponse])
export type Reason = typeof Reason.Type

export class BackendError extends Schema.TaggedError<BackendError>()("BackendError", {
  reason: Reason,
  /** Usage that came before the failure: it was billed (X-WIRE-01). */
  usage: Schema.optionalKey(Usage)
}) {
  override readonly cause = this.reason
  override get message(): string {
    return this.reason.message
  }
}

export type ErrorClass = "http" | "timeout" | "connection" | "response"

export const errorClass = (error: BackendError): ErrorClass => {
  switch (error.reason._tag) {
    case "ConnectionFailed":
      return "connection"
    case "TimedOut":
      return "timeout"
    case "Refused":
      return "http"
    case "BadResponse":
      return "response"
  }
}

export interface Backend {
  /** As configured; `unknown` when unnamed. */
  readonly model: string
  /** Completion cap it sends, when it sends one. */
  readonly maxTokens: number | undefined
  /** Whether it can hold a reply to a JSON schema. */
  readonly canConstrain: boolean
  readonly stream: (request: Request) => Stream.Stream<Chunk, BackendError>
}

/** The chain: tried in order, every round trip from the first (L-GEN-01). */
export class Backends extends Context.Service<
  Backends,
  {
    readonly chain: ReadonlyArray<Backend>
  }
>()("@settle/core/port/Backends") {}
