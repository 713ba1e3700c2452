import { ConnectionFailed } from "@settle/core/port/Backend"
import * as Message from "@settle/core/model/Message"
import { Counter, Recorder, Script, Tools } from "@settle/testing"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as Story from "./Story.ts"

const call = Script.call
const failures = (told: { readonly recording: Recorder.Recording }) =>
  Recorder.all(told.recording, "AttemptFailed").map((e) => [e.backendIndex, e.disposition, e.errorClass, e.errorStatus])
const window = (contextWindow: number) => ({ contextWindow, completionReserve: 0, inputSafetyMargin: 0 })
const profiles = (sizes: Readonly<Record<string, number>>) =>
  new Map(Object.entries(sizes).map(([model, size]) => [model, window(size)]))

describe("retry and fallback", () => {
  it.effect("L-FAIL-01 L-FAIL-02 an abort ends the chain at once", () =>
    Effect.gen(function* () {
      const first = Script.make([Script.failWith(Script.http(401, "bad key"))])
      const second = Script.make([Script.say("never")])
      const told = yield* Story.tell({ scripts: [first, second] })
      assert.deepStrictEqual(failures(told), [[0, "abort", "http", 401]])
      assert.strictEqual(second.requests.length, 0)
      assert.strictEqual(told.outcome.error, "[backend 0] HTTP 401: bad key")
      assert.isUndefined(told.outcome.reason)
      assert.deepStrictEqual(told.tags.slice(-2), ["TurnDiscarded", "RunFailed"])
    })
  )

  it.effect(
    "L-FAIL-03 L-FAIL-05 L-FAIL-07 a server error waits 1 and 2 seconds and asks the same backend, three sends in all",
    () =>
      Effect.gen(function* () {
        const told = yield* Story.tell({
          script: [Script.failWith(Script.http(500)), Script.failWith(Script.http(502)), Script.say("ok")]
        }).pipe(Story.passing)
        const failed = Recorder.all(told.recording, "AttemptFailed")
        assert.deepStrictEqual(
          failures(told).map((f) => f[1]),
          ["retry-same", "retry-same"]
        )
        assert.isTrue(failed[0]!.backoff! >= 1 && failed[0]!.backoff! < 1.5)
        assert.isTrue(failed[1]!.backoff! >= 2 && failed[1]!.backoff! < 2.5)
        assert.strictEqual(told.outcome.final, "ok")
      })
  )

  it.effect("L-FAIL-04 L-ADV-03 an advance with a next backend goes there at once", () =>
    Effect.gen(function* () {
      const first = Script.make([Script.failWith(Script.http(429))])
      const second = Script.make([Script.say("here")])
      const told = yield* Story.tell({ scripts: [first, second] })
      assert.deepStrictEqual(failures(told), [[0, "advance", "http", 429]])
      assert.isUndefined(Recorder.all(told.recording, "AttemptFailed")[0]?.backoff)
      assert.strictEqual(told.outcome.final, "here")
    })
  )

  it.effect(
    "L-FAIL-06 L-FAIL-09 L-FAIL-10 L-ADV-02 the last failure says advance; the attempts say the rest, without a reason",
    () =>
      Effect.gen(function* () {
        const told = yield* Story.tell({
          script: [
            { chunks: ["half"], error: Script.http(500) },
            Script.failWith(Script.http(500)),
            Script.failWith(Script.http(500))
          ]
        }).pipe(Story.passing)
        assert.deepStrictEqual(
          failures(told).map((f) => f[1]),
          ["retry-same", "retry-same", "advance"]
        )
        assert.isUndefined(told.outcome.reason)
        assert.strictEqual(told.outcome.attempts.length, 3)
        assert.deepStrictEqual(told.outcome.attempts[0], {
          backendIndex: 0,
          model: "scripted",
          error: "[backend 0] HTTP 500: status 500",
          rawText: "half"
        })
      })
  )

  it.effect("L-ADV-01 on the last backend an advance waits and asks again", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({ script: [Script.failWith(Script.http(429)), Script.say("ok")] }).pipe(
        Story.passing
      )
      assert.deepStrictEqual(failures(told), [[0, "retry-same", "http", 429]])
      assert.strictEqual(told.outcome.final, "ok")
    })
  )

  it.effect("F11 L-ADV-04 L-400-01 L-400-03 a 400 that is a window is never sent again", () =>
    Effect.gen(function* () {
      const overflow = Script.failWith(Script.http(400, "This model's maximum context length is 4097 tokens."))
      const told = yield* Story.tell({ script: [overflow, Script.say("never")] })
      assert.strictEqual(told.script.requests.length, 1)
      assert.deepStrictEqual(
        failures(told).map((f) => f[1]),
        ["advance"]
      )
      const plain = yield* Story.tell({ script: [Script.failWith(Script.http(400, "bad tool name"))] })
      assert.deepStrictEqual(
        failures(plain).map((f) => f[1]),
        ["abort"]
      )
    })
  )

  it.effect("F12 X-WIRE-06 a Retry-After within the cap is waited for, a longer one is not", () =>
    Effect.gen(function* () {
      const short = yield* Story.tell({
        script: [Script.failWith(Script.http(503, "busy", 7000)), Script.say("ok")]
      }).pipe(Story.passing)
      assert.strictEqual(Recorder.all(short.recording, "AttemptFailed")[0]?.backoff, 7)
      const long = yield* Story.tell({
        script: [Script.failWith(Script.http(429, "quota", 3_600_000)), Script.say("never")]
      })
      assert.strictEqual(long.script.requests.length, 1)
      assert.include(long.outcome.error, "it asks to wait 3600 s, longer than the longest wait of 30 s (backoffCap)")
    })
  )

  it.effect("L-TIME-05 no connection is retried on the same backend", () =>
    Effect.gen(function* () {
      const first = Script.make([Script.failWith(new ConnectionFailed({ detail: "refused" })), Script.say("ok")])
      const told = yield* Story.tell({ scripts: [first, Script.make([])] }).pipe(Story.passing)
      assert.deepStrictEqual(failures(told), [[0, "retry-same", "connection", undefined]])
    })
  )
})

