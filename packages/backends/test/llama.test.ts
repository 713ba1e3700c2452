/** Real inference over HTTP: a tiny model with random weights, whose tokens, windows, stops and cut calls are real. */
import * as Agent from "@settle/core/agent/Agent"
import * as Json from "@settle/core/model/Json"
import * as Message from "@settle/core/model/Message"
import { Compactor } from "@settle/core/port/Compactor"
import { RequestBudget } from "@settle/core/port/RequestBudget"
import * as TokenCounter from "@settle/core/port/TokenCounter"
import { ToolProvider } from "@settle/core/port/ToolProvider"
import * as StandardCompactor from "@settle/core/standard/Compactor"
import * as LlamaServer from "@settle/testing/servers/LlamaServer"
import * as RandomGguf from "@settle/testing/servers/RandomGguf"
import { Recorder, Tools } from "@settle/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result, type Scope } from "effect"
import { createHash } from "node:crypto"
import * as Http from "../src/Http.ts"
import * as OpenAiChat from "../src/openai-chat/Backend.ts"
import type * as Llama from "./fixtures/Llama.ts"

const llama = await import("./fixtures/Llama.ts")
  .then((module) => module.probe().then(() => module))
  .catch((cause: unknown) => {
    console.warn(`skipped: llama.cpp cannot be loaded here (${cause instanceof Error ? cause.message : String(cause)})`)
    return undefined
  })

/** Counts with the model's own tokenizer, exactly as the server bills. */
const counterOf = (engine: LlamaServer.Engine): TokenCounter.TokenCounter => {
  const said = (message: Message.Message) => ({
    role: message.role,
    content: message.content,
    tool_calls: Message.callsOf(message).map((call) => ({ function: { name: call.name, arguments: call.arguments } }))
  })
  const prompt = (messages: ReadonlyArray<Message.Message>) =>
    LlamaServer.promptOf(engine, { messages: messages.map(said) }).length
  const open = prompt([])
  return {
    unit: "random-bytes",
    countText: (text) => engine.tokenize(text, false).length,
    countMessages: (messages) => prompt(messages) - open,
    countTools: () => 0,
    countRequest: ({ conversation }) => prompt(conversation.messages),
    recordUsage: () => undefined,
    invalidate: () => undefined
  }
}

interface Plan {
  readonly engine: Llama.Options
  readonly maxTokens?: number
  readonly settings?: Agent.Input
  readonly tools?: ReadonlyArray<Tools.Entry>
  readonly parts?: (engine: LlamaServer.Engine) => Layer.Layer<never>
}

/** A server of its own for one agent. */
const staged = Effect.fnUntraced(function* (module: typeof Llama, plan: Plan) {
  const engine = yield* module.engine(plan.engine)
  const server = yield* LlamaServer.make(engine)
  const tools = Tools.make(plan.tools ?? [])
  const backend = OpenAiChat.layer({
    baseUrl: server.baseUrl,
    model: "random-bytes",
    includeUsage: true,
    ...(plan.maxTokens === undefined ? {} : { maxTokens: plan.maxTokens })
  })
  const provided = Layer.mergeAll(
    backend,
    plan.tools === undefined ? Layer.empty : Layer.succeed(ToolProvider, tools.provider),
    plan.parts?.(engine) ?? Layer.empty
  )
  const context = yield* Layer.build(
    Agent.layer({ maxRetries: 2, backoffCap: "10 millis", ...plan.settings }).pipe(
      Layer.provide(provided),
      Layer.provide(Http.layer())
    )
  )
  const ask = (text: string) =>
    Effect.gen(function* () {
      const agent = yield* Agent.Agent
      const run = yield* agent.run(text)
      const recording = yield* Recorder.collect(run.events)
      return { outcome: yield* run.outcome, recording }
    }).pipe(Effect.provide(context))
  return { engine, server, tools, ask, context }
})

const real = (name: string, body: (module: typeof Llama) => Effect.Effect<unknown, unknown, Scope.Scope>) =>
  it.live.skipIf(llama === undefined)(
    name,
    () => (llama === undefined ? Effect.void : Effect.scoped(body(llama))),
    30_000
  )

const choosing = Tools.tool("choose", Tools.answer("chosen"), {
  parameters: { type: "object", properties: { way: { enum: ["left", "right"] } }, required: ["way"] }
})
const writing = Tools.tool("write", Tools.answer("written"), {
  parameters: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  idempotency: "destructive"
})

describe("the model file", () => {
  it("the same seed gives the same bytes, another seed others", () => {
    const digest = (seed: number) => createHash("sha256").update(RandomGguf.make({ seed })).digest("hex")
    assert.strictEqual(digest(1), digest(1))
    assert.notStrictEqual(digest(1), digest(2))
    assert.strictEqual(Buffer.from(RandomGguf.make().slice(0, 4)).toString(), "GGUF")
  })
})

