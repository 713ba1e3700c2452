/**
 * The frames of one stream: which were read, which were not, and what their loss means. Pure.
 *
 * A1. A body that stops before the server said that the reply ended is a cut, whatever it brought (X-WIRE-01, S8).
 * A2. A frame that could not be read is a warning, unless nothing valid follows it, or it may have held a piece of a call.
 */
import * as Json from "@settle/core/model/Json"
import * as Backend from "@settle/core/port/Backend"
import type * as BodyReader from "./BodyReader.ts"

export const bad = (problem: Backend.BadResponse["problem"], detail: string): Backend.BadResponse =>
  new Backend.BadResponse({ problem, detail: Json.wellFormed(detail) })

/** What the frames came to, when the body is over. */
export interface Sum {
  readonly ending: BodyReader.Ending
  /** The server said that the reply ended. */
  readonly ended: boolean
  /** Calls in the reply. */
  readonly calls: number
  /** Characters in the reply. */
  readonly size: number
  /** What the server would have said at the end, for people. */
  readonly awaited: string
}

export class Frames {
  #read = 0
  #dropped = 0
  #lastDropped = false
  /** A dropped frame looked like content. */
  #lost = false

  read(): void {
    this.#read += 1
    this.#lastDropped = false
  }

  /** `content`: it may have held a piece of the reply. Default: it looks like JSON. */
  drop(data: string, content = /^\s*[{[]/.test(data)): void {
    this.#dropped += 1
    this.#lastDropped = true
    this.#lost ||= content
  }

  /** The server said that this was all. */
  end(): void {
    this.#lastDropped = false
  }

  get warnings(): ReadonlyArray<string> {
    return this.#dropped === 0 ? [] : [`${this.#dropped} frames of the stream were not JSON and were skipped`]
  }

  fault({ awaited, calls, ended, ending, size }: Sum): Backend.BadResponse | undefined {
    if (ended) {
      if (this.#lost && calls > 0) {
        return bad("malformed", "a frame of the stream could not be read and may have held a piece of a tool call")
      }
      return this.#lastDropped ? bad("malformed", "the last frame of the stream could not be read") : undefined
    }
    const got = this.#read === 0 ? "before any event" : `after ${size} characters`
    const unread = this.#dropped === 0 ? "" : `; ${this.#dropped} of its frames could not be read`
    return ending._tag === "Broken"
      ? bad("cut", `the connection broke ${got}: ${ending.detail}${unread}`)
      : bad("cut", `the stream ended ${got}, without ${awaited}${unread}`)
  }
}
