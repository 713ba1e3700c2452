/**
 * A process is killed in the middle of a tool call. The next one opens the same transcript, sees which call was out, answers it with
 * what is known about it (nothing), and the conversation goes on.
 */
import { Agent, Conversation, Message, Replay, ToolProvider, Transcript, Wording } from "@settle/core"
import { FsTranscript } from "@settle/store-fs"
import { Script } from "@settle/testing"
import { Effect, Layer } from "effect"
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const deploy: ToolProvider.ToolProvider = {
  list: Effect.succeed([{ name: "deploy", parameters: { type: "object" } }]),
  execute: () =>
    Effect.andThen(
      Effect.sync(() => process.stdout.write("deploying\n")),
      Effect.never
    )
}

const agent = (model: Script.Script, path: string) =>
  Agent.layer().pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        Script.layer(model),
        FsTranscript.layer({ path }),
        Layer.succeed(ToolProvider.ToolProvider, deploy)
      )
    )
  )

/** The first process: asks, and is never answered. */
const first = (path: string) =>
  Effect.gen(function* () {
    const run = yield* (yield* Agent.Agent).run("Deploy it.")
    yield* run.result
  }).pipe(Effect.provide(agent(Script.make([Script.callTools(Script.call("call-1", "deploy"))]), path)))

/** The next process. */
const second = (path: string) =>
  Effect.gen(function* () {
    const replay = Replay.messages(yield* (yield* Transcript.Transcript)!.replay)
    const open = Conversation.openCalls(replay)
    for (const call of open) console.log(`${call.name} was out when the process ended`)
    const answers = open.map((call) => Message.tool(call.id, Wording.interrupted("unknown")))
    const run = yield* (yield* Agent.Agent).run([...replay, ...answers, Message.user("What happened?")])
    console.log((yield* run.result).final)
  }).pipe(
    Effect.provide(agent(Script.make([(request) => Script.say(request.messages.at(-2)?.content ?? "nothing")]), path))
  )

const killedInTheMiddle = (path: string): Promise<void> =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, [...process.execArgv, import.meta.filename, path])
    child.stdout.on("data", () => child.kill("SIGKILL"))
    child.once("exit", () => resolve())
  })

const given = process.argv[2]
if (given !== undefined) {
  await Effect.runPromise(first(given))
} else {
  const folder = mkdtempSync(join(tmpdir(), "settle-example-"))
  const path = join(folder, "deploy.jsonl")
  await killedInTheMiddle(path)
  await Effect.runPromise(second(path))
  rmSync(folder, { recursive: true })
}
// => deploy was out when the process ended
// => The process ended while this call was running: whether it took effect is unknown. Look before doing it again.
