/**
 * Bytes of one answer into what an assembly of some protocol makes of its events. Pure: what connects `Sse` and an assembly.
 *
 * D1. What the body is, is seen and not believed: an event stream, one JSON body served instead of it, or a page, whatever its
 *     content type says.
 */
import * as Json from "@settle/core/model/Json"
import type { Replay } from "@settle/core/model/Message"
import type { Declaration } from "@settle/core/model/Tool"
import type { Usage } from "@settle/core/model/Usage"
import * as Backend from "@settle/core/port/Backend"
import * as Result from "effect/Result"
import * as Failures from "./Failures.ts"
import * as Sse from "./Sse.ts"

/** How the body ended: closed by the server, or the connection broke. */
export type Ending = { readonly _tag: "Closed" } | { readonly _tag: "Broken"; readonly detail: string }

export interface Failure {
  readonly reason: Backend.Reason
  readonly usage: Usage | undefined
}

/** What a reply is settled with. */
export interface Settling {
  readonly tools: ReadonlyArray<Declaration>
  /** Ids in use in the conversation. */
  readonly taken: ReadonlySet<string>
  /** As many ids as `freshIds` asked for. */
  readonly fresh: ReadonlyArray<string>
  /** What the request kept for the reply: see `Streaming.Prepared`. */
  readonly kept: Replay["data"] | undefined
}

/** The events of one reply, put together. */
export interface Assembly {
  /** Nothing that follows can change the reply. */
  readonly over: boolean
  readonly event: (name: string, data: string) => void
  /** One JSON body instead of a stream. */
  readonly whole: (body: Json.Json) => void
  /** What came since the last call, neighbours of one kind as one chunk. */
  readonly take: () => Array<Backend.Chunk>
  readonly freshIds: (taken: ReadonlySet<string>) => number
  readonly result: (ending: Ending, how: Settling) => Result.Result<Backend.Reply, Failure>
}

const whitespace = new Set([9, 10, 13, 32, 0xef, 0xbb, 0xbf])
const openings = new Set([0x7b, 0x5b, 0x3c])

export class BodyReader {
  readonly #maxEventSize: number
  readonly #framer: Sse.Framer
  readonly #assembly: Assembly
  #kind: "unknown" | "events" | "whole" = "unknown"
  #body: Array<Uint8Array> = []
  #bodySize = 0
  #alive = false
  #fault: Backend.BadResponse | undefined

  constructor(assembly: Assembly, maxEventSize: number) {
    this.#maxEventSize = maxEventSize
    this.#framer = new Sse.Framer({ maxEventSize })
    this.#assembly = assembly
  }

  /** Nothing that follows can change the reply: the rest of the body need not be read. */
  get over(): boolean {
    return this.#fault !== undefined || this.#assembly.over
  }

  push(bytes: Uint8Array): void {
    if (this.over) return
    if (this.#kind === "unknown") this.#sniff(bytes)
    if (this.#kind === "events") this.#take(this.#framer.push(bytes))
    else this.#collect(bytes)
  }

  /** What came since the last call; a sign of life when it was only that. */
  take(): Array<Backend.Chunk> {
    const chunks = this.#assembly.take()
    if (chunks.length === 0 && this.#alive) chunks.push({ _tag: "Alive" })
    this.#alive = false
    return chunks
  }

  #sniff(bytes: Uint8Array): void {
    const first = bytes.find((byte) => !whitespace.has(byte))
    if (first === undefined) return
    this.#kind = openings.has(first) ? "whole" : "events"
    if (this.#kind === "whole" || this.#body.length === 0) return
    const before = this.#body
    this.#body = []
    for (const blank of before) this.#take(this.#framer.push(blank))
  }

  #collect(bytes: Uint8Array): void {
    this.#body.push(bytes)
    this.#bodySize += bytes.length
    if (this.#bodySize > this.#maxEventSize) this.#tooLarge(this.#maxEventSize)
  }

  #tooLarge(limit: number): void {
    this.#fault ??= new Backend.BadResponse({
      problem: "too-large",
      detail: `one event of the stream is longer than ${limit} characters. Raise maxEventSize if this server may send that`
    })
  }

  #take(batch: Sse.Batch): void {
    this.#alive ||= batch.alive || batch.events.length > 0
    for (const event of batch.events) this.#assembly.event(event.name, event.data)
    if (this.#assembly.over) return
    if (batch.fault?._tag === "TooLarge") this.#tooLarge(batch.fault.limit)
    if (batch.fault?._tag === "IncompleteText") {
      const detail = `the stream ended inside a character, ${batch.fault.bytes} bytes into it`
      this.#fault ??= new Backend.BadResponse({ problem: "cut", detail })
    }
  }

  /** The body is over. Chunks may still come out of `take`. */
  end(): void {
    if (this.#kind === "events") {
      if (!this.over) this.#take(this.#framer.end())
    } else if (this.#fault === undefined) this.#whole()
  }

  #whole(): void {
    const bytes = Buffer.concat(this.#body)
    this.#body = []
    const text = new Sse.Utf8().text(bytes).trim()
    const parsed = Json.parse(text)
    if (parsed !== undefined) return this.#assembly.whole(parsed)
    if (text.startsWith("<")) {
      const detail = `the server answered with ${Failures.read(text).detail}. Check baseUrl`
      this.#fault ??= new Backend.BadResponse({ problem: "malformed", detail })
      return
    }
    this.#take(this.#framer.push(bytes))
    this.#take(this.#framer.end())
  }

  freshIds(taken: ReadonlySet<string>): number {
    return this.#assembly.freshIds(taken)
  }

  result(ending: Ending, how: Settling): Result.Result<Backend.Reply, Failure> {
    const result = this.#assembly.result(ending, how)
    // an error that the server sent explains more than the cut that follows it
    if (this.#fault === undefined || (Result.isFailure(result) && result.failure.reason._tag === "Refused"))
      return result
    const usage = Result.isFailure(result) ? result.failure.usage : result.success.usage
    return Result.fail({ reason: this.#fault, usage })
  }
}
