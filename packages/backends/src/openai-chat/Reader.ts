/**
 * Bytes of one answer into chunks and, at its end, into a reply. Pure: what connects `Sse` and `Assemble`.
 *
 * D1. What the body is, is seen and not believed: an event stream, one JSON body served instead of it, or a page, whatever its
 *     content type says.
 */
import * as Json from "@settle/core/model/Json"
import * as Backend from "@settle/core/port/Backend"
import * as Result from "effect/Result"
import * as Failures from "../Failures.ts"
import * as Sse from "../Sse.ts"
import * as Assemble from "./Assemble.ts"
import type * as Calls from "./Calls.ts"
import * as Deltas from "./Deltas.ts"

export interface Options extends Assemble.Options {
  readonly maxEventSize: number
}

const whitespace = new Set([9, 10, 13, 32, 0xef, 0xbb, 0xbf])
const openings = new Set([0x7b, 0x5b, 0x3c])

export class Reader {
  readonly #options: Options
  readonly #framer: Sse.Framer
  readonly #assembly: Assemble.Assembly
  #kind: "unknown" | "events" | "whole" = "unknown"
  #body: Array<Uint8Array> = []
  #bodySize = 0
  #alive = false
  #fault: Backend.BadResponse | undefined

  constructor(options: Options) {
    this.#options = options
    this.#framer = new Sse.Framer(options)
    this.#assembly = new Assemble.Assembly(options)
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
    if (this.#bodySize > this.#options.maxEventSize) this.#tooLarge(this.#options.maxEventSize)
  }

  #tooLarge(limit: number): void {
    this.#fault ??= new Backend.BadResponse({
      problem: "too-large",
      detail: `one event of the stream is longer than ${limit} characters. Raise maxEventSize if this server may send that`
    })
  }

  #take(batch: Sse.Batch): void {
    this.#alive ||= batch.alive
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

  /** One JSON body instead of a stream, or something that is neither. */
  #whole(): void {
    const bytes = Buffer.concat(this.#body)
    this.#body = []
    const text = new Sse.Utf8().text(bytes).trim()
    const parsed = Json.parse(text)
    if (parsed !== undefined) {
      const delta = Deltas.fromEvent(Array.isArray(parsed) && parsed[0] !== undefined ? parsed[0] : parsed)
      this.#assembly.add(delta)
      if (Json.isObject(parsed) && Array.isArray(parsed["choices"])) this.#assembly.done()
      else if (!this.#assembly.over) this.#unusable(`with JSON that is no chat completion: ${text.slice(0, 200)}`)
      return
    }
    if (text.startsWith("<")) {
      return this.#unusable(`with ${Failures.read(text).detail}`)
    }
    this.#take(this.#framer.push(bytes))
    this.#take(this.#framer.end())
  }

  #unusable(what: string): void {
    const detail = this.#options.scrub(Json.wellFormed(`the server answered ${what}. Check baseUrl`))
    this.#fault ??= new Backend.BadResponse({ problem: "malformed", detail })
  }

  freshIds(taken: ReadonlySet<string>): number {
    return this.#assembly.freshIds(taken)
  }

  result(
    ending: Assemble.Ending,
    ids: Pick<Calls.Settling, "taken" | "fresh" | "tools" | "cumulative">
  ): Result.Result<Backend.Reply, Assemble.Failure> {
    const result = this.#assembly.result(ending, ids)
    // an error that the server sent explains more than the cut that follows it
    if (this.#fault === undefined || (Result.isFailure(result) && result.failure.reason._tag === "Refused"))
      return result
    const usage = Result.isFailure(result) ? result.failure.usage : result.success.usage
    return Result.fail({ reason: this.#fault, usage })
  }
}
