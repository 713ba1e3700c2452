/** The backend over a real connection: what it sends, and what every kind of answer becomes. */
import * as Message from "@settle/core/model/Message"
import * as Port from "@settle/core/port/Backend"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Redacted, Stream } from "effect"
import * as Gemini from "../../src/gemini/Backend.ts"
import { abortsAt, ask, collect, live, replyOf, serving, turnOf } from "../Serving.ts"
import { call, chunk, ended, event, words } from "./Reading.ts"

const backendAt = (baseUrl: string, more: Partial<Gemini.Options> = {}) =>
  Gemini.make({ baseUrl, model: "gemini-test", ...more })

describe("a request and its answer", () => {
  live("L-GEN-01 X-SAFE-05 streams text, then one Finished, with the key in a header and not in the address", () =>
    Effect.gen(function* () {
      const server = yield* serving({ body: words("Hel", "lo 🙂") + ended("STOP") })
      const chunks = yield* collect(yield* backendAt(server.baseUrl, { apiKey: Redacted.make("AIza-test-1234") }))
      assert.strictEqual(replyOf(chunks).text, "Hello 🙂")
      assert.strictEqual(chunks.filter((one) => one._tag === "Finished").length, 1)
      const [seen] = server.requests
      assert.deepStrictEqual(
        [seen?.method, seen?.path, seen?.headers["x-goog-api-key"], seen?.headers["authorization"]],
        ["POST", "/v1/models/gemini-test:streamGenerateContent?alt=sse", "AIza-test-1234", undefined]
      )
      assert.strictEqual(seen?.body, '{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}')
    })
  )

  live("F9 a round of a thought and calls goes back with its signature where it was", () =>
    Effect.gen(function* () {
      const round =
        chunk([call("look", { n: 1 }, { thoughtSignature: "c2ln" }), call("look", { n: 2 })]) + ended("STOP")
      const server = yield* serving({ body: round }, { body: words("Done.") + ended("STOP") })
      const backend = yield* backendAt(server.baseUrl)
      const question = Message.user("Look.")
      const turn = turnOf(replyOf(yield* collect(backend, ask(question))))
      const [one, two] = Message.callsOf(turn).map(({ id }) => id)
      assert.match(one ?? "", /^call_[0-9a-f]{24}$/)
      yield* collect(backend, ask(question, turn, Message.tool(one ?? "", "1st"), Message.tool(two ?? "", "2nd")))
      const made = (n: number) => `{"functionCall":{"name":"look","args":{"n":${n}}}`
      const answered = (output: string) => `{"functionResponse":{"name":"look","response":{"output":"${output}"}}}`
      assert.include(
        server.requests[1]?.body ?? "",
        `{"role":"model","parts":[${made(1)},"thoughtSignature":"c2ln"},${made(2)}}]},` +
          `{"role":"user","parts":[${answered("1st")},${answered("2nd")}]}`
      )
      const earlier = server.requests[0]?.body ?? ""
      assert.isTrue((server.requests[1]?.body ?? "").startsWith(earlier.slice(0, -2)))
    })
  )

  live("X-WIRE-01 a destroyed connection is a cut, after the text it brought and with its usage", () =>
    Effect.gen(function* () {
      const body = chunk([{ text: "partial" }], { usageMetadata: { promptTokenCount: 7 } })
      const server = yield* serving({ body, ending: { _tag: "Destroyed" } })
      const seen: Array<Port.Chunk> = []
      const error = yield* (yield* backendAt(server.baseUrl)).stream(ask()).pipe(
        Stream.runForEach((one) => Effect.sync(() => seen.push(one))),
        Effect.flip
      )
      assert.deepStrictEqual(seen, [Port.Chunk.Text({ text: "partial" })])
      assert.match(error.message, /^the connection broke after 7 characters: .* closed the connection in the middle$/)
      assert.deepStrictEqual([error.usage, Port.errorClass(error)], [{ promptTokens: 7 }, "response"])
    })
  )

  live("X-WIRE-02 X-WIRE-06 an error in the stream and a quota are refusals with their status and wait", () =>
    Effect.gen(function* () {
      const unavailable = event({ error: { code: 503, message: "overloaded", status: "UNAVAILABLE" } })
      const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "48s" }]
      const quota = JSON.stringify([{ error: { code: 429, message: "quota", status: "RESOURCE_EXHAUSTED", details } }])
      const server = yield* serving({ body: words("a") + unavailable }, { status: 429, body: quota })
      const backend = yield* backendAt(server.baseUrl)
      const first = (yield* Effect.flip(collect(backend))).reason
      assert.isTrue(first._tag === "Refused" && first.status === 503 && first.inStream)
      const second = (yield* Effect.flip(collect(backend))).reason
      assert.isTrue(second._tag === "Refused" && second.status === 429 && second.retryAfterMs === 48_000)
      assert.strictEqual(second.message, "HTTP 429 (RESOURCE_EXHAUSTED): quota")
    })
  )

  live("X-WIRE-03 X-WIRE-05 what a length cut is partial, and its usage comes without being asked for", () =>
    Effect.gen(function* () {
      const open = chunk([{ functionCall: { name: "write", willContinue: true } }])
      const server = yield* serving({ body: open + ended("MAX_TOKENS", { promptTokenCount: 1 }) })
      const reply = replyOf(yield* collect(yield* backendAt(server.baseUrl)))
      assert.deepStrictEqual([reply.finish, reply.toolCalls, reply.partialCalls.length], ["length", [], 1])
      assert.deepStrictEqual(reply.usage, { promptTokens: 1 })
      assert.notInclude(server.requests[0]?.body ?? "", "usage")
    })
  )

  live("X-SAFE-05 the key is in no error, however the server quotes it", () =>
    Effect.gen(function* () {
      const body = JSON.stringify({
        error: { code: 400, message: "bad key AIza-secret-9", status: "INVALID_ARGUMENT" }
      })
      const server = yield* serving({ status: 400, body })
      const error = yield* Effect.flip(
        collect(yield* backendAt(server.baseUrl, { apiKey: Redacted.make("AIza-secret-9") }))
      )
      assert.strictEqual(error.message, "HTTP 400 (INVALID_ARGUMENT): bad key [secret]")
    })
  )

  live("T7 interrupting the reader aborts the request", () => abortsAt(words("a"), backendAt))
})

