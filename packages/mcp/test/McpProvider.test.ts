import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as Tool from "@settle/core/model/Tool"
import * as Client from "../src/Client.ts"
import * as McpProvider from "../src/McpProvider.ts"
import type * as ServerSpec from "../src/ServerSpec.ts"
import { invocation, lines, recorder, spec, temporaryFile, within } from "./hostile.ts"

const open = Effect.fnUntraced(function* (given: ServerSpec.ServerSpec) {
  const client = yield* Client.connect("hostile", given)
  return McpProvider.make({ server: "hostile", client: Effect.succeed(client) })
})
const one = (provider: McpProvider.McpProvider, name: string, args: Parameters<typeof invocation>[1] = {}) =>
  Effect.map(provider.execute([invocation(name, args)]), (answers) => {
    const answer = answers[0]
    if (answer === undefined || typeof answer === "string") throw new Error("no answer")
    return answer
  })
const told = (answer: Tool.Answer): string =>
  answer._tag === "Answered" ? answer.content : `${answer._tag}: ${answer.message}`
const isError = (answer: Tool.Answer): boolean => answer._tag === "Answered" && answer.isError

describe("calls", () => {
  it.live("M11 a tool with an impossible name is called by its own name", () =>
    Effect.gen(function* () {
      const provider = yield* open(spec())
      const tools = yield* provider.list
      const alias = tools.find((tool) => tool.name.startsWith("a_b_c_"))
      assert.strictEqual(alias?.idempotency, "destructive")
      assert.strictEqual(alias?.origin, "hostile")
      assert.strictEqual(told(yield* one(provider, alias?.name ?? "")), "the tool a.b/c")
    })
  )
  it.live("D2 empty arguments are none, and what is no object is refused with what is expected", () =>
    Effect.gen(function* () {
      const journal = yield* temporaryFile
      const provider = yield* open(spec("plain", {}, journal))
      assert.strictEqual(told(yield* one(provider, "echo", "")), "undefined")
      const texts = ["[1]", "null", '"x"', "{oops"]
      const refused = yield* Effect.forEach(texts, (args) => one(provider, "echo", args))
      assert.isTrue(refused.every(isError))
      const kinds = ["an array", "null", "a string", "text that is not JSON"]
      assert.deepStrictEqual(
        refused.map(told),
        kinds.map(
          (kind) =>
            `The arguments of echo must be one JSON object, and were ${kind}. Expected: an object with text (string, required).`
        )
      )
      assert.deepStrictEqual(lines(journal), ["echo"])
    })
  )
  it.live("L-TOOL-10 an unknown tool is answered with what there is", () =>
    Effect.gen(function* () {
      const provider = yield* open(spec())
      const answer = yield* one(provider, "ecko")
      assert.isTrue(isError(answer))
      assert.match(
        told(answer),
        /^hostile has no tool "ecko"\. It offers echo, a_b_c_fc7cd9c4, double, .* and 10 more\.$/
      )
    })
  )
  it.live("L-ROUND-17 a batch begins in its order, runs side by side, and is answered by position", () =>
    Effect.gen(function* () {
      const journal = yield* temporaryFile
      const provider = yield* open(spec("plain", {}, journal))
      const before = Date.now()
      const answers = yield* provider.execute([
        invocation("steady", { every: 400, times: 3 }),
        invocation("echo", { text: "second" }),
        invocation("steady", { every: 400, times: 3 })
      ])
      assert.isBelow(Date.now() - before, 2300)
      assert.deepStrictEqual(
        answers.map((answer) => (typeof answer === "object" ? told(answer) : "")),
        ["steady to the end", "second", "steady to the end"]
      )
      assert.deepStrictEqual(lines(journal), ["steady", "echo", "steady"])
    })
  )
  it.live(
    "M2 X-CANC-03 X-CANC-04 a death settles what was out as lost, what comes after as not accepted, and a refusal as an answer",
    () =>
      Effect.gen(function* () {
        const journal = yield* temporaryFile
        const provider = yield* open(spec("plain", {}, journal))
        const refusal = yield* one(provider, "rpcerror")
        assert.isTrue(isError(refusal))
        assert.match(told(refusal), /^MCP server `hostile`: it answered `tools\/call` with error -32602: no such file/)
        const answers = yield* provider.execute([invocation("never"), invocation("die")])
        assert.deepStrictEqual(
          answers.map((answer) => (typeof answer === "object" ? answer._tag : "")),
          ["Lost", "Lost"]
        )
        const after = yield* one(provider, "echo", { text: "x" })
        assert.strictEqual(after._tag, "NotAccepted")
        assert.match(told(after), /the request never reached it: .*was killed by SIGKILL/)
        assert.deepStrictEqual(lines(journal), ["rpcerror", "never", "die"])
      })
  )
  it.live("M4 a call given up at its ceiling is lost, not failed", () =>
    Effect.gen(function* () {
      const provider = yield* open(spec("plain", { callCeiling: "200 millis" }))
      const answer = yield* one(provider, "never")
      assert.strictEqual(answer._tag, "Lost")
      assert.match(told(answer), /did not answer `tools\/call` within 0\.2 seconds/)
    })
  )
  it.live("M4 L-SHIM-08 progress names the call it belongs to", () =>
    Effect.gen(function* () {
      const provider = yield* open(spec())
      const scope = recorder()
      const calls = [invocation("lastword"), invocation("lastword")]
      yield* provider.execute(calls).pipe(within(scope))
      const ids = scope.notes.map((note) => note.callId)
      for (const { callId } of calls) assert.strictEqual(ids.filter((id) => id === callId).length, 3)
    })
  )
})

