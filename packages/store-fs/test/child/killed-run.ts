/**
 * A run of several tool calls on real files, to be killed at any moment. Each call appends a line to the log when it begins and
 * another when it ends, synchronously: the log is what really happened.
 */
import * as Agent from "@settle/core/agent/Agent"
import * as Tool from "@settle/core/model/Tool"
import * as ToolProvider from "@settle/core/port/ToolProvider"
import * as FsTranscript from "@settle/store-fs/FsTranscript"
import * as Script from "@settle/testing/Script"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { appendFileSync } from "node:fs"

const [transcript = "", log = ""] = process.argv.slice(2)

const act = (one: Tool.Invocation) =>
  Effect.gen(function* () {
    appendFileSync(log, `begin ${one.callId} ${one.operationId}\n`)
    yield* Effect.sleep("3 millis")
    appendFileSync(log, `end ${one.callId} ${one.operationId}\n`)
    return Tool.answered(`appended for ${one.callId}`)
  })

const provider: ToolProvider.ToolProvider = {
  list: Effect.succeed([{ name: "append", parameters: { type: "object" } }]),
  execute: (batch) => Effect.forEach(batch, act)
}

const calls = (...ids: ReadonlyArray<string>) => Script.callTools(...ids.map((id) => Script.call(id, "append", { id })))

const script = Script.make([
  calls("a1", "a2", "a3"),
  calls("b1", "b2"),
  calls("c1", "c2", "c3", "c4"),
  Script.say("all appended")
])

const program = Effect.gen(function* () {
  const agent = yield* Agent.Agent
  process.stdout.write("ready\n")
  const run = yield* agent.run("append, please")
  yield* run.drained
  process.stdout.write("done\n")
}).pipe(
  Effect.provide(
    Agent.layer().pipe(
      Layer.provide([
        Script.layer(script),
        Layer.succeed(ToolProvider.ToolProvider, provider),
        FsTranscript.layer({ path: transcript })
      ])
    )
  )
)

await Effect.runPromise(program)
