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
import type * as BodyReader from "../BodyReader.ts"
import * as Failures from "../Failures.ts"
import { Gathering, type Own } from "../Gathering.ts"
import * as Parts from "./Parts.ts"
import * as Replay from "./Replay.ts"
import * as WireUsage from "./Usage.ts"

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

export class Assembly extends Gathering {
  protected readonly awaited = "a finish reason"
  protected usage: Usage | undefined
  readonly #parts = new Parts.Parts()
  readonly #reasoning: Array<string> = []
  #finishMessage = ""

  event(name: string, data: string): void {
    if (this.over) return
    if (name === "error" || name === "error-line") return this.fail(Failures.read(data))
    if (data.trim() === "[DONE]") return this.end()
    // parts of other kinds are kept as they came, and calls grow in place
    if (!/"text"/.test(data)) this.kept += data.length
    const parsed = Json.parse(data)
    const events: ReadonlyArray<Json.Json> = Array.isArray(parsed) ? parsed : [parsed ?? null]
    for (const event of events) {
      if (Json.isObject(event) && (isError(event) || (isChunk(event) && name !== "stray"))) this.#add(event)
      else if (name !== "ping") this.frames.drop(data)
    }
  }

  /** One JSON body served instead of a stream, or all chunks as one list: its end is the end. */
  whole(body: Json.Json): void {
    const events: ReadonlyArray<Json.Json> = Array.isArray(body) ? body : [body]
    for (const event of events) {
      if (Json.isObject(event) && (isError(event) || isChunk(event))) this.#add(event)
      else this.unusable(event, "reply of this protocol")
    }
  }

  #add(event: Json.JsonObject): void {
    this.frames.read()
    if (isError(event)) return this.fail(Failures.readJson(event))
    this.usage = WireUsage.decode(event["usageMetadata"]) ?? this.usage
    this.model = Parts.text(event["modelVersion"]) || this.model
    const candidates = objects(event["candidates"])
    const first = candidates.find(({ index }) => typeof index !== "number" || index === 0)
    const feedback = object(event["promptFeedback"])
    const blocked = Parts.text(feedback["blockReason"])
    if (first !== undefined) return this.#candidate(first)
    if (blocked === "" || this.finish !== undefined) return
    this.spoil("filtered", `the provider blocked the prompt (${blocked}) and gave no reply`)
  }

  #candidate(candidate: Json.JsonObject): void {
    for (const part of objects(object(candidate["content"])["parts"])) this.#part(part)
    this.finish = Parts.text(candidate["finishReason"]) || this.finish
    this.#finishMessage = Parts.text(candidate["finishMessage"]) || this.#finishMessage
  }

  #part(part: Json.JsonObject): void {
    const shown = this.#parts.add(part)
    switch (shown._tag) {
      case "Nothing":
        return
      case "Text":
        return this.run.text(shown.text)
      case "Thought":
        this.#reasoning.push(shown.text)
        return this.run.reasoning(shown.text)
      case "Begun": {
        const { id, name, position } = shown.call
        this.calls.add({ index: position, id, name, arguments: "" })
      }
    }
  }

  protected said(how: BodyReader.Settling): Own {
    const finish = this.finish === undefined ? undefined : finishOf(this.finish)
    for (const call of this.#parts.calls) this.#argue(call)
    const calls = this.calls.settle({ ...how, cumulative: false, finished: finish === undefined })
    return {
      reasoning: this.#reasoning.join(""),
      calls,
      finish,
      replay: calls.partial.length > 0 ? undefined : Replay.of(this.#parts.all),
      warnings: this.#tolerated()
    }
  }

  /** Arguments are shown when they are whole: pieces of them are places in a tree, and no text. */
  #argue(call: Parts.Call): void {
    const text = Parts.argumentsOf(call)
    this.calls.replace(call.position, text)
    this.run.arguments(call.position, call.name, text)
  }

  #tolerated(): ReadonlyArray<string> {
    const served = this.#parts.all.filter((part) => part._tag === "Other").length
    return [
      ...(served === 0 ? [] : [`the reply holds ${served} parts that are neither text nor a call`]),
      ...(this.#finishMessage === "" ? [] : [`the provider says why it ended: ${this.#finishMessage}`]),
      ...(this.finish === undefined ? ["the stream ended with [DONE] and no finish reason"] : [])
    ]
  }

  protected override get malformed(): string | undefined {
    const open = this.#parts.calls.some((call) => call.open) && (this.finish ?? "STOP") === "STOP"
    return this.#parts.fault ?? super.malformed ?? (open ? "a tool call was never closed" : undefined)
  }
}

const isError = (event: Json.JsonObject): boolean =>
  event["error"] !== undefined && event["error"] !== null && event["error"] !== false
