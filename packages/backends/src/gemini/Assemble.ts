/**
 * Chunks into one reply. Pure: one assembly for one reply.
 *
 * M1. A reply is a success only when the server said why it ended and closed the body (X-WIRE-01, S8): there is no other last word.
 * M2. An error that the server sends outweighs what came before it (S9).
 * M3. Usage is the last one that says anything, and is kept whatever the end (F5).
 * M4. What the server's own tools did is not a call of ours: it is kept for the next request and never dispatched.
 * M5. A prompt that was blocked has no reply at all: that is a failure and not an empty answer.
 */
import * as Json from "@settle/core/model/Json"
import type { Usage } from "@settle/core/model/Usage"
import type * as Backend from "@settle/core/port/Backend"
import * as Result from "effect/Result"
import type * as BodyReader from "../BodyReader.ts"
import * as Calls from "../Calls.ts"
import * as Failures from "../Failures.ts"
import * as Frames from "../Frames.ts"
import * as Replies from "../Replies.ts"
import { Run } from "../Run.ts"
import * as Parts from "./Parts.ts"
import * as Replay from "./Replay.ts"
import * as WireUsage from "./Usage.ts"

export interface Options {
  readonly scrub: (text: string) => string
  /** Characters a whole reply may hold. */
  readonly maxReplySize: number
}

const finishes: ReadonlyArray<readonly [RegExp, Backend.Finish]> = [
  [/^MAX_TOKENS$/, "length"],
  [/^(SAFETY|RECITATION|BLOCKLIST|PROHIBITED_CONTENT|SPII|IMAGE_.*|MODEL_ARMOR)$/, "content-filter"],
  [/^(MALFORMED_.*|UNEXPECTED_TOOL_CALL|TOO_MANY_TOOL_CALLS|MISSING_THOUGHT_SIGNATURE)$/, "error"]
]

/** What a finish reason means; `undefined` leaves it to the calls. */
export const finishOf = (word: string): Backend.Finish | undefined =>
  word === "STOP" ? undefined : (finishes.find(([pattern]) => pattern.test(word))?.[1] ?? "unknown")

const object = (value: Json.Json | undefined): Json.JsonObject => (Json.isObject(value) ? value : {})

const objects = (value: Json.Json | undefined): ReadonlyArray<Json.JsonObject> =>
  Array.isArray(value) ? value.filter(Json.isObject) : []

const isChunk = (event: Json.JsonObject): boolean =>
  ["candidates", "promptFeedback", "usageMetadata", "responseId", "modelVersion"].some((key) => key in event)

export class Assembly implements BodyReader.Assembly {
  readonly #options: Options
  readonly #parts = new Parts.Parts()
  readonly #calls = new Calls.Calls()
  readonly #run = new Run()
  readonly #frames = new Frames.Frames()
  readonly #reasoning: Array<string> = []
  #finish: string | undefined
  #finishMessage = ""
  #blocked: string | undefined
  #usage: Usage | undefined
  #model: string | undefined
  #done = false
  #error: Failures.Account | undefined
  #unusable: string | undefined
  /** Characters of parts that are kept as they came. */
  #kept = 0

  constructor(options: Options) {
    this.#options = options
  }

  get over(): boolean {
    return this.#done || this.#error !== undefined || this.#tooLarge
  }

