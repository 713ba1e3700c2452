/** Replies that ended, judged in the loop: what is committed, what is sent again, and how the run says why it stopped. */
import * as Message from "@settle/core/model/Message"
import { BadResponse, ConnectionFailed, TimedOut } from "@settle/core/port/Backend"
import type { Compactor } from "@settle/core/port/Compactor"
import { Counter, Recorder, Script, Tools } from "@settle/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Story from "./Story.ts"

const call = Script.call
const window = (contextWindow: number) => ({ contextWindow, completionReserve: 0, inputSafetyMargin: 0 })
const length = (content: string, usage?: { promptTokens?: number; completionTokens?: number }): Script.Step => ({
  content,
  finish: "length",
  finishReason: "length",
  ...(usage === undefined ? {} : { usage })
})

const ended = (
  entries: ReadonlyArray<Script.Entry>,
  plan: Story.Plan & { readonly maxTokens?: number; readonly text?: string } = {}
) =>
  Effect.gen(function* () {
    const { maxTokens, text = "go", ...rest } = plan
    const script = Script.make(entries, maxTokens === undefined ? {} : { maxTokens })
    const told = yield* Story.tell({ transcript: true, scripts: [script], ...rest }, Story.ask(text)).pipe(
      Story.passing
    )
    const warnings = Recorder.all(told.recording, "Log").filter((log) => log.level === "warning")
    return { ...told, script, warnings }
  })

const counted = (contextWindow: number): Story.Plan => ({
  counter: Counter.make(),
  budget: { defaultProfile: window(contextWindow) }
})

