/** Appends until the system refuses; prints both refusals and what the transcript says it holds. */
import { Effect, Result } from "effect"
import * as FsTranscript from "../../src/FsTranscript.ts"

const [file = "", uid = "0"] = process.argv.slice(2)
if (uid !== "0") process.setuid?.(Number(uid))

const append = (transcript: FsTranscript.FsTranscript, i: number) =>
  transcript.append([
    { type: "message", message: { role: "user", content: `${i} ${"x".repeat(3000)}` }, extras: {} },
    { type: "message", message: { role: "assistant", content: `${i} ${"y".repeat(3000)}` }, extras: {} }
  ])

const program = Effect.gen(function* () {
  const transcript = yield* FsTranscript.open({ path: file })
  for (let i = 0; i < 1000; i++) {
    const tried = yield* Effect.result(append(transcript, i))
    if (Result.isFailure(tried)) {
      const again = yield* Effect.flip(append(transcript, i))
      const replay = yield* transcript.replay
      return { first: tried.failure.message, second: again.message, appended: i, entries: replay.entries.length }
    }
  }
  return { first: "never full" }
})

Effect.runPromise(Effect.scoped(program)).then(
  (seen) => console.log(JSON.stringify(seen)),
  (error: unknown) => console.log(JSON.stringify({ first: error instanceof Error ? error.message : String(error) }))
)
