/**
 * Events into one reply. Pure: one assembly for one reply.
 *
 * M1. A reply is a success only when the server said that it ended: a whole response or `[DONE]` (X-WIRE-01, S8). Anything that was
 *     tolerated on the way is a warning.
 * M2. An error that the server sends, or a response that failed, outweighs what came before it (S9).
 * M3. Usage is the last one that says anything, and is kept whatever the end (F5).
 * M4. What the server's own tools did is not a call of ours: it is kept for the next request and never dispatched.
 * M5. A call of a tool with free text carries it as a JSON string.
 */
import * as Json from "@settle/core/model/Json"
import type { Usage } from "@settle/core/model/Usage"
import type * as Backend from "@settle/core/port/Backend"
import type * as BodyReader from "../BodyReader.ts"
import * as Failures from "../Failures.ts"
import { Gathering, type Own } from "../Gathering.ts"
import * as WireUsage from "../openai-chat/Usage.ts"
import * as Items from "./Items.ts"
import * as Replay from "./Replay.ts"

const kinds: ReadonlyMap<string, Items.Kind> = new Map([
  ["response.output_text", "text"],
  ["response.refusal", "refusal"],
  ["response.reasoning_summary_text", "summary"],
  ["response.reasoning_text", "thought"],
  ["response.reasoning", "thought"],
  ["response.function_call_arguments", "arguments"],
  ["response.custom_tool_call_input", "input"]
])

const partKinds: ReadonlyMap<string, Items.Kind> = new Map([
  ["output_text", "text"],
  ["refusal", "refusal"],
  ["summary_text", "summary"],
  ["reasoning_text", "thought"]
])

const incomplete: ReadonlyMap<string, Backend.Finish> = new Map([
  ["max_output_tokens", "length"],
  ["max_tokens", "length"],
  ["content_filter", "content-filter"],
  ["context_window_exceeded", "context-window"]
])

/** What a status and its reason mean; `undefined` leaves it to the calls. */
export const finishOf = (status: string, reason: string): Backend.Finish | undefined =>
  status === "completed" ? undefined : (incomplete.get(reason) ?? "unknown")

const ends = /^response\.(completed|incomplete|failed|cancelled|done)$/

export class Assembly extends Gathering {
  protected readonly awaited = "response.completed or [DONE]"
  protected usage: Usage | undefined
  readonly #items = new Items.Items()
  readonly #reasoning: Array<string> = []
  readonly #warnings = new Set<string>()
  #reason = ""

  event(name: string, data: string): void {
    if (this.over) return
    const parsed = Json.parse(data)
    if (name === "error-line" || (name === "error" && !Json.isObject(parsed))) return this.fail(Failures.read(data))
    if (data.trim() === "[DONE]") return this.end()
    const type = Json.isObject(parsed) ? Items.text(parsed["type"]) || name : ""
    const known = Json.isObject(parsed) && (Json.isObject(parsed["error"]) || /^(response\.|error$)/.test(type))
    if (!known || (name === "stray" && !Json.isObject(parsed["error"]))) {
      if (type !== "ping" && type !== "keepalive") this.frames.drop(data)
      return
    }
    this.frames.read()
    this.#add(type, parsed)
  }

  /** One JSON body served instead of a stream: its end is the end. */
  whole(body: Json.Json): void {
    if (Json.isObject(body) && Array.isArray(body["output"])) return this.#settle(body)
    const account = Failures.readJson(body)
    if (Json.isObject(body) && "error" in body) this.fail(account)
    else this.unusable(body, "response")
  }

