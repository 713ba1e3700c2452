/** The backend over a real connection: what it sends, and what every kind of answer becomes. */
import * as ReplayServer from "@settle/testing/servers/ReplayServer"
import * as Conversation from "@settle/core/model/Conversation"
import * as Message from "@settle/core/model/Message"
import * as Port from "@settle/core/port/Backend"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Fiber, Layer, Redacted, Stream, type Scope } from "effect"
import * as Anthropic from "../../src/anthropic/Backend.ts"
import * as Http from "../../src/Http.ts"
import { ended, event, start, toolUse, words } from "./Reading.ts"

const ask = (text: string): Port.Request => ({ conversation: Conversation.of([Message.user(text)]), tools: [] })

const serving = (...answers: readonly [ReplayServer.Answer, ...Array<ReplayServer.Answer>]) =>
  ReplayServer.make(ReplayServer.inTurn(...answers))

const backendAt = (baseUrl: string, more: Partial<Anthropic.Options> = {}) =>
  Anthropic.make({ baseUrl, model: "claude-test", ...more })

const collect = (backend: Port.Backend, request: Port.Request = ask("hi")) => Stream.runCollect(backend.stream(request))

const replyOf = (chunks: ReadonlyArray<Port.Chunk>): Port.Reply => {
  const last = chunks.at(-1)
  if (last?._tag !== "Finished") throw new Error("the last chunk is not Finished")
  return last.reply
}

const live = <A, E>(name: string, test: () => Effect.Effect<A, E, Scope.Scope>) =>
  it.live(name, () => Effect.scoped(test()).pipe(Effect.provide(Http.layer())))

describe("a request and its answer", () => {
  live("L-GEN-01 streams text, then one Finished, with the headers of the protocol", () =>
    Effect.gen(function* () {
      const server = yield* serving({
        body: start() + words(0, "Hel", "lo 🙂") + ended("end_turn", { output_tokens: 2 })
      })
      const backend = yield* backendAt(server.baseUrl, { apiKey: Redacted.make("sk-test-1234") })
      const chunks = yield* collect(backend)
      assert.strictEqual(replyOf(chunks).text, "Hello 🙂")
      assert.strictEqual(chunks.filter((chunk) => chunk._tag === "Finished").length, 1)
      const [seen] = server.requests
      assert.deepStrictEqual([seen?.method, seen?.path], ["POST", "/v1/messages"])
      assert.deepStrictEqual(
        [seen?.headers["x-api-key"], seen?.headers["anthropic-version"], seen?.headers["authorization"]],
        ["sk-test-1234", "2023-06-01", undefined]
      )
      const body: unknown = JSON.parse(seen?.body ?? "")
      assert.deepStrictEqual(body, {
        model: "claude-test",
        messages: [{ role: "user", content: [{ type: "text", text: "hi", cache_control: { type: "ephemeral" } }] }],
        max_tokens: 8192,
        stream: true
      })
    })
  )

  live("F9 a round of thinking and a call goes back whole with the next request", () =>
    Effect.gen(function* () {
      const thought =
        event("content_block_start", { index: 0, content_block: { type: "thinking", thinking: "", signature: "" } }) +
        event("content_block_delta", { index: 0, delta: { type: "thinking_delta", thinking: "Hm." } }) +
        event("content_block_delta", { index: 0, delta: { type: "signature_delta", signature: "c2ln" } }) +
        event("content_block_stop", { index: 0 })
      const first = start() + thought + toolUse(1, "toolu_1", "look", "") + ended("tool_use")
      const server = yield* serving({ body: first }, { body: start() + words(0, "Done.") + ended("end_turn") })
      const backend = yield* backendAt(server.baseUrl)
      const question = Message.user("Look.")
      const reply = replyOf(yield* collect(backend, { conversation: Conversation.of([question]), tools: [] }))
      const { replay } = reply
      assert.isDefined(replay)
      const turn: Message.Message = {
        ...Message.assistant(reply.text, reply.toolCalls),
        ...(replay === undefined ? {} : { replay })
      }
      yield* collect(backend, {
        conversation: Conversation.of([question, turn, Message.tool("toolu_1", "seen")]),
        tools: []
      })
      const sent = server.requests[1]?.body ?? ""
      assert.include(
        sent,
        '{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"tool_use","id":"toolu_1","name":"look","input":{}}]}'
      )
    })
  )

  live("X-WIRE-01 a destroyed connection is a cut, after the text it brought", () =>
    Effect.gen(function* () {
      const body = start({ usage: { input_tokens: 7 } }) + words(0, "partial")
      const server = yield* serving({ body, ending: { _tag: "Destroyed" } })
      const seen: Array<Port.Chunk> = []
      const error = yield* (yield* backendAt(server.baseUrl)).stream(ask("hi")).pipe(
        Stream.runForEach((chunk) => Effect.sync(() => seen.push(chunk))),
        Effect.flip
      )
      assert.deepStrictEqual(seen, [Port.Chunk.Text({ text: "partial" })])
      assert.match(error.message, /^the connection broke after 7 characters: .* closed the connection in the middle$/)
      assert.deepStrictEqual([error.usage, Port.errorClass(error)], [{ promptTokens: 7 }, "response"])
    })
  )

  live("X-WIRE-02 X-WIRE-06 overload and rate limits are refusals with their status and wait", () =>
    Effect.gen(function* () {
      const overloaded = event("error", { error: { type: "overloaded_error", message: "Overloaded" } })
      const limited = JSON.stringify({ type: "error", error: { type: "rate_limit_error", message: "slow" } })
      const server = yield* serving(
        { body: overloaded },
        { status: 429, headers: { "content-type": "application/json", "retry-after": "7" }, body: limited }
      )
      const backend = yield* backendAt(server.baseUrl)
      const first = (yield* Effect.flip(collect(backend))).reason
      assert.isTrue(first._tag === "Refused" && first.status === 529 && first.inStream)
      const second = (yield* Effect.flip(collect(backend))).reason
      assert.isTrue(second._tag === "Refused" && second.status === 429 && second.retryAfterMs === 7000)
      assert.strictEqual(second.message, "HTTP 429 (rate_limit_error): slow")
    })
  )

  live("X-SAFE-05 the key is in no error, however the server quotes it", () =>
    Effect.gen(function* () {
      const body = JSON.stringify({ error: { type: "authentication_error", message: "bad key sk-secret-9" } })
      const server = yield* serving({ status: 401, body })
      const backend = yield* backendAt(server.baseUrl, { apiKey: Redacted.make("sk-secret-9") })
      const error = yield* Effect.flip(collect(backend))
      assert.strictEqual(error.message, "HTTP 401 (authentication_error): bad key [secret]")
    })
  )

  live("T7 interrupting the reader aborts the request", () =>
    Effect.gen(function* () {
      const server = yield* serving({ body: start() + words(0, "a"), ending: { _tag: "Hanging" } })
      const backend = yield* backendAt(server.baseUrl)
      const fiber = yield* Effect.forkChild(collect(backend))
      yield* server.arrived(1)
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(yield* server.requests[0]?.over ?? Effect.succeed("finished" as const), "aborted")
    })
  )
})

