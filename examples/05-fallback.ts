/** Backends form a chain. One that is overloaded is retried, then the next one answers; what it cost and what failed is told. */
import { Agent, Backend } from "@settle/core"
import { Script } from "@settle/testing"
import { Effect, Layer } from "effect"

const busy = Script.make([], { model: "large", then: Script.failWith(Script.http(503, "overloaded")) })
const spare = Script.make([Script.say("Answered by the small one.")], { model: "small" })

const program = Effect.gen(function* () {
  const agent = yield* Agent.Agent
  const run = yield* agent.run("Is anybody there?")
  const outcome = yield* run.result
  console.log(outcome.final)
  for (const attempt of outcome.attempts) console.log(`${attempt.model}: ${attempt.error}`)
})

const chain = Layer.succeed(Backend.Backends, { chain: [busy.backend, spare.backend] })

await Effect.runPromise(
  program.pipe(Effect.provide(Agent.layer({ maxRetries: 2, backoffCap: "50 millis" }).pipe(Layer.provide(chain))))
)
// => Answered by the small one.
// => large: [backend 0] HTTP 503: overloaded
// => large: [backend 0] HTTP 503: overloaded
