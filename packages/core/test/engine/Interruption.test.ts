import * as Loop from "@settle/core/agent/Loop"
import * as Message from "@settle/core/model/Message"
import * as Tool from "@settle/core/model/Tool"
import { Recorder, Script, Tools } from "@settle/testing"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as Story from "./Story.ts"

const call = Script.call
const task = (n: number) => call(`t${n}`, "task", { n })
const ends = (told: { readonly recording: Recorder.Recording }) =>
  Recorder.all(told.recording, "ToolAbandoned").map((e) => [e.id, e.reason, e.dispatched])
const ids = (tools: Tools.Tools) => tools.batches.map((batch) => batch.map((one) => one.callId))

describe("concurrency groups", () => {
  it.effect("L-CONC-01 L-CONC-06 without a match every call is a dispatch of its own", () =>
    Effect.gen(function* () {
      const plan = { script: [Script.callTools(task(1), task(2)), Script.say("ok")] }
      const plain = Tools.make([Tools.tool("task", Tools.echo)])
      const told = yield* Story.tell({ ...plan, tools: plain, transcript: true })
      const other = Tools.make([Tools.tool("task", Tools.echo)])
      const same = yield* Story.tell({
        ...plan,
        tools: other,
        transcript: true,
        settings: { concurrentTools: ["tas", "x*"] }
      })
      assert.deepStrictEqual(ids(plain), [["t1"], ["t2"]])
      assert.deepStrictEqual(ids(other), ids(plain))
      assert.deepStrictEqual(same.tags, told.tags)
    })
  )

  it.effect(
    "L-CONC-02 L-CONC-03 L-CONC-04 L-CONC-07 L-CONC-08 neighbours go together, in order, each settled on its own",
    () =>
      Effect.gen(function* () {
        const tools = Tools.make([Tools.tool("task", Tools.echo), Tools.tool("fs_read", Tools.answer("file"))])
        const told = yield* Story.tell({
          script: [Script.callTools(task(1), task(2), call("r1", "fs_read"), task(3)), Script.say("ok")],
          tools,
          transcript: true,
          settings: { concurrentTools: ["task"] }
        })
        assert.deepStrictEqual(ids(tools), [["t1", "t2"], ["r1"], ["t3"]])
        const at = told.tags.indexOf("ToolStarted")
        assert.deepStrictEqual(told.tags.slice(at, at + 4), ["ToolStarted", "ToolStarted", "ToolResult", "ToolResult"])
        const types = Story.lineTypes(yield* told.transcript!.lines).slice(2, 8)
        assert.deepStrictEqual(types, [
          "tool-dispatched",
          "tool-dispatched",
          "message",
          "tool-settled",
          "message",
          "tool-settled"
        ])
        assert.deepStrictEqual(
          Recorder.all(told.recording, "ToolResult").map((e) => [e.id, e.content]),
          [
            ["t1", `{"n":1}`],
            ["t2", `{"n":2}`],
            ["r1", "file"],
            ["t3", `{"n":3}`]
          ]
        )
      })
  )

  it.effect("P12 L-CONC-05 results are matched by position and kept in model order however they finish", () =>
    Effect.gen(function* () {
      const tools = Tools.make([
        Tools.tool("task", (one) => {
          const n = Number(JSON.parse(one.arguments).n)
          return Effect.as(Effect.sleep(`${10 - n} seconds`), Tool.answered(`done ${n}`))
        })
      ])
      const told = yield* Story.tell({
        script: [Script.callTools(task(1), task(2), task(3)), Script.say("ok")],
        tools,
        settings: { concurrentTools: ["task"] }
      }).pipe(Story.passing)
      assert.deepStrictEqual(
        told.outcome.messages.filter((m) => m.role === "tool").map((m) => [m.toolCallId, m.content]),
        [
          ["t1", "done 1"],
          ["t2", "done 2"],
          ["t3", "done 3"]
        ]
      )
    })
  )

  it.effect("L-CONC-10 L-CONC-11 a cancel takes the whole group; the calls behind are known not to have run", () =>
    Effect.gen(function* () {
      const tools = Tools.make([Tools.tool("task", Tools.after("1 minute", Tools.echo)), Tools.tool("b", Tools.echo)])
      const on = yield* Story.stage({
        script: [Script.callTools(task(1), task(2), call("b1", "b"))],
        tools,
        transcript: true,
        settings: { concurrentTools: ["task"] }
      })
      const told = yield* Story.play(on, undefined, {
        meanwhile: (run) =>
          Effect.gen(function* () {
            yield* tools.began(1)
            yield* run.cancel
            yield* run.outcome
            yield* TestClock.adjust("2 minutes")
          })
      })
      assert.deepStrictEqual(ends(told), [
        ["t1", "cancelled", true],
        ["t2", "cancelled", true],
        ["b1", "cancelled", false]
      ])
    })
  )

  it.effect("L-CONC-12 a policy in front of a group sees all of its calls before any runs", () =>
    Effect.gen(function* () {
      const seen: Array<number> = []
      yield* Story.tell({
        script: [Script.callTools(task(1), task(2)), Script.say("ok")],
        settings: { concurrentTools: ["task"] },
        provider: {
          list: Effect.succeed([{ name: "task", parameters: { type: "object" } }]),
          execute: (batch) =>
            Effect.sync(() => {
              seen.push(batch.length)
              return batch.map(() => "ok")
            })
        }
      })
      assert.deepStrictEqual(seen, [2])
    })
  )

  it.effect("T6 one call of a group throws: every call of it is settled, and the rest go on", () =>
    Effect.gen(function* () {
      const tools = Tools.make([
        Tools.tool("task", (one) =>
          one.callId === "t1"
            ? Tools.after("1 second", Tools.die(new Error("first")))(one)
            : Tools.after("5 seconds", Tools.echo)(one)
        )
      ])
      const told = yield* Story.tell({
        script: [Script.callTools(task(1), task(2), task(3)), Script.say("ok")],
        tools,
        transcript: true,
        settings: { concurrentTools: ["task"] }
      }).pipe(Story.passing)
      assert.deepStrictEqual(
        told.replay?.settled.map((one) => one.outcome),
        ["failed", "failed", "failed"]
      )
      assert.strictEqual(told.outcome.final, "ok")
    })
  )
})

