/** One prompt in, one outcome out. `npm run examples` runs every file here and compares what it prints with its `// =>` lines. */
import { Agent } from "@settle/core"
import { Script } from "@settle/testing"
import { Effect, Layer } from "effect"

const program = Effect.gen(function* () {
  const agent = yield* Agent.Agent
  const run = yield* agent.run("Greet the world.")
  const outcome = yield* run.result // or fails with RunFailed | RunCancelled
  yield* run.drained // now nothing of this run can touch the world any more
  console.log(outcome.final)
})

const model = Script.layer(Script.make([Script.say("Hello, world.")])) // for a real one see examples/06
await Effect.runPromise(program.pipe(Effect.provide(Agent.layer().pipe(Layer.provide(model)))))
// => Hello, world.
