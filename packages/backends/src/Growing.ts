/**
 * The growing bytes of one conversation: an opening, and every message so far. Nobody else writes to them.
 *
 * G1. What is on loan (a body still being sent) is never written to: the next write goes to a copy.
 * G2. It holds a prefix of a conversation only while revision and messages say so.
 */
import type { Message } from "@settle/core/model/Message"
import type { Conversation } from "@settle/core/model/Conversation"

const smallest = 2048

export interface Loan {
  readonly bytes: Uint8Array
  readonly release: () => void
}

export class Growing {
  readonly callIds = new Set<string>()
  readonly #revision: number
  readonly #given: Array<Message> = []
  readonly #start: number
  #source: ReadonlyArray<Message>
  #buffer: Buffer
  #end = 0
  #lent: object | undefined

  constructor(opening: string, { messages, revision }: Conversation) {
    this.#revision = revision
    this.#source = messages
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

  /** Is this a prefix of that conversation? The same array only grows; another one is compared message by message. */
  fits({ messages, revision }: Conversation): boolean {
    const given = this.#given
    if (this.#revision !== revision || given.length > messages.length) return false
    if (this.#source === messages) return given.length === 0 || given.at(-1) === messages[given.length - 1]
    return given.every((message, index) => message === messages[index])
  }

  /** Takes up what the conversation has beyond it; a message may have no text at all. */
  grow(messages: ReadonlyArray<Message>, textOf: (message: Message) => string): void {
    this.#source = messages
    for (let at = this.#given.length; at < messages.length; at++) {
      const message = messages[at]
      if (message === undefined) continue
      const text = textOf(message)
      if (text !== "") this.#write(this.#end === this.#start ? text : `,${text}`)
      this.#given.push(message)
      for (const call of message.toolCalls ?? []) this.callIds.add(call.id)
    }
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