describe("a length", () => {
  it.effect(
    "L-LEN-01 L-LEN-02 L-LEN-06 L-LEN-07 without usage 900 of 1000 is the window and 700 the completion cap",
    () =>
      Effect.gen(function* () {
        const near = yield* ended([length("half"), length("half")], { ...counted(1000), text: "x".repeat(900) })
        assert.strictEqual(near.outcome.reason, "context-exhausted")
        assert.include(
          near.outcome.error,
          "with the reserve of 0 and a counting error of 225 that is over the window of 1000"
        )
        const capped = yield* ended([length("half")], { ...counted(1000), text: "x".repeat(700) })
        assert.strictEqual(capped.outcome.reason, "completion-truncated")
        assert.strictEqual(capped.script.requests.length, 1)
      })
  )

  it.effect("L-LEN-08 with usage the provider's own sum decides, without tolerance", () =>
    Effect.gen(function* () {
      const at = (promptTokens: number) =>
        ended([length("half", { promptTokens, completionTokens: 100 })], { ...counted(1000), text: "x".repeat(900) })
      assert.strictEqual((yield* at(900)).outcome.reason, "context-exhausted")
      assert.strictEqual((yield* at(899)).outcome.reason, "completion-truncated")
    })
  )

  it.effect("L-LEN-03 a window that is full sends the turn to the next backend, and never to the same one again", () =>
    Effect.gen(function* () {
      const a = Script.make([length("half", { promptTokens: 90, completionTokens: 10 })], { model: "a" })
      const b = Script.make([Script.say("whole")], { model: "b" })
      const told = yield* Story.tell({
        scripts: [a, b],
        counter: Counter.make(),
        budget: { profiles: new Map([["a", window(100)]]) }
      })
      assert.strictEqual(told.outcome.final, "whole")
      assert.strictEqual(a.requests.length, 1)
      assert.deepStrictEqual(Recorder.all(told.recording, "AttemptFailed")[0]?.disposition, "advance")
      const saying = Script.make([{ content: "half", finish: "context-window" }], { model: "c" })
      const named = yield* Story.tell({ scripts: [saying, Script.make([Script.say("whole")])] })
      assert.strictEqual(named.outcome.final, "whole")
    })
  )

  it.effect(
    "L-LEN-09 the pass aims a quarter below, or below by what the provider's bill reveals; the retry is smaller",
    () =>
      Effect.gen(function* () {
        const aimed = (usage: { promptTokens: number; completionTokens: number } | undefined) =>
          Effect.gen(function* () {
            const targets: Array<number | undefined> = []
            const compactor: Compactor = {
              budget: 1000,
              needsCompaction: () => false,
              compact: (messages, target) =>
                Effect.sync(() => {
                  targets.push(target?.tokens)
                  return {
                    messages: [Message.user("s")],
                    summary: "s",
                    dropped: messages.length,
                    cutIndex: messages.length - 1,
                    tokensBefore: 900,
                    tokensAfter: 1,
                    fallback: false,
                    exhausted: false,
                    elisions: []
                  }
                })
            }
            const plan = { ...counted(1000), compactor, text: "x".repeat(900) }
            const told = yield* ended([length("half", usage), Script.say("ok")], plan)
            assert.strictEqual(told.outcome.final, "ok")
            const sizes = told.script.requests.map((request) =>
              request.messages.reduce((n, m) => n + m.content.length, 0)
            )
            assert.isBelow(sizes[1] ?? 0, sizes[0] ?? 0)
            return targets
          })
        assert.deepStrictEqual(yield* aimed(undefined), [800])
        assert.deepStrictEqual(yield* aimed({ promptTokens: 1800, completionTokens: 1 }), [500])
      })
  )

  it.effect(
    "L-LEN-10 L-LEN-12 L-LEN-21 a confirmed cap ends the run, names it, and touches neither fallback nor compactor",
    () =>
      Effect.gen(function* () {
        const first = Script.make([length("half", { promptTokens: 10, completionTokens: 64 })], { maxTokens: 64 })
        const second = Script.make([])
        const compactor: Compactor = {
          budget: 1000,
          needsCompaction: () => false,
          compact: () => Effect.die("not asked")
        }
        const told = yield* Story.tell({ scripts: [first, second], compactor })
        assert.strictEqual(told.outcome.reason, "completion-truncated")
        assert.include(
          told.outcome.error,
          "the answer was cut off at max_tokens: the provider billed 64 completion tokens and the cap is 64. Raise maxTokens of this backend"
        )
        assert.deepInclude(told.outcome.attempts[0], { reason: "completion-truncated", finishReason: "length" })
      })
  )

  it.effect(
    "L-LEN-11 L-LEN-12 an undescribed backend: read as its cap, unverified, with both possibilities named",
    () =>
      Effect.gen(function* () {
        const told = yield* ended([length("half")])
        assert.strictEqual(told.outcome.reason, "completion-truncated")
        assert.strictEqual(
          told.outcome.error,
          "[backend 0] the provider stopped with a length, read as its completion cap (this backend declares no maxTokens); it reported no usage that would verify this, and the output is 4 bytes. Raise or set maxTokens of this backend. No profile describes this backend: if its window was full instead, declare its contextWindow"
        )
      })
  )

  it.effect(
    "L-LEN-13 L-LEN-14 L-LEN-16 L-LEN-17 L-LEN-18 what rules the cap out is sent once more, then ends unexplained",
    () =>
      Effect.gen(function* () {
        const billed = length("half", { promptTokens: 10, completionTokens: 63 })
        const told = yield* ended([billed, billed, Script.say("never")], { maxTokens: 64, ...counted(10_000) })
        assert.strictEqual(told.outcome.reason, "unexplained-length")
        assert.strictEqual(told.script.requests.length, 2)
        assert.deepStrictEqual(told.script.requests[0], told.script.requests[1])
        assert.strictEqual(told.warnings.length, 1)
        assert.include(told.outcome.error, "the provider billed 63 completion tokens, below the cap of 64")
        assert.notInclude(told.outcome.error, "cut off at max_tokens")
        const bytes = (n: number) =>
          Effect.map(ended([length("x".repeat(n)), Script.say("ok")], { maxTokens: 8192 }), (t) => t.outcome)
        assert.strictEqual((yield* bytes(7484)).final, "ok")
        assert.strictEqual((yield* bytes(8192)).reason, "completion-truncated")
        const partial = { ...length(""), partialCalls: [call("c1", "write", '{"text":"half')] }
        assert.strictEqual((yield* ended([partial, Script.say("ok")], { maxTokens: 64 })).outcome.final, "ok")
      })
  )

  it.effect("L-LEN-15 hidden reasoning may have filled the cap: no byte bound", () =>
    Effect.gen(function* () {
      const told = yield* ended([{ ...length("half"), reasoning: "hm" }], { maxTokens: 64 })
      assert.strictEqual(told.outcome.reason, "completion-truncated")
      assert.strictEqual(told.script.requests.length, 1)
    })
  )

  it.effect("L-LEN-19 an undescribed backend may be unexplained too, and the text says what would tell", () =>
    Effect.gen(function* () {
      const told = yield* ended([length("half"), length("half")], { maxTokens: 64 })
      assert.strictEqual(told.outcome.reason, "unexplained-length")
      assert.include(told.outcome.error, "nobody could check whether its window was full: declare its contextWindow")
    })
  )

  it.effect("L-LEN-18 L-LEN-20 an empty length is an empty answer under its own finish reason", () =>
    Effect.gen(function* () {
      const told = yield* ended([length("  "), Script.say("ok")], { maxTokens: 64 })
      assert.strictEqual(told.outcome.final, "ok")
      assert.deepInclude(told.outcome.attempts[0], { reason: "empty-completion", finishReason: "length" })
    })
  )

  it.effect("L-LEN-22 nothing of any length is committed or written", () =>
    Effect.gen(function* () {
      const kept = "NEVER-KEPT"
      const told = yield* ended([length(kept), { ...length(kept), toolCalls: [call("c1", "a")] }, Script.say("ok")], {
        maxTokens: 640,
        tools: Tools.make([Tools.tool("a", Tools.echo)])
      })
      assert.strictEqual(told.outcome.reason, "unexplained-length")
      assert.strictEqual(told.tools.ran.length, 0)
      assert.notInclude(JSON.stringify([told.outcome.messages, yield* told.transcript!.lines]), kept)
    })
  )

  it.effect("L-LEN-23 a broken response that is no length advances and retries as ever", () =>
    Effect.gen(function* () {
      const cut = Script.failWith(new BadResponse({ problem: "cut", detail: "the stream stopped" }))
      const told = yield* ended([cut, Script.say("ok")])
      assert.strictEqual(told.outcome.final, "ok")
      const [failed] = Recorder.all(told.recording, "AttemptFailed")
      assert.deepStrictEqual([failed?.errorClass, failed?.disposition], ["response", "retry-same"])
    })
  )
})

