/**
 * The terminal in raw mode, as a resource: keys in, text out.
 *
 * T1. However the process ends, short of being killed, the terminal gets its mode, its cursor and its paste back: with the scope, and
 *     with the process where no scope is closed any more (a crash, a second signal).
 * T2. While it is ours nobody else may read the terminal or write to it.
 */
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import type * as Scope from "effect/Scope"

export interface Terminal {
  /** Called with every piece that was typed, until the scope closes. */
  readonly onInput: (listen: (text: string) => void) => Effect.Effect<void, never, Scope.Scope>
  readonly onResize: (listen: () => void) => Effect.Effect<void, never, Scope.Scope>
  /** Completes when the terminal is gone. */
  readonly onEnd: (listen: () => void) => Effect.Effect<void, never, Scope.Scope>
  /** Gives the terminal back, stops the process like Ctrl-Z does, and takes it again when the process goes on. */
  readonly suspend: Effect.Effect<void>
}

const pasteOn = "\u001b[?2004h"
/** End of a synchronised update, wrapping, cursor, paste, colour. */
const restore = "\u001b[?2026l\u001b[?7h\u001b[?25h\u001b[?2004l\u001b[0m"

const take = (): void => {
  process.stdin.setRawMode(true)
  process.stdout.write(pasteOn)
}

/** Synchronous: the last chance is the exit of the process. */
const give = (): void => {
  try {
    process.stdin.setRawMode(false)
    fs.writeSync(process.stdout.fd, restore)
  } catch {
    // The terminal is gone, and its modes with it.
  }
}

export const open: Effect.Effect<Terminal, never, Scope.Scope> = Effect.gen(function* () {
  const decoder = new TextDecoder("utf-8")
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      process.once("exit", give)
      take()
    }),
    () =>
      Effect.sync(() => {
        process.off("exit", give)
        process.stdin.pause()
        give()
      })
  )
  return {
    onInput: (listen) =>
      listening(process.stdin, "data", (chunk: Buffer) => listen(decoder.decode(chunk, { stream: true }))),
    onResize: (listen) => listening(process.stdout, "resize", listen),
    onEnd: (listen) =>
      Effect.all(
        [
          listening(process.stdin, "end", listen),
          listening(process.stdin, "error", listen),
          listening(process, "SIGHUP", listen)
        ],
        { discard: true }
      ),
    // Where nobody could wake it again the system does not stop a process: it goes on after the pause.
    suspend: Effect.sync(() => {
      give()
      process.kill(process.pid, "SIGTSTP")
    }).pipe(Effect.andThen(Effect.sleep("100 millis")), Effect.andThen(Effect.sync(take)))
  }
})

const listening = <A extends ReadonlyArray<never>>(
  source: NodeJS.EventEmitter,
  event: string,
  listen: (...args: A) => void
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() => source.on(event, listen)),
      () => Effect.sync(() => source.off(event, listen))
    )
  )
