/** Tools of an Effect `Toolkit`: arguments are checked by its schemas, failures are answers, annotations are told apart. */
import { Agent, ToolkitProvider, ToolProvider } from "@settle/core"
import { Script } from "@settle/testing"
import { Effect, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"

const Divide = Tool.make("divide", {
  description: "Divides one number by another",
  parameters: Schema.Struct({ by: Schema.Finite, of: Schema.Finite }),
  success: Schema.Finite,
  failure: Schema.String
}).annotate(Tool.Readonly, true)

const Numbers = Toolkit.make(Divide)
const handlers = Numbers.toLayer({
  divide: ({ by, of }) => (by === 0 ? Effect.fail("nothing is divided by 0") : Effect.succeed(of / by))
})

const model = Script.make([
  Script.callTools(
    Script.call("call-1", "divide", { of: 84, by: 2 }),
    Script.call("call-2", "divide", { of: 84, by: 0 }),
    Script.call("call-3", "divide", { of: "84" })
  ),
  (request) =>
    Script.say(
      request.messages
        .map((message) => message.content)
        .slice(-3)
        .join("\n")
    )
])

const program = Effect.gen(function* () {
  const run = yield* (yield* Agent.Agent).run("How much is it?")
  console.log((yield* run.result).final)
})

const tools = Layer.effect(ToolProvider.ToolProvider, ToolkitProvider.make(Numbers)).pipe(Layer.provide(handlers))
const parts = Layer.mergeAll(Script.layer(model), tools)
await Effect.runPromise(program.pipe(Effect.provide(Agent.layer().pipe(Layer.provide(parts)))))
// => 42
// => nothing is divided by 0
// => The arguments of divide do not fit, and it was not called: Missing key at ["by"]; Expected number at ["of"]