  #add(type: string, event: Json.JsonObject): void {
    const response = Items.object(event["response"])
    this.model = Items.text(response["model"]) || this.model
    if (ends.test(type)) return this.#settle({ status: type.slice("response.".length), ...response })
    if (type === "error" || !type.startsWith("response.")) return this.fail(Failures.readJson(event))
    if (type === "response.output_item.added") return this.#begin(this.#items.begin(event))
    if (type === "response.output_item.done") return this.#close(this.#items.finish(event))
    const [, stem = "", step = ""] = /^(.*)\.(delta|done)$/.exec(type) ?? []
    const part = Items.object(event["part"])
    const kind = kinds.get(stem) ?? partKinds.get(Items.text(part["type"]))
    if (kind === undefined || step === "") return
    const said = kinds.has(stem) ? event : { ...event, text: part["text"] ?? part["refusal"] ?? null }
    this.#show(step === "delta" ? this.#items.add(kind, said) : this.#items.complete(kind, said))
  }

  /** The whole response: what it has that no event brought, and how it ended. */
  #settle(response: Json.JsonObject): void {
    const { error } = response
    this.usage = WireUsage.decode(response["usage"]) ?? this.usage
    this.model = Items.text(response["model"]) || this.model
    const status = Items.text(response["status"])
    if (error !== undefined && error !== null) return this.fail(Failures.readJson({ error }))
    if (status === "failed" || status === "cancelled") {
      return this.fail({ detail: `the server says that the response was ${status}, and not why` })
    }
    for (const item of Items.objects(response["output"])) this.#close(this.#items.settle(item))
    this.finish = status === "done" || status === "" ? "completed" : status
    this.#reason = Items.text(Items.object(response["incomplete_details"])["reason"])
    this.end()
  }

  #begin(item: Items.Item): void {
    if (Items.isCall(item)) this.#argue(item, "")
  }

  /** A whole item: a call of it is one although no piece came. */
  #close({ added, item }: Items.Closed): void {
    this.#begin(item)
    this.#show(added)
  }

  #show(added: ReadonlyArray<Items.Added>): void {
    for (const one of added) this.#tell(one)
  }

  #tell({ item, kind, replaces, text }: Items.Added): void {
    if (replaces) {
      this.#warnings.add(`the pieces of a ${item.type} are not what the server says it is as a whole`)
      return
    }
    switch (kind) {
      case "text":
        return this.run.text(text)
      case "refusal":
        this.#warnings.add("the model refused; its words are the text of the reply")
        return this.run.text(text)
      case "summary":
      case "thought":
        this.#reasoning.push(text)
        return this.run.reasoning(text)
      case "arguments":
      case "input":
        return this.#argue(item, text)
    }
  }

  #argue({ fields, position }: Items.Item, text: string): void {
    const call = this.calls.add({
      index: position,
      id: Items.text(fields["call_id"]) || undefined,
      name: Items.text(fields["name"]) || undefined,
      arguments: text
    })
    this.run.arguments(call.position, call.name, text)
  }

  protected said(how: BodyReader.Settling): Own {
    const finish = this.finish === undefined ? undefined : finishOf(this.finish, this.#reason)
    for (const item of this.#items.all.filter(Items.isCall)) this.calls.replace(item.position, wholeArguments(item))
    const calls = this.calls.settle({ ...how, cumulative: false, finished: finish === undefined })
    return {
      reasoning: this.#reasoning.join(""),
      calls,
      finish,
      replay: calls.partial.length > 0 ? undefined : Replay.of(this.#items.all),
      warnings: [...this.#warnings, ...this.#tolerated(finish)]
    }
  }

  #tolerated(finish: Backend.Finish | undefined): ReadonlyArray<string> {
    const plain = new Set(["message", "reasoning", "function_call", "custom_tool_call"])
    const served = this.#items.all.filter((item) => !plain.has(item.type)).length
    const why = this.#reason === "" ? `its status is ${this.finish}` : this.#reason
    return [
      ...(served === 0 ? [] : [`the provider ran ${served} tools of its own`]),
      ...(finish === "unknown" ? [`the response ended for a reason that is not known: ${why}`] : []),
      ...(this.finish === undefined ? ["the stream ended with [DONE] and no whole response"] : [])
    ]
  }

  protected override get malformed(): string | undefined {
    const unclosed = this.#items.all.some((item) => item.open && Items.isCall(item))
    return super.malformed ?? (unclosed && this.finish !== "incomplete" ? "a tool call was never closed" : undefined)
  }
}

const wholeArguments = (item: Items.Item): string => {
  const said = Items.parts(item, item.type === "function_call" ? "arguments" : "input").join("")
  return item.type === "custom_tool_call" && !item.open ? JSON.stringify(said) : said
}
