/**
 * A file through `Framing`, in blocks of 1 MiB that are reused. Other fibers run between two blocks, so a long file does not stop
 * the process (X-STORE-04).
 */
import * as fs from "node:fs"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Framing from "./Framing.ts"

export const blockBytes = 1024 * 1024

export interface Range {
  readonly fd: number
  /** Offset of the first byte. Default 0. */
  readonly from?: number
  /** Offset after the last byte. */
  readonly until: number
}

/** Reads the range; fails with what the system said. What is torn at the end is for the caller to judge. */
export const read = Effect.fnUntraced(function* (range: Range, sink: Framing.Sink, options: Framing.Options = {}) {
  const framing = Framing.make(sink, options)
  let at = range.from ?? 0
  const block = Buffer.allocUnsafeSlow(Math.max(1, Math.min(blockBytes, range.until - at)))
  while (at < range.until) {
    const count = yield* system(() => fs.readSync(range.fd, block, 0, Math.min(block.length, range.until - at), at))
    if (count === 0) break
    framing.push(block.subarray(0, count))
    at += count
    if (at < range.until) yield* Effect.yieldNow
  }
  return framing.end()
})

/** A file for looking only, closed with the scope. */
export const open = (file: string): Effect.Effect<number, SystemError, Scope.Scope> =>
  Effect.acquireRelease(
    system(() => fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK)),
    (fd) => Effect.ignore(system(() => fs.closeSync(fd)))
  )

/** One call to the operating system. */
export const system = <A>(call: () => A): Effect.Effect<A, SystemError> =>
  Effect.try({ try: call, catch: (cause) => ({ _tag: "SystemError", cause }) as const })

export interface SystemError {
  readonly _tag: "SystemError"
  readonly cause: unknown
}
