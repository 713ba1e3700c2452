import * as Conversation from "@settle/core/model/Conversation"
import * as Message from "@settle/core/model/Message"
import * as Port from "@settle/core/port/Backend"
import * as Script from "@settle/testing/Script"
import * as BackendSuite from "@settle/testing/suites/BackendSuite"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema, Stream } from "effect"
import { AiError, LanguageModel, Prompt, Tool, Toolkit, type Response } from "effect/ai"
import * as Bridge from "../src/LanguageModel.ts"

type Parts = ReadonlyArray<Response.StreamPartEncoded>

const noUsage = { inputTokens: {}, outputTokens: {} }

/** A model of effect/ai whose reply is these parts; what it was asked is kept. */
const model = (parts: Parts, end: Stream.Stream<never, AiError.AiError> = Stream.empty) => {
  const asked: Array<LanguageModel.ProviderOptions> = []
  const made = LanguageModel.make({
    generateText: () => Effect.succeed([]),
    streamText: (options) => {
      asked.push(options)
      return Stream.concat(Stream.fromIterable(parts), end)
    }
  })
  return Effect.map(made, (model) => ({ asked, backend: Bridge.toBackend(model, { model: "m", maxTokens: 77 }) }))
}

const ask = (messages: ReadonlyArray<Message.Message>, more: Partial<Port.Request> = {}): Port.Request => ({
  conversation: Conversation.of(messages),
  tools: [],
  ...more
})

const hi = ask([Message.user("hi")])

const replyOf = (chunks: ReadonlyArray<Port.Chunk>): Port.Reply => {
  const last = chunks.at(-1)
  if (last?._tag !== "Finished") throw new Error("the last chunk is not Finished")
  return last.reply
}

const read = (backend: Port.Backend, request: Port.Request = hi) => Stream.runCollect(backend.stream(request))

const ended = (reason: Response.FinishReason, more: Partial<Response.FinishPartEncoded> = {}) =>
  ({ type: "finish", reason, usage: noUsage, ...more }) as const

