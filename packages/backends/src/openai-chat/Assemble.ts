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
import type * as Backend from "@settle/core/port/Backend"
import type * as BodyReader from "../BodyReader.ts"
import * as Failures from "../Failures.ts"
import * as Gathering from "../Gathering.ts"
import * as Deltas from "./Deltas.ts"
import * as Replay from "./Replay.ts"
import * as Template from "./Template.ts"

export interface Options extends Gathering.Options {
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

export class Assembly extends Gathering.Gathering {
  protected readonly awaited = "a finish reason or [DONE]"
  readonly #cumulative: boolean
  readonly #templates = new Template.Templates()
  readonly #thoughts = new Replay.Thoughts()
  #refused = false
  #usage: Usage | undefined
  #id: string | undefined
  #provider: string | undefined
  readonly #warnings: Array<string> = []

  constructor(options: Options) {
    super(options)
    this.#cumulative = options.cumulative
  }

  event(name: string, data: string): void {
    if (this.over) return
    if (name === "message") {
      const match = this.#templates.match(data)
      if (match !== undefined) return this.#matched(match)
      if (data.length < 16 && data.trim() === "[DONE]") return this.end()
    }
    this.#parse(name, data)
  }

  /** One JSON body served instead of a stream: its end is the end. */
  whole(body: Json.Json): void {
    const first = Array.isArray(body) && body[0] !== undefined ? body[0] : body
    this.#add(Deltas.fromEvent(first))
    if (Json.isObject(body) && Array.isArray(body["choices"])) this.end()
    else this.unusable(body, "chat completion")
  }

  #matched(match: Template.Match): void {
    this.frames.read()
    if (match.kind === "text") this.run.text(match.text)
    else if (match.kind === "thought") this.#think([{ field: match.field, text: match.text }])
    else this.#argue(this.calls.extend(match.index, match.text), match.text)
  }

  #parse(name: string, data: string): void {
    const parsed = Json.parse(data)
    if (name === "error" || name === "error-line") return this.fail(Failures.read(data))
    const delta = parsed === undefined ? undefined : Deltas.fromEvent(parsed)
    if (delta === undefined || !delta.known) return this.#drop(name, data)
    if (name === "stray" && delta.error === undefined) return this.#drop(name, data)
    if (name === "message") this.#templates.parsed(data, delta)
    if (delta.details.length > 0) this.kept += data.length
    this.#add(delta)
  }

  #drop(name: string, data: string): void {
    if (name !== "ping") this.frames.drop(data)
  }

  protected override fail(account: Failures.Account): void {
    const finish = this.finish === undefined ? undefined : finishOf(this.finish)
    if (finish === "length") this.#warnings.push(`an error came after the end: ${account.detail}`)
    else super.fail(account)
  }

  #add(delta: Deltas.Delta): void {
    this.frames.read()
    this.#usage = delta.usage ?? this.#usage
    this.model = delta.model ?? this.model
    this.#id ??= delta.id
    this.#provider ??= delta.provider
    this.finish = delta.finish ?? this.finish
    if (delta.error !== undefined) return this.fail(Failures.readJson(delta.error))
    this.#think(delta.thoughts)
    if (delta.details.length > 0) this.#thoughts.keep(delta.details)
    if (delta.text !== "") this.run.text(delta.text)
    if (delta.refusal !== "") this.#refuse(delta.refusal)
    for (const call of delta.calls) this.#argue(this.calls.add(call), call.arguments)
  }

  #think(thoughts: ReadonlyArray<Deltas.Thought>): void {
    const text = this.#thoughts.pick(thoughts)
    if (text !== "") this.run.reasoning(text)
  }

  /** A refusal is what the model answers: without it the reply would look empty. */
  #refuse(text: string): void {
    this.run.text(text)
    if (!this.#refused) this.#warnings.push("the model refused; its words are the text of the reply")
    this.#refused = true
  }

  #argue(call: { readonly position: number; readonly name: string }, text: string): void {
    this.run.arguments(call.position, call.name, text)
  }

  protected said(how: BodyReader.Settling): Gathering.Own {
    const finish = this.finish === undefined ? undefined : finishOf(this.finish)
    const finished = this.done && (finish === "stop" || finish === "tool-calls")
    const calls = this.calls.settle({ ...how, finished, cumulative: this.#cumulative })
    return {
      reasoning: this.#thoughts.text,
      calls,
      finish,
      replay: this.#thoughts.replay(calls),
      warnings: [...this.#warnings, ...this.#tolerated()]
    }
  }

  #tolerated(): ReadonlyArray<string> {
    return [
      ...(this.finish === undefined ? ["the stream ended with [DONE] and no finish reason"] : []),
      ...(this.done ? [] : ["the stream ended without [DONE]"])
    ]
  }

  protected get usage(): Usage | undefined {
    if (this.#usage === undefined || this.#provider === undefined) return this.#usage
    return {
      ...this.#usage,
      providerName: this.#provider,
      ...(this.#id === undefined ? {} : { generationId: this.#id })
    }
  }
}
