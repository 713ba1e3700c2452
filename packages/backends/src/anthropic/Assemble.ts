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
import type { Usage } from "@settle/core/model/Usage"
import type * as Backend from "@settle/core/port/Backend"
import type * as BodyReader from "../BodyReader.ts"
import * as Failures from "../Failures.ts"
import { Gathering, type Own } from "../Gathering.ts"
import * as Blocks from "./Blocks.ts"
import * as Deltas from "./Deltas.ts"
import * as Replay from "./Replay.ts"
import * as WireUsage from "./Usage.ts"

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

const serverTool = /^(?!tool_use$).*_tool_use$/

export class Assembly extends Gathering {
  protected readonly awaited = "a stop reason or message_stop"
  readonly #blocks = new Blocks.Blocks()
  readonly #reasoning: Array<string> = []
  #account: Json.JsonObject = {}
  #id: string | undefined
  readonly #warnings: Array<string> = []

  protected get usage(): Usage | undefined {
    return WireUsage.decode(this.#account)
  }

  event(name: string, data: string): void {
    if (this.over) return
    const parsed = Json.parse(data)
    if (name === "error-line" || (name === "error" && !Json.isObject(parsed))) return this.fail(Failures.read(data))
    const delta = Json.isObject(parsed) ? Deltas.fromEvent(name, parsed) : undefined
    if (delta === undefined || (name === "stray" && delta._tag !== "Failed")) {
      if (name === "ping" || data.trim() === "[DONE]") return
      return this.frames.drop(data, true)
    }
    this.#add(delta)
  }

  whole(body: Json.Json): void {
    if (!Json.isObject(body) || body["type"] !== "message") return this.fail(Failures.readJson(body))
    for (const delta of Deltas.fromMessage(body)) this.#add(delta)
  }

  #add(delta: Deltas.Delta): void {
    if (delta._tag !== "Ping" && delta._tag !== "Unknown") this.frames.read()
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
        this.finish = delta.stopReason ?? this.finish
        this.#account = WireUsage.merge(this.#account, delta.usage)
        return
      case "Stop":
        return this.end()
      case "Failed":
        return this.fail(Failures.readJson(delta.error))
      case "Ping":
      case "Unknown":
        return
    }
  }

  #start(message: Json.JsonObject): void {
    const id = Deltas.text(message["id"])
    const { usage } = message
    this.#account = WireUsage.merge(this.#account, Json.isObject(usage) ? usage : undefined)
    this.model = Deltas.text(message["model"]) || this.model
    const again = this.#id !== undefined && this.#id !== id
    this.#id = id
    if (!again || this.#blocks.all.length === 0) return
    if (this.#blocks.anyOpen) this.spoil("malformed", "a second message began inside a block of the first")
    else this.#warnings.push("the stream held more than one message; their blocks were put in a row")
  }

  #show(shown: Blocks.Shown): void {
    switch (shown._tag) {
      case "Nothing":
        return
      case "Text":
        return this.run.text(shown.text)
      case "Thought":
        this.#reasoning.push(shown.text)
        return this.run.reasoning(shown.text)
      case "Arguments": {
        const { block, text } = shown
        const first = block.input.length === 0
        const call = this.calls.add({
          index: block.position,
          id: first ? Deltas.text(block.fields["id"]) || undefined : undefined,
          name: first ? Deltas.text(block.fields["name"]) || undefined : undefined,
          arguments: text
        })
        return this.run.arguments(call.position, call.name, text)
      }
    }
  }

  protected override fail(account: Failures.Account): void {
    if (this.finish === "max_tokens") this.#warnings.push(`an error came after the end: ${account.detail}`)
    else super.fail(account)
  }

  protected said({ kept, ...how }: BodyReader.Settling): Own {
    const finish = this.finish === undefined ? undefined : finishOf(this.finish)
    const finished = this.done && (finish === "stop" || finish === "tool-calls")
    this.#wholeInputs()
    const calls = this.calls.settle({ ...how, cumulative: false, finished })
    return {
      reasoning: this.#reasoning.join(""),
      calls,
      finish,
      replay: calls.partial.length > 0 ? undefined : Replay.of(this.#blocks.all, kept ?? null),
      warnings: [...this.#warnings, ...this.#tolerated()]
    }
  }

  /** A call whose input came with the block's start, and not in pieces. */
  #wholeInputs(): void {
    for (const block of this.#blocks.all) {
      if (block.type !== "tool_use" || block.input.join("") !== "") continue
      this.calls.extend(block.position, Blocks.inputText(block))
    }
  }

  #tolerated(): ReadonlyArray<string> {
    const served = this.#blocks.all.filter((block) => serverTool.test(block.type)).length
    return [
      ...(served === 0 ? [] : [`the provider ran ${served} tools of its own`]),
      ...(this.finish === "pause_turn" ? ["the provider paused its turn; the next request lets it go on"] : []),
      ...(this.finish === undefined ? ["the stream ended with message_stop and no stop reason"] : []),
      ...(this.done ? [] : ["the stream ended without message_stop"])
    ]
  }

  protected override get malformed(): string | undefined {
    const open = this.#blocks.all.some((block) => block.open && block.type === "tool_use")
    return super.malformed ?? (open && this.finish !== "max_tokens" ? "a tool call was never closed" : undefined)
  }
}
