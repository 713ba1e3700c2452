import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"
import * as Conversation from "@settle/core/model/Conversation"
import * as Message from "@settle/core/model/Message"
import { TokenCounter } from "@settle/core/port/TokenCounter"
import * as EstimateCounter from "@settle/core/standard/EstimateCounter"
import * as GptCounter from "../src/GptCounter.ts"

const exact = (count: (text: string) => number) => (text: string) => count(text) - count("")

describe("GptCounter", () => {
  it.effect("L-CTX-08 counts known texts as the encoding does", () =>
    Effect.gen(function* () {
      const tokens = exact((yield* GptCounter.make()).countText)
      assert.strictEqual(tokens("hello world"), 2)
      assert.strictEqual(tokens("Hello, world!"), 4)
      assert.strictEqual(tokens("1234567"), 3)
      const older = yield* GptCounter.make("cl100k_base")
      assert.strictEqual(exact(older.countText)("tiktoken is great!"), 6)
      assert.strictEqual(older.unit, "cl100k_base")
    })
  )

  it.effect("L-CTX-08 a request is its messages, its context, its tools and the frame of a reply", () =>
    Effect.gen(function* () {
      const counter = yield* GptCounter.make()
      const messages = [
        Message.user("hello world"),
        Message.assistant("", [{ id: "a", name: "hello", arguments: "{}" }])
      ]
      const head = Message.system("hello")
      const tools = [{ name: "hello", parameters: { type: "object" } }]
      const parts = counter.countMessages(messages) + counter.countMessages([head]) + counter.countTools(tools)
      assert.strictEqual(counter.countMessages([Message.user("hello world")]), 6)
      assert.isAbove(counter.countTools(tools), 5)
      assert.strictEqual(counter.countRequest({ conversation: Conversation.of(messages), head, tools }), parts + 3)
      assert.strictEqual(counter.countMessages([]), 0)
    })
  )

  it.effect("X-SAFE-01 the names of special tokens are text, and lone surrogates do not throw", () =>
    Effect.gen(function* () {
      const counter = yield* GptCounter.make()
      assert.isAbove(exact(counter.countText)("<|endoftext|> and <|im_start|>"), 8)
      assert.isAbove(counter.countText("\ud800 lone"), 4)
      assert.isAbove(counter.countText("😀".repeat(900) + "x"), 900)
    })
  )

  it.live("L-CTX-08 long unbroken runs do not block the process, and letters stay exact", () =>
    Effect.gen(function* () {
      const tokens = exact((yield* GptCounter.make()).countText)
      const started = performance.now()
      assert.strictEqual(tokens("a".repeat(100_000)), 12_500)
      assert.isAbove(tokens("漢".repeat(48_000)), 10_000)
      assert.isBelow(tokens(" ".repeat(100_000)), 1100)
      assert.isAbove(tokens("=".repeat(100_000)), 500)
      assert.isBelow(performance.now() - started, 5000, "unguarded these take the better part of a minute")
    })
  )

  it.effect("L-GEN-07 is provided as the loop's counter by its layer", () =>
    Effect.gen(function* () {
      const unit = yield* Effect.provide(
        Effect.map(TokenCounter, (counter) => counter?.unit),
        GptCounter.layer()
      )
      assert.strictEqual(unit, "o200k_base")
    })
  )

  it.effect("L-PRE-01 the estimate without a tokenizer stays near the count on what an agent reads", () =>
    Effect.gen(function* () {
      const tokens = exact((yield* GptCounter.make()).countText)
      const source = readFileSync(new URL("../src/GptCounter.ts", import.meta.url), "utf8")
      const lines = Array.from({ length: 400 }, (_, n) =>
        JSON.stringify({ id: n, path: `/srv/app/file-${n}.ts`, ok: true })
      )
      const texts: ReadonlyArray<readonly [string, string]> = [
        ["TypeScript", source],
        ["JSON lines", lines.join("\n")],
        ["prose", "The agent read the file, found nothing unusual in it, and asked what to do next. ".repeat(40)],
        ["German", "Der Agent hat die Datei gelesen, nichts Ungewöhnliches gefunden und nachgefragt. ".repeat(40)],
        ["base64", Buffer.from(source.repeat(3)).toString("base64")],
        [
          "random base64",
          Buffer.from(Array.from({ length: 9000 }, (_, n) => (n * 7919 + (n >> 3) * 104729) % 251)).toString("base64")
        ]
      ]
      for (const [name, text] of texts) {
        const ratio = EstimateCounter.estimate(text) / tokens(text)
        assert.isTrue(ratio > 0.75 && ratio < 1.3, `${name}: ${ratio.toFixed(2)}`)
      }
    })
  )
})