  get #tooLarge(): boolean {
    return this.#run.size + this.#kept > this.#options.maxReplySize
  }

  take(): Array<Backend.Chunk> {
    return this.#run.take()
  }

  event(name: string, data: string): void {
    if (this.over) return
    if (name === "error" || name === "error-line") return this.#fail(Failures.read(data))
    if (data.trim() === "[DONE]") return this.#end()
    const parsed = Json.parse(data)
    const events: ReadonlyArray<Json.Json> = Array.isArray(parsed) ? parsed : [parsed ?? null]
    for (const event of events) {
      if (Json.isObject(event) && (isError(event) || (isChunk(event) && name !== "stray"))) this.#add(event)
      else if (name !== "ping") this.#frames.drop(data)
    }
  }

  /** One JSON body served instead of a stream, or all chunks as one list: its end is the end. */
  whole(body: Json.Json): void {
    const events: ReadonlyArray<Json.Json> = Array.isArray(body) ? body : [body]
    for (const event of events) {
      if (Json.isObject(event) && (isError(event) || isChunk(event))) this.#add(event)
      else this.#unusable ??= JSON.stringify(event).slice(0, 200)
    }
  }

  #end(): void {
    this.#done = true
    this.#frames.end()
  }

  #fail(account: Failures.Account): void {
    this.#error ??= account
  }

  #add(event: Json.JsonObject): void {
    this.#frames.read()
    if (isError(event)) return this.#fail(Failures.readJson(event))
    this.#usage = WireUsage.decode(event["usageMetadata"]) ?? this.#usage
    this.#model = Parts.text(event["modelVersion"]) || this.#model
    const candidates = objects(event["candidates"])
    const first = candidates.find(({ index }) => typeof index !== "number" || index === 0)
    const feedback = object(event["promptFeedback"])
    if (first === undefined) this.#blocked ??= Parts.text(feedback["blockReason"]) || undefined
    else this.#candidate(first)
  }

  #candidate(candidate: Json.JsonObject): void {
    for (const part of objects(object(candidate["content"])["parts"])) this.#part(part)
    this.#finish = Parts.text(candidate["finishReason"]) || this.#finish
    this.#finishMessage = Parts.text(candidate["finishMessage"]) || this.#finishMessage
  }

  #part(part: Json.JsonObject): void {
    const shown = this.#parts.add(part)
    if (!("text" in part)) this.#kept += JSON.stringify(part).length
    switch (shown._tag) {
      case "Nothing":
        return
      case "Text":
        return this.#run.text(shown.text)
      case "Thought":
        this.#reasoning.push(shown.text)
        return this.#run.reasoning(shown.text)
      case "Begun": {
        const { id, name, position } = shown.call
        this.#calls.add({ index: position, id, name, arguments: "" })
      }
    }
  }

  freshIds(taken: ReadonlySet<string>): number {
    return this.#calls.fresh(taken)
  }

  result(ending: BodyReader.Ending, how: BodyReader.Settling): Result.Result<Backend.Reply, BodyReader.Failure> {
    const usage = this.#usage
    const reason = this.#fault(ending)
    if (reason !== undefined) return Result.fail({ reason, usage })
    const finish = this.#finish === undefined ? undefined : finishOf(this.#finish)
    for (const call of this.#parts.calls) this.#argue(call)
    const calls = this.#calls.settle({ ...how, cumulative: false, finished: finish === undefined })
    return Result.succeed(
      Replies.reply({
        text: this.#run.visible,
        reasoning: this.#reasoning.join(""),
        calls,
        finish,
        finishReason: this.#finish,
        usage,
        model: this.#model,
        replay: calls.partial.length > 0 ? undefined : Replay.of(this.#parts.all),
        warnings: this.#tolerated()
      })
    )
  }

  /** Arguments are shown when they are whole: pieces of them are places in a tree, and no text. */
  #argue(call: Parts.Call): void {
    const text = Parts.argumentsOf(call)
    this.#calls.replace(call.position, text)
    this.#run.arguments(call.position, call.name, text)
  }

  #tolerated(): ReadonlyArray<string> {
    const served = this.#parts.all.filter((part) => part._tag === "Other").length
    return [
      ...(served === 0 ? [] : [`the reply holds ${served} parts that are neither text nor a call`]),
      ...(this.#finishMessage === "" ? [] : [`the provider says why it ended: ${this.#finishMessage}`]),
      ...this.#frames.warnings,
      ...(this.#finish === undefined ? ["the stream ended with [DONE] and no finish reason"] : [])
    ]
  }

  #fault(ending: BodyReader.Ending): Backend.Reason | undefined {
    if (this.#error !== undefined) return Failures.fromStream(this.#error, this.#options.scrub)
    if (this.#tooLarge) {
      return Frames.bad("too-large", `the reply is longer than ${this.#options.maxReplySize} characters`)
    }
    if (this.#unusable !== undefined) {
      const detail = `the server answered with JSON that is no reply of this protocol: ${this.#unusable}. Check baseUrl`
      return Frames.bad("malformed", detail)
    }
    if (this.#blocked !== undefined && this.#finish === undefined) {
      return Frames.bad("filtered", `the provider blocked the prompt (${this.#blocked}) and gave no reply`)
    }
    const ended = this.#done || (this.#finish !== undefined && ending._tag === "Closed")
    const malformed = ended ? this.#malformed : undefined
    if (malformed !== undefined) return Frames.bad("malformed", malformed)
    return this.#frames.fault({
      ending,
      ended,
      calls: this.#calls.size,
      size: this.#run.size,
      awaited: "a finish reason"
    })
  }

  get #malformed(): string | undefined {
    const open = this.#parts.calls.some((call) => call.open) && (this.#finish ?? "STOP") === "STOP"
    return this.#parts.fault ?? this.#calls.malformed ?? (open ? "a tool call was never closed" : undefined)
  }
}

const isError = (event: Json.JsonObject): boolean =>
  event["error"] !== undefined && event["error"] !== null && event["error"] !== false
