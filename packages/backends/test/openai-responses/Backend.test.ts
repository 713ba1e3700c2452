/** The backend over a real connection: what it sends, and what every kind of answer becomes. */
import * as Message from "@settle/core/model/Message"
import * as Port from "@settle/core/port/Backend"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Redacted, Stream } from "effect"
import * as OpenAiResponses from "../../src/openai-responses/Backend.ts"
import { abortsAt, ask, collect, live, replyOf, serving, turnOf } from "../Serving.ts"
import { ended, event, start, thought, toolCall, words } from "./Reading.ts"

const backendAt = (baseUrl: string, more: Partial<OpenAiResponses.Options> = {}) =>
  OpenAiResponses.make({ baseUrl, model: "gpt-test", ...more })

describe("a request and its answer", () => {
  live("L-GEN-01 streams text, then one Finished, with the headers of the protocol", () =>
    Effect.gen(function* () {
      const server = yield* serving({ body: start() + words(0, "Hel", "lo 🙂") + ended() })
      const backend = yield* backendAt(server.baseUrl, { apiKey: Redacted.make("sk-test-1234") })
      const chunks = yield* collect(backend)
      assert.strictEqual(replyOf(chunks).text, "Hello 🙂")
      assert.strictEqual(chunks.filter((chunk) => chunk._tag === "Finished").length, 1)
      const [seen] = server.requests
      assert.deepStrictEqual(
        [seen?.method, seen?.path, seen?.headers["authorization"]],
        ["POST", "/v1/responses", "Bearer sk-test-1234"]
      )
      const body: unknown = JSON.parse(seen?.body ?? "")
      assert.deepStrictEqual(body, {
        model: "gpt-test",
        input: [{ role: "user", content: "hi" }],
        stream: true,
        store: false,
        include: ["reasoning.encrypted_content"]
      })
    })
  )

  live("F9 D11 a round of thought and a call goes back whole, under an id that the conversation has only once", () =>
    Effect.gen(function* () {
      const round =
        start() + thought(0, { encrypted_content: "c2VjcmV0" }) + toolCall(1, { id: "call_0", name: "look" }, "{}")
      const server = yield* serving({ body: round + ended() }, { body: round + ended() }, { body: start() + ended() })
      const backend = yield* backendAt(server.baseUrl)
      const question = Message.user("Look.")
      const first = turnOf(replyOf(yield* collect(backend, ask(question))))
      const conversation = [question, first, Message.tool("call_0", "seen")]
      const second = turnOf(replyOf(yield* collect(backend, ask(...conversation))))
      const [again] = Message.callsOf(second)
      assert.match(again?.id ?? "", /^call_[0-9a-f]{24}$/)
      yield* collect(backend, ask(...conversation, second, Message.tool(again?.id ?? "", "seen too")))
      const sent = server.requests[2]?.body ?? ""
      const reasoning = '{"type":"reasoning","id":"rs_0","summary":[],"encrypted_content":"c2VjcmV0"}'
      const made = (id: string) => `{"type":"function_call","call_id":"${id}","name":"look","arguments":"{}"}`
      const answered = (id: string, text: string) =>
        `{"type":"function_call_output","call_id":"${id}","output":"${text}"}`
      assert.include(sent, `${reasoning},${made("call_0")},${answered("call_0", "seen")},${reasoning}`)
      assert.include(sent, `${made(again?.id ?? "")},${answered(again?.id ?? "", "seen too")}`)
      const earlier = server.requests[1]?.body ?? ""
      assert.isTrue(sent.startsWith(earlier.slice(0, earlier.indexOf('],"stream"'))))
    })
  )

  live("X-WIRE-01 a destroyed connection is a cut, after the text it brought", () =>
    Effect.gen(function* () {
      const server = yield* serving({ body: start() + words(0, "partial"), ending: { _tag: "Destroyed" } })
      const seen: Array<Port.Chunk> = []
      const error = yield* (yield* backendAt(server.baseUrl)).stream(ask()).pipe(
        Stream.runForEach((chunk) => Effect.sync(() => seen.push(chunk))),
        Effect.flip
      )
      assert.deepStrictEqual(seen, [Port.Chunk.Text({ text: "partial" })])
      assert.match(error.message, /^the connection broke after 7 characters: .* closed the connection in the middle$/)
      assert.strictEqual(Port.errorClass(error), "response")
    })
  )

  live("X-WIRE-02 X-WIRE-06 a failed response and a rate limit are refusals with their status and wait", () =>
    Effect.gen(function* () {
      const error = { code: "rate_limit_exceeded", message: "Please try again in 1.5s" }
      const failed = start() + event("failed", { response: { status: "failed", error } })
      const server = yield* serving(
        { body: failed },
        { status: 429, headers: { "retry-after": "7" }, body: JSON.stringify({ error: { message: "slow" } }) }
      )
      const backend = yield* backendAt(server.baseUrl)
      const first = (yield* Effect.flip(collect(backend))).reason
      assert.isTrue(first._tag === "Refused" && first.status === 429 && first.inStream && first.retryAfterMs === 1500)
      const second = (yield* Effect.flip(collect(backend))).reason
      assert.isTrue(second._tag === "Refused" && second.status === 429 && second.retryAfterMs === 7000)
    })
  )

  live("X-WIRE-03 X-WIRE-05 what a length cut is partial, and its usage comes without being asked for", () =>
    Effect.gen(function* () {
      const response = {
        status: "incomplete",
        incomplete_details: { reason: "max_output_tokens" },
        usage: { input_tokens: 1, output_tokens: 2 }
      }
      const open =
        event("output_item.added", { output_index: 0, item: { type: "function_call", call_id: "c", name: "write" } }) +
        event("function_call_arguments.delta", { output_index: 0, delta: '{"a":"b' })
      const server = yield* serving({ body: start() + open + event("incomplete", { response }) })
      const reply = replyOf(yield* collect(yield* backendAt(server.baseUrl)))
      assert.deepStrictEqual([reply.finish, reply.toolCalls, reply.partialCalls.length], ["length", [], 1])
      assert.deepStrictEqual(reply.usage, { promptTokens: 1, completionTokens: 2 })
      assert.notInclude(server.requests[0]?.body ?? "", "include_usage")
    })
  )

  live("X-SAFE-05 the key is in no error, however the server quotes it", () =>
    Effect.gen(function* () {
      const body = JSON.stringify({ error: { code: "invalid_api_key", message: "bad key sk-secret-9" } })
      const server = yield* serving({ status: 401, body })
      const backend = yield* backendAt(server.baseUrl, { apiKey: Redacted.make("sk-secret-9") })
      const error = yield* Effect.flip(collect(backend))
      assert.strictEqual(error.message, "HTTP 401 (invalid_api_key): bad key [secret]")
    })
  )

  live("T7 interrupting the reader aborts the request", () => abortsAt(start() + words(0, "a"), backendAt))
})

