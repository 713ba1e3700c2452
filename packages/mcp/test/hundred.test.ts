import * as Agent from "@settle/core/agent/Agent"
import * as Conversation from "@settle/core/model/Conversation"
import * as Replay from "@settle/core/model/Replay"
import * as ToolProvider from "@settle/core/port/ToolProvider"
import * as FsTranscript from "@settle/store-fs/FsTranscript"
import { Script } from "@settle/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as McpServers from "../src/McpServers.ts"
import { spec } from "./hostile.ts"

const openFiles = () => readdirSync("/proc/self/fd").length
const children = () => readFileSync(`/proc/self/task/${process.pid}/children`, "utf8").trim().split(" ").filter(Boolean)

/** One run of two calls to a real server, with a transcript on disk, cancelled wherever it stands. */
const one = (provider: ToolProvider.ToolProvider, path: string, ms: number) => {
  const script = Script.make([
    Script.callTools(Script.call("c1", "good_echo", { text: "a" }), Script.call("c2", "good_echo", { text: "b" })),
    { stall: true }
  ])
  const layer = Agent.layer().pipe(
    Layer.provide([
      Script.layer(script),
      Layer.succeed(ToolProvider.ToolProvider, provider),
      FsTranscript.layer({ path, durability: "flush" })
    ])
  )
  return Effect.gen(function* () {
    const agent = yield* Agent.Agent
    const run = yield* agent.run("go")
    yield* Effect.sleep(ms)
    yield* run.cancel
    yield* run.drained
  }).pipe(Effect.provide(layer))
}

describe.runIf(process.platform === "linux")("a hundred runs against a real server", () => {
  it.live(
    "X-CANC-05 X-STORE-01 started and cancelled together, they leave no child, no open file and no unanswered transcript",
    () =>
      Effect.gen(function* () {
        const folder = mkdtempSync(join(tmpdir(), "settle-hundred-"))
        const before = { files: openFiles(), children: children() }
        yield* Effect.gen(function* () {
          const servers = yield* McpServers.make({ good: spec() })
          yield* Effect.forEach(
            Array.from({ length: 100 }, (_, n) => n),
            (n) => one(servers.provider, join(folder, `${n}.jsonl`), n % 50),
            { concurrency: "unbounded", discard: true }
          )
        }).pipe(Effect.scoped)
        assert.deepStrictEqual(children(), before.children)
        assert.isAtMost(openFiles(), before.files + 1)
        for (const name of readdirSync(folder)) {
          assert.match(name, /^\d+\.jsonl$/)
          const replay = Replay.fromLines(readFileSync(join(folder, name), "utf8").split("\n").slice(0, -1))
          assert.deepStrictEqual(replay.faults, [])
          assert.deepStrictEqual(replay.pending, [])
          assert.isUndefined(Conversation.fault(Replay.messages(replay)))
        }
        rmSync(folder, { recursive: true })
      }),
    60_000
  )
})
