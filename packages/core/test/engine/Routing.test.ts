/** Schema tool routing: the catalogue is the grammar, every reply is one action, every answer a user turn. */
import * as Routing from "@settle/core/decide/Routing"
import * as Wording from "@settle/core/decide/Wording"
import * as Bus from "@settle/core/standard/Bus"
import { Counter, Recorder, Script, Tools } from "@settle/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Story from "./Story.ts"

const choose = (tool: string, args: object = {}) => Script.say(JSON.stringify({ tool, arguments: args }))
const none = Script.say('{"tool":"none"}')
const read = (act: Tools.Act = Tools.echo) => Tools.make([Tools.tool("read", act)])
const routed = (more: Story.Plan["settings"] = {}) => ({ settings: { toolRouting: "schema" as const, ...more } })
const tell = (script: ReadonlyArray<Script.Entry>, plan: Story.Plan = {}) =>
  Story.tell({ script, tools: read(), ...routed(), ...plan }).pipe(Story.passing)

describe("a routed round", () => {
  it.effect(
    "L-ROUTE-02 L-ROUTE-05 L-ROUTE-06 no declarations: the request carries one alternative for each tool and one for none",
    () =>
      Effect.gen(function* () {
        const script = Script.make([Script.say(""), choose("read"), none], { maxTokens: 4096 })
        const told = yield* tell([], { scripts: [script] })
        const [offered] = Recorder.all(told.recording, "RouteOffered")
        for (const request of script.requests) {
          assert.deepStrictEqual(request.tools, [])
          assert.deepStrictEqual(request.schema, { name: "tool_route", schema: offered?.schema })
        }
        const schema = script.requests[0]?.schema?.schema as { readonly anyOf: ReadonlyArray<unknown> }
        assert.strictEqual(schema.anyOf.length, 2)
        const route = Routing.offer(yield* told.tools.provider.list)
        assert.strictEqual(route._tag === "Offered" ? route.route.digest : "", offered?.digest)
        assert.deepStrictEqual([script.backend.maxTokens, script.backend.model], [4096, "scripted"])
      })
  )

  it.effect("L-ROUTE-01 natively a request has no schema and no cap, and no event speaks of routes", () =>
    Effect.gen(function* () {
      const plan = { script: [Script.callTools(Script.call("c1", "read")), Script.say("ok")], tools: read() }
      const plain = yield* Story.tell(plan)
      const named = yield* Story.tell({ ...plan, tools: read(), settings: { toolRouting: "native" } })
      assert.deepStrictEqual(plain.script.requests, named.script.requests)
      assert.isUndefined(plain.script.requests[0]?.schema)
      assert.isUndefined(plain.script.requests[0]?.maxTokens)
      assert.deepStrictEqual(plain.tags, named.tags)
      assert.notInclude(plain.tags, "RouteOffered")
    })
  )

  it.effect(
    "L-ROUTE-04 L-ROUTE-07 L-ROUTE-08 the preflight counts no tools and keeps the backend's own reserve; the request is capped",
    () =>
      Effect.gen(function* () {
        const caps = (maxTokens: number | undefined, more: Story.Plan["settings"] = {}) =>
          Effect.gen(function* () {
            const script = Script.make([none], maxTokens === undefined ? {} : { maxTokens })
            yield* tell([], { scripts: [script], ...routed(more) })
            return script.requests[0]?.maxTokens
          })
        assert.deepStrictEqual([yield* caps(undefined), yield* caps(undefined, { routingMaxTokens: 64 })], [512, 64])
        const fits = (contextWindow: number) =>
          Effect.gen(function* () {
            const script = Script.make([none], { maxTokens: 4096 })
            const budget = { defaultProfile: { contextWindow, inputSafetyMargin: 0 } }
            return (yield* tell([], { scripts: [script], counter: Counter.make(), budget })).outcome
          })
        assert.strictEqual((yield* fits("go".length + 4096)).outcome, "completed")
        const refused = yield* fits("go".length + 4095)
        assert.strictEqual(refused.reason, "context-exhausted")
        assert.include(refused.error, "tools 0")
        assert.include(refused.error, "reserve 4096")
      })
  )

  it.effect(
    "L-ROUTE-13 L-ROUTE-14 L-ROUTE-15 L-ROUTE-16 L-ROUTE-19 a chosen tool is one call, and its answer the next user turn",
    () =>
      Effect.gen(function* () {
        const usage = { promptTokens: 5, completionTokens: 7 }
        const told = yield* tell([{ ...choose("read", { path: "a" }), usage }, none])
        assert.deepStrictEqual(
          told.outcome.messages.map((message) => [message.role, message.content]),
          [
            ["user", "go"],
            ["assistant", '{"tool":"read","arguments":{"path":"a"}}'],
            ["user", 'Tool result for read (call route-1):\n{"path":"a"}']
          ]
        )
        assert.isTrue(told.outcome.messages.every((message) => message.toolCalls === undefined))
        const [chosen] = Recorder.all(told.recording, "RouteChosen")
        assert.deepInclude(chosen, {
          action: "read",
          callId: "route-1",
          arguments: '{"path":"a"}',
          usage,
          round: 1,
          attempt: 1
        })
        assert.strictEqual(chosen?.text, '{"tool":"read","arguments":{"path":"a"}}')
        const at = told.tags.indexOf("RouteChosen")
        assert.deepStrictEqual(told.tags.slice(at, at + 6), [
          "RouteChosen",
          "AssistantMessage",
          "TurnCommitted",
          "ToolCall",
          "ToolStarted",
          "ToolResult"
        ])
        assert.deepStrictEqual(
          told.tools.ran.map((ran) => [ran.callId, ran.name]),
          [["route-1", "read"]]
        )
      })
  )

  it.effect(
    "L-ROUTE-18 L-MARK-20 a call that nobody answered stands in the loop's own sentence under the header of a result",
    () =>
      Effect.gen(function* () {
        const never = Tools.make([Tools.tool("read", Tools.never, { interruption: "interrupt" })])
        const told = yield* tell([choose("read"), none], { tools: never, ...routed({ toolDeadline: "1 second" }) })
        assert.strictEqual(
          told.outcome.messages[2]?.content,
          `Tool result for read (call route-1):\n${Wording.outcomeUnknown("deadline")}`
        )
      })
  )

  it.effect("L-ROUTE-17 L-ROUTE-25 an error is answered as one, and the round counts", () =>
    Effect.gen(function* () {
      const told = yield* tell([choose("read"), none], { tools: read(Tools.error("no such file")) })
      assert.strictEqual(told.outcome.messages[2]?.content, "Tool error for read (call route-1):\nno such file")
      assert.strictEqual(told.outcome.reason, "no-tool-needed")
      const handed = yield* tell([choose("read")], {
        tools: read(Tools.error("no")),
        ...routed({ handoffAfterToolRounds: 1 })
      })
      assert.strictEqual(handed.outcome.reason, "tool-round-handoff")
    })
  )
})