describe("a language model of effect/ai as a backend", () => {
  it.effect("B1 text, reasoning, usage, cost and the model's name come through", () =>
    Effect.gen(function* () {
      const { backend } = yield* model([
        { type: "reasoning-start", id: "r" },
        { type: "reasoning-delta", id: "r", delta: "hm" },
        { type: "reasoning-end", id: "r", metadata: { maker: { signature: "s1" } } },
        { type: "text-start", id: "t" },
        { type: "text-delta", id: "t", delta: "Hel" },
        { type: "text-delta", id: "t", delta: "lo" },
        { type: "text-end", id: "t" },
        { type: "response-metadata", modelId: "m-2" },
        ended("stop", {
          usage: { inputTokens: { total: 9, cacheRead: 4 }, outputTokens: { total: 3, reasoning: 1 } },
          metadata: { maker: { usage: { cost: 0.25 } } }
        })
      ])
      const chunks = yield* read(backend)
      const reply = replyOf(chunks)
      assert.deepStrictEqual([backend.model, backend.maxTokens, backend.canConstrain], ["m", 77, false])
      assert.strictEqual(chunks.map((chunk) => (chunk._tag === "Text" ? chunk.text : "")).join(""), "Hello")
      assert.deepStrictEqual(
        [reply.text, reply.reasoning, reply.finish, reply.modelUsed],
        ["Hello", "hm", "stop", "m-2"]
      )
      assert.deepStrictEqual(reply.usage, {
        promptTokens: 9,
        completionTokens: 3,
        totalTokens: 12,
        cachedPromptTokens: 4,
        reasoningTokens: 1,
        cost: 0.25
      })
    })
  )

  it.effect("F9 a signed thought goes back as it came, with the turn it belongs to", () =>
    Effect.gen(function* () {
      const { asked, backend } = yield* model([
        { type: "reasoning-start", id: "r" },
        { type: "reasoning-delta", id: "r", delta: "hm" },
        { type: "reasoning-end", id: "r", metadata: { maker: { signature: "s1" } } },
        { type: "tool-call", id: "c1", name: "read", params: { path: "a" } },
        ended("tool-calls")
      ])
      const reply = replyOf(yield* read(backend))
      // as a transcript would keep it
      const replay = JSON.parse(JSON.stringify(reply.replay))
      const turn: Message.Message = { ...Message.assistant(reply.text, reply.toolCalls), replay }
      yield* read(backend, ask([Message.user("hi"), turn, Message.tool("c1", "done")]))
      const [, sent, results] = asked[1]?.prompt.content ?? []
      if (sent?.role !== "assistant" || results?.role !== "tool") return assert.fail("no turn was sent")
      const [thought, call] = sent.content
      assert.deepStrictEqual(
        [thought?.type, thought?.type === "reasoning" ? thought.text : "", thought?.options],
        ["reasoning", "hm", { maker: { signature: "s1" } }]
      )
      assert.deepStrictEqual(call?.type === "tool-call" ? [call.id, call.name, call.params] : [], [
        "c1",
        "read",
        { path: "a" }
      ])
      assert.deepStrictEqual(
        results.content.map((part) => (part.type === "tool-result" ? [part.id, part.name, part.result] : [])),
        [["c1", "read", "done"]]
      )
    })
  )

  it.effect(
    "D13 calls to tools nobody declared, and with arguments no schema allows, come whole and are judged later",
    () =>
      Effect.gen(function* () {
        const { asked, backend } = yield* model([
          { type: "tool-params-start", id: "c1", name: "read" },
          { type: "tool-params-delta", id: "c1", delta: '{"path":' },
          { type: "tool-params-delta", id: "c1", delta: "7}" },
          { type: "tool-params-end", id: "c1" },
          { type: "tool-call", id: "c1", name: "read", params: { path: 7 } },
          { type: "tool-call", id: "c2", name: "no_such_tool", params: "not json" },
          { type: "tool-params-start", id: "c3", name: "read" },
          { type: "tool-params-delta", id: "c3", delta: '{"pa' },
          ended("length")
        ])
        const tools = [{ name: "read", parameters: { type: "object", properties: { path: { type: "string" } } } }]
        const chunks = yield* read(backend, ask([Message.user("hi")], { tools }))
        const reply = replyOf(chunks)
        assert.deepStrictEqual(reply.toolCalls, [
          { id: "c1", name: "read", arguments: '{"path":7}' },
          { id: "c2", name: "no_such_tool", arguments: "not json" }
        ])
        assert.deepStrictEqual(reply.partialCalls, [{ id: "c3", name: "read", arguments: '{"pa' }])
        assert.strictEqual(reply.finish, "length")
        assert.deepStrictEqual(
          chunks.flatMap((chunk) => (chunk._tag === "ToolArguments" ? [[chunk.index, chunk.text]] : [])),
          [
            [0, '{"path":'],
            [0, "7}"],
            [1, "not json"],
            [2, '{"pa']
          ]
        )
        const [offered] = asked[0]?.tools ?? []
        assert.deepStrictEqual(offered === undefined ? {} : Tool.getJsonSchema(offered), tools[0]?.parameters)
      })
  )

  it.effect("D11 an id that the conversation or the reply has already is replaced", () =>
    Effect.gen(function* () {
      const { backend } = yield* model([
        { type: "tool-call", id: "c1", name: "read", params: {} },
        { type: "tool-call", id: "c2", name: "read", params: { path: "a" } },
        { type: "tool-call", id: "c2", name: "read", params: { path: "b" } },
        ended("tool-calls")
      ])
      const before = [
        Message.user("hi"),
        Message.assistant("", [{ id: "c1", name: "read", arguments: "{}" }]),
        Message.tool("c1", "x")
      ]
      const reply = replyOf(yield* read(backend, ask(before)))
      const [first, second, third] = reply.toolCalls
      assert.match(first?.id ?? "", /^call_.{36}$/)
      assert.match(third?.id ?? "", /^call_.{36}$/)
      assert.deepStrictEqual([second?.id, second?.arguments, third?.arguments], ["c2", '{"path":"a"}', '{"path":"b"}'])
    })
  )

  it.effect(
    "X-WIRE-02 an error inside a stream that succeeds is a failure, and what would follow is not waited for",
    () =>
      Effect.gen(function* () {
        const rate = AiError.make({ module: "x", method: "y", reason: new AiError.RateLimitError({}) })
        for (const [error, status] of [
          [{ error: { message: "slow down", code: "rate_limit_exceeded" } }, 429],
          [rate, 429],
          [{ message: "went wrong" }, 500]
        ] as const) {
          const { backend } = yield* model(
            [
              { type: "text-start", id: "t" },
              { type: "text-delta", id: "t", delta: "Hel" },
              { type: "error", error }
            ],
            Stream.never
          )
          const seen: Array<Port.Chunk> = []
          const failure = yield* Effect.flip(
            Stream.runForEach(backend.stream(hi), (chunk) => Effect.sync(() => seen.push(chunk)))
          )
          const { reason } = failure
          assert.isTrue(reason._tag === "Refused" && reason.status === status && reason.inStream, failure.message)
          assert.deepStrictEqual(
            seen.filter((chunk) => chunk._tag === "Text"),
            [{ _tag: "Text", text: "Hel" }]
          )
        }
      })
  )

  it.effect("X-WIRE-01 a stream without a finish was cut", () =>
    Effect.gen(function* () {
      const { backend } = yield* model([
        { type: "text-start", id: "t" },
        { type: "text-delta", id: "t", delta: "Hel" }
      ])
      const failure = yield* Effect.flip(read(backend))
      assert.strictEqual(failure.message, "the stream ended after 3 characters, without a finish")
      assert.strictEqual(Port.errorClass(failure), "response")
    })
  )

  it.effect("F10 errors keep what the engine decides by", () =>
    Effect.gen(function* () {
      const http = (status: number) => ({ response: { status, headers: {} }, body: '{"error":{"message":"said"}}' })
      const cases: ReadonlyArray<readonly [AiError.AiErrorReason, string, string]> = [
        [
          new AiError.NetworkError({ reason: "TransportError", method: "POST", url: "u", description: "no route" }),
          "connection",
          "no connection: no route"
        ],
        [new AiError.InvalidRequestError({ http: http(413) }), "http", "HTTP 413: said"],
        [new AiError.AuthenticationError({ kind: "InvalidKey", http: http(401) }), "http", "HTTP 401: said"],
        [new AiError.InternalProviderError({ description: "down", http: http(529) }), "http", "HTTP 529: down"],
        [new AiError.ContentPolicyError({ description: "no" }), "response", "no"],
        [new AiError.InvalidResponseError({ description: "odd" }), "response", "odd"],
        [new AiError.QuotaExhaustedError({ http: http(429) }), "http", "HTTP 429 (insufficient_quota): said"]
      ]
      for (const [reason, kind, message] of cases) {
        const { backend } = yield* model([], Stream.fail(AiError.make({ module: "x", method: "y", reason })))
        const failure = yield* Effect.flip(read(backend))
        assert.deepStrictEqual([Port.errorClass(failure), failure.message], [kind, message])
      }
    })
  )

  it.effect("L-ROUTE-03 a schema is refused in words, before anything is sent", () =>
    Effect.gen(function* () {
      const { asked, backend } = yield* model([ended("stop")])
      const failure = yield* Effect.flip(
        read(backend, ask([Message.user("hi")], { schema: { name: "tool_route", schema: {} } }))
      )
      assert.strictEqual(
        failure.message,
        "a language model of effect/ai cannot stream a reply held to a schema, and was asked for tool_route. Use native tool calls with it"
      )
      assert.deepStrictEqual(asked, [])
    })
  )

  it.effect("M13 pictures go out with users' messages and with results", () =>
    Effect.gen(function* () {
      const { asked, backend } = yield* model([ended("stop")])
      const parts: ReadonlyArray<Message.Part> = [{ _tag: "Image", mimeType: "image/png", data: "aGk=" }]
      yield* read(
        backend,
        ask([
          { ...Message.user("look"), parts },
          Message.assistant("", [{ id: "c1", name: "shoot", arguments: "{}" }]),
          { ...Message.tool("c1", "a shot"), parts }
        ])
      )
      const [user, , tool] = asked[0]?.prompt.content ?? []
      if (user?.role !== "user" || tool?.role !== "tool") return assert.fail("not sent")
      assert.deepStrictEqual(
        user.content.map((part) => part.type),
        ["text", "file"]
      )
      const [result] = tool.content
      if (result?.type !== "tool-result") return assert.fail("no result")
      assert.deepStrictEqual(
        result.modelOutput?.map((part) => (part.type === "file" ? part.mediaType : part.text)),
        ["a shot", "image/png"]
      )
    })
  )
})

