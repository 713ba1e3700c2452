import * as Message from "@settle/core/model/Message"
import * as RunContext from "@settle/core/model/RunContext"
import * as Tool from "@settle/core/model/Tool"
import * as CompletionBus from "@settle/core/port/CompletionBus"
import * as Bus from "@settle/core/standard/Bus"
import { Counter, Recorder, Script, Tools } from "@settle/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Story from "./Story.ts"

const call = Script.call
const echo = () => Tools.make([Tools.tool("echo", Tools.echo)])

describe("one round", () => {
  it.effect("L-ROUND-20 happy path of one round and two fragments", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({ script: [{ chunks: ["Hel", "lo"] }] })
      assert.deepStrictEqual(told.tags, [
        "RunStarted",
        "RoundStarted",
        "AttemptStarted",
        "Token",
        "Token",
        "AttemptSucceeded",
        "AssistantMessage",
        "TurnCommitted",
        "RunCompleted"
      ])
      assert.strictEqual(told.outcome.final, "Hello")
    })
  )

  it.effect("L-ROUND-21 one tool call between two rounds", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({
        script: [Script.callTools(call("c1", "echo", { a: 1 })), Script.say("done")],
        tools: echo(),
        transcript: true
      })
      assert.deepStrictEqual(told.tags, [
        "RunStarted",
        "RoundStarted",
        "AttemptStarted",
        "AttemptSucceeded",
        "AssistantMessage",
        "TurnCommitted",
        "ToolCall",
        "ToolStarted",
        "ToolResult",
        "RoundStarted",
        "AttemptStarted",
        "Token",
        "AttemptSucceeded",
        "AssistantMessage",
        "TurnCommitted",
        "RunCompleted"
      ])
      assert.deepStrictEqual(Story.rolesOf(told.outcome.messages), ["user", "assistant", "tool", "assistant"])
    })
  )

  it.effect(
    "L-ROUND-01 L-ROUND-02 L-ROUND-03 L-ROUND-04 L-ROUND-05 completions, then steers, then caps and compaction see the new turns",
    () =>
      Effect.gen(function* () {
        const order: Array<string> = []
        const note = (what: string) => Effect.sync(() => void order.push(what))
        const told = yield* Story.tell({
          script: [Script.say("ok")],
          counter: Counter.make(),
          bus: {
            ...CompletionBus.none,
            drain: Effect.as(note("drain"), [
              {
                kind: "report",
                seq: 0,
                operationId: "op-1",
                head: "[background event] done",
                body: "the body",
                tail: "go on",
                extras: {}
              }
            ])
          },
          steers: { pull: Effect.as(note("steer"), ["a word of mine"]) },
          compactor: {
            budget: 1000,
            needsCompaction: (messages, tokens) => {
              order.push(`compaction sees ${messages.length} messages and ${tokens} tokens`)
              return false
            },
            compact: () => Effect.die("not asked")
          }
        })
        const texts = told.outcome.messages.map((message) => message.content)
        assert.deepStrictEqual(texts, ["go", "[background event] done\n\nthe body\n\ngo on", "a word of mine", "ok"])
        const size = texts.slice(0, 3).join("").length
        assert.deepStrictEqual(order, ["drain", "steer", `compaction sees 3 messages and ${size} tokens`])
        assert.strictEqual(Recorder.all(told.recording, "RoundStarted")[0]?.tokens, size)
        assert.strictEqual(told.script.requests[0]?.messages.length, 3)
      })
  )

  it.effect("L-ROUND-02 L-ROUND-03 without a bus and a source neither step exists", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({ script: [Script.say("ok")] })
      assert.deepStrictEqual(
        told.outcome.messages.map((message) => message.content),
        ["go", "ok"]
      )
    })
  )

  it.effect("L-ROUND-01 a cancel before the round top ends the run without a request", () =>
    Effect.gen(function* () {
      const on = yield* Story.stage({ script: [Script.say("never")] })
      const told = yield* Story.play(on, undefined, { meanwhile: (run) => run.cancel })
      assert.deepStrictEqual(told.tags, ["RunStarted", "RunCancelled"])
      assert.strictEqual(Recorder.all(told.recording, "RunCancelled")[0]?.stage, "start")
      assert.strictEqual(on.script.requests.length, 0)
    })
  )

  it.effect(
    "L-ROUND-06 L-ROUND-07 L-ROUND-09 L-CTXEX-02 a compaction runs at the round top, swaps the array and writes its lines",
    () =>
      Effect.gen(function* () {
        const asked: Array<number> = []
        const told = yield* Story.tell(
          {
            script: [Script.say("ok")],
            transcript: true,
            compactor: {
              budget: 100,
              needsCompaction: (messages) => asked.push(messages.length) === 1,
              compact: (messages) =>
                Effect.succeed({
                  messages: [Message.user("summary"), ...messages.slice(2)],
                  summary: "summary",
                  dropped: 2,
                  cutIndex: 1,
                  tokensBefore: 90,
                  tokensAfter: 20,
                  fallback: false,
                  exhausted: false,
                  elisions: []
                })
            }
          },
          [Message.user("one"), Message.assistant("two"), Message.user("three")]
        )
        assert.deepStrictEqual(told.tags.slice(0, 4), [
          "RunStarted",
          "CompactionStarted",
          "CompactionDone",
          "RoundStarted"
        ])
        assert.deepStrictEqual(asked, [3])
        assert.deepStrictEqual(
          told.script.requests[0]?.messages.map((message) => message.content),
          ["summary", "three"]
        )
        assert.strictEqual(told.script.requests[0]?.revision, 1)
        assert.include(Story.lineTypes(yield* told.transcript!.lines), "compaction")
        const [done] = Recorder.all(told.recording, "CompactionDone")
        assert.deepStrictEqual(
          [done?.tokensBefore, done?.tokensAfter, done?.dropped, done?.fallback],
          [90, 20, 2, false]
        )
      })
  )

  it.effect("L-ROUND-09 an elision line stands before the compaction line", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell(
        {
          script: [Script.say("ok")],
          transcript: true,
          tools: echo(),
          compactor: {
            budget: 100,
            needsCompaction: (messages) => messages.length === 5,
            compact: (messages) =>
              Effect.succeed({
                messages: [
                  Message.user("sum"),
                  ...messages.slice(1, 3),
                  { ...messages[3]!, content: "[elided]" },
                  messages[4]!
                ],
                summary: "sum",
                dropped: 1,
                cutIndex: 0,
                tokensBefore: 9,
                tokensAfter: 5,
                fallback: false,
                exhausted: false,
                elisions: [{ index: 3, stub: "[elided]" }]
              })
          }
        },
        [
          Message.user("q"),
          Message.user("r"),
          Message.assistant("", [call("c1", "echo")]),
          Message.tool("c1", "long"),
          Message.user("s")
        ]
      )
      const types = Story.lineTypes(yield* told.transcript!.lines).filter((type) => type !== "message")
      assert.deepStrictEqual(types, ["elision", "compaction"])
      assert.strictEqual(told.outcome.messages[3]?.content, "[elided]")
    })
  )

  it.effect("L-ROUND-10 L-CTXEX-01 a pass that cannot make it fit is terminal, after CompactionDone", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({
        script: [Script.say("never")],
        compactor: {
          budget: 10,
          needsCompaction: () => true,
          compact: (messages) =>
            Effect.succeed({
              messages,
              dropped: 0,
              cutIndex: -1,
              tokensBefore: 50,
              tokensAfter: 50,
              fallback: true,
              exhausted: true,
              elisions: []
            })
        }
      })
      assert.deepStrictEqual(told.tags, ["RunStarted", "CompactionStarted", "CompactionDone", "RunFailed"])
      assert.strictEqual(told.outcome.reason, "context-exhausted")
      assert.strictEqual(
        told.outcome.error,
        "the conversation needs 50 tokens after compaction and there is room for 10: raise the context window, or start a new conversation"
      )
      assert.strictEqual(told.script.requests.length, 0)
    })
  )

  it.effect(
    "L-ROUND-08 L-CTX-01 L-CTX-03 L-CTX-09 the trigger weighs the run context; the compactor is handed the conversation alone",
    () =>
      Effect.gen(function* () {
        const seen: Array<readonly [number, number | undefined]> = []
        const context = RunContext.make({ facts: [["date", "today"]], headSections: [["rules", "be kind"]] })
        const on = yield* Story.stage({
          script: [Script.say("ok")],
          counter: Counter.make(),
          transcript: true,
          compactor: {
            budget: 1000,
            needsCompaction: (messages, tokens) => {
              seen.push([messages.length, tokens])
              return false
            },
            compact: () => Effect.die("not asked")
          }
        })
        const told = yield* Story.play(on, undefined, { context })
        const weight = (context.head?.content.length ?? 0) + (context.tail?.content.length ?? 0)
        assert.deepStrictEqual(seen, [[1, "go".length + weight]])
        const request = told.script.requests[0]
        assert.deepStrictEqual(
          [request?.head?.content, request?.tail?.content],
          [context.head?.content, context.tail?.content]
        )
        assert.deepStrictEqual(
          told.outcome.messages.map((message) => message.content),
          ["go", "ok"]
        )
        assert.strictEqual(Recorder.all(told.recording, "RunStarted")[0]?.contextDigest, context.digest)
      })
  )

  it.effect("L-ROUND-11 preflight, then AttemptStarted, then tokens; retry and fallback are per round trip", () =>
    Effect.gen(function* () {
      const small = Script.make([], { model: "small" })
      const big = Script.make([Script.failWith(Script.http(503)), Script.say("here")], { model: "big" })
      const told = yield* Story.tell({
        scripts: [small, big],
        counter: Counter.make(),
        budget: {
          profiles: new Map([["small", { contextWindow: 1, completionReserve: 0, inputSafetyMargin: 0 }]])
        }
      }).pipe(Story.passing)
      assert.strictEqual(small.requests.length, 0)
      assert.deepStrictEqual(
        told.tags.filter((tag) => tag.startsWith("Attempt") || tag === "Token" || tag === "Log"),
        ["Log", "AttemptStarted", "AttemptFailed", "AttemptStarted", "Token", "AttemptSucceeded"]
      )
    })
  )

  it.effect("L-ROUND-12 limits are asked before anything of the turn is committed", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({
        script: [Script.callTools(call("c1", "echo")), Script.say("ok")],
        tools: echo(),
        transcript: true,
        settings: { maxToolCalls: 0 }
      })
      const at = told.tags.indexOf("LimitReached")
      assert.notInclude(told.tags.slice(0, at), "AssistantMessage")
      assert.notInclude(told.tags.slice(0, at), "ToolCall")
    })
  )

  it.effect(
    "L-ROUND-13 L-ROUND-14 a commit writes reasoning, usage and finish reason as extras that no model is sent",
    () =>
      Effect.gen(function* () {
        const usage = { promptTokens: 5, completionTokens: 2, totalTokens: 7, cost: 0.01 }
        const told = yield* Story.tell({
          script: [
            {
              content: "thinking done",
              reasoning: "hm",
              usage,
              finishReason: "tool_calls",
              toolCalls: [call("c1", "echo")]
            },
            Script.say("ok")
          ],
          tools: echo(),
          transcript: true
        })
        const line = (yield* told.transcript!.lines).map((text) => JSON.parse(text))[1]
        assert.deepInclude(line.payload, {
          reasoning: "hm",
          usage,
          finishReason: "tool_calls",
          content: "thinking done"
        })
        const sent = told.script.requests[1]?.messages[1]
        assert.deepStrictEqual(Object.keys(sent ?? {}).sort(), ["content", "role", "toolCalls"])
        const at = told.tags.indexOf("AssistantMessage")
        assert.deepStrictEqual(told.tags.slice(at, at + 2), ["AssistantMessage", "TurnCommitted"])
        const [message] = Recorder.all(told.recording, "AssistantMessage")
        assert.strictEqual(message?.reasoning, "hm")
        assert.strictEqual(Recorder.all(told.recording, "TurnCommitted")[0]?.messageId, line.id)
      })
  )

  it.effect("L-ROUND-18 L-GRANT-01 L-GRANT-05 a changed permission snapshot is written after the call settled", () =>
    Effect.gen(function* () {
      const tools = Tools.make(
        [
          Tools.tool("echo", (one) =>
            Effect.sync(() => {
              tools.setGrants([{ tool: "echo", decision: "allow" }])
              return Tool.answered(one.arguments)
            })
          )
        ],
        { grants: [] }
      )
      const told = yield* Story.tell({
        script: [Script.callTools(call("c1", "echo")), Script.callTools(call("c2", "echo")), Script.say("ok")],
        tools,
        transcript: true
      })
      const types = Story.lineTypes(yield* told.transcript!.lines)
      assert.strictEqual(types.filter((type) => type === "grants").length, 1)
      assert.deepStrictEqual(told.replay?.grants, [{ tool: "echo", decision: "allow" }])
      assert.isTrue(types.indexOf("grants") > types.indexOf("tool-settled"))
    })
  )

  it.effect(
    "L-ROUND-19 L-PARK-03 L-PARK-04 L-PARK-06 L-PARK-11 a quiet turn with work outstanding parks, and a completion wakes it",
    () =>
      Effect.gen(function* () {
        const bus = yield* Bus.make()
        yield* bus.open({ operationId: "job-1", kind: "job", label: "the job" })
        const spans: Array<string> = []
        const on = yield* Story.stage({
          script: [Script.say("started it"), Script.say("all done")],
          bus,
          transcript: true,
          hooks: {
            onPark: (info) => Effect.sync(() => void spans.push(`park ${info.outstanding}`)),
            onUnpark: (info) => Effect.sync(() => void spans.push(`unpark ${info.reason} ${info.parkedSeconds}`))
          }
        })
        const told = yield* Story.play(on, undefined, {
          meanwhile: (_run, recorder) =>
            Effect.gen(function* () {
              yield* recorder.seen("RunParked")
              yield* TestClock.adjust("90 seconds")
              yield* bus.settle("job-1", {
                report: { kind: "job-settled", body: "result 42", extras: { "completion-of": "c9" } }
              })
            })
        })
        assert.strictEqual(told.outcome.final, "all done")
        assert.deepStrictEqual(spans, ["park 1", "unpark completion 90"])
        assert.include(told.outcome.messages[2]?.content, "result 42")
        assert.include(told.outcome.messages[2]?.content, "the user has said nothing")
        const parked = Recorder.all(told.recording, "RunParked")
        assert.deepStrictEqual(
          parked[0]?.ops.map((op) => [op.opId, op.kind, op.label]),
          [["job-1", "job", "the job"]]
        )
        assert.deepStrictEqual(
          Recorder.all(told.recording, "RunResumed").map((e) => [e.reason, e.parkedSeconds]),
          [["completion", 90]]
        )
        assert.strictEqual(told.replay?.entries[2]?.injected?.kind, "job-settled")
      })
  )

  it.effect("L-ROUND-19 a turn without calls ends the run when nothing is outstanding", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make()
      const told = yield* Story.tell({ script: [Script.say("done")], bus })
      assert.strictEqual(told.tags.at(-1), "RunCompleted")
      assert.notInclude(told.tags, "RunParked")
    })
  )
})
