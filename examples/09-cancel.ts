/** A cancel ends the wait, not the truth: the open call is answered as unknown, and the conversation stays one a provider accepts. */
import { Agent, Conversation, Tool, ToolProvider } from "@settle/core"
import { Script } from "@settle/testing"
import { Effect, Layer } from "effect"

const slow: ToolProvider.ToolProvider = {
  list: Effect.succeed([{ name: "crawl", parameters: { type: "object" } }]),
  execute: (batch) =>
    Effect.as(
      Effect.sleep("100 millis"),
      batch.map(() => Tool.answered("crawled"))
    )
}

const program = Effect.gen(function* () {
  const run = yield* (yield* Agent.Agent).run("Crawl the site.")
  yield* Effect.forkChild(Effect.andThen(Effect.sleep("20 millis"), run.cancel))
  const outcome = yield* run.outcome // the same record however the run ends
  console.log(outcome.outcome)
  console.log(outcome.messages.at(-1)?.content)
  console.log(`well formed: ${Conversation.isWellFormed(outcome.messages)}`)
  yield* run.drained
})

const model = Script.make([Script.callTools(Script.call("call-1", "crawl"))])
await Effect.runPromise(
  program.pipe(
    Effect.provide(
      Agent.layer().pipe(Layer.provide([Script.layer(model), Layer.succeed(ToolProvider.ToolProvider, slow)]))
    )
  )
)
// => cancelled
// => The run was cancelled before this call returned: whether it took effect is unknown.
// => well formed: true
