import * as Loop from "@settle/core/agent/Loop"
import * as Message from "@settle/core/model/Message"
import { Backends } from "@settle/core/port/Backend"
import { Recorder, Script, Tools } from "@settle/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as Story from "./Story.ts"

const call = Script.call
const echo = () => Tools.make([Tools.tool("echo", Tools.echo)])

describe("what plugs into a loop", () => {
  it.effect("L-GEN-01 every round trip starts again from the first backend", () =>
    Effect.gen(function* () {
      const first = Script.make([
        Script.failWith(Script.http(429)),
        Script.failWith(Script.http(429)),
        Script.say("unused")
      ])
      const second = Script.make([Script.callTools(call("c1", "echo")), Script.say("done")])
      const told = yield* Story.tell({ scripts: [first, second], tools: echo(), settings: { maxRetries: 1 } })
      assert.strictEqual(told.outcome.final, "done")
      assert.deepStrictEqual(
        Recorder.all(told.recording, "AttemptStarted").map((e) => [e.round, e.backendIndex]),
        [
          [1, 0],
          [1, 1],
          [2, 0],
          [2, 1]
        ]
      )
    })
  )

  it.effect("L-GEN-02 any object with list and execute is a provider", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({
        script: [Script.callTools(call("c1", "by-hand")), Script.say("ok")],
        provider: {
          list: Effect.succeed([{ name: "by-hand", parameters: { type: "object" } }]),
          execute: (batch) => Effect.succeed(batch.map((one) => `did ${one.name}`))
        }
      })
      assert.strictEqual(told.outcome.messages[2]?.content, "did by-hand")
    })
  )

  it.effect("L-GEN-03 without a provider no request declares a tool", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({ script: [Script.say("hi")] })
      assert.deepStrictEqual(told.script.requests[0]?.tools, [])
    })
  )

  it.effect("L-GEN-04 without a provider calls in a reply are ignored and the run completes", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({
        script: [{ content: "sure", toolCalls: [call("c1", "ghost")] }],
        transcript: true
      })
      assert.strictEqual(told.outcome.outcome, "completed")
      assert.strictEqual(told.outcome.final, "sure")
      assert.isUndefined(told.outcome.messages[1]?.toolCalls)
      assert.notInclude(told.tags, "ToolCall")
    })
  )

  it("L-GEN-05 the engine imports no permission module", () => {
    const engine = fileURLToPath(new URL("../../src/engine/", import.meta.url))
    for (const file of readdirSync(engine)) {
      const imports = readFileSync(engine + file, "utf8").match(/from "[^"]+"/g) ?? []
      assert.isFalse(
        imports.some((line) => line.includes("/tools/") || line.includes("Policy")),
        file
      )
    }
  })

  it.effect("L-GEN-06 one ordered stream of events, complete for the first subscriber", () =>
    Effect.gen(function* () {
      const { loop } = yield* Story.stage({ script: [Script.say("hi")] })
      const run = yield* loop.run(Story.ask())
      yield* run.drained
      const events = yield* Stream.runCollect(run.events)
      assert.deepStrictEqual(
        events.map((event) => event.seq),
        events.map((_, index) => index)
      )
      assert.strictEqual(events[0]?._tag, "RunStarted")
      assert.strictEqual(events.at(-1)?._tag, "RunCompleted")
      assert.isTrue(events.every((event) => event.runId === run.id))
      assert.deepStrictEqual(yield* Stream.runCollect(run.events), [])
    })
  )

  it.effect("L-GEN-06 a subscriber that never takes delays neither the run nor another subscriber", () =>
    Effect.gen(function* () {
      const { loop } = yield* Story.stage({ script: [{ chunks: Array.from({ length: 500 }, (_, i) => `${i} `) }] })
      const run = yield* loop.run(Story.ask())
      const stuck = yield* Effect.forkChild(Stream.runForEach(run.events, () => Effect.never))
      const all = yield* Effect.forkChild(Stream.runCollect(run.events))
      const outcome = yield* run.result
      assert.isTrue(outcome.final.endsWith("499 "))
      assert.strictEqual((yield* Fiber.join(all)).at(-1)?._tag, "RunCompleted")
      yield* Fiber.interrupt(stuck)
    })
  )

  it.effect("L-GEN-07 a part that is left out is a feature that does not exist", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({ script: [Script.say("hi")] })
      const committed = Recorder.all(told.recording, "TurnCommitted")[0]
      assert.isUndefined(committed?.messageId)
      assert.isUndefined(Recorder.all(told.recording, "RoundStarted")[0]?.tokens)
      assert.isUndefined(told.outcome.spent)
      assert.notInclude(told.tags, "CompactionStarted")
      assert.notInclude(told.tags, "RunParked")
    })
  )

  it.effect("L-GEN-09 wiring mistakes are refused at construction, with the part and the way out", () =>
    Effect.gen(function* () {
      const empty = yield* Effect.flip(Effect.provideService(Loop.make({}), Backends, { chain: [] }))
      assert.strictEqual(empty.message, "backends: the chain is empty. Give at least one backend")
      const script = Script.make([])
      const deaf = { model: "deaf", maxTokens: undefined, canConstrain: false, stream: undefined }
      const noStream = yield* Effect.flip(Story.stage({ backends: [script.backend, deaf as never] }))
      assert.include(noStream.message, "backends[1]: it has no stream function")
      const half = { list: Effect.succeed([]) }
      const noExecute = yield* Effect.flip(Story.stage({ provider: half as never }))
      assert.include(noExecute.message, "provider: it lacks list or execute")
      const deafTranscript = yield* Effect.flip(Story.stage({ transcript: { place: "x" } as never }))
      assert.include(deafTranscript.message, "transcript: it lacks append or replay")
      const steers = yield* Effect.flip(Story.stage({ steers: { pull: () => [] } as never }))
      assert.include(steers.message, "steerSource: its pull is not an effect")
    })
  )
})