describe("the language model of a context as a chain", () => {
  it.effect("L-GEN-01 is a chain of one backend", () => {
    const script = Script.make([Script.say("here")])
    const model = Layer.effect(LanguageModel.LanguageModel, Bridge.fromBackends(script.backend))
    return Effect.gen(function* () {
      const { chain } = yield* Port.Backends
      const [backend, ...more] = chain
      if (backend === undefined) return assert.fail("the chain is empty")
      assert.deepStrictEqual([backend.model, more], ["mine", []])
      assert.strictEqual(replyOf(yield* read(backend)).text, "here")
    }).pipe(Effect.provide(Bridge.layerBackend({ model: "mine" }).pipe(Layer.provide(model))))
  })
})

const Weather = Tool.make("weather", {
  description: "The weather of a city",
  parameters: Schema.Struct({ city: Schema.String }),
  success: Schema.Struct({ sky: Schema.String })
})
const Weathers = Toolkit.make(Weather)
const WeathersLive = Weathers.toLayer({ weather: ({ city }) => Effect.succeed({ sky: `clear over ${city}` }) })

const serving = (...entries: ReadonlyArray<Script.Entry>) => {
  const script = Script.make(entries, { model: "scripted" })
  return { script, live: Layer.effect(LanguageModel.LanguageModel, Bridge.fromBackends(script.backend)) }
}

