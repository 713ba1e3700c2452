/**
 * The growing bytes of one conversation: an opening, and every message so far. Nobody else writes to them.
 *
 * G1. What is on loan (a body still being sent) is never written to: the next write goes to a copy.
 */
import type { Conversation } from "@settle/core/model/Conversation"
import type { Message } from "@settle/core/model/Message"
import { Given } from "./Given.ts"

const smallest = 2048

export interface Loan {
  readonly bytes: Uint8Array
  readonly release: () => void
}

export class Growing {
  readonly given: Given
  readonly #start: number
  #buffer: Buffer
  #end = 0
  #lent: object | undefined

  constructor(opening: string, conversation: Conversation) {
    this.given = new Given(conversation)
    this.#buffer = Buffer.allocUnsafeSlow(smallest)
    this.#write(opening)
    this.#start = this.#end
  }

  get isEmpty(): boolean {
    return this.#end === this.#start
  }

  /** The messages without the opening. */
  get messages(): Uint8Array {
    return this.#buffer.subarray(this.#start, this.#end)
  }

  /** The results since the last message that was none. */
  readonly results: Array<Message> = []

  /** Takes up what the conversation has beyond it; a message may have no text at all. */
  grow(messages: ReadonlyArray<Message>, textOf: (message: Message) => string): void {
    this.given.take(messages, (message) => {
      const text = textOf(message)
      if (text !== "") this.#write(this.isEmpty ? text : `,${text}`)
    })
  }

  /** The bytes with this text behind them, until they are released. */
  lend(closing: string): Loan {
    this.#room(closing.length * 3)
    const length = this.#end + this.#buffer.write(closing, this.#end)
    const loan = {}
    this.#lent = loan
    return {
      bytes: this.#buffer.subarray(0, length),
      release: () => {
        if (this.#lent === loan) this.#lent = undefined
      }
    }
  }

  #room(bytes: number): void {
    const needed = this.#end + bytes
    if (this.#lent === undefined && needed <= this.#buffer.length) return
    const grown = Buffer.allocUnsafeSlow(needed <= this.#buffer.length ? this.#buffer.length : needed * 2)
    this.#buffer.copy(grown, 0, 0, this.#end)
    this.#buffer = grown
    this.#lent = undefined
  }

  #write(text: string): void {
    this.#room(text.length * 3)
    this.#end += this.#buffer.write(text, this.#end)
  }
}