describe("a clip", () => {
  const clipped = (completionTokens: number, more: Partial<Script.Step> = {}): Script.Step => ({
    content: "looks whole",
    usage: { promptTokens: 10, completionTokens },
    ...more
  })

  it.effect("L-CLIP-01 L-CLIP-05 the cap exactly or overshot is a clip, one token short is an answer", () =>
    Effect.gen(function* () {
      const at = (tokens: number) => Effect.map(ended([clipped(tokens)], { maxTokens: 64 }), (told) => told.outcome)
      assert.strictEqual((yield* at(63)).final, "looks whole")
      assert.strictEqual((yield* at(64)).reason, "completion-truncated")
      assert.strictEqual((yield* at(65)).reason, "completion-truncated")
    })
  )

  it.effect("L-CLIP-02 L-CLIP-04 one warning names the reported reason, the bill and the cap; no success is told", () =>
    Effect.gen(function* () {
      const told = yield* ended([clipped(64, { finishReason: "stop" })], { maxTokens: 64 })
      assert.deepStrictEqual(
        told.warnings.map((log) => log.data),
        [
          {
            message:
              "the answer is truncated although its finish reason is stop: 64 completion tokens were billed and max_tokens is 64",
            backendIndex: 0
          }
        ]
      )
      assert.notInclude(told.tags, "AttemptSucceeded")
      assert.strictEqual(told.recording.events.filter((event) => event._tag.includes("Clip")).length, 0)
    })
  )

  it.effect("L-CLIP-03 at the edge of the window a clip compacts once", () =>
    Effect.gen(function* () {
      let passes = 0
      const compactor: Compactor = {
        budget: 100,
        needsCompaction: () => false,
        compact: (messages) =>
          Effect.sync(() => {
            passes++
            return {
              messages: [Message.user("s")],
              summary: "s",
              dropped: messages.length,
              cutIndex: messages.length - 1,
              tokensBefore: 36,
              tokensAfter: 1,
              fallback: false,
              exhausted: false,
              elisions: []
            }
          })
      }
      const edge = clipped(64, { usage: { promptTokens: 36, completionTokens: 64 } })
      const told = yield* ended([edge, Script.say("ok")], {
        ...counted(100),
        compactor,
        maxTokens: 64,
        text: "x".repeat(36)
      })
      assert.deepStrictEqual([told.outcome.final, passes], ["ok", 1])
    })
  )

  it.effect("L-CLIP-06 without usage the gate is inert", () =>
    Effect.gen(function* () {
      const told = yield* ended([Script.say("word ".repeat(500))], { maxTokens: 4 })
      assert.strictEqual(told.outcome.outcome, "completed")
    })
  )
})

