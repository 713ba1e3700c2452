/**
 * The parts of one streamed reply of `effect/ai`, as our chunks and, at the end, as our reply. Pure.
 *
 * G1. A stream that ends without a finish was cut, and one that carried an error has failed, although it succeeded.
 * G2. Calls keep the order of their first appearance; a call whose arguments never came whole is partial.
 * G3. What a provider executed by itself is no call of ours.
 */
import * as Json from "@settle/core/model/Json"
import type { ToolCall } from "@settle/core/model/Message"
import * as Backend from "@settle/core/port/Backend"
import * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import * as Result from "effect/Result"
import * as Outcome from "./Outcome.ts"
import * as Prompts from "./Prompts.ts"

interface Call {
  readonly index: number
  readonly id: string
  readonly name: string
  shown: string
  whole: string | undefined
}

export class Reading {
  readonly #parts: Array<Response.AnyPart> = []
  readonly #calls: Array<Call> = []
  readonly #warnings: Array<string> = []
  readonly #text: Array<string> = []
  readonly #reasoning: Array<string> = []
  #model: string | undefined
  #finish: Response.FinishPart | undefined
  #failed: Backend.Reason | undefined

  /** How many ids must be drawn for `result`. */
  clashes(taken: ReadonlySet<string>): number {
    return this.#clashing(taken).size
  }

  /** Calls whose own id is empty, or another's. */
  #clashing(taken: ReadonlySet<string>): ReadonlySet<Call> {
    const used = new Set(taken)
    return new Set(
      this.#calls.filter(({ id }) => {
        const clashes = id === "" || used.has(id)
        used.add(id)
        return clashes
      })
    )
  }

  /** What to show for a part. */
  add(part: Response.AnyPart): Backend.Chunk {
    this.#parts.push(part)
    switch (part.type) {
      case "text-delta":
        return this.#say(part.delta)
      case "text":
        return this.#say(part.text)
      case "reasoning-delta":
        return this.#think(part.delta)
      case "reasoning":
        return this.#think(part.text)
      case "tool-params-start":
        if (!part.providerExecuted) this.#call(part.id, part.name)
        return Backend.Chunk.Alive()
      case "tool-params-delta":
        return this.#show(part.id, part.delta)
      case "tool-call":
        return this.#called(part)
      case "response-metadata":
        this.#model = part.modelId ?? this.#model
        return Backend.Chunk.Alive()
      case "finish":
        this.#finish = part
        return Backend.Chunk.Alive()
      case "error":
        this.#failed ??= Outcome.reasonFromPart(part.error)
        return Backend.Chunk.Alive()
      case "file":
        this.#warnings.push(`a file (${part.mediaType}) in the reply was left out`)
        return Backend.Chunk.Alive()
      default:
        return Backend.Chunk.Alive()
    }
  }

  #say(text: string): Backend.Chunk {
    this.#text.push(text)
    return text === "" ? Backend.Chunk.Alive() : Backend.Chunk.Text({ text })
  }

  #think(text: string): Backend.Chunk {
    this.#reasoning.push(text)
    return text === "" ? Backend.Chunk.Alive() : Backend.Chunk.Reasoning({ text })
  }

  /** The call of this id that is still open, or a new one. */
  #call(id: string, name: string): Call {
    const known = this.#calls.findLast((call) => call.id === id && call.whole === undefined)
    if (known !== undefined) return known
    const made: Call = { index: this.#calls.length, id, name, shown: "", whole: undefined }
    this.#calls.push(made)
    return made
  }

  #show(id: string, text: string): Backend.Chunk {
    const call = this.#calls.findLast((one) => one.id === id)
    if (call === undefined || text === "") return Backend.Chunk.Alive()
    call.shown += text
    return Backend.Chunk.ToolArguments({ index: call.index, name: call.name, text })
  }

  #called(part: Extract<Response.AnyPart, { readonly type: "tool-call" }>): Backend.Chunk {
    if (part.providerExecuted) {
      this.#warnings.push(`the provider executed ${part.name} by itself`)
      return Backend.Chunk.Alive()
    }
    const call = this.#call(part.id, part.name)
    call.whole = Prompts.argumentsOf(part.params)
    return call.shown === "" ? this.#show(part.id, call.whole) : Backend.Chunk.Alive()
  }

  /** The finished reply. `fresh`: as many new ids as `clashes` said. */
  result(taken: ReadonlySet<string>, fresh: ReadonlyArray<string>): Result.Result<Backend.Reply, Backend.BackendError> {
    const finish = this.#finish
    const usage = finish === undefined ? undefined : Outcome.usageFrom(finish.usage, finish.metadata)
    const billed = usage === undefined ? {} : { usage }
    if (this.#failed !== undefined) return Result.fail(new Backend.BackendError({ reason: this.#failed, ...billed }))
    const text = Json.wellFormed(this.#text.join(""))
    if (finish === undefined) {
      const detail = `the stream ended after ${text.length} characters, without a finish`
      return Result.fail(new Backend.BackendError({ reason: new Backend.BadResponse({ problem: "cut", detail }) }))
    }
    const ids = [...fresh]
    const clashing = this.#clashing(taken)
    const named = this.#calls.map((call) => (clashing.has(call) ? { ...call, id: ids.shift() ?? call.id } : call))
    const calls = (whole: boolean): ReadonlyArray<ToolCall> =>
      named
        .filter((call) => (call.whole !== undefined) === whole)
        .map((call) => ({ id: call.id, name: call.name, arguments: Json.wellFormed(call.whole ?? call.shown) }))
    const reasoning = Json.wellFormed(this.#reasoning.join(""))
    const replay = fresh.length === 0 ? this.#replay() : undefined
    return Result.succeed({
      text,
      toolCalls: calls(true),
      partialCalls: calls(false),
      finish: Outcome.finishFrom(finish.reason),
      finishReason: finish.reason,
      warnings: this.#warnings.map(Json.wellFormed),
      ...billed,
      ...(reasoning === "" ? {} : { reasoning }),
      ...(this.#model === undefined ? {} : { modelUsed: this.#model }),
      ...(replay === undefined ? {} : { replay })
    })
  }

  #replay() {
    const turns = Prompt.fromResponseParts(this.#parts).content
    return Prompts.replayOf(turns.flatMap((message) => (message.role === "assistant" ? message.content : [])))
  }
}
