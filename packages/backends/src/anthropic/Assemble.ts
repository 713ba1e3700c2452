/**
 * Deltas into one reply. Pure: one assembly for one reply.
 *
 * M1. A reply is a success only when the server said that it ended: a stop reason or `message_stop` (X-WIRE-01, S8). Anything that
 *     was tolerated on the way is a warning.
 * M2. An error that the server sends outweighs what came before it, except after `max_tokens`, which already says it (S9).
 * M3. Usage is the last word on each field, and is kept whatever the end (F5).
 * M4. What the server's own tools did is not a call of ours: it is kept for the next request and never dispatched.
 * M5. A second start of the same message says nothing; another message after whole blocks goes on behind them, and one inside an
 *     open block is no protocol.
 */
import * as Json from "@settle/core/model/Json"
import * as Backend from "@settle/core/port/Backend"
import * as Result from "effect/Result"
import type * as BodyReader from "../BodyReader.ts"
import * as Calls from "../Calls.ts"
import * as Failures from "../Failures.ts"
import { Run } from "../Run.ts"
import * as Blocks from "./Blocks.ts"
import * as Deltas from "./Deltas.ts"
import * as Replay from "./Replay.ts"
import * as Usage from "./Usage.ts"

export interface Options {
  readonly scrub: (text: string) => string
  /** Characters a whole reply may hold. */
  readonly maxReplySize: number
}

const finishes: ReadonlyMap<string, Backend.Finish> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["tool_use", "tool-calls"],
  ["max_tokens", "length"],
  ["refusal", "content-filter"],
  ["model_context_window_exceeded", "context-window"]
])

/** What a stop reason means; `unknown` for `pause_turn` and for one that nobody uses yet. */
export const finishOf = (word: string): Backend.Finish => finishes.get(word) ?? "unknown"

const bad = (problem: Backend.BadResponse["problem"], detail: string) => new Backend.BadResponse({ problem, detail })

const serverTool = /^(?!tool_use$).*_tool_use$/

export class Assembly implements BodyReader.Assembly {
  readonly #options: Options
  readonly #blocks = new Blocks.Blocks()
  readonly #calls = new Calls.Calls()
  readonly #run = new Run()
  readonly #reasoning: Array<string> = []
  #account: Json.JsonObject = {}
  #stop: string | undefined
  #id: string | undefined
  #model: string | undefined
  #done = false
  #error: Failures.Account | undefined
  #malformed: string | undefined
  #events = 0
  #dropped = 0
  #lastDropped = false
  readonly #warnings: Array<string> = []

  constructor(options: Options) {
    this.#options = options
  }

  get over(): boolean {
    const failed = this.#error !== undefined || this.#malformed !== undefined
    return this.#done || failed || this.#run.size > this.#options.maxReplySize
  }

  take(): Array<Backend.Chunk> {
    return this.#run.take()
  }

  event(name: string, data: string): void {
    if (this.over) return
    const parsed = Json.parse(data)
    if (name === "error-line" || (name === "error" && !Json.isObject(parsed))) return this.#fail(Failures.read(data))
    const delta = Json.isObject(parsed) ? Deltas.fromEvent(name, parsed) : undefined
    if (delta === undefined || (name === "stray" && delta._tag !== "Failed")) {
      if (name === "ping" || data.trim() === "[DONE]") return
      this.#dropped += 1
      this.#lastDropped = true
      return
    }
    this.#add(delta)
  }

  whole(body: Json.Json): void {
    if (!Json.isObject(body) || body["type"] !== "message") return this.#fail(Failures.readJson(body))
    for (const delta of Deltas.fromMessage(body)) this.#add(delta)
  }