describe("silence", () => {
  it.effect("L-TIME-01 L-TIME-02 a stream that keeps producing is never timed out", () =>
    Effect.gen(function* () {
      const chunks = Array.from({ length: 20 }, (_, i) => `${i} `)
      const told = yield* Story.tell({ script: [{ chunks, chunkDelay: "100 seconds" }] }).pipe(Story.passing)
      assert.strictEqual(told.outcome.final, chunks.join(""))
    })
  )

  it.effect(
    "L-TIME-03 L-TIME-04 silence cancels the stream and advances; on the last backend it waits and retries",
    () =>
      Effect.gen(function* () {
        const first = Script.make([{ chunks: ["half"], stall: true }])
        const second = Script.make([Script.say("here")])
        const told = yield* Story.tell({ scripts: [first, second], settings: { roundTripTimeout: "10 seconds" } }).pipe(
          Story.passing
        )
        assert.deepStrictEqual(failures(told), [[0, "advance", "timeout", undefined]])
        assert.strictEqual(first.cancels, 1)
        assert.include(Recorder.all(told.recording, "AttemptFailed")[0]?.error, "no bytes for 10 seconds")
        const alone = yield* Story.tell({
          script: [{ stall: true }, Script.say("ok")],
          settings: { roundTripTimeout: "10 seconds" }
        }).pipe(Story.passing)
        assert.deepStrictEqual(
          failures(alone).map((f) => f[1]),
          ["retry-same"]
        )
      })
  )

  it.effect("L-CAL-03 a failed send that was billed teaches the counter as a good one does", () =>
    Effect.gen(function* () {
      const counter = Counter.make()
      const usage = { promptTokens: 7, completionTokens: 1 }
      const script = [Script.failWith(Script.http(500), { usage }), Script.say("ok")]
      const told = yield* Story.passing(Story.tell({ script, counter, budget: {} }))
      assert.strictEqual(told.outcome.final, "ok")
      assert.deepStrictEqual(
        counter.reports.map((report) => [report.promptTokens, report.messageCount]),
        [[7, 1]]
      )
    })
  )

  it.effect("S12 the watchdog dies with its attempt: a long call after a quick answer is not cut", () =>
    Effect.gen(function* () {
      const tools = Tools.make([Tools.tool("long", Tools.after("1 hour", Tools.echo))])
      const on = yield* Story.stage({
        script: [{ ...Script.callTools(call("c1", "long")), delay: "900 millis" }, Script.say("ok")],
        tools,
        settings: { roundTripTimeout: "1 second" }
      })
      const told = yield* Story.play(on, undefined, { meanwhile: () => TestClock.adjust("2 hours") })
      assert.strictEqual(told.outcome.final, "ok")
      assert.include(told.tags, "ToolResult")
    })
  )

  it.effect("S12 a machine that slept in the middle of an answer has not waited for it", () =>
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      let slept = 0
      const waking: Clock.Clock = {
        ...clock,
        currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + slept,
        currentTimeMillis: Effect.map(clock.currentTimeMillis, (now) => now + slept),
        sleep: (duration) => clock.sleep(duration)
      }
      const on = yield* Story.stage({
        script: [{ content: "ok", delay: "45 seconds" }],
        settings: { roundTripTimeout: "30 seconds", maxRetries: 1 }
      })
      const telling = yield* Effect.forkChild(Effect.provideService(Story.play(on), Clock.Clock, waking))
      yield* on.script.arrived(0)
      yield* TestClock.adjust("1 second")
      slept = 3_600_000
      yield* TestClock.adjust("1 minute")
      const told = yield* Fiber.join(telling)
      assert.strictEqual(told.outcome.final, "ok")
      assert.deepStrictEqual(failures(told), [])
    })
  )
})

