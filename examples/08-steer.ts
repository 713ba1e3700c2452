/** A user's word to a run that is working: it becomes a turn at the next round, and nothing that runs is disturbed. */
import { Agent, SteerSource, Tool, ToolProvider } from "@settle/core"
import { Script } from "@settle/testing"
import { Effect, Layer } from "effect"

const waiting: Array<string> = []
const typed: SteerSource.SteerSource = { pull: Effect.sync(() => waiting.splice(0)), arrived: Effect.never }

const search: ToolProvider.ToolProvider = {
  list: Effect.succeed([{ name: "search", parameters: { type: "object" } }]),
  execute: (batch) =>
    Effect.sync(() => {
      waiting.push("In French, please.")
      return batch.map(() => Tool.answered("3 pages found"))
    })
}

const model = Script.make([
  Script.callTools(Script.call("call-1", "search")),
  (request) => Script.say(`The model read: ${request.messages.map((message) => message.role).join(", ")}`)
])

const program = Effect.gen(function* () {
  const run = yield* (yield* Agent.Agent).run("Find something to read.")
  const outcome = yield* run.result
  console.log(outcome.final)
  console.log(outcome.messages.at(-2)?.content)
})

await Effect.runPromise(
  program.pipe(
    Effect.provide(
      Agent.layer().pipe(
        Layer.provide([
          Script.layer(model),
          Layer.succeed(ToolProvider.ToolProvider, search),
          Layer.succeed(SteerSource.SteerSource, typed)
        ])
      )
    )
  )
)
// => The model read: user, assistant, tool, user
// => In French, please.