describe("a backend as a language model of effect/ai", () => {
  it.effect("generateText runs a toolkit on the backend's calls, and the history goes back whole", () => {
    const replay = { protocol: "p", data: { signed: "s" } }
    const { live, script } = serving(
      {
        content: "let me see",
        reasoning: "hm",
        toolCalls: [Script.call("c1", "weather", { city: "Graz" })],
        replay,
        usage: { promptTokens: 10, completionTokens: 5, totalTokens: 15, cachedPromptTokens: 4, cost: 0.5 }
      },
      Script.say("clear")
    )
    return Effect.gen(function* () {
      const first = yield* LanguageModel.generateText({
        prompt: [
          { role: "system", content: "be brief" },
          { role: "user", content: "weather in Graz?" }
        ],
        toolkit: Weathers
      })
      assert.strictEqual(first.text, "let me see")
      assert.strictEqual(first.finishReason, "tool-calls")
      assert.deepStrictEqual(
        first.toolResults.map((result) => result.result),
        [{ sky: "clear over Graz" }]
      )
      assert.deepStrictEqual(
        [first.usage.inputTokens.total, first.usage.inputTokens.uncached, first.usage.outputTokens.total],
        [10, 6, 5]
      )
      const history = Prompt.concat(
        Prompt.make([{ role: "user", content: "weather in Graz?" }]),
        Prompt.fromResponseParts(first.content)
      )
      const second = yield* LanguageModel.generateText({ prompt: history, toolkit: Weathers })
      assert.strictEqual(second.text, "clear")
      assert.deepStrictEqual(script.requests[0]?.messages, [
        Message.system("be brief"),
        Message.user("weather in Graz?")
      ])
      const [tool] = script.requests[0]?.tools ?? []
      assert.deepStrictEqual(
        [tool?.name, tool?.description, tool?.parameters["type"]],
        ["weather", "The weather of a city", "object"]
      )
      assert.deepStrictEqual(script.requests[1]?.messages, [
        Message.user("weather in Graz?"),
        {
          ...Message.assistant("let me see", [Script.call("c1", "weather", { city: "Graz" })]),
          replay
        },
        Message.tool("c1", '{"sky":"clear over Graz"}')
      ])
    }).pipe(Effect.provide([live, WeathersLive]))
  })

  it.effect("streamText streams what the backend streams, in blocks", () => {
    const { live } = serving({
      chunks: ["Hel", "lo"],
      reasoning: "hm",
      usage: { promptTokens: 1, completionTokens: 2, cost: 0.5 },
      finishReason: "end_turn"
    })
    return Effect.gen(function* () {
      const parts = yield* Stream.runCollect(LanguageModel.streamText({ prompt: "hi" }))
      assert.deepStrictEqual(
        parts.map((part) => part.type),
        [
          "reasoning-start",
          "reasoning-delta",
          "reasoning-end",
          "text-start",
          "text-delta",
          "text-delta",
          "text-end",
          "finish"
        ]
      )
      const last = parts.at(-1)
      if (last?.type !== "finish") return assert.fail("no finish")
      assert.deepStrictEqual(
        [last.reason, last.metadata],
        ["stop", { settle: { cost: 0.5, finishReason: "end_turn" } }]
      )
    }).pipe(Effect.provide(live))
  })

  it.effect("streamText runs a toolkit too", () => {
    const { live } = serving({ toolCalls: [Script.call("c1", "weather", { city: "Linz" })] })
    return Effect.gen(function* () {
      const parts = yield* Stream.runCollect(LanguageModel.streamText({ prompt: "hi", toolkit: Weathers }))
      const results = parts.flatMap((part) => (part.type === "tool-result" ? [part.result] : []))
      assert.deepStrictEqual(results, [{ sky: "clear over Linz" }])
      assert.strictEqual(parts.at(-1)?.type, "finish")
    }).pipe(Effect.provide([live, WeathersLive]))
  })

  it.effect("generateObject holds the backend to the schema", () => {
    const { live, script } = serving(Script.say('{"sky":"grey"}'))
    return Effect.gen(function* () {
      const { value } = yield* LanguageModel.generateObject({
        prompt: "hi",
        objectName: "weather",
        schema: Schema.Struct({ sky: Schema.String })
      })
      assert.deepStrictEqual(value, { sky: "grey" })
      const asked = script.requests[0]?.schema
      assert.deepStrictEqual([asked?.name, asked?.schema["required"]], ["weather", ["sky"]])
    }).pipe(Effect.provide(live))
  })

  it.effect("toolChoice says which tools are offered", () => {
    const { live, script } = serving(Script.say("a"), Script.say("b"))
    return Effect.gen(function* () {
      yield* LanguageModel.generateText({ prompt: "hi", toolkit: Weathers, toolChoice: "none" })
      yield* LanguageModel.generateText({ prompt: "hi", toolkit: Weathers, toolChoice: { tool: "weather" } })
      assert.deepStrictEqual(
        script.requests.map(({ tools }) => tools.map(({ name }) => name)),
        [[], ["weather"]]
      )
    }).pipe(Effect.provide([live, WeathersLive]))
  })

  it.effect("L-GEN-01 a chain goes on while nothing was said, and not afterwards", () =>
    Effect.gen(function* () {
      const down = Script.make([Script.failWith(Script.http(503))])
      const up = Script.make([Script.say("here"), Script.say("unused")])
      const talks = Script.make([{ chunks: ["Hel"], cut: true }])
      const first = yield* Bridge.fromBackends(down.backend, up.backend)
      assert.strictEqual((yield* first.generateText({ prompt: "hi" })).text, "here")
      const second = yield* Bridge.fromBackends(talks.backend, up.backend)
      const error = yield* Effect.flip(Stream.runDrain(second.streamText({ prompt: "hi" })))
      assert.strictEqual(error.reason._tag, "InvalidResponseError")
      assert.strictEqual(up.left, 1)
    })
  )

  it.effect("F10 a refusal keeps its status and its wait on the way to effect/ai", () =>
    Effect.gen(function* () {
      const script = Script.make([Script.failWith(Script.http(429, "slow down", 1500))])
      const made = yield* Bridge.fromBackends(script.backend)
      const error = yield* Effect.flip(made.generateText({ prompt: "hi" }))
      assert.strictEqual(error.message, "settle.generateText: Rate limit exceeded. Retry after 1s 500ms")
      assert.isTrue(error.isRetryable)
    })
  )

  it.effect("M13 files of a prompt become parts, and words", () =>
    Effect.gen(function* () {
      const script = Script.make([Script.say("x")])
      const made = yield* Bridge.fromBackends(script.backend)
      yield* made.generateText({
        prompt: [
          {
            role: "user",
            content: [
              { type: "text", text: "look" },
              { type: "file", mediaType: "image/png", data: new Uint8Array([104, 105]) },
              { type: "file", mediaType: "application/pdf", data: new URL("https://example.com/a.pdf") },
              { type: "file", mediaType: "application/zip", data: "aGk=" }
            ]
          }
        ]
      })
      assert.deepStrictEqual(script.requests[0]?.messages, [
        {
          ...Message.user(
            "look\n[image/png]\n[application/pdf at https://example.com/a.pdf]\n[application/zip] (left out)"
          ),
          parts: [
            { _tag: "Image", mimeType: "image/png", data: "aGk=" },
            { _tag: "ResourceLink", uri: "https://example.com/a.pdf", mimeType: "application/pdf" }
          ]
        }
      ])
    })
  )

  it.effect("an empty chain is said to be one", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        Layer.build(Bridge.layer.pipe(Layer.provide(Layer.succeed(Port.Backends, { chain: [] }))))
      )
      assert.strictEqual(error.message, "no connection: there is no backend in the chain. Configure one")
    }).pipe(Effect.scoped)
  )
})

/** There and back: each step is played by a backend that became a language model that became a backend. */
BackendSuite.suite("LanguageModel", (step) =>
  Effect.gen(function* () {
    const script = Script.make([step])
    const there = yield* Bridge.fromBackends(script.backend)
    return { backend: Bridge.toBackend(there), aborted: Effect.sync(() => script.cancels) }
  })
)