describe("windows", () => {
  it.effect(
    "L-PRE-02 L-PRE-03 L-PRE-04 L-PRE-05 L-PRE-06 L-PRE-07 a backend that cannot hold the request is skipped: one record, one log, no frame",
    () =>
      Effect.gen(function* () {
        const small = Script.make([], { model: "small" })
        const big = Script.make([Script.say("fits")], { model: "big" })
        const told = yield* Story.tell({
          scripts: [small, big],
          counter: Counter.make(),
          budget: { profiles: profiles({ small: 1, big: 1000 }) }
        })
        assert.strictEqual(told.outcome.final, "fits")
        assert.strictEqual(Recorder.all(told.recording, "AttemptStarted").length, 1)
        const [record] = told.outcome.attempts
        assert.strictEqual(record?.disposition, "advance")
        assert.match(
          record?.error ?? "",
          /^\[backend 0\] .*messages \d+ \+ tools 0 \+ context 0 \+ margin 0 \+ reserve 0\) and the window is 1$/
        )
        const [log] = Recorder.all(told.recording, "Log")
        assert.deepInclude(log?.data, { backendIndex: 0, model: "small", window: 1 })
        assert.strictEqual(log?.level, "info")
      })
  )

  it.effect(
    "L-PRE-08 L-PRE-09 L-BUDG-03 L-CTXEX-03 without a compactor a conversation no backend can hold ends the run unsent",
    () =>
      Effect.gen(function* () {
        const told = yield* Story.tell(
          {
            script: [Script.say("never")],
            counter: Counter.make(),
            budget: { defaultProfile: window(3) }
          },
          Story.ask("too long for it")
        )
        assert.strictEqual(told.outcome.reason, "context-exhausted")
        assert.strictEqual(told.script.requests.length, 0)
        assert.strictEqual(told.outcome.attempts.length, 1)
        assert.notInclude(told.tags, "TurnDiscarded")
      })
  )

  it.effect(
    "L-PRE-08 every backend refuses: compacted once to the largest that fits, then the chain is walked again",
    () =>
      Effect.gen(function* () {
        const targets: Array<number | undefined> = []
        const a = Script.make([], { model: "a" })
        const b = Script.make([Script.say("now it fits")], { model: "b" })
        const told = yield* Story.tell(
          {
            scripts: [a, b],
            counter: Counter.make(),
            budget: { profiles: profiles({ a: 10, b: 60 }) },
            compactor: {
              budget: 10,
              needsCompaction: () => false,
              compact: (messages, target) =>
                Effect.sync(() => {
                  targets.push(target?.tokens)
                  return {
                    messages: [Message.user("short")],
                    summary: "short",
                    dropped: messages.length,
                    cutIndex: messages.length - 1,
                    tokensBefore: 100,
                    tokensAfter: 5,
                    fallback: false,
                    exhausted: false,
                    elisions: []
                  }
                })
            }
          },
          [Message.user("x".repeat(100))]
        )
        assert.strictEqual(told.outcome.final, "now it fits")
        assert.deepStrictEqual(targets, [60])
        assert.strictEqual(Recorder.all(told.recording, "CompactionDone").length, 1)
      })
  )

  it.effect(
    "K1 L-LEN-03 L-LEN-04 L-LEN-05 L-CTXEX-04 a near-window length on every backend compacts once, and a second one ends the run",
    () =>
      Effect.gen(function* () {
        const cut = {
          content: "half an ans",
          finish: "length" as const,
          usage: { promptTokens: 90, completionTokens: 10 }
        }
        const told = yield* Story.tell(
          {
            script: [cut, cut, cut],
            counter: Counter.make(),
            budget: { defaultProfile: window(100) },
            compactor: {
              budget: 100,
              needsCompaction: () => false,
              compact: (messages) =>
                Effect.succeed({
                  messages,
                  dropped: 0,
                  cutIndex: -1,
                  tokensBefore: 12,
                  tokensAfter: 8,
                  fallback: false,
                  exhausted: false,
                  elisions: []
                })
            }
          },
          [Message.user("hello there!")]
        )
        assert.strictEqual(told.script.requests.length, 2)
        assert.strictEqual(told.outcome.reason, "context-exhausted")
        assert.isTrue(Recorder.all(told.recording, "Log").every((log) => log.level === "warning"))
        assert.deepStrictEqual(Story.rolesOf(told.outcome.messages), ["user"])
      })
  )
})

