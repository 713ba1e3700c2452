/** Real inference in this process: a tiny model with random weights, whose tokens, windows, grammars and stops are real. */
import * as Conversation from "@settle/core/model/Conversation"
import * as Message from "@settle/core/model/Message"
import * as Port from "@settle/core/port/Backend"
import * as RandomGguf from "@settle/testing/servers/RandomGguf"
import { assert, describe, it, layer } from "@effect/vitest"
import { ConfigProvider, Context, Duration, Effect, Exit, Fiber, Latch, Layer, Stream } from "effect"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import * as Gguf from "../src/gguf/Backend.ts"
import * as Grammar from "../src/gguf/Grammar.ts"
import * as Library from "../src/gguf/Library.ts"

const loads = await import("node-llama-cpp")
  .then(({ getLlama, LlamaLogLevel }) => getLlama({ gpu: false, build: "never", logLevel: LlamaLogLevel.error }))
  .then(
    () => true,
    (cause: unknown) => {
      console.warn(
        `skipped: llama.cpp cannot be loaded here (${cause instanceof Error ? cause.message : String(cause)})`
      )
      return false
    }
  )

const file = (bytes: Uint8Array) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const folder = mkdtempSync(join(tmpdir(), "settle-gguf-"))
      const path = join(folder, "tiny-random.gguf")
      writeFileSync(path, bytes)
      return { folder, path }
    }),
    ({ folder }) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
  )

const made = (options: Partial<Gguf.Options> = {}) =>
  Effect.gen(function* () {
    const { path } = yield* file(RandomGguf.make({ seed: 7, context: 2048 }))
    return yield* Gguf.make({ path, gpu: false, threads: 1, ...options })
  })

const ask = (messages: ReadonlyArray<Message.Message>, more: Partial<Port.Request> = {}): Port.Request => ({
  conversation: Conversation.of(messages),
  tools: [],
  ...more
})

const deep = {
  name: "read",
  description: "Reads",
  parameters: { type: "object", properties: { deep: { type: "boolean" } }, required: ["deep"] }
}

const hi = ask([Message.user("hi")])

const replyOf = (chunks: ReadonlyArray<Port.Chunk>): Port.Reply => {
  const last = chunks.at(-1)
  if (last?._tag !== "Finished") throw new Error("the last chunk is not Finished")
  assert.strictEqual(chunks.filter((chunk) => chunk._tag === "Finished").length, 1)
  return last.reply
}

const read = (backend: Port.Backend, request: Port.Request) =>
  Effect.map(Stream.runCollect(backend.stream(request)), (chunks) => ({ chunks, reply: replyOf(chunks) }))

class Tiny extends Context.Service<Tiny, Gguf.Gguf>()("test/Tiny") {}
class Calling extends Context.Service<Calling, Gguf.Gguf>()("test/Calling") {}
class Narrow extends Context.Service<Narrow, Gguf.Gguf>()("test/Narrow") {}

// loaded once: that is most of the time
const models = Layer.mergeAll(
  Layer.effect(Tiny, made({ maxTokens: 500 })),
  // its template begins every turn with a call
  Layer.effect(Calling, made({ template: "functionary" })),
  Layer.effect(Narrow, made({ contextWindow: 256 }))
)

