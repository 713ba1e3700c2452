import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { TestClock } from "effect/testing"
import * as Message from "../../src/model/Message.ts"
import * as Replay from "../../src/model/Replay.ts"
import type * as TranscriptLine from "../../src/model/TranscriptLine.ts"
import * as Transcript from "../../src/port/Transcript.ts"
import * as MemoryTranscript from "../../src/standard/MemoryTranscript.ts"

const line = (content: string): TranscriptLine.Draft => ({
  type: "message",
  message: Message.user(content),
  extras: {}
})

describe("MemoryTranscript", () => {
  it.effect("stamps id and time, keeps the text and folds it (P1, M1)", () =>
    Effect.gen(function* () {
      const transcript = yield* MemoryTranscript.make()
      yield* TestClock.adjust("90 seconds")
      const ids = yield* transcript.append([line("one"), line("two")])
      const lines = yield* transcript.lines
      assert.strictEqual(
        lines[0],
        `{"v":1,"type":"message","id":"${ids[0]}","ts":"1970-01-01T00:01:30.000Z","payload":{"role":"user","content":"one"}}`
      )
      const replay = yield* transcript.replay
      assert.deepStrictEqual(Replay.messages(replay), [Message.user("one"), Message.user("two")])
      assert.deepStrictEqual(
        replay.entries.map((entry) => entry.id),
        ids
      )
    })
  )

  it.effect("a replay is a picture: later lines do not show in it (P1)", () =>
    Effect.gen(function* () {
      const transcript = yield* MemoryTranscript.make()
      yield* transcript.append([line("one")])
      const before = yield* transcript.replay
      yield* transcript.append([line("two")])
      assert.strictEqual(before.entries.length, 1)
      assert.strictEqual((yield* transcript.replay).entries.length, 2)
    })
  )

  it.effect("goes on from the lines of an earlier process", () =>
    Effect.gen(function* () {
      const first = yield* MemoryTranscript.make()
      yield* first.append([line("one")])
      const second = yield* MemoryTranscript.make({ lines: yield* first.lines, place: "second" })
      yield* second.append([line("two")])
      assert.strictEqual(second.place, "second")
      assert.deepStrictEqual(Replay.messages(yield* second.replay), [Message.user("one"), Message.user("two")])
    })
  )

  it.effect("appends that run side by side do not mix their lines (M2)", () =>
    Effect.gen(function* () {
      const transcript = yield* MemoryTranscript.make()
      yield* Effect.forEach(
        ["a", "b", "c"],
        (name) => Effect.andThen(Effect.yieldNow, transcript.append([line(`${name}1`), line(`${name}2`)])),
        { concurrency: "unbounded" }
      )
      const contents = Replay.messages(yield* transcript.replay).map((message) => message.content)
      assert.strictEqual(contents.length, 6)
      for (let i = 0; i < 6; i += 2) assert.strictEqual(contents[i + 1], `${contents[i]?.charAt(0)}2`)
    })
  )

  it.effect("the layer provides the port, seeded ids repeat", () =>
    Effect.gen(function* () {
      const once = Effect.gen(function* () {
        const transcript = yield* Transcript.Transcript
        return yield* transcript === undefined ? Effect.die("no transcript") : transcript.append([line("x")])
      }).pipe(Effect.provide(MemoryTranscript.layer), Random.withSeed("s"))
      assert.deepStrictEqual(yield* once, yield* once)
    })
  )
})