describe("the ends of a routed run", () => {
  it.effect(
    "L-ROUTE-20 L-ROUTE-21 L-REASON-02 none commits nothing and completes; no free text is ever asked for",
    () =>
      Effect.gen(function* () {
        const told = yield* tell([choose("read"), none])
        assert.deepStrictEqual(
          [told.outcome.outcome, told.outcome.reason, told.outcome.final],
          ["completed", "no-tool-needed", ""]
        )
        assert.strictEqual(told.outcome.messages.length, 3)
        assert.deepStrictEqual(told.tags.slice(-2), ["TurnDiscarded", "RunCompleted"])
        assert.strictEqual(Recorder.all(told.recording, "TurnDiscarded")[0]?.reason, "no-tool-needed")
        assert.isTrue(told.script.requests.every((request) => request.schema !== undefined))
      })
  )

  it.effect("L-ROUTE-10 an empty catalogue needs no request, and says so", () =>
    Effect.gen(function* () {
      const told = yield* tell([], { tools: Tools.make([]) })
      assert.deepStrictEqual([told.outcome.reason, told.script.requests.length], ["no-tool-needed", 0])
      assert.strictEqual(Recorder.all(told.recording, "Log")[0]?.level, "warning")
    })
  )

  it.effect("L-ROUTE-11 a catalogue that cannot be routed fails the run, in words", () =>
    Effect.gen(function* () {
      const failed = (...entries: ReadonlyArray<Tools.Entry>) =>
        Effect.map(
          tell([], { tools: Tools.make(entries) }),
          (told) => [told.outcome.outcome, told.outcome.error] as const
        )
      const [end, called] = yield* failed(Tools.tool("none", Tools.echo))
      assert.strictEqual(end, "failed")
      assert.include(called, `a tool is called "none"`)
      assert.include(
        (yield* failed(Tools.tool("a", Tools.echo), Tools.tool("a", Tools.echo)))[1],
        `two tools are called "a"`
      )
      const list = Tools.tool("a", Tools.echo, { parameters: { type: "array" } })
      assert.include((yield* failed(list))[1], `the parameters of "a" are not an object schema`)
    })
  )

  it.effect("L-ROUTE-22 L-ROUTE-24 L-REASON-02 a limit that is known before asking costs no request", () =>
    Effect.gen(function* () {
      const told = yield* tell([choose("read"), none], routed({ maxToolRounds: 1 }))
      assert.deepStrictEqual([told.outcome.reason, told.script.requests.length], ["tool-limit", 1])
      assert.deepStrictEqual(told.tags.slice(-2), ["LimitReached", "RunCompleted"])
      assert.strictEqual(told.outcome.messages.length, 3)
      const full = yield* tell([choose("read"), none], routed({ maxToolCalls: 1 }))
      assert.deepStrictEqual([full.outcome.reason, full.script.requests.length], ["tool-limit", 1])
    })
  )

  it.effect("L-ROUTE-23 L-ROUTE-24 the same call once too often is discarded, and no sentence is added", () =>
    Effect.gen(function* () {
      const told = yield* tell([choose("read"), choose("read")], routed({ maxIdenticalCalls: 1 }))
      assert.deepStrictEqual([told.outcome.outcome, told.outcome.reason], ["completed", "tool-limit"])
      assert.deepStrictEqual(told.tags.slice(-3), ["LimitReached", "TurnDiscarded", "RunCompleted"])
      assert.strictEqual(told.outcome.messages.length, 3)
      assert.strictEqual(told.tools.ran.length, 1)
    })
  )
})

