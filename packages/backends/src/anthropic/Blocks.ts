/**
 * The content blocks of one reply, put together from their deltas. Pure.
 *
 * L1. Every block is kept as it was sent, the pieces of its fields joined: some are signed, some are encrypted, and what nobody
 *     knows yet must go back too.
 * L2. A block begins where the server says that it begins, whatever its index was used for before.
 */
import * as Json from "@settle/core/model/Json"
import { text } from "./Deltas.ts"

export interface Block {
  readonly type: string
  /** Position among the blocks of the reply. */
  readonly position: number
  readonly index: number | undefined
  fields: Json.JsonObject
  /** Pieces of the JSON text of `input`. */
  readonly input: Array<string>
  open: boolean
}

/** What an event added for people to see. */
export type Shown =
  | { readonly _tag: "Nothing" }
  | { readonly _tag: "Text"; readonly text: string }
  | { readonly _tag: "Thought"; readonly text: string }
  | { readonly _tag: "Arguments"; readonly block: Block; readonly text: string }

const nothing: Shown = { _tag: "Nothing" }

export class Blocks {
  readonly #blocks: Array<Block> = []

  get all(): ReadonlyArray<Block> {
    return this.#blocks
  }

  get anyOpen(): boolean {
    return this.#blocks.some((block) => block.open)
  }

  start(index: number | undefined, fields: Json.JsonObject): Shown {
    const type = text(fields["type"])
    const block: Block = { type, position: this.#blocks.length, index, fields, input: [], open: true }
    this.#blocks.push(block)
    switch (type) {
      case "text":
        return shownText(text(fields["text"]))
      case "thinking":
        return shownThought(text(fields["thinking"]))
      case "tool_use":
        return { _tag: "Arguments", block, text: "" }
      default:
        return nothing
    }
  }

  add(index: number | undefined, delta: Json.JsonObject): Shown {
    const type = text(delta["type"])
    const block = this.#find(index) ?? this.#implied(index, type)
    switch (type) {
      case "text_delta":
        append(block, "text", delta["text"])
        return block.type === "text" ? shownText(text(delta["text"])) : nothing
      case "thinking_delta":
        append(block, "thinking", delta["thinking"])
        return block.type === "thinking" ? shownThought(text(delta["thinking"])) : nothing
      case "input_json_delta": {
        const piece = text(delta["partial_json"])
        block.input.push(piece)
        return block.type === "tool_use" ? { _tag: "Arguments", block, text: piece } : nothing
      }
      case "citations_delta": {
        const known = block.fields["citations"]
        const citations = [...(Array.isArray(known) ? known : []), delta["citation"] ?? null]
        block.fields = { ...block.fields, citations }
        return nothing
      }
      default:
        for (const [field, value] of Object.entries(delta)) if (field !== "type") append(block, field, value)
        return nothing
    }
  }

  stop(index: number | undefined): void {
    const block = this.#find(index)
    if (block !== undefined) block.open = false
  }

  #find(index: number | undefined): Block | undefined {
    return index === undefined ? this.#blocks.at(-1) : this.#blocks.findLast((block) => block.index === index)
  }

  /** A delta whose block was never announced. */
  #implied(index: number | undefined, delta: string): Block {
    const type = delta === "input_json_delta" ? "unknown" : delta.replace(/_delta$/, "")
    this.start(index, { type })
    return this.#blocks[this.#blocks.length - 1] ?? { type, position: 0, index, fields: {}, input: [], open: true }
  }
}

/** Strings go on where they were; anything else is the field's new value, and a null says nothing. */
const append = (block: Block, field: string, value: Json.Json | undefined): void => {
  if (value === undefined || value === null) return
  const known = block.fields[field]
  const joined = typeof value === "string" && typeof known === "string" ? known + value : value
  block.fields = { ...block.fields, [field]: joined }
}

const shownText = (text: string): Shown => (text === "" ? nothing : { _tag: "Text", text })
const shownThought = (text: string): Shown => (text === "" ? nothing : { _tag: "Thought", text })

/** The JSON text of a block's `input`: as it streamed, else as the block began. */
export const inputText = (self: Block): string => {
  const streamed = self.input.join("")
  const { input } = self.fields
  if (streamed !== "" || !Json.isObject(input) || Object.keys(input).length === 0) return streamed
  return JSON.stringify(input)
}