describe.skipIf(!loads)("a model file of one's own", () => {
  layer(models, { excludeTestServices: true, timeout: "60 seconds" })((it) => {
    it.effect("B1 text streams and ends in one reply that says the same, counted by the model's own tokens", () =>
      Effect.gen(function* () {
        const backend = yield* Tiny
        const counter = yield* Gguf.counter(backend)
        const { chunks, reply } = yield* read(backend, { ...hi, maxTokens: 24 })
        assert.deepStrictEqual([backend.model, backend.maxTokens, backend.canConstrain], ["tiny-random", 500, true])
        assert.strictEqual(chunks.map((chunk) => (chunk._tag === "Text" ? chunk.text : "")).join(""), reply.text)
        assert.include(["stop", "length"], reply.finish)
        const { completionTokens, cost, promptTokens } = reply.usage ?? {}
        assert.strictEqual(promptTokens, counter.countRequest({ conversation: hi.conversation, tools: [] }))
        assert.isTrue(completionTokens !== undefined && completionTokens > 0 && completionTokens <= 24)
        const model = yield* backend.load
        // the meter counts the token it draws the first one from as output
        assert.strictEqual(model.sequence.tokenMeter.usedInputTokens + 1, promptTokens)
        assert.strictEqual(cost, 0)
        assert.strictEqual(counter.unit, "tiny-random")
      })
    )

    it.effect(
      "L-LEN-01 the cap ends a reply as length, the window as a full window, and each says the library's word",
      () =>
        Effect.gen(function* () {
          const backend = yield* Narrow
          const short = yield* read(backend, { ...hi, maxTokens: 3 })
          assert.deepStrictEqual([short.reply.finish, short.reply.finishReason], ["length", "maxTokens"])
          assert.isAtMost(short.reply.usage?.completionTokens ?? 99, 4)
          const counter = yield* Gguf.counter(backend)
          const fits = (n: number) => ask([Message.user("x".repeat(n))])
          const frame = counter.countRequest({ conversation: fits(1).conversation, tools: [] }) - 1
          const { reply } = yield* read(backend, fits(256 - frame - 6))
          assert.strictEqual(reply.finish, "context-window")
          assert.isBelow(reply.usage?.completionTokens ?? 99, 10)
        })
    )

    it.effect("L-400-01 what does not fit the window is refused as an overflow, and evaluated never", () =>
      Effect.gen(function* () {
        const backend = yield* Narrow
        const error = yield* Effect.flip(Stream.runDrain(backend.stream(ask([Message.user("word ".repeat(200))]))))
        assert.match(
          error.message,
          /^HTTP 400 \(context_length_exceeded\): the prompt of \d+ tokens exceeds the context window of 256 tokens$/
        )
      })
    )

    it.effect("L-ROUTE-03 a schema is a grammar: even random weights write JSON of it", () =>
      Effect.gen(function* () {
        const backend = yield* Tiny
        const schema = {
          name: "route",
          schema: {
            anyOf: [
              {
                type: "object",
                properties: { tool: { const: "read" }, deep: { type: "boolean" } },
                required: ["tool", "deep"]
              },
              { type: "object", properties: { tool: { const: "none" } }, required: ["tool"] }
            ]
          }
        }
        const { reply } = yield* read(backend, { ...hi, schema })
        const said = JSON.parse(reply.text)
        assert.include(["read", "none"], said.tool)
        assert.strictEqual(typeof said.deep, said.tool === "read" ? "boolean" : "undefined")
        assert.strictEqual(reply.finish, "stop")
      })
    )

    it.effect("B2 interruption stops the writing, and the next request waits for no more than that", () =>
      Effect.gen(function* () {
        const backend = yield* Tiny
        yield* backend.load
        const spoke = yield* Latch.make()
        const schema = { name: "long", schema: { type: "array", minItems: 200, items: { type: "boolean" } } }
        const reader = yield* Effect.forkChild(
          Stream.runForEach(backend.stream({ ...hi, schema }), () => spoke.open),
          { startImmediately: true }
        )
        yield* spoke.await
        const [took] = yield* Effect.timed(Fiber.interrupt(reader))
        assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(reader)))
        assert.isBelow(Duration.toMillis(took), 5000)
        const { reply } = yield* read(backend, { ...hi, maxTokens: 2 })
        assert.strictEqual(reply.finish, "length")
      })
    )

    it.effect("B1 a call comes whole under the grammar of its parameters, and streams as it is written", () =>
      Effect.gen(function* () {
        const backend = yield* Calling
        const { chunks, reply } = yield* read(backend, ask([Message.user("hi")], { tools: [deep], maxTokens: 200 }))
        const [call] = reply.toolCalls
        assert.strictEqual(call?.name, "read")
        assert.strictEqual(typeof JSON.parse(call?.arguments ?? "").deep, "boolean")
        assert.match(call?.id ?? "", /^call_.{36}$/)
        const shown = chunks.map((chunk) => (chunk._tag === "ToolArguments" && chunk.index === 0 ? chunk.text : ""))
        assert.deepStrictEqual(JSON.parse(shown.join("")), JSON.parse(call?.arguments ?? ""))
      })
    )

    it.effect("L-LEN-14 a call that the cap cuts is partial, and none that could be executed", () =>
      Effect.gen(function* () {
        const backend = yield* Calling
        const { reply } = yield* read(backend, ask([Message.user("hi")], { tools: [deep], maxTokens: 14 }))
        assert.deepStrictEqual(reply.toolCalls, [])
        assert.strictEqual(reply.finish, "length")
        const [call] = reply.partialCalls
        assert.strictEqual(call?.name, "read")
        assert.isTrue(
          '{"deep":true}'.startsWith(call?.arguments ?? "x") || '{"deep":false}'.startsWith(call?.arguments ?? "x")
        )
      })
    )

    it.effect("a template nobody knows is named, with those there are", () =>
      Effect.gen(function* () {
        const backend = yield* made({ template: "none-such" })
        const error = yield* Effect.flip(Stream.runDrain(backend.stream(hi)))
        assert.match(error.message, /could not be loaded: there is no template "none-such"; there are .*chatML/)
      })
    )

    it.effect("two requests side by side are answered one after the other, each whole", () =>
      Effect.gen(function* () {
        const backend = yield* Tiny
        const ones = ["one", "two", "three"].map((text) => read(backend, ask([Message.user(text)], { maxTokens: 8 })))
        const together = yield* Effect.all(ones, { concurrency: "unbounded" })
        const alone = yield* Effect.all(ones)
        assert.deepStrictEqual(
          together.map(({ reply }) => reply.text),
          alone.map(({ reply }) => reply.text)
        )
      })
    )

    it.effect("a template shows results and declarations, and the counter weighs them as they are sent", () =>
      Effect.gen(function* () {
        const backend = yield* Tiny
        const counter = yield* Gguf.counter(backend)
        const tools = [{ name: "read", description: "Reads", parameters: { type: "object", properties: {} } }]
        const messages = [
          Message.system("be brief"),
          Message.user("hi"),
          Message.assistant("", [{ id: "c1", name: "read", arguments: "{}" }]),
          Message.tool("c1", "contents")
        ]
        const request = ask(messages, { tools, tail: Message.user("now"), maxTokens: 4 })
        const { reply } = yield* read(backend, request)
        assert.strictEqual(
          reply.usage?.promptTokens,
          counter.countRequest({ conversation: request.conversation, tools, tail: Message.user("now") })
        )
        assert.isAbove(counter.countTools(tools), 10)
        assert.isAbove(counter.countMessages(messages), counter.countMessages(messages.slice(0, 2)))
      })
    )

    it.effect("a file that is no model is named, with what to check", () =>
      Effect.gen(function* () {
        const { path } = yield* file(Buffer.from("not a model"))
        const backend = yield* Gguf.make({ path, gpu: false, threads: 1 })
        const error = yield* Effect.flip(Stream.runDrain(backend.stream(hi)))
        assert.strictEqual(error.reason._tag, "BadResponse")
        assert.isTrue(error.message.startsWith(`the model file ${path} could not be loaded: `))
        assert.isTrue(
          error.message.endsWith(
            "Check that it is a GGUF file that llama.cpp knows, and that npm install node-llama-cpp@3 ran on this machine"
          )
        )
      })
    )
  })
})