describe("catalogue", () => {
  it.live("M14 a change in the middle of a batch counts from the next list, which is otherwise the same array", () =>
    Effect.gen(function* () {
      const provider = yield* open(spec())
      const before = yield* provider.list
      assert.strictEqual(yield* provider.list, before)
      const [, answer] = yield* provider.execute([invocation("change"), invocation("brand_new")])
      assert.isTrue(typeof answer === "object" && isError(answer))
      const after = yield* provider.list
      assert.notStrictEqual(after, before)
      assert.isTrue(after.some((tool) => tool.name === "brand_new"))
      assert.strictEqual(yield* provider.list, after)
      yield* provider.execute([invocation("change")])
      assert.strictEqual(yield* provider.list, after)
    })
  )
})

describe("secrets", () => {
  it.live("X-SAFE-05 a server gets a short environment and its own keys, and what it says of them is hidden", () =>
    Effect.gen(function* () {
      const given = spec("plain", { env: { API_TOKEN: Redacted.make("s3cr3t-value"), MODE: "test" } })
      const client = yield* Client.connect("hostile", given)
      const provider = McpProvider.make({ server: "hostile", client: Effect.succeed(client) })
      const env = JSON.parse(told(yield* one(provider, "env")))
      assert.strictEqual(env.API_TOKEN, "s3cr3t-value")
      assert.strictEqual(env.MODE, "test")
      assert.strictEqual(env.VITEST, undefined)
      const leaky: ServerSpec.Stdio = {
        command: process.execPath,
        args: [
          "-e",
          "console.error('bad token ' + process.env.API_TOKEN); process.exit(1)",
          "--",
          "--api-key",
          "k-123",
          "--token=abc"
        ],
        env: { API_TOKEN: Redacted.make("s3cr3t-value") }
      }
      const error = yield* Effect.flip(Client.connect("leaky", leaky))
      assert.match(error.message, /On stderr it said: "bad token \[hidden\]"/)
      assert.match(error.message, /--api-key \[hidden\] --token=\[hidden\]/)
      assert.notMatch(error.message, /s3cr3t|k-123|=abc/)
    })
  )
})
