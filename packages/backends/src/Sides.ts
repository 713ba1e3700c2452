/**
 * The growing bytes of a conversation whose two sides take turns: every message so far, without a closing of the last one. Pure but
 * for what it keeps.
 *
 * S1. A user begins; neighbours of one side are one message.
 * S2. While a conversation only grows, the bytes of a round begin with those of the round before it.
 */
import * as Canonical from "@settle/core/model/Canonical"
import type { Conversation } from "@settle/core/model/Conversation"
import * as Json from "@settle/core/model/Json"
import * as Message from "@settle/core/model/Message"
import { Given } from "./Given.ts"

/** Blocks of one side. */
export interface Encoded {
  readonly role: "user" | "assistant"
  readonly blocks: ReadonlyArray<Json.JsonObject>
}

export interface Writer {
  /** What stands before the blocks of a side, its bracket included. */
  readonly opening: Readonly<Record<Encoded["role"], string>>
  /** Said for a user who has said nothing yet. */
  readonly silence: Json.JsonObject
  readonly system: (text: string) => ReadonlyArray<Json.JsonObject>
  readonly encode: (message: Message.Message, talk: Pick<Talk, "given" | "prefix">) => Encoded
}

/** What is only true now, and what is put where a cache may keep the bytes before it. */
export interface Around {
  readonly head: Message.Message | undefined
  readonly tail: Message.Message | undefined
  readonly mark: string | undefined
}

/** Blocks as JSON texts, joined. */
export const join = (blocks: ReadonlyArray<Json.JsonObject>): string =>
  blocks.map((block) => JSON.stringify(block)).join(",")

const smallest = 2048

export class Talk {
  readonly given: Given
  /** Of the messages before anybody spoke. */
  readonly system: Array<Json.JsonObject> = []
  readonly #writer: Writer
  #buffer = Buffer.allocUnsafeSlow(smallest)
  #end = 0
  #side: Encoded["role"] | undefined
  /** Where the last block of each user message ends, before its closing brace. */
  readonly #ends: Array<number> = []
  #prefix = Canonical.textDigest("")

  constructor(writer: Writer, conversation: Conversation) {
    this.#writer = writer
    this.given = new Given(conversation)
  }

  /** Digest of the messages taken up. */
  get prefix(): string {
    return this.#prefix
  }

  grow(messages: ReadonlyArray<Message.Message>): void {
    this.given.take(messages, (message) => {
      if (message.role === "system" && this.#side === undefined) {
        this.system.push(...this.#writer.system(message.content))
      } else this.#append(this.#writer.encode(message, this))
      this.#prefix = Canonical.textDigest(`${this.#prefix}${Message.digest(message)}`)
    })
  }

  #write(text: string): void {
    const needed = this.#end + text.length * 3
    if (needed > this.#buffer.length) {
      const grown = Buffer.allocUnsafeSlow(needed * 2)
      this.#buffer.copy(grown, 0, 0, this.#end)
      this.#buffer = grown
    }
    this.#end += this.#buffer.write(text, this.#end)
  }

  #append({ blocks, role }: Encoded): void {
    if (blocks.length === 0) return
    if (this.#side === undefined && role === "assistant") {
      this.#append({ role: "user", blocks: [this.#writer.silence] })
    }
    const joins = this.#side === role
    this.#write(joins ? "," : `${this.#side === undefined ? "" : "]},"}${this.#writer.opening[role]}`)
    this.#write(join(blocks))
    this.#side = role
    if (role === "assistant") return
    if (joins) this.#ends.pop()
    this.#ends.push(this.#end - 1)
  }

  /** The messages between a head and a tail of this request alone; marks stand at the end of the last two user messages. */
  messages({ head, mark, tail }: Around): ReadonlyArray<Buffer> {
    const opening = this.#writer.opening.user
    const before = head === undefined || head.role === "system" ? "" : join(this.#writer.encode(head, this).blocks)
    const after = tail === undefined ? "" : join(this.#writer.encode(tail, this).blocks)
    if (this.#side === undefined) {
      const said = [before, after].filter((blocks) => blocks !== "").join(",")
      return [Buffer.from(`${opening}${said === "" ? join([this.#writer.silence]) : said}]}`)]
    }
    const out: Array<Buffer> = []
    let from = 0
    if (before !== "") {
      // the first message is a user's
      from = opening.length
      out.push(Buffer.from(`${opening}${before},`))
    }
    for (const end of mark === undefined ? [] : this.#ends.slice(-2)) {
      out.push(this.#buffer.subarray(from, end), Buffer.from(mark ?? ""))
      from = end
    }
    out.push(this.#buffer.subarray(from, this.#end))
    if (after === "") return [...out, Buffer.from("]}")]
    return [...out, Buffer.from(this.#side === "user" ? `,${after}]}` : `]},${opening}${after}]}`)]
  }
}