  #add(delta: Deltas.Delta): void {
    this.#lastDropped = false
    if (delta._tag !== "Ping" && delta._tag !== "Unknown") this.#events += 1
    switch (delta._tag) {
      case "Start":
        return this.#start(delta.message)
      case "BlockStart":
        return this.#show(this.#blocks.start(delta.index, delta.block))
      case "BlockDelta":
        return this.#show(this.#blocks.add(delta.index, delta.delta))
      case "BlockStop":
        return this.#blocks.stop(delta.index)
      case "End":
        this.#stop = delta.stopReason ?? this.#stop
        this.#account = Usage.merge(this.#account, delta.usage)
        return
      case "Stop":
        this.#done = true
        return
      case "Failed":
        return this.#fail(Failures.readJson(delta.error))
      case "Ping":
      case "Unknown":
        return
    }
  }

  #start(message: Json.JsonObject): void {
    const id = Deltas.text(message["id"])
    const { usage } = message
    this.#account = Usage.merge(this.#account, Json.isObject(usage) ? usage : undefined)
    this.#model = Deltas.text(message["model"]) || this.#model
    const again = this.#id !== undefined && this.#id !== id
    this.#id = id
    if (!again || this.#blocks.all.length === 0) return
    if (this.#blocks.anyOpen) this.#malformed ??= "a second message began inside a block of the first"
    else this.#warnings.push("the stream held more than one message; their blocks were put in a row")
  }

  #show(shown: Blocks.Shown): void {
    switch (shown._tag) {
      case "Nothing":
        return
      case "Text":
        return this.#run.text(shown.text)
      case "Thought":
        this.#reasoning.push(shown.text)
        return this.#run.reasoning(shown.text)
      case "Arguments": {
        const { block, text } = shown
        const first = block.input.length === 0
        const call = this.#calls.add({
          index: block.position,
          id: first ? Deltas.text(block.fields["id"]) || undefined : undefined,
          name: first ? Deltas.text(block.fields["name"]) || undefined : undefined,
          arguments: text
        })
        return this.#run.arguments(call.position, call.name, text)
      }
    }
  }

  #fail(account: Failures.Account): void {
    if (this.#stop === "max_tokens") this.#warnings.push(`an error came after the end: ${account.detail}`)
    else this.#error ??= account
  }

  freshIds(taken: ReadonlySet<string>): number {
    return this.#calls.fresh(taken)
  }

  result(
    ending: BodyReader.Ending,
    { fresh, kept, taken, tools }: BodyReader.Settling
  ): Result.Result<Backend.Reply, BodyReader.Failure> {
    const usage = Usage.decode(this.#account)
    const reason = this.#fault(ending)
    if (reason !== undefined) return Result.fail({ reason, usage })
    const finish = this.#stop === undefined ? undefined : finishOf(this.#stop)
    const finished = this.#done && (finish === "stop" || finish === "tool-calls")
    this.#wholeInputs()
    const calls = this.#calls.settle({ cumulative: false, finished, tools, taken, fresh })
    const derived: Backend.Finish = calls.whole.length > 0 ? "tool-calls" : "stop"
    const reasoning = Json.wellFormed(this.#reasoning.join(""))
    const replay = calls.partial.length > 0 ? undefined : Replay.of(this.#blocks.all, kept ?? null)
    return Result.succeed({
      text: this.#run.visible,
      toolCalls: calls.whole,
      partialCalls: calls.partial,
      finish: finish ?? derived,
      warnings: [...this.#warnings, ...calls.warnings, ...this.#tolerated()],
      ...(this.#stop === undefined ? {} : { finishReason: this.#stop }),
      ...(reasoning === "" ? {} : { reasoning }),
      ...(usage === undefined ? {} : { usage }),
      ...(this.#model === undefined ? {} : { modelUsed: this.#model }),
      ...(replay === undefined ? {} : { replay })
    })
  }

  /** A call whose input came with the block's start, and not in pieces. */
  #wholeInputs(): void {
    for (const block of this.#blocks.all) {
      if (block.type !== "tool_use" || block.input.join("") !== "") continue
      this.#calls.extend(block.position, Blocks.inputText(block))
    }
  }

  #tolerated(): ReadonlyArray<string> {
    const served = this.#blocks.all.filter((block) => serverTool.test(block.type)).length
    return [
      ...(served === 0 ? [] : [`the provider ran ${served} tools of its own`]),
      ...(this.#stop === "pause_turn" ? ["the provider paused its turn; the next request lets it go on"] : []),
      ...(this.#dropped === 0 ? [] : [`${this.#dropped} frames of the stream were not JSON and were skipped`]),
      ...(this.#stop === undefined ? ["the stream ended with message_stop and no stop reason"] : []),
      ...(this.#done ? [] : ["the stream ended without message_stop"])
    ]
  }

  #fault(ending: BodyReader.Ending): Backend.Reason | undefined {
    if (this.#error !== undefined) return Failures.fromStream(this.#error, this.#options.scrub)
    if (this.#run.size > this.#options.maxReplySize) {
      return bad("too-large", `the reply is longer than ${this.#options.maxReplySize} characters`)
    }
    const malformed = this.#malformed ?? this.#calls.malformed
    if (malformed !== undefined) return bad("malformed", malformed)
    if (this.#done || (this.#stop !== undefined && ending._tag === "Closed")) {
      const open = this.#blocks.all.some((block) => block.open && block.type === "tool_use")
      if (open && this.#stop !== "max_tokens") return bad("malformed", "a tool call was never closed")
      if (this.#dropped > 0 && this.#calls.size > 0) {
        return bad("malformed", "a frame of the stream could not be read and may have held a piece of a tool call")
      }
      return this.#lastDropped ? bad("malformed", "the last frame of the stream could not be read") : undefined
    }
    const got = this.#events === 0 ? "before any event" : `after ${this.#run.size} characters`
    const unread = this.#dropped === 0 ? "" : `; ${this.#dropped} of its frames could not be read`
    return ending._tag === "Broken"
      ? bad("cut", `the connection broke ${got}: ${ending.detail}${unread}`)
      : bad("cut", `the stream ended ${got}, without a stop reason or message_stop${unread}`)
  }
}
