/**
 * Deltas into one reply. Pure: one assembly for one reply.
 *
 * M1. A reply is a success only when the server said that it ended: a finish reason or `[DONE]` (X-WIRE-01, S8). Anything that was
 *     tolerated on the way is a warning.
 * M2. An error that the server sends outweighs what came before it, except after `length`, which already says it (S9).
 * M3. Usage is the last one that says anything, and is kept whatever the end (F5).
 * M4. Reasoning is taken from the first name it comes under, once (F8, F9).
 * M5. A frame that could not be read is a warning, unless nothing valid follows it, or it may have held a piece of a call.
 */
import * as Json from "@settle/core/model/Json"
import type { Usage } from "@settle/core/model/Usage"
import * as Backend from "@settle/core/port/Backend"
import * as Result from "effect/Result"
import type * as BodyReader from "../BodyReader.ts"
import * as Calls from "../Calls.ts"
import * as Failures from "../Failures.ts"
import { Run } from "../Run.ts"
import * as Deltas from "./Deltas.ts"
import * as Replay from "./Replay.ts"
import * as Template from "./Template.ts"

export interface Options {
  readonly scrub: (text: string) => string
  /** Characters a whole reply may hold. */
  readonly maxReplySize: number
  /** Fragments of arguments are cumulative (D6). */
  readonly cumulative: boolean
}

const finishes: ReadonlyArray<readonly [RegExp, Backend.Finish]> = [
  [/^(stop|eos|eos_token|end_turn|stop_sequence|complete|completed)$/i, "stop"],
  [/^(tool_calls?|function_call|tool_use)$/i, "tool-calls"],
  [/^(length|max_tokens|max_output_tokens)$/i, "length"],
  [/^(content_filter|safety|sensitive|recitation|prohibited_content|refusal)$/i, "content-filter"],
  [/^(model_context_window_exceeded|context_length_exceeded|context_window_exceeded)$/i, "context-window"],
  [/error|insufficient_system_resource|abort/i, "error"]
]

/** What a provider's own word means; `unknown` for one that nobody uses yet. */
export const finishOf = (word: string): Backend.Finish =>
  finishes.find(([pattern]) => pattern.test(word))?.[1] ?? "unknown"

const bad = (problem: Backend.BadResponse["problem"], detail: string) =>
  new Backend.BadResponse({ problem, detail: Json.wellFormed(detail) })

export class Assembly implements BodyReader.Assembly {
  readonly #options: Options
  readonly #templates = new Template.Templates()
  readonly #calls = new Calls.Calls()
  readonly #run = new Run()
  readonly #thoughts = new Replay.Thoughts()
  #refused = false
  #finish: string | undefined
  #usage: Usage | undefined
  #model: string | undefined
  #id: string | undefined
  #provider: string | undefined
  #done = false
  #error: Failures.Account | undefined
  #events = 0
  #dropped = 0
  /** Characters of events that are kept as they came. */
  #kept = 0
  /** A dropped frame that looked like content. */
  #lost = false
  /** A whole body that is nothing of this protocol. */
  #unusable: string | undefined
  #lastDropped = false
  readonly #warnings: Array<string> = []

  constructor(options: Options) {
    this.#options = options
  }

  /** Nothing that follows can change the reply. */
  get over(): boolean {
    return this.#done || this.#error !== undefined || this.#tooLarge
  }