describe("settings", () => {
  const refusal = (options: Partial<OpenAiResponses.Options>, keyName?: string) =>
    Effect.map(Effect.flip(OpenAiResponses.make({ model: "m", ...options }, keyName)), (error) => error.message)

  it.effect("L-GEN-09 what cannot work is refused with its remedy, and nothing connects", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* refusal({}, "OPENAI_API_KEY"),
        "OPENAI_API_KEY: there is no API key, and api.openai.com answers nobody without one. Set OPENAI_API_KEY"
      )
      assert.include(yield* refusal({ baseUrl: "ftp://x" }), "not an http or https address")
      assert.include(yield* refusal({ baseUrl: "http://x", model: " " }), "Name the model")
      assert.include(yield* refusal({ baseUrl: "http://x", maxTokens: 0 }), "0 is not a whole number above zero")
    })
  )

  live("an address may end before /responses or with it, and a model that does not reason is not asked to", () =>
    Effect.gen(function* () {
      const server = yield* serving({ body: start() + ended() })
      for (const baseUrl of [`${server.baseUrl}/`, `${server.baseUrl}/responses`]) {
        yield* collect(yield* backendAt(baseUrl, { model: "gpt-4o" }))
      }
      yield* collect(yield* backendAt(server.baseUrl, { model: "gpt-4o", encryptedReasoning: true }))
      assert.deepStrictEqual(
        server.requests.map(({ body, path }) => [path, body.includes("reasoning.encrypted_content")]),
        [
          ["/v1/responses", false],
          ["/v1/responses", false],
          ["/v1/responses", true]
        ]
      )
    })
  )

  it.effect("L-GEN-01 a layer is a chain of one backend, from options or from the environment", () =>
    Effect.gen(function* () {
      const environment = ConfigProvider.fromUnknown({ OPENAI_MODEL: "gpt-5", OPENAI_API_KEY: "sk-1" })
      const { chain } = yield* Port.Backends.pipe(
        Effect.provide(OpenAiResponses.layerConfig.pipe(Layer.provide(ConfigProvider.layer(environment))))
      )
      const own = yield* Port.Backends.pipe(
        Effect.provide(
          OpenAiResponses.layer({ baseUrl: "http://127.0.0.1:1", model: "m", canConstrain: false, maxTokens: 7 })
        )
      )
      assert.deepStrictEqual(
        [...chain, ...own.chain].map((backend) => [backend.model, backend.maxTokens, backend.canConstrain]),
        [
          ["gpt-5", undefined, true],
          ["m", 7, false]
        ]
      )
    })
  )
})
