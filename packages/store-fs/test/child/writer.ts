/** Appends for ever and prints the number of each append that returned. */
import { Effect } from "effect"
import { writeSync } from "node:fs"
import * as FsTranscript from "../../src/FsTranscript.ts"

const [file = "", durability = "fsync", writers = "1"] = process.argv.slice(2)

const program = Effect.scoped(
  Effect.gen(function* () {
    const transcript = yield* FsTranscript.open({ path: file, durability: durability === "flush" ? "flush" : "fsync" })
    writeSync(1, "open\n")
    const write = (writer: number) =>
      Effect.gen(function* () {
        for (let i = 0; i < 1_000_000; i++) {
          const content = `${writer}.${i} ${"x".repeat((i * 37) % 900)} 💥`
          yield* transcript.append([{ type: "message", message: { role: "user", content }, extras: {} }])
          writeSync(1, `${writer}.${i}\n`)
          // A flushing pen never waits, so the others would never run.
          yield* Effect.yieldNow
        }
      })
    yield* Effect.all(
      Array.from({ length: Number(writers) }, (_, n) => write(n)),
      { concurrency: "unbounded" }
    )
  })
)

Effect.runPromise(program).catch((error: unknown) => {
  console.error(String(error))
  process.exitCode = 1
})