describe("settings", () => {
  const refusal = (options: Partial<Anthropic.Options>, keyName?: string) =>
    Effect.map(Effect.flip(Anthropic.make({ model: "claude-test", ...options }, keyName)), (error) => error.message)

  it.effect("what cannot work is refused with its remedy, and nothing connects", () =>
    Effect.gen(function* () {
      assert.include(
        yield* refusal({}, "ANTHROPIC_API_KEY"),
        "there is no API key, and api.anthropic.com answers nobody"
      )
      assert.include(yield* refusal({}, "ANTHROPIC_API_KEY"), "Set ANTHROPIC_API_KEY")
      assert.include(yield* refusal({ baseUrl: "ftp://x" }), "not an http or https address")
      assert.include(yield* refusal({ baseUrl: "http://x", model: " " }), "Name the model")
      assert.include(yield* refusal({ baseUrl: "http://x", maxTokens: 0 }), "0 is not a whole number above zero")
      assert.include(yield* refusal({ baseUrl: "http://x", headers: { "a b": "c" } }), "is no header name")
    })
  )

  it.effect("the cap is known before anything is sent, and is one that the model takes", () =>
    Effect.gen(function* () {
      const at = { baseUrl: "http://127.0.0.1:1" }
      assert.strictEqual((yield* Anthropic.make({ ...at, model: "claude-haiku-4-5" })).maxTokens, 8192)
      assert.strictEqual((yield* Anthropic.make({ ...at, model: "claude-3-haiku-20240307" })).maxTokens, 4096)
      assert.strictEqual((yield* Anthropic.make({ ...at, model: "m", maxTokens: 77 })).maxTokens, 77)
    })
  )

  live("an address may end before /v1, after it, or with /messages", () =>
    Effect.gen(function* () {
      const server = yield* serving({ body: start() + words(0, "a") + ended("end_turn") })
      const root = server.baseUrl.replace(/\/v1$/, "")
      for (const baseUrl of [root, `${root}/`, `${root}/v1`, `${root}/v1/messages`, `${root}/anthropic`]) {
        yield* collect(yield* backendAt(baseUrl))
      }
      assert.deepStrictEqual(
        server.requests.map((request) => request.path),
        ["/v1/messages", "/v1/messages", "/v1/messages", "/v1/messages", "/anthropic/v1/messages"]
      )
    })
  )

  it.effect("a layer is a chain of one backend, from options or from the environment", () =>
    Effect.gen(function* () {
      const environment = ConfigProvider.fromUnknown({
        ANTHROPIC_MODEL: "claude-haiku-4-5",
        ANTHROPIC_API_KEY: "sk-1"
      })
      const { chain } = yield* Port.Backends.pipe(
        Effect.provide(Anthropic.layerConfig.pipe(Layer.provide(ConfigProvider.layer(environment))))
      )
      assert.deepStrictEqual(
        chain.map((backend) => [backend.model, backend.maxTokens, backend.canConstrain]),
        [["claude-haiku-4-5", 8192, true]]
      )
      const own = yield* Port.Backends.pipe(
        Effect.provide(Anthropic.layer({ baseUrl: "http://127.0.0.1:1", model: "m", canConstrain: false }))
      )
      assert.deepStrictEqual(
        own.chain.map((backend) => [backend.model, backend.canConstrain]),
        [["m", false]]
      )
    })
  )
})
