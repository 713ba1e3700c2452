import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Described from "../src/Described.ts"
import * as Windows from "../src/Windows.ts"

const window = (model: string) => Windows.of(model)?.contextWindow

describe("what is known of a model", () => {
  it("a window is found whatever date, tag, maker or region stands around the name", () => {
    assert.deepStrictEqual(
      [
        "claude-sonnet-4-5-20250929",
        "anthropic/claude-sonnet-4",
        "us.anthropic.claude-sonnet-4-20250514-v1:0",
        "claude-sonnet-4@20250514",
        "Claude-3-5-Sonnet-latest"
      ].map(window),
      [200_000, 200_000, 200_000, 200_000, 200_000]
    )
    assert.strictEqual(window("meta-llama/Llama-3.3-70B-Instruct:free"), 131_072)
    assert.deepStrictEqual(Windows.of("gpt-5-mini-2025-08-07"), { contextWindow: 400_000, maxOutput: 128_000 })
  })

  it("the longest name wins, and half a name is none", () => {
    assert.deepStrictEqual(
      ["gpt-4", "gpt-4-0613", "gpt-4-turbo-2024-04-09", "gpt-4o-mini"].map(window),
      [8192, 8192, 128_000, 128_000]
    )
    assert.strictEqual(Windows.of("claude-opus-4-1")?.maxOutput, 32_000)
    assert.strictEqual(Windows.of("claude-opus-4-5-20251101")?.maxOutput, 64_000)
    assert.deepStrictEqual(
      ["gpt", "gpt-6", "gpt-4.5-preview", "o30", "", "-", "constructor", "__proto__"].map(window),
      Array.from({ length: 8 }, () => undefined)
    )
  })

  it.effect("a price is told where a list knows it, and left out where none does", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2025, 10, 30))
      assert.deepStrictEqual(yield* Described.describe("claude-sonnet-4-5", "anthropic"), {
        contextWindow: 200_000,
        maxOutput: 64_000,
        price: { input: 3, output: 15 }
      })
      assert.deepStrictEqual((yield* Described.describe("gpt-4o", "openai-chat")).price, { input: 2.5, output: 10 })
      const elsewhere = yield* Described.describe("gpt-4o", "openai-chat", { baseUrl: "http://127.0.0.1:8080/v1" })
      assert.deepStrictEqual(elsewhere, { contextWindow: 128_000, maxOutput: 16_384 })
      assert.deepStrictEqual(yield* Described.describe("nobody-knows", "openai-chat"), {})
      assert.deepStrictEqual(yield* Described.describe("gpt-4o", "no-such-protocol"), {
        contextWindow: 128_000,
        maxOutput: 16_384
      })
    })
  )

  it.effect("a model that runs here costs nothing, and its name says nothing", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* Described.describe("demonstration-0.8m", "embedded"), {
        contextWindow: 2048,
        price: { input: 0, output: 0 }
      })
      assert.deepStrictEqual(yield* Described.describe("gpt-4o", "gguf"), { price: { input: 0, output: 0 } })
      assert.deepStrictEqual(yield* Described.describe("gpt-4o", "koboldcpp"), {})
    })
  )
})