describe("declarations", () => {
  it.effect("L-DECL-01 natively the catalogue is listed once per run", () =>
    Effect.gen(function* () {
      const tools = Tools.make([Tools.tool("a", Tools.answer("1"))])
      const on = yield* Story.stage({
        tools,
        script: [
          () => {
            tools.setCatalogue([Tools.tool("a", Tools.answer("1")), Tools.tool("b", Tools.answer("2"))])
            return Script.callTools(call("c1", "a"))
          },
          Script.say("one"),
          Script.say("two")
        ]
      })
      yield* Story.play(on)
      assert.strictEqual(tools.listings, 1)
      assert.deepStrictEqual(
        on.script.requests.map((request) => request.tools.map((tool) => tool.name)),
        [["a"], ["a"]]
      )
      yield* Story.play(on)
      assert.deepStrictEqual(
        on.script.requests[2]?.tools.map((tool) => tool.name),
        ["a", "b"]
      )
    })
  )

  it.effect("L-DECL-02 L-ROUTE-09 routed, the catalogue is listed again for every round after the first", () =>
    Effect.gen(function* () {
      const tools = echo()
      const told = yield* Story.tell({
        tools,
        settings: { toolRouting: "schema" },
        script: [
          Script.say(`{"tool":"echo","arguments":{"a":1}}`),
          Script.say(`{"tool":"echo","arguments":{"a":2}}`),
          Script.say(`{"tool":"none"}`)
        ]
      })
      assert.strictEqual(tools.listings, 3)
      assert.strictEqual(told.outcome.reason, "no-tool-needed")
      assert.strictEqual(told.outcome.final, "")
      assert.deepStrictEqual(Story.rolesOf(told.outcome.messages), ["user", "assistant", "user", "assistant", "user"])
      assert.strictEqual(told.outcome.messages[2]?.content, `Tool result for echo (call route-1):\n{"a":1}`)
    })
  )
})

describe("mid-stream failure", () => {
  it.effect("L-STREAM-01 L-STREAM-02 a failed attempt's tokens are retracted and never written", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({
        script: [{ chunks: ["half a sen", "tence"], cut: true }, Script.say("whole")],
        transcript: true,
        settings: { backoffCap: "1 millis" }
      }).pipe(Story.passing)
      assert.strictEqual(Recorder.text(told.recording), "whole")
      const lines = yield* told.transcript!.lines
      assert.isFalse(lines.some((line) => line.includes("half a sen")))
      assert.strictEqual(told.outcome.attempts[0]?.rawText, "half a sentence")
    })
  )
})

describe("what reaches a model or a disk", () => {
  it.effect("X-SAFE-01 every string of a request and a line is well-formed Unicode", () =>
    Effect.gen(function* () {
      const lone = "broken \ud83d end"
      const told = yield* Story.tell(
        {
          script: [Script.callTools(call("c1", "echo", { text: lone })), Script.say(`said ${lone}`)],
          tools: Tools.make([Tools.tool("echo", Tools.answer(`answer ${lone}`))]),
          transcript: true
        },
        [Message.user(lone)]
      )
      for (const request of told.script.requests) assert.isTrue(JSON.stringify(request.messages).isWellFormed())
      for (const message of told.outcome.messages) assert.isTrue(message.content.isWellFormed())
      for (const line of yield* told.transcript!.lines) assert.isTrue(line.isWellFormed())
      assert.strictEqual(told.outcome.messages[2]?.content, "answer broken \ufffd end")
    })
  )

  it.effect("X-SAFE-02 ids and names like __proto__ are ordinary", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({
        script: [
          Script.callTools(call("__proto__", "constructor", { a: 1 }), call("toString", "__proto__", { a: 1 })),
          Script.say("ok")
        ],
        tools: Tools.make([Tools.tool("constructor", Tools.answer("1")), Tools.tool("__proto__", Tools.answer("2"))]),
        transcript: true
      })
      assert.deepStrictEqual(
        told.outcome.messages.filter((m) => m.role === "tool").map((m) => [m.toolCallId, m.content]),
        [
          ["__proto__", "1"],
          ["toString", "2"]
        ]
      )
      assert.strictEqual(told.replay?.settled.length, 2)
    })
  )
})