describe("the tool deadline", () => {
  it.effect("L-DL-01 by default a call may take for ever", () =>
    Effect.gen(function* () {
      const tools = Tools.make([Tools.tool("task", Tools.after("10 days", Tools.echo))])
      const on = yield* Story.stage({ script: [Script.callTools(task(1)), Script.say("ok")], tools })
      const told = yield* Story.play(on, undefined, {
        meanwhile: () => Effect.andThen(tools.began(0), TestClock.adjust("10 days"))
      })
      assert.deepStrictEqual(ends(told), [])
    })
  )

  it.effect("L-DL-08 L-DRAIN-01 L-DRAIN-02 result does not wait for the detached call, drained does", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const tools = Tools.make([Tools.tool("task", () => Effect.as(Deferred.await(gate), "late"))])
      const on = yield* Story.stage({
        script: [Script.callTools(task(1)), Script.say("went on")],
        tools,
        transcript: true,
        settings: { toolDeadline: "1 second" }
      })
      const run = yield* on.loop.run(Story.ask())
      const drained = yield* Effect.forkChild(run.drained)
      yield* tools.began(0)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* run.result).final, "went on")
      yield* TestClock.adjust("1 hour")
      assert.isUndefined(drained.pollUnsafe())
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(drained)
      const lines = yield* on.transcript!.lines
      assert.isFalse(lines.some((line) => line.includes("late")))
    })
  )

  it.effect("L-DL-09 a group is bounded as a whole and settles as a whole", () =>
    Effect.gen(function* () {
      const tools = Tools.make([Tools.tool("task", Tools.after("1 minute", Tools.echo)), Tools.tool("b", Tools.echo)])
      const on = yield* Story.stage({
        script: [Script.callTools(task(1), task(2), call("b1", "b")), Script.say("ok")],
        tools,
        transcript: true,
        settings: { concurrentTools: ["task"], toolDeadline: "2 seconds" }
      })
      const told = yield* Story.play(on, undefined, {
        meanwhile: () => Effect.andThen(tools.began(1), TestClock.adjust("2 minutes"))
      })
      assert.deepStrictEqual(ends(told), [
        ["t1", "deadline", true],
        ["t2", "deadline", true],
        ["b1", "deadline", false]
      ])
    })
  )

  it.effect(
    "L-DL-10 L-DL-11 L-DL-12 L-SHIM-06 a minute in front of a question costs no call of the group its deadline",
    () =>
      Effect.gen(function* () {
        const tools = Tools.make([
          Tools.tool("task", (one) =>
            one.callId === "t1"
              ? Tools.asking({ tool: "task" }, Effect.as(Effect.sleep("60 seconds"), "yes"), () =>
                  Tools.after("10 seconds", Tools.echo)
                )(one)
              : Tools.after("75 seconds", Tools.echo)(one)
          )
        ])
        const told = yield* Story.tell({
          script: [Script.callTools(task(1), task(2)), Script.say("ok")],
          tools,
          transcript: true,
          settings: { toolDeadline: "30 seconds", concurrentTools: ["task"] }
        }).pipe(Story.passing)
        assert.deepStrictEqual(ends(told), [])
        assert.strictEqual(Recorder.all(told.recording, "ToolResult").length, 2)
      })
  )

  it.effect("L-DL-13 an answer in the same tick as the deadline wins", () =>
    Effect.gen(function* () {
      const tools = Tools.make([Tools.tool("task", Tools.after("2 seconds", Tools.answer("just in time")))])
      const on = yield* Story.stage({
        script: [Script.callTools(task(1)), Script.say("ok")],
        tools,
        settings: { toolDeadline: "2 seconds" }
      })
      const told = yield* Story.play(on, undefined, {
        meanwhile: () => Effect.andThen(tools.began(0), TestClock.adjust("2 seconds"))
      })
      assert.deepStrictEqual(ends(told), [])
      assert.strictEqual(Recorder.all(told.recording, "ToolResult")[0]?.content, "just in time")
    })
  )
})

