/** Oversized results in the loop: one text everywhere, and the whole of it in one place only. */
import * as Canonical from "@settle/core/model/Canonical"
import * as Message from "@settle/core/model/Message"
import * as Replay from "@settle/core/model/Replay"
import { ArtifactError } from "@settle/core/port/Artifacts"
import * as MemoryArtifacts from "@settle/core/standard/MemoryArtifacts"
import * as MemoryTranscript from "@settle/core/standard/MemoryTranscript"
import { Recorder, Script, Tools } from "@settle/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Story from "./Story.ts"

const call = Script.call
const long = `${"head ".repeat(60)}${"middle".repeat(100)}${" tail".repeat(20)}`
const reading = (content = long) => ({
  script: [Script.callTools(call("c1", "read")), Script.say("ok")],
  tools: Tools.make([Tools.tool("read", Tools.answer(content))]),
  budget: { maxObservationSize: 400 }
})

interface Line {
  readonly type: string
  readonly payload: Record<string, unknown>
}

describe("results that are too long", () => {
  it.effect(
    "L-ART-01 L-ART-02 L-ART-06 one excerpt in the conversation, the line, the event and the digest; the rest beside it",
    () =>
      Effect.gen(function* () {
        const artifacts = yield* MemoryArtifacts.make()
        const told = yield* Story.tell({ ...reading(), transcript: true, artifacts })
        const content = told.outcome.messages[2]?.content ?? ""
        const [head = "", marker = "", tail = ""] = content.split("\n")
        assert.deepStrictEqual([head, tail], [long.slice(0, 300), long.slice(-100)])
        assert.match(
          marker,
          /^\[\.\.\. elided 600 chars \(1,000 bytes total\); full result: \S+ sha256 [0-9a-f]{64} \.\.\.\]$/
        )
        const [result] = Recorder.all(told.recording, "ToolResult")
        assert.strictEqual(result?.content, content)
        assert.deepInclude(result?.artifact, { bytes: 1000, chars: 1000, elidedChars: 600 })
        assert.strictEqual(told.script.requests[1]?.messages[2]?.content, content)
        const lines = yield* told.transcript!.lines
        assert.isTrue(lines.some((line) => line.includes(JSON.stringify(content))))
        const settled = lines.map((line) => JSON.parse(line) as Line).find((line) => line.type === "tool-settled")
        assert.include(JSON.stringify(settled), Canonical.textDigest(content))
        assert.isFalse(lines.some((line) => line.includes("middlemiddle".repeat(30))))
        const files = yield* artifacts.files
        assert.deepStrictEqual([...files.values()], [long])
        assert.deepStrictEqual([...files.keys()], [result?.artifact?.file])
      })
  )

  it.effect("L-ART-03 a resume needs nothing but the transcript", () =>
    Effect.gen(function* () {
      const first = yield* MemoryTranscript.make()
      const told = yield* Story.tell({ ...reading(), transcript: first, artifacts: yield* MemoryArtifacts.make() })
      const transcript = yield* MemoryTranscript.make({ lines: yield* first.lines })
      const recorded = Replay.messages(yield* transcript.replay)
      assert.deepStrictEqual(recorded, told.outcome.messages)
      const again = yield* Story.tell({ script: [Script.say("on it")], transcript }, [
        ...recorded,
        Message.user("what did it say?")
      ])
      assert.strictEqual(again.outcome.final, "on it")
    })
  )

  it.effect("L-ART-04 a store that fails costs a log: the excerpt says so and the operation settles", () =>
    Effect.gen(function* () {
      const artifacts = { store: () => Effect.fail(new ArtifactError({ detail: "no space left" })) }
      const told = yield* Story.tell({ ...reading(), transcript: true, artifacts })
      assert.strictEqual(told.outcome.final, "ok")
      assert.include(told.outcome.messages[2]?.content, "full result not stored: it could not be stored; sha256")
      const [log] = Recorder.all(told.recording, "Log")
      assert.deepStrictEqual(
        [log?.level, log?.data],
        ["error", { message: "a full tool result could not be stored", error: "no space left" }]
      )
      assert.isUndefined(Recorder.all(told.recording, "ToolResult")[0]?.artifact)
      assert.include(Story.lineTypes(yield* told.transcript!.lines), "tool-settled")
    })
  )

  it.effect("L-ART-05 without a place the excerpt says so and claims nothing", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell(reading())
      assert.include(told.outcome.messages[2]?.content, "full result not stored: there is no place to put it; sha256")
      assert.isUndefined(Recorder.all(told.recording, "ToolResult")[0]?.artifact)
    })
  )

  it.effect("L-ART-01 L-ART-06 16,384 characters stay whole and one more does not", () =>
    Effect.gen(function* () {
      const kept = yield* Story.tell({ ...reading("x".repeat(16_384)), budget: {} })
      assert.strictEqual(kept.outcome.messages[2]?.content.length, 16_384)
      const cut = yield* Story.tell({ ...reading("x".repeat(16_385)), budget: {} })
      assert.include(cut.outcome.messages[2]?.content, "elided 1 chars (16,385 bytes total)")
    })
  )
})
