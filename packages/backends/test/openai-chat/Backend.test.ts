import * as ReplayServer from "@settle/testing/servers/ReplayServer"
import * as Conversation from "@settle/core/model/Conversation"
import * as Message from "@settle/core/model/Message"
import * as Port from "@settle/core/port/Backend"
import { assert, describe, it } from "@effect/vitest"
import { Cause, ConfigProvider, Effect, Exit, Fiber, Layer, Redacted, Stream } from "effect"
import { createServer } from "node:net"
import * as Chain from "../../src/Chain.ts"
import * as Http from "../../src/Http.ts"
import * as OpenAiChat from "../../src/openai-chat/Backend.ts"
import * as Recorded from "../Recorded.ts"

const ask = (text: string): Port.Request => ({ conversation: Conversation.of([Message.user(text)]), tools: [] })

const backendAt = (baseUrl: string, more: Partial<OpenAiChat.Options> = {}) =>
  OpenAiChat.make({ baseUrl, model: "m", ...more })

const serving = (...answers: readonly [ReplayServer.Answer, ...Array<ReplayServer.Answer>]) =>
  ReplayServer.make(ReplayServer.inTurn(...answers))

const scripted = (reply: ReplayServer.Reply): ReplayServer.Answer => ({ body: ReplayServer.events(reply) })

const collect = (backend: Port.Backend, request: Port.Request = ask("hi")) => Stream.runCollect(backend.stream(request))

const replyOf = (chunks: ReadonlyArray<Port.Chunk>): Port.Reply => {
  const last = chunks.at(-1)
  if (last?._tag !== "Finished") throw new Error("the last chunk is not Finished")
  return last.reply
}

const failing = (backend: Port.Backend, request: Port.Request = ask("hi")) => Effect.flip(collect(backend, request))

const reason = <T extends Port.Reason["_tag"]>(error: Port.BackendError, tag: T): Extract<Port.Reason, { _tag: T }> => {
  const given = error.reason
  if (given._tag !== tag) throw new Error(`expected ${tag}, got ${given._tag}: ${given.message}`)
  return given as Extract<Port.Reason, { _tag: T }>
}

// its own pool, gone with the test
const live = <A, E>(name: string, test: () => Effect.Effect<A, E, import("effect").Scope.Scope>) =>
  it.live(name, () => Effect.scoped(test()).pipe(Effect.provide(Http.layer())))

describe("a request and its answer", () => {
  live("L-GEN-01 streams text, then one Finished, over a real connection", () =>
    Effect.gen(function* () {
      const server = yield* serving(
        scripted({ text: ["Hel", "lo ", "🙂"], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } })
      )
      const backend = yield* backendAt(server.baseUrl)
      const chunks = yield* collect(backend)
      const reply = replyOf(chunks)
      assert.strictEqual(reply.text, "Hello 🙂")
      assert.strictEqual(chunks.filter((chunk) => chunk._tag === "Finished").length, 1)
      assert.strictEqual(chunks.map((chunk) => (chunk._tag === "Text" ? chunk.text : "")).join(""), "Hello 🙂")
      assert.deepStrictEqual(reply.usage, { promptTokens: 3, completionTokens: 2, totalTokens: 5 })
      assert.strictEqual(server.requests[0]?.method, "POST")
      assert.strictEqual(server.requests[0]?.path, "/v1/chat/completions")
      assert.deepStrictEqual(JSON.parse(server.requests[0]?.body ?? ""), {
        model: "m",
        messages: [{ role: "user", content: "hi" }],
        stream: true
      })
    })
  )

  live("X-WIRE-01 a destroyed connection is a cut, after the text it brought", () =>
    Effect.gen(function* () {
      const body = ReplayServer.events({ text: ["partial"], usage: { prompt_tokens: 7 }, finish: null, done: false })
      const server = yield* serving({ body, ending: { _tag: "Destroyed" } })
      const backend = yield* backendAt(server.baseUrl)
      const seen: Array<Port.Chunk> = []
      const error = yield* backend.stream(ask("hi")).pipe(
        Stream.runForEach((chunk) => Effect.sync(() => seen.push(chunk))),
        Effect.flip
      )
      assert.deepStrictEqual(seen, [Port.Chunk.Text({ text: "partial" })])
      assert.strictEqual(reason(error, "BadResponse").problem, "cut")
      assert.match(
        error.message,
        /^the connection broke after 7 characters: 127\.0\.0\.1:\d+ closed the connection in the middle$/
      )
      assert.deepStrictEqual(error.usage, { promptTokens: 7 })
    })
  )
})
