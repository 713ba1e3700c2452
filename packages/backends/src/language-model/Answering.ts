/**
 * One of our replies as the parts of `effect/ai`. Pure.
 *
 * A1. Text and reasoning stream in blocks that open with their first piece and close when the other kind, or the end, comes.
 * A2. Calls come whole, at the end, under the ids of the reply: only then it is known which of them are whole.
 * A3. What the backend wants back with the turn rides on its last block, and returns with the history.
 */
import * as Conversation from "@settle/core/model/Conversation"
import * as Json from "@settle/core/model/Json"
import type { Declaration } from "@settle/core/model/Tool"
import type * as Backend from "@settle/core/port/Backend"
import type * as Ai from "effect/ai/LanguageModel"
import type * as Response from "effect/ai/Response"
import * as Tool from "effect/ai/Tool"
import * as Arr from "effect/Array"
import * as Outcome from "./Outcome.ts"
import * as Prompts from "./Prompts.ts"

export type Part = Exclude<Response.StreamPartEncoded, { readonly type: "error" }>

/** What is asked of `effect/ai`, as one of our requests. That a tool must be called cannot be said; which may be can. */
export const request = (options: Ai.ProviderOptions): Backend.Request => {
  const { responseFormat } = options
  return {
    conversation: Conversation.of(Prompts.toMessages(options.prompt)),
    tools: offered(options).map(declaration),
    ...(responseFormat.type === "text"
      ? {}
      : {
          schema: {
            name: responseFormat.objectName,
            schema: objectOf(Tool.getJsonSchemaFromSchema(responseFormat.schema))
          }
        })
  }
}

const objectOf = (value: unknown): Json.JsonObject => {
  const json = Json.fromUnknown(value)
  return Json.isObject(json) ? json : {}
}

const offered = ({ toolChoice, tools }: Ai.ProviderOptions): ReadonlyArray<Tool.Any> => {
  if (toolChoice === "none") return []
  if (typeof toolChoice === "string") return tools
  const names: ReadonlySet<string> = new Set("tool" in toolChoice ? [toolChoice.tool] : toolChoice.oneOf)
  return tools.filter((tool) => names.has(tool.name))
}

const declaration = (tool: Tool.Any): Declaration => {
  const description = Tool.getDescription(tool)
  const schema = objectOf(Tool.getJsonSchema(tool))
  return {
    name: tool.name,
    parameters: schema["type"] === "object" ? schema : { ...schema, type: "object" },
    ...(description === undefined ? {} : { description })
  }
}

type Kind = "text" | "reasoning"
type Parts = Arr.NonEmptyReadonlyArray<Part>

type Shown = Exclude<Backend.Chunk, { readonly _tag: "Alive" | "ToolArguments" }>

/** Whether a chunk has a place among the parts. */
export const isShown = (chunk: Backend.Chunk): chunk is Shown =>
  chunk._tag !== "Alive" && chunk._tag !== "ToolArguments"

export class Answering {
  #open: Kind | undefined
  #blocks = 0
  #spoke = false

  /** Something of the reply was shown: another backend cannot take it back. */
  get spoke(): boolean {
    return this.#spoke
  }

  add(chunk: Shown): Parts {
    switch (chunk._tag) {
      case "Text":
        return this.#piece("text", chunk.text)
      case "Reasoning":
        return this.#piece("reasoning", chunk.text)
      case "Finished":
        return this.#finish(chunk.reply)
    }
  }

  get #id(): string {
    return `block-${this.#blocks}`
  }

  #piece(kind: Kind, delta: string): Parts {
    this.#spoke = true
    if (this.#open === kind) return [{ type: `${kind}-delta`, id: this.#id, delta }]
    const closed = this.#close()
    this.#open = kind
    this.#blocks += 1
    const start: Part = { type: `${kind}-start`, id: this.#id }
    return Arr.append([...closed, start], { type: `${kind}-delta`, id: this.#id, delta })
  }

  #close(metadata?: Response.ProviderMetadata): ReadonlyArray<Part> {
    const kind = this.#open
    this.#open = undefined
    return kind === undefined
      ? []
      : [{ type: `${kind}-end`, id: this.#id, ...(metadata === undefined ? {} : { metadata }) }]
  }

  #finish(reply: Backend.Reply): Parts {
    this.#spoke = true
    const kept = reply.replay === undefined ? undefined : { [Outcome.namespace]: { replay: reply.replay } }
    const calls = reply.toolCalls.map((call, index): Part => ({
      type: "tool-call",
      id: call.id,
      name: call.name,
      params: Json.parse(call.arguments) ?? call.arguments,
      ...(index === 0 && kept !== undefined ? { metadata: kept } : {})
    }))
    const { cost, totalTokens } = reply.usage ?? {}
    const own = {
      ...(cost === undefined ? {} : { cost }),
      ...(totalTokens === undefined ? {} : { totalTokens }),
      ...(reply.finishReason === undefined ? {} : { finishReason: reply.finishReason })
    }
    const said: ReadonlyArray<Part> = [
      ...this.#close(calls.length === 0 ? kept : undefined),
      ...calls,
      ...(reply.modelUsed === undefined ? [] : [{ type: "response-metadata", modelId: reply.modelUsed } as const])
    ]
    return Arr.append(said, {
      type: "finish",
      reason: Outcome.finishTo(reply.finish),
      usage: Outcome.usageTo(reply.usage),
      ...(Object.keys(own).length === 0 ? {} : { metadata: { [Outcome.namespace]: own } })
    })
  }
}

/** The parts of a whole stream as those of an answer that was not streamed: each block one part. */
export const gathered = (parts: ReadonlyArray<Part>): Array<Response.PartEncoded> => {
  const out: Array<Response.PartEncoded> = []
  let text = ""
  for (const part of parts) {
    switch (part.type) {
      case "text-start":
      case "reasoning-start":
        text = ""
        break
      case "text-delta":
      case "reasoning-delta":
        text += part.delta
        break
      case "text-end":
      case "reasoning-end": {
        const metadata = part.metadata === undefined ? {} : { metadata: part.metadata }
        out.push({ type: part.type === "text-end" ? "text" : "reasoning", text, ...metadata })
        break
      }
      case "tool-call":
      case "response-metadata":
      case "finish":
        out.push(part)
        break
      default:
        break
    }
  }
  return out
}
