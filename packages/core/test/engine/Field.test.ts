/** Faults that users of comparable systems met, as stories of a whole run. */
import * as Message from "@settle/core/model/Message"
import * as MemoryTranscript from "@settle/core/standard/MemoryTranscript"
import { FaultyTranscript, Recorder, Script, Tools } from "@settle/testing"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Story from "./Story.ts"

const call = Script.call

describe("faults from the field", () => {
  it.effect("T2 a tool that ignores its interruption and never returns: result resolves, drained does not", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const tools = Tools.make([
        Tools.tool("deaf", () => Effect.as(Effect.uninterruptible(Deferred.await(gate)), "never mind"), {
          interruption: "interrupt"
        })
      ])
      const on = yield* Story.stage({
        script: [Script.callTools(call("c1", "deaf")), Script.say("went on")],
        tools,
        transcript: true,
        settings: { toolDeadline: "100 millis" }
      })
      const run = yield* on.loop.run(Story.ask())
      yield* tools.began(0)
      yield* TestClock.adjust("100 millis")
      assert.strictEqual((yield* run.result).final, "went on")
      const drained = yield* Effect.forkChild(run.drained, { startImmediately: true })
      yield* TestClock.adjust("1 hour")
      assert.isUndefined(drained.pollUnsafe())
      yield* Deferred.succeed(gate, undefined)
      yield* run.drained
    })
  )

  it.effect("T10 a batch of three with one answered: the others are pending again, and all of them must be named", () =>
    Effect.gen(function* () {
      const tools = Tools.make([Tools.tool("a", Tools.echo)])
      const tail = [
        Message.user("hi"),
        Message.assistant("", [call("c1", "a"), call("c2", "a"), call("c3", "a")]),
        Message.tool("c2", "done before")
      ]
      const on = yield* Story.stage({ script: [Script.say("ok")], tools })
      const partly = yield* on.loop.run(tail, { resumeToolCalls: ["c1"] })
      assert.include((yield* partly.outcome).error, "leaves open calls out: a (c3)")
      yield* partly.drained
      yield* Story.play(on, tail, { resumeToolCalls: ["c1", "c3"] })
      assert.deepStrictEqual(
        tools.ran.map((ran) => ran.callId),
        ["c1", "c3"]
      )
    })
  )

  it.effect("F4 finish tool_calls with usage at the cap is a truncation: the clipped call is not executed", () =>
    Effect.gen(function* () {
      const tools = Tools.make([Tools.tool("task", Tools.echo)])
      const clipped = {
        toolCalls: [call("c1", "task", { brief: "stops mid-sen" })],
        finishReason: "tool_calls",
        usage: { promptTokens: 20, completionTokens: 512 }
      }
      const told = yield* Story.tell({ scripts: [Script.make([clipped], { maxTokens: 512 })], tools })
      assert.strictEqual(told.outcome.reason, "completion-truncated")
      assert.strictEqual(tools.ran.length, 0)
      const [log] = Recorder.all(told.recording, "Log")
      assert.strictEqual(log?.level, "warning")
      assert.include(
        JSON.stringify(log?.data),
        "finish reason is tool_calls: 512 completion tokens were billed and max_tokens is 512"
      )
    })
  )

  it.effect("L-CONC-09 a kill inside a group of three leaves exactly three dispatched and unsettled operations", () =>
    Effect.gen(function* () {
      const memory = yield* MemoryTranscript.make()
      const faulty = yield* FaultyTranscript.make(memory, FaultyTranscript.crash(5, "lost"))
      const tools = Tools.make([Tools.tool("task", Tools.echo), Tools.tool("b", Tools.echo)])
      const on = yield* Story.doomed({
        script: [Script.callTools(call("t1", "task"), call("t2", "task"), call("t3", "task"), call("b1", "b"))],
        tools,
        transcript: faulty.transcript,
        settings: { concurrentTools: ["task"] }
      })
      yield* on.loop.run(Story.ask())
      yield* faulty.crashed
      const replay = yield* memory.replay
      assert.deepStrictEqual(
        replay.pending.map((one) => one.callId),
        ["t1", "t2", "t3"]
      )
      assert.deepStrictEqual(replay.settled, [])
    })
  )

  it.effect(
    "L-GRANT-04 L-GRANT-07 a question by itself writes no grant, and a snapshot that cannot be written costs a log",
    () =>
      Effect.gen(function* () {
        const memory = yield* MemoryTranscript.make()
        const tools: Tools.Tools = Tools.make(
          [
            Tools.tool(
              "a",
              Tools.asking(
                { tool: "a" },
                Effect.sync(() => (tools.setGrants([{ tool: "a" }]), "always")),
                () => Tools.echo
              )
            )
          ],
          { grants: [] }
        )
        const seen: Array<number> = []
        const broken = {
          ...memory,
          append: (drafts: Parameters<typeof memory.append>[0]) =>
            drafts.some((draft) => draft.type === "grants")
              ? Effect.andThen(
                  Effect.sync(() => seen.push(1)),
                  Effect.die(new Error("disk full"))
                )
              : memory.append(drafts)
        }
        const told = yield* Story.tell({
          script: [Script.callTools(call("c1", "a")), Script.say("ok")],
          tools,
          transcript: broken
        })
        assert.strictEqual(told.outcome.outcome, "completed")
        assert.deepStrictEqual(seen, [1])
        const at = told.tags.indexOf("Log")
        assert.isAbove(at, told.tags.indexOf("ToolResult"))
        assert.deepInclude(Recorder.all(told.recording, "Log")[0]?.data, { error: "disk full" })
      })
  )

  it.effect("L-GRANT-06 grants are written on the way out of a cancelled call and of a failed chain", () =>
    Effect.gen(function* () {
      const tools: Tools.Tools = Tools.make(
        [
          Tools.tool(
            "a",
            () =>
              Effect.andThen(
                Effect.sync(() => tools.setGrants([{ tool: "a" }])),
                Effect.never
              ),
            {
              interruption: "interrupt"
            }
          )
        ],
        { grants: [] }
      )
      const on = yield* Story.stage({ script: [Script.callTools(call("c1", "a"))], tools, transcript: true })
      const told = yield* Story.play(on, undefined, {
        meanwhile: (run) => Effect.andThen(tools.began(0), Effect.andThen(TestClock.adjust("1 second"), run.cancel))
      })
      assert.deepStrictEqual(told.replay?.grants, [{ tool: "a" }])

      const others: Tools.Tools = Tools.make([Tools.tool("a", Tools.echo)], { grants: [] })
      const failed = yield* Story.tell({
        script: [
          () => {
            others.setGrants([{ tool: "b" }])
            return Script.failWith(Script.http(401))
          }
        ],
        tools: others,
        transcript: true
      })
      assert.strictEqual(failed.outcome.outcome, "failed")
      assert.deepStrictEqual(failed.replay?.grants, [{ tool: "b" }])
    })
  )

  it.effect("T1 a late answer is recorded as late and not delivered twice", () =>
    Effect.gen(function* () {
      const tools = Tools.make([Tools.tool("write", Tools.after("150 millis", Tools.answer("written")))])
      const on = yield* Story.stage({
        script: [Script.callTools(call("c1", "write")), { content: "I will look first", delay: "1 second" }],
        tools,
        transcript: true,
        settings: { toolDeadline: "100 millis" }
      })
      const told = yield* Story.play(on, undefined, {
        meanwhile: () => Effect.andThen(tools.began(0), TestClock.adjust("5 seconds"))
      })
      const logs = Recorder.all(told.recording, "Log")
      assert.include(JSON.stringify(logs[0]?.data), "an answer came after the call was given up")
      assert.strictEqual(told.outcome.messages.filter((m) => m.role === "tool").length, 1)
      assert.strictEqual(tools.ran.length, 1)
      assert.strictEqual(tools.ran[0]?.end, "answered")
    })
  )

  it.effect("L-REASON-01 a plain completed run has no reason", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({ script: [Script.say("ok")] })
      assert.isUndefined(told.outcome.reason)
      assert.notProperty(told.outcome, "reason")
    })
  )

  it.effect.each([
    { found: "landed" as const, ends: true, outcome: "completed" },
    { found: "did-not-land" as const, ends: true, outcome: "failed" },
    { found: "did-not-land" as const, ends: false, outcome: "outcome-unknown" },
    { found: undefined, ends: true, outcome: "outcome-unknown" }
  ])(
    "X-IDEM-03 after a deadline a probe that says $found of a call that ended: $ends makes it $outcome",
    ({ ends, found, outcome }) =>
      Effect.gen(function* () {
        const told = yield* Story.tell({
          script: [Script.callTools(call("c1", "write")), Script.say("ok")],
          transcript: true,
          settings: { toolDeadline: "1 second" },
          provider: {
            list: Effect.succeed([
              {
                name: "write",
                parameters: { type: "object" },
                interruption: ends ? ("interrupt" as const) : ("detach" as const)
              }
            ]),
            execute: () => (ends ? Effect.never : Effect.as(Effect.sleep("1 minute"), ["late"])),
            probe: () => Effect.succeed(found)
          }
        }).pipe(Story.passing)
        assert.deepStrictEqual(
          told.replay?.settled.map((one) => one.outcome),
          [outcome]
        )
      })
  )

  it.effect("X-IDEM-03 a probe that breaks leaves the outcome unknown, and says so in the log", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({
        script: [Script.callTools(call("c1", "write")), Script.say("ok")],
        transcript: true,
        settings: { toolDeadline: "1 second" },
        provider: {
          list: Effect.succeed([{ name: "write", parameters: { type: "object" }, interruption: "interrupt" as const }]),
          execute: () => Effect.never,
          probe: () => Effect.die(new Error("no access"))
        }
      }).pipe(Story.passing)
      assert.strictEqual(told.replay?.settled[0]?.outcome, "outcome-unknown")
      assert.include(JSON.stringify(Recorder.all(told.recording, "Log")), "a probe broke")
    })
  )
})