describe("cancellation", () => {
  it.effect("T16 L-CANC-01 L-CANC-02 a cancel aborts the stream, and nothing follows the terminal", () =>
    Effect.gen(function* () {
      const on = yield* Story.stage({
        script: [{ chunks: ["one ", "two"], failAfterChunks: 1, stall: true }],
        transcript: true
      })
      const told = yield* Story.play(on, undefined, {
        meanwhile: (run, recorder) =>
          Effect.gen(function* () {
            yield* recorder.seen("Token")
            yield* run.cancel
            yield* run.outcome
            assert.isFalse(run.emit({ _tag: "Log", level: "info", data: "late" }))
          })
      })
      assert.strictEqual(on.script.cancels, 1)
      assert.deepStrictEqual(told.tags.slice(-2), ["TurnDiscarded", "RunCancelled"])
      assert.strictEqual(Recorder.all(told.recording, "RunCancelled")[0]?.stage, "streaming")
      assert.deepStrictEqual(Story.rolesOf(told.outcome.messages), ["user"])
    })
  )

  it.effect("T7 L-CANC-03 a tool that returns although it was cancelled starts no further round", () =>
    Effect.gen(function* () {
      const tools = Tools.make([Tools.tool("task", Tools.after("5 seconds", Tools.answer("anyway")))])
      const on = yield* Story.stage({
        script: [Script.callTools(task(1)), Script.say("never")],
        tools,
        transcript: true
      })
      const told = yield* Story.play(on, undefined, {
        meanwhile: (run) =>
          Effect.gen(function* () {
            yield* tools.began(0)
            yield* run.cancel
            yield* TestClock.adjust("5 seconds")
          })
      })
      assert.strictEqual(on.script.requests.length, 1)
      assert.strictEqual(told.outcome.outcome, "cancelled")
      assert.include(told.outcome.messages.at(-1)?.content, "whether it took effect is unknown")
    })
  )

  it.effect("L-CANC-04 a backoff ends at once when the run is cancelled", () =>
    Effect.gen(function* () {
      const on = yield* Story.stage({ script: [Script.failWith(Script.http(500))] })
      const told = yield* Story.play(on, undefined, {
        meanwhile: (run, recorder) => Effect.andThen(recorder.seen("AttemptFailed"), run.cancel)
      })
      assert.strictEqual(Recorder.all(told.recording, "RunCancelled")[0]?.stage, "backoff")
    })
  )

  it.effect("L-CANC-09 a pending question is not dismissed: the run ends when it is answered", () =>
    Effect.gen(function* () {
      const answer = yield* Deferred.make<string>()
      const tools = Tools.make([
        Tools.tool(
          "task",
          Tools.asking({ tool: "task" }, Deferred.await(answer), () => Tools.never),
          { interruption: "interrupt" }
        )
      ])
      const on = yield* Story.stage({ script: [Script.callTools(task(1))], tools, transcript: true })
      const run = yield* on.loop.run(Story.ask())
      const recorder = yield* Recorder.start(run.events)
      yield* recorder.seen("AskPending")
      yield* run.cancel
      yield* TestClock.adjust("1 hour")
      assert.isFalse(yield* run.isDone)
      yield* Deferred.succeed(answer, "no")
      assert.strictEqual((yield* run.outcome).outcome, "cancelled")
      yield* run.drained
      const recording = yield* recorder.done
      const tags = Recorder.tags(recording)
      assert.isBelow(tags.indexOf("AskAnswered"), tags.indexOf("ToolAbandoned"))
    })
  )

  it.effect(
    "X-CANC-02 X-CANC-03 a tool that may be interrupted is interrupted; its outcome is unknown all the same",
    () =>
      Effect.gen(function* () {
        const tools = Tools.make([Tools.tool("task", Tools.never, { interruption: "interrupt" })])
        const told = yield* Story.tell({
          script: [Script.callTools(task(1)), Script.say("ok")],
          tools,
          transcript: true,
          settings: { toolDeadline: "1 second" }
        }).pipe(Story.passing)
        assert.strictEqual(tools.ran[0]?.end, "interrupted")
        assert.deepStrictEqual(
          told.replay?.settled.map((one) => [one.outcome, one.reason]),
          [["outcome-unknown", "deadline"]]
        )
      })
  )

  it.effect("X-CANC-04 only a provider that knows a call was not accepted may settle it failed", () =>
    Effect.gen(function* () {
      const tools = Tools.make([
        Tools.tool("task", Tools.notAccepted("connection refused")),
        Tools.tool("b", Tools.lost("it died"))
      ])
      const told = yield* Story.tell({
        script: [Script.callTools(task(1), call("b1", "b")), Script.say("ok")],
        tools,
        transcript: true
      })
      assert.deepStrictEqual(
        told.replay?.settled.map((one) => [one.outcome, one.reason]),
        [
          ["failed", "not-accepted"],
          ["outcome-unknown", "connection-lost"]
        ]
      )
      assert.strictEqual(
        told.outcome.messages[2]?.content,
        "The call to task was not accepted and did not run: connection refused"
      )
    })
  )

  it.effect("X-CANC-01 cancel is asked once and offers only: a second one changes nothing", () =>
    Effect.gen(function* () {
      const on = yield* Story.stage({ script: [{ stall: true }] })
      const told = yield* Story.play(on, undefined, {
        meanwhile: (run) =>
          Effect.gen(function* () {
            yield* on.script.arrived(0)
            yield* Effect.all([run.cancel, run.cancel, run.cancel], { concurrency: 3 })
          })
      })
      assert.strictEqual(told.tags.filter((tag) => tag === "RunCancelled").length, 1)
      assert.isTrue(yield* told.run.isCancelled)
    })
  )

  it.effect("T15 a provider that drops after two settled calls costs the round, never the calls", () =>
    Effect.gen(function* () {
      const tools = Tools.make([Tools.tool("task", Tools.echo)])
      const first = Script.make([
        Script.callTools(task(1), task(2)),
        { chunks: ["par"], cut: true },
        { cut: true },
        { cut: true }
      ])
      const second = Script.make([Script.say("finished")])
      const told = yield* Story.tell({ scripts: [first, second], tools, transcript: true }).pipe(Story.passing)
      assert.strictEqual(told.outcome.final, "finished")
      assert.strictEqual(tools.ran.length, 2)
    })
  )
})