  get #tooLarge(): boolean {
    return this.#run.size + this.#kept > this.#options.maxReplySize
  }

  /** What came since the last call, neighbours of one kind as one chunk. */
  take(): Array<Backend.Chunk> {
    return this.#run.take()
  }

  event(name: string, data: string): void {
    if (this.over) return
    if (name === "message") {
      const match = this.#templates.match(data)
      if (match !== undefined) return this.#matched(match)
      if (data.length < 16 && data.trim() === "[DONE]") return this.#end()
    }
    this.#parse(name, data)
  }

  /** One JSON body served instead of a stream: its end is the end. */
  whole(body: Json.Json): void {
    const first = Array.isArray(body) && body[0] !== undefined ? body[0] : body
    this.#add(Deltas.fromEvent(first))
    if (Json.isObject(body) && Array.isArray(body["choices"])) this.#end()
    else if (this.#error === undefined) this.#unusable = JSON.stringify(body).slice(0, 200)
  }

  /** The server said that this was all. */
  #end(): void {
    this.#done = true
    this.#lastDropped = false
  }

  #matched(match: Template.Match): void {
    this.#events += 1
    this.#lastDropped = false
    if (match.kind === "text") this.#run.text(match.text)
    else if (match.kind === "thought") this.#think([{ field: match.field, text: match.text }])
    else this.#argue(this.#calls.extend(match.index, match.text), match.text)
  }

  #parse(name: string, data: string): void {
    const parsed = Json.parse(data)
    if (name === "error" || name === "error-line") return this.#fail(Failures.read(data))
    const delta = parsed === undefined ? undefined : Deltas.fromEvent(parsed)
    if (delta === undefined || !delta.known) return this.#drop(name, data)
    if (name === "stray" && delta.error === undefined) return this.#drop(name, data)
    if (name === "message") this.#templates.parsed(data, delta)
    if (delta.details.length > 0) this.#kept += data.length
    this.#add(delta)
  }

  #drop(name: string, data: string): void {
    if (name === "ping") return
    this.#dropped += 1
    this.#lastDropped = true
    this.#lost ||= /^\s*[{[]/.test(data)
  }

  #fail(account: Failures.Account): void {
    const finish = this.#finish === undefined ? undefined : finishOf(this.#finish)
    if (finish === "length") this.#warnings.push(`an error came after the end: ${account.detail}`)
    else this.#error ??= account
  }

  #add(delta: Deltas.Delta): void {
    this.#events += 1
    this.#lastDropped = false
    this.#usage = delta.usage ?? this.#usage
    this.#model = delta.model ?? this.#model
    this.#id ??= delta.id
    this.#provider ??= delta.provider
    this.#finish = delta.finish ?? this.#finish
    if (delta.error !== undefined) return this.#fail(Failures.readJson(delta.error))
    this.#think(delta.thoughts)
    if (delta.details.length > 0) this.#thoughts.keep(delta.details)
    if (delta.text !== "") this.#run.text(delta.text)
    if (delta.refusal !== "") this.#refuse(delta.refusal)
    for (const call of delta.calls) this.#argue(this.#calls.add(call), call.arguments)
  }

  #think(thoughts: ReadonlyArray<Deltas.Thought>): void {
    const text = this.#thoughts.pick(thoughts)
    if (text !== "") this.#run.reasoning(text)
  }

  /** A refusal is what the model answers: without it the reply would look empty. */
  #refuse(text: string): void {
    this.#run.text(text)
    if (!this.#refused) this.#warnings.push("the model refused; its words are the text of the reply")
    this.#refused = true
  }

  #argue(call: { readonly position: number; readonly name: string }, text: string): void {
    this.#run.arguments(call.position, call.name, text)
  }

  /** How many fresh ids `result` needs. */
  freshIds(taken: ReadonlySet<string>): number {
    return this.#calls.fresh(taken)
  }

  result(ending: BodyReader.Ending, how: BodyReader.Settling): Result.Result<Backend.Reply, BodyReader.Failure> {
    const reason = this.#fault(ending)
    if (reason !== undefined) return Result.fail({ reason, usage: this.#billed() })
    const finish = this.#finish === undefined ? undefined : finishOf(this.#finish)
    const finished = this.#done && (finish === "stop" || finish === "tool-calls")
    const calls = this.#calls.settle({ ...how, finished, cumulative: this.#options.cumulative })
    const derived: Backend.Finish = calls.whole.length > 0 ? "tool-calls" : "stop"
    const text = this.#run.visible
    const reasoning = this.#thoughts.text
    const usage = this.#billed()
    const replay = this.#thoughts.replay(calls)
    return Result.succeed({
      text,
      toolCalls: calls.whole,
      partialCalls: calls.partial,
      finish: finish ?? derived,
      warnings: [...this.#warnings, ...calls.warnings, ...this.#tolerated()],
      ...(this.#finish === undefined ? {} : { finishReason: this.#finish }),
      ...(reasoning === "" ? {} : { reasoning }),
      ...(usage === undefined ? {} : { usage }),
      ...(this.#model === undefined ? {} : { modelUsed: this.#model }),
      ...(replay === undefined ? {} : { replay })
    })
  }

  #tolerated(): ReadonlyArray<string> {
    return [
      ...(this.#dropped === 0 ? [] : [`${this.#dropped} frames of the stream were not JSON and were skipped`]),
      ...(this.#finish === undefined ? ["the stream ended with [DONE] and no finish reason"] : []),
      ...(this.#done ? [] : ["the stream ended without [DONE]"])
    ]
  }

  #fault(ending: BodyReader.Ending): Backend.Reason | undefined {
    if (this.#error !== undefined) return Failures.fromStream(this.#error, this.#options.scrub)
    if (this.#tooLarge) {
      return bad("too-large", `the reply is longer than ${this.#options.maxReplySize} characters`)
    }
    if (this.#unusable !== undefined) {
      return bad(
        "malformed",
        `the server answered with JSON that is no chat completion: ${this.#unusable}. Check baseUrl`
      )
    }
    const malformed = this.#calls.malformed
    if (this.#done || (this.#finish !== undefined && ending._tag === "Closed")) {
      if (malformed !== undefined) return bad("malformed", malformed)
      if (this.#lost && this.#calls.size > 0) {
        return bad("malformed", "a frame of the stream could not be read and may have held a piece of a tool call")
      }
      return this.#lastDropped ? bad("malformed", "the last frame of the stream could not be read") : undefined
    }
    const got = this.#events === 0 ? "before any event" : `after ${this.#run.size} characters`
    const unread = this.#dropped === 0 ? "" : `; ${this.#dropped} of its frames could not be read`
    return ending._tag === "Broken"
      ? bad("cut", `the connection broke ${got}: ${ending.detail}${unread}`)
      : bad("cut", `the stream ended ${got}, without a finish reason or [DONE]${unread}`)
  }

  #billed(): Usage | undefined {
    if (this.#usage === undefined || this.#provider === undefined) return this.#usage
    return {
      ...this.#usage,
      providerName: this.#provider,
      ...(this.#id === undefined ? {} : { generationId: this.#id })
    }
  }
}