describe("replies that are no action", () => {
  const bad: ReadonlyArray<readonly [string, Script.Step]> = [
    ["prose", Script.say("I would read the file")],
    ["a fenced block", Script.say('```json\n{"tool":"read","arguments":{}}\n```')],
    ["a native call", Script.callTools(Script.call("c1", "read"))],
    ["a tool that was not offered", choose("write")],
    ["none with more", Script.say('{"tool":"none","arguments":{}}')]
  ]

  it.effect.each(bad)(
    "L-ROUTE-12 L-ROUTE-28 L-ROUTE-29 L-MARK-18 L-MARK-21 %s fails: no retry, no fallback, the text in the attempt alone",
    ([, step]) =>
      Effect.gen(function* () {
        const first = Script.make([step, none])
        const second = Script.make([none])
        const told = yield* tell([], { scripts: [first, second] })
        assert.deepStrictEqual([told.outcome.outcome, told.outcome.reason], ["failed", "invalid-action"])
        assert.deepStrictEqual([first.requests.length, second.requests.length, told.tools.ran.length], [1, 0, 0])
        assert.notInclude(told.tags, "AttemptSucceeded")
        assert.strictEqual(told.outcome.messages.length, 1)
        const [attempt] = told.outcome.attempts
        assert.deepInclude(attempt, { reason: "invalid-action" })
        if (step.content !== undefined) assert.strictEqual(attempt?.rawText, step.content)
        assert.deepInclude(told.outcome.retrieval_handoff, {
          version: "llm.agent.retrieval-handoff.v3",
          completed_tool_rounds: 0,
          completed_tool_call_ids: [],
          failed_attempts: 1
        })
      })
  )

  it.effect("L-ROUTE-26 a reply at the routing cap is truncated and not sent again", () =>
    Effect.gen(function* () {
      const usage = { promptTokens: 5, completionTokens: 512 }
      for (const step of [
        { ...choose("read"), usage },
        { ...choose("read"), usage, finish: "length" as const }
      ]) {
        const told = yield* tell([step, none])
        assert.deepStrictEqual([told.outcome.reason, told.script.requests.length], ["completion-truncated", 1])
        assert.strictEqual(told.tools.ran.length, 0)
      }
    })
  )

  it.effect("L-ROUTE-27 empty and unexplained share the one extra send, as natively", () =>
    Effect.gen(function* () {
      const again = yield* tell([Script.say(""), none])
      assert.deepStrictEqual([again.outcome.reason, again.script.requests.length], ["no-tool-needed", 2])
      const cut = { content: '{"to', finish: "length" as const, usage: { promptTokens: 5, completionTokens: 3 } }
      const twice = yield* tell([Script.say(""), cut, none])
      assert.deepStrictEqual([twice.outcome.reason, twice.script.requests.length], ["unexplained-length", 2])
    })
  )
})

