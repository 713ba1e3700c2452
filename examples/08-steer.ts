/** A user's word to a run that is working: it becomes a turn at the next round, and nothing that runs is disturbed. */
import { Agent, Mailbox, Tool, ToolProvider } from "@settle/core"
import { Script } from "@settle/testing"
import { Effect, Layer } from "effect"

const mailbox = await Effect.runPromise(Mailbox.make)

const search: ToolProvider.ToolProvider = {
  list: Effect.succeed([{ name: "search", parameters: { type: "object" } }]),
  execute: (batch) =>
    Effect.as(
      mailbox.offer("In French, please."),
      batch.map(() => Tool.answered("3 pages found"))
    )
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

const tools = Layer.succeed(ToolProvider.ToolProvider, search)
const parts = Layer.mergeAll(Script.layer(model), tools, Mailbox.layer(mailbox))
await Effect.runPromise(program.pipe(Effect.provide(Agent.layer().pipe(Layer.provide(parts)))))
// => The model read: user, assistant, tool, user
// => In French, please.