describe("real inference", () => {
  real(
    "L-PRE-01 L-CTX-08 L-BUDG-03 the last request that fits is sent and billed as counted, the next one is not sent",
    (module) =>
      Effect.gen(function* () {
        const window = 96
        const { ask, engine, server } = yield* staged(module, {
          engine: { window },
          settings: { contextBudget: window },
          parts: (engine) => Layer.succeed(TokenCounter.TokenCounter, counterOf(engine))
        })
        const frame = LlamaServer.promptOf(engine, { messages: [{ role: "user", content: "" }] }).length
        // A window alone keeps no reserve: the server wants room for one token more.
        const fits = yield* ask("x".repeat(window - 1 - frame))
        assert.strictEqual(server.billed[0]?.prompt, window - 1)
        assert.strictEqual(fits.outcome.spent?.promptTokens, window - 1)
        const over = yield* ask("x".repeat(window + 1 - frame))
        assert.strictEqual(over.outcome.reason, "context-exhausted")
        assert.include(over.outcome.error, `and the window is ${window}`)
        assert.deepStrictEqual([server.requests.length, server.refused()], [1, 0])
      })
  )

  real("L-400-01 L-400-03 F11 a prompt over the real window is refused once and never sent again", (module) =>
    Effect.gen(function* () {
      const { ask, server } = yield* staged(module, { engine: { window: 96 } })
      const told = yield* ask("x".repeat(200))
      assert.strictEqual(told.outcome.outcome, "failed")
      assert.include(told.outcome.error, "exceeds the available context size (96 tokens)")
      assert.deepStrictEqual([server.requests.length, server.refused()], [1, 1])
    })
  )

  real(
    "L-LEN-08 L-LEN-04 K1 an answer that stops at the real window is a window: one pass, one smaller request, then the end",
    (module) =>
      Effect.gen(function* () {
        const window = 400
        const { ask, server } = yield* staged(module, {
          engine: { window, endless: true },
          parts: (engine) =>
            Layer.mergeAll(
              Layer.succeed(TokenCounter.TokenCounter, counterOf(engine)),
              Layer.succeed(RequestBudget, {
                defaultProfile: { contextWindow: window, completionReserve: 1, inputSafetyMargin: 0 }
              }),
              Layer.succeed(
                Compactor,
                Result.getOrThrow(
                  StandardCompactor.make(
                    { budget: window, keepRecent: 0 },
                    { counter: counterOf(engine), backend: undefined }
                  )
                )
              )
            )
        })
        const told = yield* ask("word ".repeat(50))
        assert.strictEqual(told.outcome.reason, "context-exhausted")
        assert.strictEqual(server.billed.length, 2)
        for (const bill of server.billed) {
          assert.strictEqual(bill.prompt + bill.completion, window)
          assert.strictEqual(bill.finish, "length")
        }
        assert.isBelow(server.billed[1]?.prompt ?? 0, server.billed[0]?.prompt ?? 0)
        assert.isTrue(told.outcome.messages.every((message) => message.role === "user"))
      })
  )

  real(
    "L-LEN-10 L-LEN-22 F3 a call that is really cut at max_tokens is truncated: not run, not committed, not sent again",
    (module) =>
      Effect.gen(function* () {
        const { ask, server, tools } = yield* staged(module, {
          engine: { window: 512, endless: true },
          maxTokens: 12,
          tools: [writing]
        })
        const told = yield* ask("write something")
        assert.strictEqual(told.outcome.reason, "completion-truncated")
        assert.include(
          told.outcome.error,
          "cut off at max_tokens: the provider billed 12 completion tokens and the cap is 12"
        )
        assert.strictEqual(tools.ran.length, 0)
        assert.deepStrictEqual(
          server.billed.map((bill) => [bill.completion, bill.finish]),
          [[12, "length"]]
        )
        assert.deepStrictEqual(
          told.outcome.messages.map((message) => message.role),
          ["user"]
        )
      })
  )

  real(
    "X-WIRE-04 F1 a call under a grammar runs once, its result goes back, and the answer ends where the model ends",
    (module) =>
      Effect.gen(function* () {
        const { ask, server, tools } = yield* staged(module, { engine: { window: 4096, seed: 3 }, tools: [choosing] })
        const told = yield* ask("left or right?")
        assert.strictEqual(told.outcome.outcome, "completed", told.outcome.error)
        assert.strictEqual(tools.ran.length, 1)
        const chosen = Json.parse(tools.ran[0]?.arguments ?? "")
        assert.isTrue(Json.isObject(chosen) && (chosen["way"] === "left" || chosen["way"] === "right"))
        assert.deepStrictEqual(
          server.billed.map((bill) => bill.finish),
          ["tool_calls", "stop"]
        )
        assert.strictEqual(server.requests[1]?.messages.at(-1)?.content, "chosen")
        assert.strictEqual(Recorder.text(told.recording), told.outcome.final)
      })
  )

  real(
    "L-ROUTE-02 L-ROUTE-12 a routed run: every reply is one of the offered actions, by the grammar alone",
    (module) =>
      Effect.gen(function* () {
        const { ask, server, tools } = yield* staged(module, {
          engine: { window: 4096 },
          tools: [choosing],
          settings: { toolRouting: "schema", maxToolRounds: 3, maxIdenticalCalls: 30 }
        })
        const told = yield* ask("left or right?")
        assert.strictEqual(told.outcome.outcome, "completed", told.outcome.error)
        assert.include(["no-tool-needed", "tool-limit"], told.outcome.reason)
        const chosen = Recorder.all(told.recording, "RouteChosen")
        assert.strictEqual(chosen.length, server.billed.length)
        for (const { action } of chosen) assert.include(["none", "choose"], action)
        assert.strictEqual(tools.ran.length, chosen.filter(({ action }) => action === "choose").length)
      })
  )

  real("L-CANC-02 a cancel ends the generation on the other side", (module) =>
    Effect.gen(function* () {
      const { context, server } = yield* staged(module, { engine: { window: 4096, endless: true } })
      const run = yield* Effect.flatMap(Agent.Agent, (agent) => agent.run("go on")).pipe(Effect.provide(context))
      const recorder = yield* Recorder.start(run.events)
      while (server.requests.length === 0) yield* Effect.sleep(5)
      yield* Effect.sleep(50)
      yield* run.cancel
      yield* server.left
      const outcome = yield* run.outcome
      yield* run.drained
      yield* recorder.done
      assert.strictEqual(outcome.outcome, "cancelled")
      assert.strictEqual(server.billed.length, 0)
    })
  )
})
