/**
 * Neighbouring pieces of one kind as one chunk, and the whole text beside them. Pure.
 *
 * N1. The texts of all chunks, put together, are the text of the reply.
 * N2. No chunk ends in half a character: the half waits for its other half.
 */
import * as Json from "@settle/core/model/Json"
import * as Backend from "@settle/core/port/Backend"

type Kind = "none" | "text" | "reasoning" | "arguments"

const endsInHalf = (text: string): boolean => (text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800

export class Run {
  #kind: Kind = "none"
  #pending = ""
  #index = 0
  #name = ""
  #out: Array<Backend.Chunk> = []
  readonly #visible: Array<string> = []
  #size = 0

  /** Characters of every kind so far. */
  get size(): number {
    return this.#size
  }

  text(text: string): void {
    this.#append("text", text)
  }

  reasoning(text: string): void {
    this.#append("reasoning", text)
  }

  arguments(index: number, name: string, text: string): void {
    if (this.#kind === "arguments" && this.#index !== index) this.#flush(false)
    this.#index = index
    this.#name = name
    this.#append("arguments", text)
  }

  #append(kind: Kind, text: string): void {
    if (this.#kind !== kind) {
      this.#flush(false)
      this.#kind = kind
    }
    this.#pending += text
    this.#size += text.length
  }

  /** `more`: the same kind may go on, so half a character at the end is kept back. */
  #flush(more: boolean): void {
    const held = more && endsInHalf(this.#pending) ? this.#pending.slice(-1) : ""
    const text = Json.wellFormed(held === "" ? this.#pending : this.#pending.slice(0, -1))
    this.#pending = held
    if (this.#kind === "text" && text !== "") {
      this.#visible.push(text)
      this.#out.push({ _tag: "Text", text })
    } else if (this.#kind === "reasoning" && text !== "") this.#out.push({ _tag: "Reasoning", text })
    else if (this.#kind === "arguments" && text !== "") {
      this.#out.push({ _tag: "ToolArguments", index: this.#index, name: Json.wellFormed(this.#name), text })
    }
  }

  take(): Array<Backend.Chunk> {
    this.#flush(true)
    const out = this.#out
    this.#out = []
    return out
  }

  /** The whole visible text; nothing more is added afterwards. */
  get visible(): string {
    this.#flush(false)
    return this.#visible.join("")
  }
}
