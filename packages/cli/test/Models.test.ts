import { basename, dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Redacted } from "effect"
import * as Models from "../src/Models.ts"
import * as Protocols from "../src/Protocols.ts"

const env = (values: Record<string, string>) => ConfigProvider.layer(ConfigProvider.fromUnknown(values))

// Never loaded here: a model file is read when it is first asked something.
const file = fileURLToPath(import.meta.url)

const entries: ReadonlyArray<Protocols.Model> = [
  { protocol: "openai-chat", baseUrl: "http://127.0.0.1:9/v1", model: "a", apiKeyEnv: "K", maxTokens: 7 },
  { protocol: "openai-responses", baseUrl: "http://127.0.0.1:9/v1", model: "r", apiKeyEnv: "K", maxTokens: 11 },
  { protocol: "anthropic", baseUrl: "http://127.0.0.1:9", model: "b", apiKeyEnv: "K", maxTokens: 8 },
  { protocol: "gemini", baseUrl: "http://127.0.0.1:9", model: "g", apiKeyEnv: "K", maxTokens: 12 },
  { protocol: "koboldcpp", maxTokens: 10 },
  { protocol: "embedded", maxTokens: 9 },
  { protocol: "gguf", path: basename(file), maxTokens: 13, contextWindow: 512, threads: 1, gpu: false, temperature: 0 }
]

describe("Models", () => {
  it.effect("makes a backend for every protocol of the table, without connecting", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        entries.map((model) => model.protocol),
        Protocols.names
      )
      const chain = yield* Models.chain(
        entries.map((model) => ({ name: model.protocol, model })),
        dirname(file)
      )
      assert.deepStrictEqual(
        chain.map((backend) => [backend.model, backend.maxTokens]),
        [
          ["a", 7],
          ["r", 11],
          ["b", 8],
          ["g", 12],
          ["koboldcpp", 10],
          ["demonstration-0.8m", 9],
          ["Models.test.ts", 13]
        ]
      )
    }).pipe(Effect.provide(env({ K: "secret" })))
  )

  it.effect("X-SAFE-05 takes the key from the environment, redacted; an empty one is none", () =>
    Effect.gen(function* () {
      const key = yield* Models.secret("K")
      assert.strictEqual(String(key), "<redacted>")
      assert.strictEqual(key === undefined ? "" : Redacted.value(key), "secret")
      assert.strictEqual(yield* Models.secret("EMPTY"), undefined)
      const missing = yield* Effect.flip(
        Models.chain([
          { name: "main", model: { protocol: "openai-chat", baseUrl: "http://h/v1", model: "m", apiKeyEnv: "EMPTY" } }
        ])
      )
      assert.match(
        missing.message,
        /^The model "main" takes its API key from the environment variable EMPTY, which is not set\./
      )
    }).pipe(Effect.provide(env({ K: "secret", EMPTY: " " })))
  )

  it.effect("loads the price list only for a server that can be in it", () =>
    Effect.gen(function* () {
      for (const server of [
        undefined,
        "http://127.0.0.1:8080/v1",
        "http://localhost/v1",
        "http://[::1]/v1",
        "nonsense"
      ]) {
        assert.strictEqual(yield* Models.prices(server), undefined, server)
      }
      const list = yield* Models.prices("https://api.openai.com/v1")
      const usage = { promptTokens: 1_000_000, completionTokens: 0 }
      const cost = list?.cost(usage, { baseUrl: "https://api.openai.com/v1", model: "gpt-4o", at: 1_750_000_000_000 })
      assert.isAbove(cost ?? 0, 0)
    })
  )
})
