import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import * as Conversation from "@settle/core/model/Conversation"
import * as Message from "@settle/core/model/Message"
import type { Usage } from "@settle/core/model/Usage"
import * as Backend from "@settle/core/port/Backend"
import * as Prices from "../src/Prices.ts"

const at = Date.UTC(2026, 8, 1)
const query = { model: "gpt-4o", providerId: "openai", at }
const million = { promptTokens: 1_000_000, completionTokens: 1_000_000 }

describe("Prices", () => {
  it.effect("L-CAP-05 computes a cost from the list and marks it as computed", () =>
    Effect.gen(function* () {
      const prices = yield* Prices.load
      assert.deepStrictEqual(prices.complete(million, query), { ...million, cost: 12.5, costComputed: true })
      assert.strictEqual(prices.cost(million, { ...query, model: "claude-haiku-4-5", providerId: "anthropic" }), 6)
      const byAddress = { model: "gpt-4o", baseUrl: "https://api.openai.com/v1", at }
      assert.strictEqual(prices.cost(million, byAddress), 12.5)
      assert.strictEqual(prices.cost({ ...million, cachedPromptTokens: 500_000 }, query), 1.25 + 0.625 + 10)
    })
  )

  it.effect("F5 L-CAP-05 reasoning counts once, whether it is told within what the model wrote or beside it", () =>
    Effect.gen(function* () {
      const prices = yield* Prices.load
      const half = { promptTokens: 1_000_000, completionTokens: 500_000, reasoningTokens: 500_000 }
      assert.strictEqual(prices.cost({ ...half, totalTokens: 2_000_000 }, query), 2.5 + 10)
      assert.strictEqual(prices.cost({ ...half, totalTokens: 1_500_000 }, query), 2.5 + 5)
      assert.strictEqual(prices.cost(half, query), 2.5 + 5)
    })
  )

  it.effect("L-CAP-05 never touches a reported cost, zero included", () =>
    Effect.gen(function* () {
      const prices = yield* Prices.load
      for (const cost of [0, 0.5])
        assert.deepStrictEqual(prices.complete({ ...million, cost }, query), { ...million, cost })
    })
  )

  it.effect("F5 L-CAP-05 invents nothing: unknown models, unnamed or local providers, half a bill", () =>
    Effect.gen(function* () {
      const prices = yield* Prices.load
      const unknown: ReadonlyArray<readonly [Usage, Prices.Query]> = [
        [million, { ...query, model: "no-such-model" }],
        [million, { ...query, providerId: "no-such-provider" }],
        [million, { model: "gpt-4o", at }],
        [million, { model: "gpt-4o", baseUrl: "http://127.0.0.1:8080/v1", at }],
        [{ totalTokens: 5 }, query],
        [{ promptTokens: 5 }, query],
        [{ promptTokens: 5, completionTokens: 5, cachedPromptTokens: 50 }, query],
        [{ promptTokens: -5, completionTokens: 5 }, query]
      ]
      for (const [usage, of] of unknown) assert.strictEqual(prices.complete(usage, of), usage)
    })
  )

  it.effect("L-BUDG-02 knows the window of listed models", () =>
    Effect.gen(function* () {
      const prices = yield* Prices.load
      assert.strictEqual(prices.contextWindow(query), 128_000)
      assert.isUndefined(prices.contextWindow({ ...query, model: "no-such-model" }))
    })
  )

  it.effect("L-CAP-05 L-CAP-12 prices the bill of a backend, on a failure too, and changes nothing else", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(at)
      const prices = yield* Prices.load
      const reply = {
        text: "hi",
        toolCalls: [],
        partialCalls: [],
        finish: "stop" as const,
        warnings: [],
        usage: million
      }
      const chunks = [Backend.Chunk.Text({ text: "hi" }), Backend.Chunk.Finished({ reply })]
      const failure = new Backend.BackendError({
        reason: new Backend.BadResponse({ problem: "cut", detail: "cut" }),
        usage: million
      })
      const backend = (stream: Backend.Backend["stream"]): Backend.Backend =>
        Prices.priced({ model: "gpt-4o", maxTokens: 7, canConstrain: true, stream }, prices, { providerId: "openai" })
      const request = { conversation: Conversation.of([Message.user("hi")]), tools: [] }
      const good = backend(() => Stream.fromArray(chunks))
      assert.deepStrictEqual([good.maxTokens, good.canConstrain], [7, true])
      const got = yield* Stream.runCollect(good.stream(request))
      assert.deepStrictEqual(got, [
        Backend.Chunk.Text({ text: "hi" }),
        Backend.Chunk.Finished({ reply: { ...reply, usage: { ...million, cost: 12.5, costComputed: true } } })
      ])
      const error = yield* Effect.flip(Stream.runDrain(backend(() => Stream.fail(failure)).stream(request)))
      assert.deepStrictEqual(error.usage, { ...million, cost: 12.5, costComputed: true })
      assert.strictEqual(error.message, "cut")
    })
  )
})