describe("what a routed run refuses", () => {
  const refused = (plan: Story.Plan) =>
    Effect.map(Effect.flip(Story.stage({ script: [], ...routed(), ...plan })), (e) => e.message)

  it.effect("L-ROUTE-30 no provider, a bus, a transcript, a backend without schemas", () =>
    Effect.gen(function* () {
      const tools = read()
      assert.strictEqual(
        yield* refused({}),
        "toolRouting: schema routing without a provider has nothing to choose from. Give a provider"
      )
      assert.include(
        yield* refused({ tools, bus: yield* Bus.make() }),
        "toolRouting: a routed run hands back instead of waiting"
      )
      assert.include(
        yield* refused({ tools, transcript: true }),
        "toolRouting: a routed action is an ordinary assistant message"
      )
      const script = Script.make([], { model: "free", canConstrain: false })
      assert.strictEqual(
        yield* refused({ tools, scripts: [script] }),
        "toolRouting: backend 0 (free) cannot hold a reply to a JSON schema. Use native routing, or a backend that can"
      )
    })
  )

  it.effect("L-ROUTE-31 calls to resume", () =>
    Effect.gen(function* () {
      const { loop } = yield* Story.stage({ script: [], tools: read(), ...routed() })
      const refusal = yield* Effect.flip(loop.run(Story.ask(), { resumeToolCalls: ["c1"] }))
      assert.strictEqual(
        refusal.message,
        "resumeToolCalls: a routed run has no tool calls to resume. Use native routing"
      )
    })
  )

  it("L-ROUTE-33 schema, parser and answer are for hosts without a loop", () => {
    const tools = [{ name: "read", parameters: { type: "object" } }]
    assert.strictEqual(Routing.offer(tools)._tag, "Offered")
    assert.deepStrictEqual(
      Routing.parse('{"tool":"read","arguments":{"a":1}}', tools),
      Routing.Action.Tool({ name: "read", arguments: '{"a":1}' })
    )
    assert.strictEqual(
      Routing.answer({ id: "route-2", name: "read" }, "text", false),
      "Tool result for read (call route-2):\ntext"
    )
  })
})
