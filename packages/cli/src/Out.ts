/**
 * The two streams of the process and what they are connected to.
 *
 * O1. A reader that went away (`| head`) is no error: later text is dropped, and `gone` tells the run.
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export interface Device {
  readonly write: (text: string) => Effect.Effect<void>
  readonly isTerminal: boolean
  /** Whether text may be coloured: a terminal, and NO_COLOR is not set. */
  readonly hasColor: boolean
  /** Asked at every use: a window can be resized. */
  readonly size: () => { readonly columns: number; readonly rows: number }
}

export class Out extends Context.Service<
  Out,
  {
    readonly stdout: Device
    readonly stderr: Device
    /** Completes when nobody reads stdout any more. */
    readonly gone: Effect.Effect<void>
    /** Completes when everything written so far has left the process. */
    readonly flush: Effect.Effect<void>
  }
>()("@settle/cli/Out") {}

const make = Effect.sync(() => {
  const gone = Deferred.makeUnsafe<void>()
  const stdout = device(process.stdout, () => Deferred.doneUnsafe(gone, Effect.void))
  const stderr = device(process.stderr, () => {})
  const flush = Effect.andThen(drained(process.stdout), drained(process.stderr))
  return Out.of({ stdout, stderr, gone: Deferred.await(gone), flush })
})

export const layer: Layer.Layer<Out> = Layer.effect(Out, make)

const isDumb = () => process.env["TERM"] === "dumb"
const wantsColor = () => (process.env["NO_COLOR"] ?? "") === ""

const device = (stream: NodeJS.WriteStream, onGone: () => void): Device => {
  let isOpen = true
  stream.on("error", () => {
    isOpen = false
    onGone()
  })
  const isTerminal = stream.isTTY === true && !isDumb()
  return {
    isTerminal,
    hasColor: isTerminal && wantsColor(),
    size: () => ({ columns: known(stream.columns, 80), rows: known(stream.rows, 24) }),
    write: (text) =>
      Effect.sync(() => {
        if (isOpen && text !== "") stream.write(text)
      })
  }
}

/** A terminal without a window says that it has no columns. */
const known = (size: number | undefined, fallback: number): number => (size === undefined || size < 1 ? fallback : size)

const drained = (stream: NodeJS.WriteStream) =>
  Effect.callback<void>((resume) => {
    if (!stream.writable) return resume(Effect.void)
    stream.write("", () => resume(Effect.void))
  })