describe("failures, told", () => {
  const table: ReadonlyArray<readonly [string, Script.Step, "abort" | "retry-same" | "advance"]> = [
    ...[400, 401, 402, 403, 404].map((status) => [`${status}`, Script.failWith(Script.http(status)), "abort"] as const),
    ["429", Script.failWith(Script.http(429)), "advance"],
    ["500", Script.failWith(Script.http(500)), "retry-same"],
    ["529", Script.failWith(Script.http(529)), "retry-same"],
    ["413", Script.failWith(Script.http(413)), "advance"],
    ["408", Script.failWith(Script.http(408)), "advance"],
    ["timeout", Script.failWith(new TimedOut({ seconds: 1, waitedFor: "headers" })), "advance"],
    ["connection", Script.failWith(new ConnectionFailed({ detail: "refused" })), "retry-same"],
    ["response", Script.failWith(new BadResponse({ problem: "malformed", detail: "no JSON" })), "advance"],
    ["a defect", { defect: new Error("boom") }, "advance"]
  ]

  it.effect.each(table)("L-FAIL-01 L-FAIL-08 L-400-02 L-TIME-05 %s with a next backend is %3$s", ([, step, expected]) =>
    Effect.gen(function* () {
      const first = Script.make([step, Script.say("first again")])
      const second = Script.make([Script.say("second")])
      const told = yield* Story.tell({ scripts: [first, second] }).pipe(Story.passing)
      assert.strictEqual(Recorder.all(told.recording, "AttemptFailed")[0]?.disposition, expected)
      const finals = { abort: "", "retry-same": "first again", advance: "second" }
      assert.strictEqual(told.outcome.final, finals[expected])
    })
  )

  it.effect("L-REASON-01 L-FAIL-09 L-ADV-04 only ends that the run chose have a reason", () =>
    Effect.gen(function* () {
      const overflow = Script.failWith(Script.http(400, "maximum context length is 100 tokens"))
      const reasons = [
        (yield* ended([Script.failWith(Script.http(401))])).outcome.reason,
        (yield* ended([Script.failWith(Script.http(500))], { settings: { maxRetries: 1 } })).outcome.reason,
        // Without a compactor this is the failure it was: the attempts say it all.
        (yield* ended([overflow])).outcome.reason,
        (yield* ended([Script.say("")], { settings: { maxRetries: 1 } })).outcome.reason,
        (yield* ended([length("half")])).outcome.reason,
        (yield* ended([length("half")], { maxTokens: 64, settings: { maxRetries: 1 } })).outcome.reason,
        (yield* ended([], { ...counted(1) })).outcome.reason,
        (yield* ended([], { budget: { maxCost: 0 } })).outcome.reason,
        (yield* ended([Script.say("ok")])).outcome.reason
      ]
      assert.deepStrictEqual(reasons, [
        undefined,
        undefined,
        undefined,
        "empty-completion",
        "completion-truncated",
        "unexplained-length",
        "context-exhausted",
        "budget-exhausted",
        undefined
      ])
    })
  )

  it.effect(
    "F12 X-WIRE-06 a wait that is longer than the cap goes to the next backend, and is said where there is none",
    () =>
      Effect.gen(function* () {
        const limited = (seconds: number) => Script.failWith(Script.http(503, "busy", seconds * 1000))
        const first = Script.make([limited(3600), Script.say("never")])
        const second = Script.make([Script.say("second")])
        const told = yield* Story.tell({ scripts: [first, second] })
        assert.strictEqual(told.outcome.final, "second")
        const alone = yield* ended([limited(3600), Script.say("never")])
        assert.strictEqual(alone.script.requests.length, 1)
        assert.include(alone.outcome.error, "it asks to wait 3600 s, longer than the longest wait of 30 s (backoffCap)")
        const waited = yield* ended([limited(20), Script.say("after")])
        const backoff = Recorder.all(waited.recording, "AttemptFailed")[0]?.backoff ?? 0
        assert.deepStrictEqual([waited.outcome.final, backoff], ["after", 20])
      })
  )
})
