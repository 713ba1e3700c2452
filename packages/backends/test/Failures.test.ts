import { overflow } from "@settle/core/decide/Overflow"
import * as Backend from "@settle/core/port/Backend"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Failures from "../src/Failures.ts"
import * as Recorded from "./Recorded.ts"
import * as Reading from "./openai-chat/Reading.ts"

const plain = (text: string) => text
const http = (status: number, body: string, headers: Readonly<Record<string, string>> = {}) =>
  Failures.fromHttp({ status, body, header: (name) => headers[name], nowMs: 0 }, plain)

describe("the shapes of an error", () => {
  const shapes: ReadonlyArray<readonly [body: string, detail: string, code?: string | undefined, status?: number]> = [
    ['{"error":{"message":"m","type":"t","code":"c"}}', "m", "c"],
    ['{"error":{"message":"m","type":"t","code":null}}', "m", "t"],
    ['{"error":"m"}', "m"],
    ['{"code":"invalid-argument","error":"m"}', "m", "invalid-argument"],
    ['{"detail":"m"}', "m"],
    ['{"detail":[{"loc":["body"],"msg":"m"},{"msg":"n"}]}', "m; n"],
    ['{"message":"m"}', "m"],
    ['{"object":"error","message":"m","type":"capacity","code":"3505"}', "m", "capacity"],
    ['{"object":"error","message":"m","code":"1261"}', "m", "1261"],
    ['{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}', "m", "INVALID_ARGUMENT", 400],
    ['[{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}]', "m", "RESOURCE_EXHAUSTED", 429],
    ['{"errors":[{"message":"m"}]}', "m"],
    ['{"error":"{\\"error\\":{\\"message\\":\\"m\\",\\"code\\":\\"c\\"}}"}', "m", "c"],
    ['"{\\"message\\":\\"m\\"}"', "m"],
    [
      '{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"slow down"}}}',
      "Provider returned error: slow down",
      undefined,
      429
    ],
    [
      '{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\\"error\\":{\\"message\\":\\"m\\",\\"code\\":\\"context_length_exceeded\\"}}"}}}',
      "Provider returned error: m",
      "context_length_exceeded",
      400
    ],
    ["plain words", "plain words"],
    ["", "the body is empty"],
    ["<html><head><title>504 Gateway</title></head></html>", 'an HTML page titled "504 Gateway"'],
    ['{"what":1}', '{"what":1}']
  ]

  it("L-FAIL-08 every shape gives its words, its code and its status", () => {
    for (const [body, detail, code, status] of shapes) {
      const said = Failures.read(body)
      assert.deepStrictEqual([said.detail, said.code, said.status], [detail, code, status], body)
    }
  })

  it("F10 the HTTP status stands, whatever the body says", () => {
    assert.strictEqual(http(413, '{"error":{"code":"rate_limit_exceeded","message":"m"}}').status, 413)
    assert.strictEqual(http(429, '{"error":{"code":400,"message":"maximum context length"}}').status, 429)
  })

  it("X-WIRE-06 a wait comes from the headers, else from the body", () => {
    assert.strictEqual(http(429, "{}", { "retry-after": "3" }).retryAfterMs, 3000)
    assert.strictEqual(http(429, '{"error":"Please try again in 1.5s"}').retryAfterMs, 1500)
    assert.strictEqual(http(429, '{"error":{"details":[{"retryDelay":"48s"}]}}').retryAfterMs, 48_000)
    assert.isUndefined(http(500, "{}").retryAfterMs)
  })

  it("X-WIRE-02 a code names a status", () => {
    for (const [code, status] of [
      ["rate_limit_exceeded", 429],
      ["RateLimitReached", 429],
      ["insufficient_quota", 429],
      ["RESOURCE_EXHAUSTED", 429],
      ["insufficient_balance", 402],
      ["overloaded_error", 529],
      ["UNAVAILABLE", 503],
      ["server_error", 500],
      ["internal_server_error", 500],
      ["context_length_exceeded", 400],
      ["content_filter", 400],
      ["invalid_request_error", 400],
      ["invalid_api_key", 401],
      ["authentication_error", 401],
      ["permission_error", 403],
      ["model_not_found", 404],
      ["DEADLINE_EXCEEDED", 504],
      ["502", 502]
    ] as const) {
      assert.strictEqual(Failures.statusOfCode(code), status, code)
    }
    assert.isUndefined(Failures.statusOfCode("whatever"))
  })

  it.effect.prop(
    "L-FAIL-08 any JSON and any text give an account",
    { json: Schema.Json, text: Schema.String, wrap: Schema.Boolean },
    ({ json, text, wrap }) =>
      Effect.sync(() => {
        for (const body of [JSON.stringify(wrap ? { error: json } : json), text, `{"error":${JSON.stringify(text)}}`]) {
          const refused = http(500, body)
          assert.isTrue(refused.message.isWellFormed())
          assert.isBelow(refused.detail.length, 2100)
        }
      })
  )
})