describe("shims and the outside", () => {
  it.effect("L-SHIM-01 L-SHIM-02 a late answer, log or progress is dropped", () =>
    Effect.gen(function* () {
      const on = yield* Story.stage({ script: [Script.say("done")] })
      const told = yield* Story.play(on)
      const { callScope } = told.run
      yield* callScope.log("info", "late", "x")
      yield* callScope.progress({ callId: "c1", progress: 1 })
      assert.strictEqual(yield* callScope.asking({ tool: "x" }, Effect.succeed("answer")), "answer")
      yield* callScope.grantsChanged
      assert.strictEqual(told.tags.at(-1), "RunCompleted")
    })
  )

  it.effect("L-SHIM-03 a provider reads the scope of the run its calls belong to: no construction cycle", () =>
    Effect.gen(function* () {
      const tools = Tools.make([Tools.tool("task", Tools.logging("info", "hello", Tools.echo))])
      const on = yield* Story.stage({
        script: [Script.callTools(task(1)), Script.say("a"), Script.callTools(task(2)), Script.say("b")],
        tools
      })
      const first = yield* Story.play(on)
      const second = yield* Story.play(on)
      for (const told of [first, second]) {
        const logs = Recorder.all(told.recording, "Log")
        assert.deepStrictEqual(
          logs.map((log) => [log.runId, log.logger, log.data]),
          [[told.run.id, "task", "hello"]]
        )
      }
    })
  )

  it.effect("L-SHIM-04 L-SHIM-05 a question is framed, its answer and its failure pass untouched", () =>
    Effect.gen(function* () {
      const broken: Tools.Act = Tools.asking({ tool: "b" }, Effect.die(new Error("asker broke")), () => Tools.echo)
      const tools = Tools.make([
        Tools.tool(
          "task",
          Tools.asking({ tool: "task", n: 1 }, Effect.succeed({ ok: true }), (answer) =>
            Tools.answer(JSON.stringify(answer))
          )
        ),
        Tools.tool("b", broken)
      ])
      const told = yield* Story.tell({ script: [Script.callTools(task(1), call("b1", "b")), Script.say("ok")], tools })
      assert.deepStrictEqual(
        Recorder.all(told.recording, "ToolResult").map((e) => [e.isError, e.content]),
        [
          [false, `{"ok":true}`],
          [true, "The tool b broke: asker broke"]
        ]
      )
      const pending = Recorder.all(told.recording, "AskPending")
      const answered = Recorder.all(told.recording, "AskAnswered")
      assert.deepStrictEqual(
        pending.map((e) => [e.request, e.tool]),
        [
          [{ tool: "task", n: 1 }, "task"],
          [{ tool: "b" }, "b"]
        ]
      )
      assert.deepStrictEqual(
        answered.map((e) => e.answer),
        [{ ok: true }, undefined]
      )
    })
  )

  it.effect(
    "L-SHIM-07 L-SHIM-08 a server's log becomes a Log, its progress a ToolProgress of a call in flight only",
    () =>
      Effect.gen(function* () {
        const tools = Tools.make([
          Tools.tool("task", (one) =>
            Tools.progressing(
              [{ progress: 1, total: 4, message: "a quarter" }],
              Tools.logging("warning", { disk: "full" }, Tools.echo)
            )(one)
          )
        ])
        const on = yield* Story.stage({ script: [Script.callTools(task(1)), Script.say("ok")], tools })
        const told = yield* Story.play(on, undefined, {
          meanwhile: (run) => run.callScope.progress({ callId: "somebody else", progress: 9 })
        })
        assert.deepStrictEqual(
          Recorder.all(told.recording, "ToolProgress").map((e) => [e.id, e.progress, e.total, e.message]),
          [["t1", 1, 4, "a quarter"]]
        )
        assert.deepStrictEqual(
          Recorder.all(told.recording, "Log").map((e) => [e.level, e.data]),
          [["warning", { disk: "full" }]]
        )
      })
  )

  it.effect("L-SHIM-09 L-GRANT-03 an answer is on disk while the call it was about still runs", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const asked = yield* Deferred.make<void>()
      const tools: Tools.Tools = Tools.make(
        [
          Tools.tool("task", () =>
            Effect.gen(function* () {
              tools.setGrants([{ tool: "task", decision: "allow" }])
              yield* on.loop.liveRun.pipe(
                Effect.flatMap((run) => (run._tag === "Some" ? run.value.callScope.grantsChanged : Effect.void))
              )
              yield* Deferred.succeed(asked, undefined)
              yield* Deferred.await(gate)
              return Tool.answered("ok")
            })
          )
        ],
        { grants: [] }
      )
      const on: Story.Stage = yield* Story.stage({
        script: [Script.callTools(task(1)), Script.say("ok")],
        tools,
        transcript: true
      })
      yield* Story.play(on, undefined, {
        meanwhile: () =>
          Effect.gen(function* () {
            yield* Deferred.await(asked)
            assert.deepStrictEqual((yield* on.transcript!.replay).grants, [{ tool: "task", decision: "allow" }])
            yield* Deferred.succeed(gate, undefined)
          })
      })
    })
  )

  it.effect("L-GRANT-02 a narrowed or dropped rule is written as well as an added one", () =>
    Effect.gen(function* () {
      const snapshots = [[{ tool: "a" }], [{ tool: "a", under: "x" }], []]
      let at = 0
      const tools: Tools.Tools = Tools.make(
        [
          Tools.tool("task", (one) =>
            Effect.sync(() => (tools.setGrants(snapshots[at++] ?? []), Tool.answered(one.arguments)))
          )
        ],
        { grants: [] }
      )
      const told = yield* Story.tell({
        script: [Script.callTools(task(1)), Script.callTools(task(2)), Script.callTools(task(3)), Script.say("ok")],
        tools,
        transcript: true
      })
      const lines = (yield* told.transcript!.lines)
        .map((text) => JSON.parse(text))
        .filter((line) => line.type === "grants")
      assert.deepStrictEqual(
        lines.map((line) => line.payload.grants),
        snapshots
      )
    })
  )

  it.effect(
    "L-EXT-01 L-EXT-02 L-EXT-03 L-EXT-04 an event from above is ordered like any other, bound to its run, and never a terminal",
    () =>
      Effect.gen(function* () {
        const on = yield* Story.stage({
          script: [
            { content: "a", delay: "1 second" },
            { content: "b", delay: "1 second" }
          ]
        })
        const inner = { kind: "token", text: "x" }
        const note = { _tag: "Subagent", agentId: "r-1", agentType: "reviewer", inner } as const
        assert.isFalse(yield* on.loop.emitExternal(note))
        const first = yield* on.loop.run(Story.ask())
        const recorder = yield* Recorder.start(first.events)
        assert.isTrue(yield* on.loop.emitExternal(note))
        assert.throws(() => first.emit({ _tag: "RunCancelled" }), "RunCancelled ends a run")
        yield* Story.passing(first.drained)
        assert.deepStrictEqual(
          Recorder.all(yield* recorder.done, "Subagent").map((e) => [e.runId, e.agentId]),
          [[first.id, "r-1"]]
        )
        const second = yield* on.loop.run([Message.user("again")])
        assert.isFalse(first.emit(note))
        assert.isTrue(yield* on.loop.emitExternal(note))
        yield* Story.passing(second.drained)
      })
  )
})
