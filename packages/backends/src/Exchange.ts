/**
 * One request and its answer on undici's dispatcher: callbacks in, pulls out.
 *
 *            headers              last byte
 * Asking ------------> Answering -----------> Closed
 *    |                     |
 *    +--- error -----------+----------------> Failed
 *
 * X1. Everything that arrived since the last pull is one array: one hop between fibers for a read, never one for a piece.
 * X2. Bytes that nobody pulls stop the socket at `highWater`, and start it again when they are taken.
 * X3. What arrived before a failure is delivered before it.
 * X4. `close` aborts what still runs; a connection whose answer is complete but for its last bytes is drained and kept.
 */
import * as Backend from "@settle/core/port/Backend"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { Dispatcher } from "undici"
import * as Faults from "./Faults.ts"

export interface Answer {
  readonly status: number
  readonly header: (name: string) => string | undefined
}

export type Bytes = ReadonlyArray<Uint8Array>

type Pulled = Effect.Effect<Bytes, Backend.BackendError | Cause.Done>

type End = { readonly _tag: "Closed" } | { readonly _tag: "Failed"; readonly error: Backend.BackendError }

const highWater = 256 * 1024
const drainAtMost = 64 * 1024

const headerOf =
  (headers: Record<string, string | Array<string> | undefined>) =>
  (name: string): string | undefined => {
    const value = headers[name]
    return typeof value === "string" ? value : value?.[0]
  }

export class Exchange implements Dispatcher.DispatchHandler {
  readonly #target: Faults.Target
  #controller: Dispatcher.DispatchController | undefined
  #answer: Answer | undefined
  #onAnswer: ((answer: Effect.Effect<Answer, Backend.BackendError>) => void) | undefined
  #onBytes: ((bytes: Pulled) => void) | undefined
  #arrived: Array<Uint8Array> = []
  #size = 0
  #paused = false
  #end: End | undefined
  #reads = 0
  #mode: "open" | "draining" | "closed" = "open"

  constructor(target: Faults.Target) {
    this.#target = target
  }

  /** Counts reads: a watchdog compares it with what it saw last. */
  get reads(): number {
    return this.#reads
  }

  get ended(): boolean {
    return this.#end !== undefined
  }

  // what undici calls

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#mode !== "open") controller.abort(new Error("no longer wanted"))
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | Array<string> | undefined>
  ): void {
    this.#reads += 1
    this.#answer = { status, header: headerOf(headers) }
    this.#onAnswer?.(Effect.succeed(this.#answer))
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Uint8Array): void {
    this.#reads += 1
    this.#size += bytes.length
    if (this.#mode === "draining") {
      if (this.#size > drainAtMost) controller.abort(new Error("no longer wanted"))
      return
    }
    this.#arrived.push(bytes)
    if (this.#onBytes !== undefined) return this.#hand(this.#onBytes)
    if (this.#size < highWater || this.#paused) return
    this.#paused = true
    controller.pause()
  }

  onResponseEnd(): void {
    this.#settle({ _tag: "Closed" })
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    const error_ = new Backend.BackendError({
      reason:
        this.#answer === undefined ? Faults.beforeAnswer(error, this.#target) : Faults.afterAnswer(error, this.#target)
    })
    this.#settle({ _tag: "Failed", error: error_ })
  }

  // what this side calls

  /** Ends the exchange from this side: the watchdog's word. */
  fail(reason: Backend.Reason): void {
    this.#settle({ _tag: "Failed", error: new Backend.BackendError({ reason }) })
    this.#controller?.abort(new Error(reason.message))
  }

  #settle(end: End): void {
    if (this.#end !== undefined) return
    this.#end = end
    if (end._tag === "Failed") this.#onAnswer?.(Effect.fail(end.error))
    if (this.#onBytes !== undefined) this.#hand(this.#onBytes)
  }

  #hand(resume: (bytes: Pulled) => void): void {
    this.#onBytes = undefined
    resume(this.#taken())
  }

  #taken(): Pulled {
    if (this.#arrived.length > 0) {
      const bytes = this.#arrived
      this.#arrived = []
      this.#size = 0
      if (this.#paused) {
        this.#paused = false
        this.#controller?.resume()
      }
      return Effect.succeed(bytes)
    }
    return this.#end === undefined || this.#end._tag === "Closed" ? Cause.done() : Effect.fail(this.#end.error)
  }

  readonly answer: Effect.Effect<Answer, Backend.BackendError> = Effect.callback((resume) => {
    if (this.#end?._tag === "Failed") return resume(Effect.fail(this.#end.error))
    if (this.#answer !== undefined) return resume(Effect.succeed(this.#answer))
    this.#onAnswer = resume
  })

  /** Waits for bytes; ends with `Done` at the end of the body. */
  readonly pull: Pulled = Effect.suspend(() => {
    if (this.#arrived.length > 0 || this.#end !== undefined) return this.#taken()
    return Effect.callback<Bytes, Backend.BackendError | Cause.Done>((resume) => {
      this.#onBytes = resume
      return Effect.sync(() => {
        this.#onBytes = undefined
      })
    })
  })

  /** `complete`: everything that matters was read, so the connection is worth keeping. */
  close(complete: boolean): void {
    if (this.#mode !== "open") return
    this.#mode = complete ? "draining" : "closed"
    this.#arrived = []
    this.#size = 0
    if (this.#end !== undefined) return
    if (!complete) this.#controller?.abort(new Error("no longer wanted"))
    else if (this.#paused) this.#controller?.resume()
  }
}