describe("what is refused before a model is loaded", () => {
  it.effect("L-GEN-09 without node-llama-cpp the refusal says how to get it", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Library.find([pathToFileURL("/nowhere/at/all/").href]))
      assert.strictEqual(
        error.message,
        "protocol: gguf runs a model file with node-llama-cpp, and that is not installed. Install it: npm install node-llama-cpp@3"
      )
    })
  )

  it.effect("L-GEN-09 a file that is not there, and numbers that are none, are refused", () =>
    Effect.gen(function* () {
      const missing = yield* Effect.flip(Gguf.make({ path: "/nowhere/m.gguf" }))
      assert.strictEqual(missing.message, "path: there is no file /nowhere/m.gguf. Name a GGUF file that is there")
      const threads = yield* Effect.flip(Gguf.make({ path: "/nowhere/m.gguf", threads: 0 }))
      assert.strictEqual(threads.message, "threads: 0 is not a whole number above zero. Leave it out for the default")
    }).pipe(Effect.scoped)
  )
})

describe.skipIf(!loads)("a model file as a chain", () => {
  it.effect("L-GEN-01 of itself, and of what the environment names; nothing is loaded for it", () =>
    Effect.gen(function* () {
      const { path } = yield* file(Buffer.from("never read"))
      const env = ConfigProvider.layer(ConfigProvider.fromUnknown({ SETTLE_GGUF: path, SETTLE_GGUF_THREADS: "1" }))
      const named = yield* Layer.build(Gguf.layer({ path, model: "mine" }))
      const found = yield* Layer.build(Gguf.layerConfig.pipe(Layer.provide(env)))
      const models = [named, found].map((context) =>
        Context.get(context, Port.Backends).chain.map(({ model }) => model)
      )
      assert.deepStrictEqual(models, [["mine"], ["tiny-random"]])
    }).pipe(Effect.scoped)
  )
})

describe("a schema as a grammar", () => {
  it("L-ROUTE-03 keeps choices, constants, references and what is required", () => {
    assert.deepStrictEqual(
      Grammar.of({
        $defs: { name: { type: "string", maxLength: 5 } },
        type: "object",
        properties: { a: { $ref: "#/$defs/name" }, b: { enum: [1, null] }, c: { type: ["integer", "null"] } },
        required: ["a", "b"]
      }),
      {
        oneOf: [
          { type: "object", properties: { a: { type: "string", maxLength: 5 }, b: { enum: [1, null] } } },
          {
            type: "object",
            properties: {
              a: { type: "string", maxLength: 5 },
              b: { enum: [1, null] },
              c: { oneOf: [{ type: "integer" }, { type: "null" }] }
            }
          }
        ]
      }
    )
  })

  it("a reference to itself ends, and what is not understood lets any JSON through", () => {
    const self = { $defs: { x: { $ref: "#/$defs/x" } }, $ref: "#/$defs/x" }
    const any = Grammar.of({})
    assert.deepStrictEqual(Grammar.of(self), any)
    assert.deepStrictEqual(Grammar.of({ not: {} }), any)
    assert.deepStrictEqual(Grammar.of({ $ref: "#/__proto__/x" }), any)
  })
})