describe("verdicts in the loop", () => {
  const ended = (script: ReadonlyArray<Script.Entry>, plan: Story.Plan = {}) =>
    Story.tell({ script, transcript: true, ...plan }).pipe(Story.passing)

  it.effect(
    "F2 L-EMPTY-01 L-EMPTY-02 L-EMPTY-08 an empty answer is sent once more; answered tools are not run again",
    () =>
      Effect.gen(function* () {
        const tools = Tools.make([Tools.tool("t", Tools.echo)])
        const told = yield* ended([Script.callTools(call("c1", "t")), Script.say("  "), Script.say("there")], { tools })
        assert.strictEqual(told.outcome.final, "there")
        assert.strictEqual(tools.ran.length, 1)
        assert.deepStrictEqual(told.script.requests[1]?.messages, told.script.requests[2]?.messages)
        assert.strictEqual(told.outcome.attempts[0]?.reason, "empty-completion")
      })
  )

  it.effect("F7 L-EMPTY-03 reasoning alone fails without a retry", () =>
    Effect.gen(function* () {
      const told = yield* ended([{ content: "", reasoning: "I wonder" }, Script.say("never")])
      assert.strictEqual(told.outcome.reason, "empty-completion")
      assert.strictEqual(told.script.requests.length, 1)
    })
  )

  it.effect("L-EMPTY-04 L-EMPTY-07 L-LEN-18 empty and unexplained share the one extra send, either way round", () =>
    Effect.gen(function* () {
      const unexplained = {
        content: "echo",
        finish: "length" as const,
        usage: { promptTokens: 5, completionTokens: 3 }
      }
      const backend = () => Script.make([], { maxTokens: 100 })
      void backend
      const first = yield* ended([], {
        scripts: [Script.make([Script.say(""), unexplained, Script.say("never")], { maxTokens: 100 })]
      })
      assert.strictEqual(first.outcome.reason, "unexplained-length")
      const second = yield* ended([], {
        scripts: [Script.make([unexplained, Script.say(""), Script.say("never")], { maxTokens: 100 })]
      })
      assert.strictEqual(second.outcome.reason, "empty-completion")
    })
  )

  it.effect("L-EMPTY-05 max-retries 1 leaves no retry", () =>
    Effect.gen(function* () {
      const told = yield* ended([Script.say(""), Script.say("never")], { settings: { maxRetries: 1 } })
      assert.strictEqual(told.script.requests.length, 1)
      assert.strictEqual(told.outcome.reason, "empty-completion")
    })
  )

  it.effect(
    "F3 L-LEN-10 L-LEN-21 L-LEN-22 L-CLIP-02 L-CLIP-08 X-WIRE-03 a clipped call is truncated, never dispatched, never committed",
    () =>
      Effect.gen(function* () {
        const tools = Tools.make([Tools.tool("write", Tools.echo)])
        const clipped = {
          toolCalls: [call("c1", "write", { text: "half a br" })],
          usage: { promptTokens: 9, completionTokens: 64 }
        }
        const script = Script.make([clipped, Script.say("never")], { maxTokens: 64 })
        const told = yield* ended([], { scripts: [script], tools })
        assert.strictEqual(told.outcome.reason, "completion-truncated")
        assert.strictEqual(tools.ran.length, 0)
        assert.notInclude(told.tags, "AttemptSucceeded")
        assert.notInclude(told.tags, "AssistantMessage")
        assert.strictEqual(told.outcome.attempts[0]?.reason, "completion-truncated")
        assert.include(told.outcome.error, "cut off at max_tokens")
        assert.strictEqual(script.requests.length, 1)
      })
  )

  it.effect.each([{ finish: "length" as const }, { finish: "content-filter" as const }, { finish: "error" as const }])(
    "F3 X-WIRE-03 a whole call under finish $finish is never dispatched",
    ({ finish }) =>
      Effect.gen(function* () {
        const tools = Tools.make([Tools.tool("write", Tools.echo)])
        const bad = { toolCalls: [call("c1", "write", {})], finish }
        const told = yield* ended([bad, bad, bad, bad], { tools })
        assert.strictEqual(told.outcome.outcome, "failed")
        assert.strictEqual(tools.ran.length, 0)
      })
  )

  it.effect("F1 three calls under finish stop are a tool round", () =>
    Effect.gen(function* () {
      const tools = Tools.make([Tools.tool("t", Tools.echo)])
      const told = yield* ended(
        [{ toolCalls: [1, 2, 3].map((n) => call(`c${n}`, "t", { n })), finish: "stop" }, Script.say("ok")],
        { tools }
      )
      assert.strictEqual(tools.ran.length, 3)
      assert.strictEqual(told.outcome.final, "ok")
    })
  )
})
