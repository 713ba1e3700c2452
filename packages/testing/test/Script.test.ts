import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import * as Conversation from "@settle/core/model/Conversation"
import * as Message from "@settle/core/model/Message"
import * as Backend from "@settle/core/port/Backend"
import * as Script from "../src/Script.ts"

const request = (...contents: ReadonlyArray<string>): Backend.Request => ({
  conversation: Conversation.of(contents.map(Message.user)),
  tools: []
})
const reads = (script: Script.Script, asked = request("hi")) => {
  const seen: Array<ReadonlyArray<Backend.Chunk>> = []
  return Effect.as(
    Stream.runForEachArray(script.backend.stream(asked), (chunks) => Effect.sync(() => void seen.push(chunks))),
    seen
  )
}

describe("Script", () => {
  it.effect("plays chunks one read at a time and ends in one Finished (S1, S3)", () =>
    Effect.gen(function* () {
      const script = Script.make([
        { chunks: ["Hel", [Backend.Chunk.Alive(), Backend.Chunk.Text({ text: "lo" })]], usage: { totalTokens: 3 } }
      ])
      const seen = yield* reads(script)
      assert.deepStrictEqual(
        seen.map((read) => read.map((chunk) => chunk._tag)),
        [["Text"], ["Alive", "Text"], ["Finished"]]
      )
      const last = seen.at(-1)?.[0]
      assert.isTrue(last?._tag === "Finished" && last.reply.text === "Hello" && last.reply.finish === "stop")
      assert.deepStrictEqual([script.left, script.cancels], [0, 0])
    })
  )

  it.effect("a request too many is a defect that says so (S1)", () =>
    Effect.gen(function* () {
      const script = Script.make([Script.say("one")])
      yield* reads(script)
      const cause = yield* Effect.sandbox(reads(script)).pipe(Effect.flip)
      assert.include(String(cause), "the script has 1 steps and no answer to request 2")
    })
  )

  it.effect("keeps what was sent when it was sent, and a step may read it (S2)", () =>
    Effect.gen(function* () {
      const grown = [Message.user("a")]
      const script = Script.make([(sent, index) => Script.say(`${index}: ${sent.messages.length}`)])
      const seen = yield* reads(script, { ...request(), conversation: Conversation.of(grown), maxTokens: 9 })
      grown.push(Message.user("b"))
      assert.deepStrictEqual(script.requests[0]?.messages, [Message.user("a")])
      assert.strictEqual(script.requests[0]?.maxTokens, 9)
      assert.deepStrictEqual(seen[0], [Backend.Chunk.Text({ text: "0: 1" })])
    })
  )

  it.effect("B1 fails after the chunks it was told, keeping the usage that came", () =>
    Effect.gen(function* () {
      const script = Script.make([
        { chunks: ["a", "b", "c"], failAfterChunks: 2, error: Script.http(503), usage: { totalTokens: 7 } },
        { chunks: ["a"], cut: true }
      ])
      const first = yield* Effect.flip(reads(script))
      assert.strictEqual(first.message, "HTTP 503: status 503")
      assert.deepStrictEqual(first.usage, { totalTokens: 7 })
      const second = yield* Effect.flip(reads(script))
      assert.strictEqual(second.message, "the stream ended in the middle")
      assert.strictEqual(script.cancels, 0, "a body that failed was not cancelled")
    })
  )

  it.effect("B2 counts a body that was left: interrupted while it stalls, or not read to the end", () =>
    Effect.gen(function* () {
      const script = Script.make([{ chunks: ["a"], stall: true }, { chunks: ["a", "b"] }])
      const fiber = yield* Effect.forkChild(reads(script))
      yield* script.arrived(0)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(script.cancels, 0)
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(script.cancels, 1)
      yield* script.backend.stream(request("hi")).pipe(Stream.take(1), Stream.runDrain)
      assert.strictEqual(script.cancels, 2)
    })
  )

  it.effect("waits before the first read and between reads", () =>
    Effect.gen(function* () {
      const script = Script.make([{ chunks: ["a", "b"], delay: "10 seconds", chunkDelay: "1 second" }])
      const fiber = yield* Effect.forkChild(reads(script))
      yield* TestClock.adjust("11 seconds")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(fiber)).length, 3)
    })
  )

  it.effect("the layer is the chain", () =>
    Effect.gen(function* () {
      const { chain } = yield* Backend.Backends
      assert.deepStrictEqual(
        chain.map((backend) => backend.model),
        ["scripted", "other"]
      )
    }).pipe(Effect.provide(Script.layer(Script.make([]), Script.make([], { model: "other" }))))
  )
})
