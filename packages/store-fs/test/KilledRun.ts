/** Kills a real run at a moment, resumes its transcript, and compares what the record says with what the tools really did. */
import * as Agent from "@settle/core/agent/Agent"
import * as Conversation from "@settle/core/model/Conversation"
import * as Replay from "@settle/core/model/Replay"
import * as Tool from "@settle/core/model/Tool"
import * as ToolProvider from "@settle/core/port/ToolProvider"
import * as Transcript from "@settle/core/port/Transcript"
import * as Doctor from "@settle/store-fs/Doctor"
import * as FsTranscript from "@settle/store-fs/FsTranscript"
import { Script } from "@settle/testing"
import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { existsSync, readFileSync } from "node:fs"
import * as path from "node:path"
import * as Child from "./Child.ts"
import * as Scratch from "./Scratch.ts"

/** What the tools really saw, by operation. */
const really = (log: string) => {
  const lines = existsSync(log) ? readFileSync(log, "utf8").split("\n").filter(Boolean) : []
  const of = (word: string) => lines.flatMap((line) => (line.startsWith(`${word} `) ? [line.split(" ")[2] ?? ""] : []))
  return { lines, began: of("begin"), ended: of("end") }
}

/** How long a whole run takes on this machine, from its `ready`. */
export const wholeRun = Effect.gen(function* () {
  const folder = yield* Scratch.folder
  const child = yield* Child.start("killed-run.ts", [path.join(folder, "t.jsonl"), path.join(folder, "log")])
  yield* child.prints("ready")
  const from = performance.now()
  yield* child.prints("done")
  return performance.now() - from
}).pipe(Effect.scoped)

/** One kill, so many milliseconds after the run began. Answers how the calls stood. */
export const killAfter = (ms: number) =>
  Effect.gen(function* () {
    const folder = yield* Scratch.folder
    const file = path.join(folder, "t.jsonl")
    const log = path.join(folder, "log")
    const child = yield* Child.start("killed-run.ts", [file, log])
    yield* child.prints("ready")
    yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, ms)))
    yield* child.kill
    yield* child.exited

    const before = really(log)
    const transcript = yield* FsTranscript.open({ path: file })
    const replay = yield* transcript.replay
    const open = Doctor.examine(replay).calls
    check(replay, open, before)
    yield* Doctor.repair(transcript)
    yield* resume(transcript)
    const after = yield* transcript.replay
    assert.isUndefined(Conversation.fault(Replay.messages(after)))
    assert.deepStrictEqual(after.pending, [])
    assert.deepStrictEqual(really(log).lines, before.lines, "a call was run again unasked")
    return open.map((call) => call._tag).join(",")
  }).pipe(Effect.scoped)

/** The record's claim about each call, against the tools' own log. */
const check = (
  replay: Replay.Replay,
  open: ReadonlyArray<Doctor.OpenCall>,
  { began, ended }: ReturnType<typeof really>
) => {
  for (const settled of replay.settled) {
    assert.strictEqual(settled.outcome, "completed")
    assert.include(ended, settled.opId, "recorded as completed and did not end")
  }
  const recorded = new Set([...replay.settled, ...replay.pending].map((operation) => operation.opId))
  for (const id of began) assert.isTrue(recorded.has(id), "ran without a dispatched line")
  assert.strictEqual(new Set(began).size, began.length, "an operation ran twice")
  const never = open.filter((call) => call._tag === "NeverRan").map((call) => call.callId)
  const ran = new Set([...replay.settled, ...replay.pending].map((operation) => operation.callId))
  for (const callId of never) assert.isFalse(ran.has(callId), "recorded as never run and dispatched")
  for (const call of open) {
    if (call._tag === "SettleLost") assert.include(ended, call.operationId, "its message is there and it did not end")
  }
}

/** The next process goes on with the conversation; the model asks for nothing, so nothing may run. */
const resume = (transcript: Transcript.Transcript) =>
  Effect.gen(function* () {
    const forbidden: ToolProvider.ToolProvider = {
      list: Effect.succeed([{ name: "append", parameters: { type: "object" } }]),
      execute: () => Effect.succeed([Tool.failed("nobody asked for this")])
    }
    const script = Script.make([Script.say("I see where we are")])
    const layer = Agent.layer().pipe(
      Layer.provide([
        Script.layer(script),
        Layer.succeed(ToolProvider.ToolProvider, forbidden),
        Layer.succeed(Transcript.Transcript, transcript)
      ])
    )
    yield* Effect.gen(function* () {
      const agent = yield* Agent.Agent
      const run = yield* agent.run("go on")
      assert.strictEqual((yield* run.result).final, "I see where we are")
      yield* run.drained
    }).pipe(Effect.provide(layer))
    assert.isUndefined(Conversation.fault(script.requests[0]?.messages ?? []))
  })