describe("settings", () => {
  const refusal = (options: Partial<Gemini.Options>, keyName?: string) =>
    Effect.map(Effect.flip(Gemini.make({ model: "m", ...options }, keyName)), (error) => error.message)

  it.effect("L-GEN-09 X-SAFE-05 what cannot work is refused with its remedy, a key in an address too", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* refusal({}, "GEMINI_API_KEY"),
        "GEMINI_API_KEY: there is no API key, and generativelanguage.googleapis.com answers nobody without one. Set GEMINI_API_KEY"
      )
      const inAddress = yield* refusal({ baseUrl: "https://generativelanguage.googleapis.com/v1beta?key=AIza-9" })
      assert.strictEqual(inAddress, "baseUrl: it holds a key. Give the key as apiKey, or a header of its own")
      assert.include(yield* refusal({ baseUrl: "ftp://x" }), "not an http or https address")
      assert.include(yield* refusal({ baseUrl: "http://x", model: " " }), "Name the model")
      assert.include(yield* refusal({ baseUrl: "http://x", maxTokens: -1 }), "-1 is not a whole number above zero")
    })
  )

  live("a name says where its model is, or is one of the models; no name leaves its place", () =>
    Effect.gen(function* () {
      const server = yield* serving({ body: ended("STOP") })
      for (const model of ["gemini-x", "models/gemini-x", "tunedModels/mine", "a?b#c"]) {
        yield* collect(yield* backendAt(`${server.baseUrl}/`, { model }))
      }
      assert.deepStrictEqual(
        server.requests.map(({ path }) => path),
        ["models/gemini-x", "models/gemini-x", "tunedModels/mine", "models/a%3Fb%23c"].map(
          (place) => `/v1/${place}:streamGenerateContent?alt=sse`
        )
      )
    })
  )

  it.effect("L-GEN-01 a layer is a chain of one backend, from options or from the environment under either name", () =>
    Effect.gen(function* () {
      const chainOf = (environment: Record<string, string>) =>
        Effect.map(
          Port.Backends.pipe(
            Effect.provide(
              Gemini.layerConfig.pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(environment))))
            )
          ),
          ({ chain }) => chain.map((backend) => [backend.model, backend.maxTokens, backend.canConstrain])
        )
      for (const name of ["GEMINI_API_KEY", "GOOGLE_API_KEY"]) {
        assert.deepStrictEqual(yield* chainOf({ GEMINI_MODEL: "gemini-x", [name]: "AIza-1" }), [
          ["gemini-x", undefined, true]
        ])
      }
      const none = yield* Effect.flip(chainOf({ GEMINI_MODEL: "gemini-x" }))
      assert.include(none.message, "Set GEMINI_API_KEY")
      const own = yield* Port.Backends.pipe(
        Effect.provide(Gemini.layer({ baseUrl: "http://127.0.0.1:1", model: "m", canConstrain: false, maxTokens: 7 }))
      )
      assert.deepStrictEqual(
        own.chain.map((backend) => [backend.model, backend.maxTokens, backend.canConstrain]),
        [["m", 7, false]]
      )
    })
  )
})
