/**
 * Lines a person types, one for each question.
 *
 * I1. The terminal stays in its own mode: Ctrl-C is a signal as ever, and a line is whole when it comes.
 * I2. Nothing is read between questions; what was typed ahead answers the next one.
 * I3. The end is heard whenever it comes, also between two questions; a last line without a line feed is a line.
 */
import * as Effect from "effect/Effect"

export interface Lines {
  /** The next line, without its end; `undefined` when there will be none. */
  readonly next: Effect.Effect<string | undefined>
  /** Where single keys can be read: one of these, or `undefined`. */
  readonly pick?: (keys: string) => Effect.Effect<string | undefined>
}

export const make = (stream: NodeJS.ReadableStream): Lines => {
  // A character may come in two pieces.
  const decoder = new TextDecoder()
  let ahead = ""
  let ended = false
  stream.once("end", () => (ended = true))
  const take = (): string | undefined => {
    const end = ahead.indexOf("\n")
    if (end < 0) return ended ? last() : undefined
    const line = ahead.slice(0, end)
    ahead = ahead.slice(end + 1)
    return line.replace(/\r$/, "")
  }
  const last = (): string | undefined => {
    const line = ahead
    ahead = ""
    return line === "" ? undefined : line
  }
  return {
    next: Effect.callback<string | undefined>((resume) => {
      const ready = take()
      if (ready !== undefined || ended) return resume(Effect.succeed(ready))
      const quit = () => {
        stream.off("data", onData).off("end", onEnd)
        stream.pause()
      }
      const onData = (chunk: Buffer | string) => {
        ahead += typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true })
        const line = take()
        if (line === undefined) return
        quit()
        resume(Effect.succeed(line))
      }
      const onEnd = () => {
        quit()
        resume(Effect.succeed(last()))
      }
      stream.on("data", onData).once("end", onEnd)
      stream.resume()
      return Effect.sync(quit)
    })
  }
}
