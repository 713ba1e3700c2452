/**
 * The sentence this runtime is built on: an operation whose outcome is unknown is never recorded as failed. A transfer takes longer
 * than its deadline. The model is told that nobody knows whether it took effect, the transcript says the same, and the work that
 * still runs keeps the run from being `drained`.
 */
import { Agent, MemoryTranscript, Tool, ToolProvider, Transcript } from "@settle/core"
import { Script } from "@settle/testing"
import { Effect, Layer } from "effect"

let transferred = 0

const bank: ToolProvider.ToolProvider = {
  list: Effect.succeed([{ name: "transfer", parameters: { type: "object" }, idempotency: "destructive" }]),
  execute: (batch) =>
    Effect.gen(function* () {
      yield* Effect.sleep("300 millis")
      transferred++
      return batch.map(() => Tool.answered("transferred"))
    })
}

const model = Script.make([
  Script.callTools(Script.call("call-1", "transfer", { amount: 100 })),
  (request) => Script.say(`I was told: ${request.messages.at(-1)?.content.split(".")[0]}.`)
])

const program = Effect.gen(function* () {
  const agent = yield* Agent.Agent
  const run = yield* agent.run("Send 100 to Ada.")
  const outcome = yield* run.result
  console.log(outcome.final)
  console.log(`at the result: transferred ${transferred} times`)
  yield* run.drained
  console.log(`drained: transferred ${transferred} times`)

  const transcript = yield* Transcript.Transcript
  const replay = transcript === undefined ? undefined : yield* transcript.replay
  for (const operation of replay?.settled ?? []) console.log(`${operation.tool}: ${operation.outcome}`)
})

await Effect.runPromise(
  program.pipe(
    Effect.provide(Agent.layer({ toolDeadline: "100 millis" })),
    Effect.provide([Script.layer(model), Layer.succeed(ToolProvider.ToolProvider, bank), MemoryTranscript.layer])
  )
)
// => I was told: This call did not return within the time allowed: whether it took effect is unknown.
// => at the result: transferred 0 times
// => drained: transferred 1 times
// => transfer: outcome-unknown
