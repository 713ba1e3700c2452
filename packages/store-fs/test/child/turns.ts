/** Takes the pen of one file again and again against others, and dies with it in its hand after the last turn. */
import { Effect, Result } from "effect"
import * as FsTranscript from "../../src/FsTranscript.ts"

const [file = "", turns = "1"] = process.argv.slice(2)
const say = (what: string) =>
  ({ type: "message", message: { role: "user", content: `${what} ${process.pid}` }, extras: {} }) as const

const turn = Effect.scoped(
  Effect.gen(function* () {
    const transcript = yield* FsTranscript.open({ path: file, durability: "flush" })
    yield* transcript.append([say("enter")])
    yield* Effect.sleep(1)
    yield* transcript.append([say("leave")])
    return transcript
  })
)

const program = Effect.gen(function* () {
  for (let done = 0; done < Number(turns);) {
    const tried = yield* Effect.result(turn)
    if (Result.isSuccess(tried)) done++
    else if (tried.failure.reason._tag !== "Locked") return yield* Effect.fail(tried.failure)
    yield* Effect.sleep(Math.random() * 25)
  }
  while (true) {
    const held = yield* Effect.result(
      Effect.scoped(Effect.flatMap(FsTranscript.open({ path: file, durability: "flush" }), () => die))
    )
    if (Result.isFailure(held) && held.failure.reason._tag !== "Locked") return yield* Effect.fail(held.failure)
    yield* Effect.sleep(Math.random() * 25)
  }
})
const die = Effect.sync(() => void process.kill(process.pid, "SIGKILL"))

Effect.runPromise(program).catch((error: unknown) => {
  console.error(String(error))
  process.exitCode = 1
})
