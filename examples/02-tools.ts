/** A tool by hand, and the run as it happens: one ordered stream of typed events. */
import { Agent, RunEvent, Tool, ToolProvider } from "@settle/core"
import { Script } from "@settle/testing"
import { Effect, Layer, Stream } from "effect"

const clock: ToolProvider.ToolProvider = {
  list: Effect.succeed([
    {
      name: "time",
      description: "The time in a city",
      parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      idempotency: "read-only"
    }
  ]),
  execute: (batch) => Effect.succeed(batch.map(({ arguments: given }) => Tool.answered(`12:30 for ${given}`)))
}

const show = (event: RunEvent.RunEvent): void => {
  switch (event._tag) {
    case "ToolStarted":
      return console.log(`${event.name} started`)
    case "ToolResult":
      return console.log(`${event.name} answered: ${event.content}`)
    case "RunCompleted":
      return console.log(`completed: ${event.final}`)
    default:
      return
  }
}

const program = Effect.gen(function* () {
  const agent = yield* Agent.Agent
  const run = yield* agent.run("What time is it in Oslo?")
  yield* Stream.runForEach(run.events, (event) => Effect.sync(() => show(event)))
})

const model = Script.make([
  Script.callTools(Script.call("call-1", "time", { city: "Oslo" })),
  Script.say("It is half past twelve in Oslo.")
])

await Effect.runPromise(
  program.pipe(
    Effect.provide(
      Agent.layer().pipe(Layer.provide([Script.layer(model), Layer.succeed(ToolProvider.ToolProvider, clock)]))
    )
  )
)
// => time started
// => time answered: 12:30 for {"city":"Oslo"}
// => completed: It is half past twelve in Oslo.
