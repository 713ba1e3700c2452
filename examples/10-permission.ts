/** Rules in front of the tools: some calls are allowed, some never, about the rest a person is asked, and "always" is remembered. */
import { Agent, Asker, Policy, Tool, ToolProvider } from "@settle/core"
import { Script } from "@settle/testing"
import { Effect, Layer } from "effect"

const names = ["read_file", "write_file", "delete_file"]
const files: ToolProvider.ToolProvider = {
  list: Effect.succeed(names.map((name) => ({ name, parameters: { type: "object" } }))),
  execute: (batch) =>
    Effect.sync(() => {
      console.log(`runs: ${batch.map(({ name }) => name).join(", ")}`)
      return batch.map(() => Tool.answered("done"))
    })
}

const person: Asker.Asker = {
  ask: (question) =>
    Effect.sync(() => {
      console.log(`asked: ${String(question["shown"])}; always would mean ${JSON.stringify(question["suggestion"])}`)
      return { action: "always-allow" }
    })
}

const model = Script.make([
  Script.callTools(
    Script.call("call-1", "read_file", { path: "src/a.ts" }),
    Script.call("call-2", "read_file", { path: "src/../../secret" }),
    Script.call("call-3", "delete_file", { path: "src/a.ts" }),
    Script.call("call-4", "write_file", { path: "src/b.ts" }),
    Script.call("call-5", "write_file", { path: "src/c.ts" })
  ),
  (request) => Script.say(request.messages.find((message) => message.toolCallId === "call-3")?.content ?? "")
])

const program = Effect.gen(function* () {
  const run = yield* (yield* Agent.Agent).run("Tidy up.")
  console.log((yield* run.result).final)
})

const tools = Layer.effect(
  ToolProvider.ToolProvider,
  Policy.make({
    provider: files,
    ground: { roots: [{ prefix: "", path: "/project" }] },
    rules: [
      { tool: "read_file", decision: "allow", under: "." },
      { tool: "delete_*", decision: "deny", note: "nothing is deleted here" }
    ]
  })
)
const parts = Layer.mergeAll(Script.layer(model), tools)
await Effect.runPromise(
  program.pipe(Effect.provide(Agent.layer().pipe(Layer.provide(parts))), Effect.provideService(Asker.Asker, person))
)
// => runs: read_file
// => asked: read_file(path: "src/../../secret"); always would mean undefined
// => runs: read_file
// => asked: write_file(path: "src/b.ts"); always would mean {"tool":"write_file","under":"/project/src"}
// => runs: write_file
// => runs: write_file
// => Permission denied for "delete_file"; the call was not run. A rule denies it: nothing is deleted here
