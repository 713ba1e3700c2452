/** What every backend must do with a reply, whatever its wire looks like. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Conversation from "@settle/core/model/Conversation"
import * as Message from "@settle/core/model/Message"
import * as Backend from "@settle/core/port/Backend"
import * as Script from "../Script.ts"

export interface Subject {
  readonly backend: Backend.Backend
  /** Requests whose body was left before its end, as the other side sees it. */
  readonly aborted: Effect.Effect<number>
}

/** A backend whose other side answers the next request with this step, on its own wire. */
export type Play = (step: Script.Step) => Effect.Effect<Subject, unknown, Scope.Scope>

/** Registers the suite; the clock is the real one. */
export const suite = (name: string, play: Play): void => {
  describe(`${name} as a backend`, () => {
    replies(play)
    failures(play)
    interruption(play)
  })
}

const request: Backend.Request = { conversation: Conversation.of([Message.user("hi")]), tools: [] }

/** Everything the stream gave: its reads, and how it ended. */
const read = (backend: Backend.Backend) =>
  Effect.gen(function* () {
    const reads: Array<ReadonlyArray<Backend.Chunk>> = []
    const end = yield* Effect.result(
      Stream.runForEachArray(backend.stream(request), (chunks) => Effect.sync(() => void reads.push(chunks)))
    )
    return { reads, chunks: reads.flat(), end }
  })

const finished = (chunks: ReadonlyArray<Backend.Chunk>): ReadonlyArray<Backend.Reply> =>
  chunks.flatMap((chunk) => (chunk._tag === "Finished" ? [chunk.reply] : []))

const spoken = (chunks: ReadonlyArray<Backend.Chunk>): string =>
  chunks.map((chunk) => (chunk._tag === "Text" ? chunk.text : "")).join("")

const replies = (play: Play): void => {
  it.live("B1 text ends in one Finished, last, whose text is what was streamed", () =>
    Effect.gen(function* () {
      const { backend } = yield* play({ chunks: ["Hel", "lo 😀"], finishReason: "stop" })
      const { chunks, reads } = yield* read(backend)
      assert.strictEqual(spoken(chunks), "Hello 😀")
      assert.strictEqual(chunks.at(-1)?._tag, "Finished")
      const [reply, ...more] = finished(chunks)
      assert.deepStrictEqual(more, [])
      assert.deepStrictEqual([reply?.text, reply?.finish, reply?.toolCalls], ["Hello 😀", "stop", []])
      assert.isTrue(reads.every((one) => one.length > 0))
    })
  )

  it.live("B1 calls come whole, in order, under ids of their own", () =>
    Effect.gen(function* () {
      const { backend } = yield* play({
        toolCalls: [Script.call("c1", "read", { path: "a" }), Script.call("c2", "read", { path: "b" })]
      })
      const [reply] = finished((yield* read(backend)).chunks)
      assert.strictEqual(reply?.finish, "tool-calls")
      assert.deepStrictEqual(
        reply?.toolCalls.map((call) => [call.name, JSON.parse(call.arguments)]),
        [
          ["read", { path: "a" }],
          ["read", { path: "b" }]
        ]
      )
      assert.strictEqual(new Set(reply?.toolCalls.map((call) => call.id)).size, 2)
    })
  )

  it.live("reports what was billed", () =>
    Effect.gen(function* () {
      const usage = { promptTokens: 11, completionTokens: 7, totalTokens: 18 }
      const { backend } = yield* play({ content: "x", finishReason: "stop", usage })
      const [reply] = finished((yield* read(backend)).chunks)
      assert.strictEqual(reply?.usage?.promptTokens, 11)
      assert.strictEqual(reply?.usage?.completionTokens, 7)
    })
  )
}

const failures = (play: Play): void => {
  it.live("B1 a body that just stops has failed, whatever it said before", () =>
    Effect.gen(function* () {
      const { backend } = yield* play({ chunks: ["Hel", "lo"], cut: true })
      const { chunks, end } = yield* read(backend)
      assert.deepStrictEqual(finished(chunks), [])
      assert.isTrue(end._tag === "Failure" && ["response", "connection"].includes(Backend.errorClass(end.failure)))
    })
  )

  it.live("a refusal keeps its status", () =>
    Effect.gen(function* () {
      for (const status of [400, 401, 429, 503]) {
        const { backend } = yield* play(Script.failWith(Script.http(status, "no")))
        const { chunks, end } = yield* read(backend)
        assert.deepStrictEqual(chunks, [])
        const reason = end._tag === "Failure" ? end.failure.reason : undefined
        assert.isTrue(reason?._tag === "Refused" && reason.status === status, `status ${status}`)
      }
    })
  )
}

const interruption = (play: Play): void => {
  it.live("B2 interrupting the reader aborts the request", () =>
    Effect.gen(function* () {
      const { aborted, backend } = yield* play({ chunks: ["Hel"], stall: true })
      const spoke = yield* Latch.make()
      const reader = yield* Effect.forkChild(Stream.runForEach(backend.stream(request), () => spoke.open))
      yield* spoke.await
      yield* Fiber.interrupt(reader)
      // The other side may learn of it a moment later.
      yield* Effect.repeat(Effect.andThen(Effect.sleep("5 millis"), aborted), { until: (count) => count === 1 }).pipe(
        Effect.timeout("5 seconds")
      )
    })
  )

  it.live("B2 leaving early aborts the request", () =>
    Effect.gen(function* () {
      const { aborted, backend } = yield* play({ chunks: ["Hel"], stall: true })
      yield* backend.stream(request).pipe(Stream.take(1), Stream.runDrain)
      yield* Effect.repeat(Effect.andThen(Effect.sleep("5 millis"), aborted), { until: (count) => count === 1 }).pipe(
        Effect.timeout("5 seconds")
      )
    })
  )
}
