/**
 * What the assembly of every protocol has in common: where a reply is over, what it is settled with, and which fault outweighs
 * which. Pure: one for one reply.
 *
 * A1. A reply is a success only when the server said that it ended (X-WIRE-01, S8): with its last word, or with a finish reason and a
 *     body that it closed itself.
 * A2. An error that the server sent outweighs everything; then comes what made reading on pointless; a cut comes last.
 */
import * as Json from "@settle/core/model/Json"
import type { Usage } from "@settle/core/model/Usage"
import type * as Backend from "@settle/core/port/Backend"
import * as Result from "effect/Result"
import type * as BodyReader from "./BodyReader.ts"
import * as Calls from "./Calls.ts"
import * as Failures from "./Failures.ts"
import * as Frames from "./Frames.ts"
import * as Replies from "./Replies.ts"
import { Run } from "./Run.ts"

export interface Options {
  readonly scrub: (text: string) => string
  /** Characters a whole reply may hold. */
  readonly maxReplySize: number
}

/** What a protocol knows of its reply beyond what all have in common. */
export type Own = Omit<Replies.Said, "text" | "finishReason" | "usage" | "model">

export abstract class Gathering implements BodyReader.Assembly {
  readonly #options: Options
  protected readonly calls = new Calls.Calls()
  protected readonly run = new Run()
  protected readonly frames = new Frames.Frames()
  /** The provider's word for the end, once it came. */
  protected finish: string | undefined
  protected model: string | undefined
  /** The server said its last word. */
  protected done = false
  /** Characters of what is kept as it came, beside the run. */
  protected kept = 0
  #error: Failures.Account | undefined
  #broken: Backend.BadResponse | undefined

  constructor({ maxReplySize, scrub }: Options) {
    this.#options = { maxReplySize, scrub }
  }

  abstract event(name: string, data: string): void
  abstract whole(body: Json.Json): void

  /** What a server would have said at the end, for people. */
  protected abstract readonly awaited: string
  protected abstract readonly usage: Usage | undefined
  protected abstract said(how: BodyReader.Settling): Own

  /** Why a reply that ended cannot be used. */
  protected get malformed(): string | undefined {
    return this.calls.malformed
  }

  get over(): boolean {
    return this.done || this.#error !== undefined || this.#broken !== undefined || this.#tooLarge
  }

  get #tooLarge(): boolean {
    return this.run.size + this.kept > this.#options.maxReplySize
  }

  take(): Array<Backend.Chunk> {
    return this.run.take()
  }

  /** The server said that this was all. */
  protected end(): void {
    this.done = true
    this.frames.end()
  }

  protected fail(account: Failures.Account): void {
    this.#error ??= account
  }

  /** Nothing that follows can make a reply of it. */
  protected spoil(problem: Backend.BadResponse["problem"], detail: string): void {
    this.#broken ??= Frames.bad(problem, detail)
  }

  /** A whole body that is nothing of this protocol. */
  protected unusable(body: Json.Json, noun: string): void {
    const shown = Json.render(body).slice(0, 200)
    this.spoil("malformed", `the server answered with JSON that is no ${noun}: ${shown}. Check baseUrl`)
  }

  freshIds(taken: ReadonlySet<string>): number {
    return this.calls.fresh(taken)
  }

  result(ending: BodyReader.Ending, how: BodyReader.Settling): Result.Result<Backend.Reply, BodyReader.Failure> {
    const reason = this.#fault(ending)
    if (reason !== undefined) return Result.fail({ reason, usage: this.usage })
    const own = this.said(how)
    return Result.succeed(
      Replies.reply({
        ...own,
        text: this.run.visible,
        finishReason: this.finish,
        usage: this.usage,
        model: this.model,
        warnings: [...own.warnings, ...this.frames.warnings]
      })
    )
  }

  #fault(ending: BodyReader.Ending): Backend.Reason | undefined {
    if (this.#error !== undefined) return Failures.fromStream(this.#error, this.#options.scrub)
    if (this.#tooLarge) {
      return Frames.bad("too-large", `the reply is longer than ${this.#options.maxReplySize} characters`)
    }
    if (this.#broken !== undefined) return this.#broken
    const ended = this.done || (this.finish !== undefined && ending._tag === "Closed")
    const malformed = ended ? this.malformed : undefined
    if (malformed !== undefined) return Frames.bad("malformed", malformed)
    return this.frames.fault({
      ending,
      ended,
      calls: this.calls.size,
      size: this.run.size,
      awaited: this.awaited
    })
  }
}