describe("secrets", () => {
  const key = 'sk-"very"/secret+key=='
  const scrub = Failures.scrubber([key])

  it("X-SAFE-05 a key that a server quotes back is in no text, in no form, not even cut", () => {
    const bodies = [
      `Incorrect API key provided: ${key}.`,
      JSON.stringify({ error: { message: `bad ${key}`, code: key, type: key } }),
      JSON.stringify({ error: JSON.stringify({ message: `bad ${key}` }) }),
      `https://x.test/?key=${encodeURIComponent(key)}`,
      "x".repeat(1995) + key,
      JSON.stringify({ what: key })
    ]
    for (const body of bodies) {
      const refused = Failures.fromHttp({ status: 401, body, header: () => undefined, nowMs: 0 }, scrub)
      const inStream = Failures.fromStream(Failures.read(body), scrub)
      for (const error of [refused, inStream]) {
        const said = JSON.stringify(new Backend.BackendError({ reason: error })) + error.message + String(error.code)
        for (const form of [key, "very", encodeURIComponent(key)]) assert.notInclude(said, form)
      }
    }
  })
})

describe.skipIf(Recorded.folder === undefined)("recorded errors", () => {
  for (const file of Recorded.files("error-body")) {
    it(`X-WIRE-04 ${file.file} is refused with its own words`, () => {
      const status = file.http.status ?? 500
      const body = file.body.toString("utf8")
      if (status === 200) {
        const { reason } = Reading.failure(Reading.text(body))
        if (reason._tag !== "Refused") return assert.fail(reason._tag)
        assert.deepStrictEqual(
          [reason.status, reason.code, reason.detail],
          [400, file.expected.code, file.expected.message]
        )
        return
      }
      const refused = http(status, body, file.http.headers)
      assert.strictEqual(refused.status, status)
      assert.isTrue(refused.detail.startsWith(file.expected.message ?? "?"), refused.detail)
      const { code, type } = file.expected
      const named = typeof code === "string" ? code : type
      if (typeof named === "string") assert.strictEqual(refused.code, named)
      assert.strictEqual(overflow(refused.detail, refused.code), file.file.includes("context-overflow"))
    })
  }

  it("X-WIRE-06 the recorded waits are read", () => {
    const wait = (name: string) => {
      const file = Recorded.files("error-body").find((one) => one.file === name)
      return http(429, file?.body.toString("utf8") ?? "", file?.http.headers).retryAfterMs
    }
    assert.strictEqual(wait("azure-foundry/error-429-retry-after.json"), 1000)
    assert.strictEqual(wait("openai/error-429-tokens-per-minute.json"), 174)
  })

  const { context_overflow, not_overflow } = Recorded.errorTexts()
  // what cannot be told from its text, by the table's own word
  const decidable = context_overflow.filter((row) => !row.match.startsWith("(") && row.match !== "token limit reached")

  it("L-400-01 every text of the table is a window", () => {
    assert.isAbove(decidable.length, 30)
    for (const row of decidable) {
      const wrapped = row.example.includes("model_context_window_exceeded") ? row.match : undefined
      const type = row.match === "request_too_large" || row.match === "tokens_limit_reached" ? row.match : undefined
      assert.isTrue(overflow(wrapped ?? row.example, type), `${row.provider}: ${row.example}`)
    }
  })

  it("L-400-02 no look-alike of the table is one", () => {
    for (const row of not_overflow) assert.isFalse(overflow(row.example), `${row.provider}: ${row.example}`)
  })
})
