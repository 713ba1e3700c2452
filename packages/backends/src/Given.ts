/**
 * What of a conversation was taken up already, so that only the rest is; and the memory that finds it again. Nothing is kept alive.
 *
 * G1. It is a prefix of a conversation only while revision and messages say so.
 * G2. The same array only grows; another one is compared message by message.
 */
import type { Conversation } from "@settle/core/model/Conversation"
import * as Message from "@settle/core/model/Message"

/** A call, by the turn that made it and its place among the calls of that turn. */
export interface Called {
  readonly turn: Message.Message
  readonly at: number
  readonly name: string
}

export class Given {
  readonly callIds = new Set<string>()
  /** By the id of the call. */
  readonly calls = new Map<string, Called>()
  readonly #revision: number
  readonly #given: Array<Message.Message> = []
  #source: ReadonlyArray<Message.Message>

  constructor({ messages, revision }: Conversation) {
    this.#revision = revision
    this.#source = messages
  }

  fits({ messages, revision }: Conversation): boolean {
    const given = this.#given
    if (this.#revision !== revision || given.length > messages.length) return false
    if (this.#source === messages) return given.length === 0 || given.at(-1) === messages[given.length - 1]
    return given.every((message, index) => message === messages[index])
  }

  /** Each message that the conversation has beyond it. */
  take(messages: ReadonlyArray<Message.Message>, each: (message: Message.Message) => void): void {
    this.#source = messages
    for (let at = this.#given.length; at < messages.length; at++) {
      const message = messages[at]
      if (message === undefined) continue
      each(message)
      this.#given.push(message)
      for (const [at, { id, name }] of Message.callsOf(message).entries()) {
        this.callIds.add(id)
        this.calls.set(id, { turn: message, at, name })
      }
    }
  }
}

/** Found by the array of messages, else by the first message, for those who copy the array. */
export class Memory<A extends { readonly given: Given }> {
  readonly #kept = new WeakMap<object, A>()

  of(conversation: Conversation, make: () => A): A {
    const { messages } = conversation
    const [first] = messages
    const kept = this.#kept.get(messages) ?? (first === undefined ? undefined : this.#kept.get(first))
    const found = kept?.given.fits(conversation) === true ? kept : make()
    this.#kept.set(messages, found)
    if (first !== undefined) this.#kept.set(first, found)
    return found
  }
}

/** Something for each object, made once. */
export class Once<A extends object, B> {
  readonly #kept = new WeakMap<A, B>()
  readonly #make: (value: A) => B

  constructor(make: (value: A) => B) {
    this.#make = make
  }

  of(value: A): B {
    const kept = this.#kept.get(value)
    if (kept !== undefined) return kept
    const made = this.#make(value)
    this.#kept.set(value, made)
    return made
  }
}
