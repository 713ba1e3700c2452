/** The tools of a real MCP server over stdio. `npx -y @modelcontextprotocol/server-everything` is what a configuration would name. */
import { Agent } from "@settle/core"
import { McpServers } from "@settle/mcp"
import { Script } from "@settle/testing"
import { Effect, Layer } from "effect"

const servers = McpServers.layer({
  every: { command: "node", args: ["node_modules/@modelcontextprotocol/server-everything/dist/index.js"] }
})

const model = Script.make([
  (request) => {
    console.log(`declared: ${request.tools.some((tool) => tool.name === "every_echo")}`)
    return Script.callTools(Script.call("call-1", "every_echo", { message: "over stdio" }))
  },
  (request) => Script.say(request.messages.at(-1)?.content ?? "")
])

const program = Effect.gen(function* () {
  const run = yield* (yield* Agent.Agent).run("Say it back.")
  console.log((yield* run.result).final)
})

await Effect.runPromise(program.pipe(Effect.provide(Agent.layer().pipe(Layer.provide([Script.layer(model), servers])))))
// => declared: true
// => Echo: over stdio
