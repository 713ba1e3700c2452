import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Message from "@settle/core/model/Message"
import * as Replay from "@settle/core/model/Replay"
import type * as TranscriptLine from "@settle/core/model/TranscriptLine"
import * as MemoryTranscript from "@settle/core/standard/MemoryTranscript"
import * as FaultyTranscript from "../src/FaultyTranscript.ts"

const line = (content: string): TranscriptLine.Draft => ({
  type: "message",
  message: Message.user(content),
  extras: {}
})
const texts = (replay: Replay.Replay) => Replay.messages(replay).map((message) => message.content)

describe("FaultyTranscript", () => {
  for (const how of ["landed", "lost", "torn"] as const) {
    const survivors = how === "landed" ? ["a", "b", "c"] : ["a", "b"]
    it.effect(`a crash on the middle line of a batch, ${how} (F1, F2)`, () =>
      Effect.gen(function* () {
        const memory = yield* MemoryTranscript.make()
        const faulty = yield* FaultyTranscript.make(memory, FaultyTranscript.crash(2, how))
        yield* faulty.transcript.append([line("a")])
        const writer = yield* Effect.forkChild(faulty.transcript.append([line("b"), line("c"), line("d")]))
        yield* faulty.crashed
        assert.deepStrictEqual(texts(yield* memory.replay), survivors)
        const later = yield* Effect.forkChild(faulty.transcript.append([line("e")]))
        yield* Effect.yieldNow
        assert.isUndefined(writer.pollUnsafe())
        assert.isUndefined(later.pollUnsafe())
        assert.deepStrictEqual(texts(yield* memory.replay), survivors)
        yield* Fiber.interruptAll([writer, later])

        const torn = yield* faulty.torn
        assert.strictEqual(torn === undefined, how !== "torn")
        const found = Replay.fromLines([...(yield* memory.lines), ...(torn === undefined ? [] : [torn])])
        assert.deepStrictEqual(texts(found), survivors)
        assert.deepStrictEqual(found.faults, torn === undefined ? [] : [{ line: 3, problem: "not a JSON object" }])
      })
    )
  }

  it.effect("an append fails, writes nothing, and the next one works (F3, P2)", () =>
    Effect.gen(function* () {
      const memory = yield* MemoryTranscript.make()
      const faulty = yield* FaultyTranscript.make(memory, FaultyTranscript.fail(1))
      yield* faulty.transcript.append([line("a")])
      const error = yield* Effect.flip(faulty.transcript.append([line("b")]))
      assert.strictEqual(error.message, "could not append the transcript memory: no space left on the device")
      yield* faulty.transcript.append([line("c")])
      assert.deepStrictEqual(texts(yield* faulty.transcript.replay), ["a", "c"])
      assert.strictEqual(yield* faulty.lines, 3)
    })
  )
})
