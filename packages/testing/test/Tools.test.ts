import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import * as Tool from "@settle/core/model/Tool"
import * as CallScope from "@settle/core/port/CallScope"
import * as Tools from "../src/Tools.ts"

const invocation = (callId: string, name: string): Tool.Invocation => ({
  callId,
  operationId: `op-${callId}`,
  name,
  arguments: "{}"
})

describe("Tools", () => {
  it.effect("records order, times and ends, of an interrupted call too (T1, T2)", () =>
    Effect.gen(function* () {
      const tools = Tools.make([
        Tools.tool("slow", Tools.after("2 seconds", Tools.answer("done"))),
        Tools.tool("bad", Tools.error("no")),
        Tools.tool("never", Tools.never)
      ])
      const first = yield* Effect.forkChild(
        tools.provider.execute([invocation("a", "slow"), invocation("b", "bad"), invocation("c", "nothing")])
      )
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(yield* Fiber.join(first), [
        Tool.answered("done"),
        Tool.failed("no"),
        Tool.failed("there is no tool named nothing")
      ])
      const second = yield* Effect.forkChild(tools.provider.execute([invocation("d", "never")]))
      yield* tools.began(3)
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(second)
      assert.deepStrictEqual(
        tools.ran.map((ran) => [ran.callId, ran.batch, ran.startedAt, ran.finishedAt, ran.end]),
        [
          ["a", 0, 0, 2000, "answered"],
          ["b", 0, 0, 0, "errored"],
          ["c", 0, 0, 0, "errored"],
          ["d", 1, 2000, 3000, "interrupted"]
        ]
      )
    })
  )

  it.effect("misbehaves as asked: missing, too few, bare, wrong id, lost, not accepted, a throw", () =>
    Effect.gen(function* () {
      const tools = Tools.make([
        Tools.tool("missing", Tools.missing),
        Tools.tool("short", Tools.short),
        Tools.tool("bare", Tools.bare("text")),
        Tools.tool("wrong", Tools.answer("x", { callId: "other" })),
        Tools.tool("lost", Tools.lost("gone")),
        Tools.tool("refused", Tools.notAccepted("no server")),
        Tools.tool("throws", Tools.die(new Error("boom"))),
        Tools.tool("twice", Tools.sequence(Tools.answer("1"), Tools.answer("2")))
      ])
      const run = (...names: ReadonlyArray<string>) =>
        tools.provider.execute(names.map((name, index) => invocation(`${name}${index}`, name)))
      assert.deepStrictEqual(yield* run("missing", "bare"), [undefined, "text"])
      assert.deepStrictEqual(yield* run("bare", "short", "bare"), ["text"])
      assert.deepStrictEqual(yield* run("wrong"), [
        Tool.Answer.Answered({ content: "x", isError: false, callId: "other" })
      ])
      assert.deepStrictEqual(
        (yield* run("lost", "refused")).map((given) => (typeof given === "object" ? given._tag : given)),
        ["Lost", "NotAccepted"]
      )
      const cause = yield* Effect.flip(Effect.sandbox(run("throws")))
      assert.include(String(cause), "boom")
      assert.deepStrictEqual(yield* run("twice"), [Tool.answered("1")])
      assert.deepStrictEqual(yield* run("twice"), [Tool.answered("2")])
      assert.deepStrictEqual(
        tools.ran.map((ran) => ran.end).filter((end) => end !== "answered"),
        ["missing", "missing", "lost", "not-accepted", "died"]
      )
    })
  )

  it.effect("speaks through the scope of its call", () =>
    Effect.gen(function* () {
      const said: Array<unknown> = []
      const scope: CallScope.CallScope = {
        ...CallScope.none,
        progress: (note) => Effect.sync(() => void said.push(note)),
        log: (level, logger, data) => Effect.sync(() => void said.push([level, logger, data])),
        asking: (request, ask) => Effect.tap(ask, (answer) => Effect.sync(() => said.push([request, answer])))
      }
      const tools = Tools.make([
        Tools.tool(
          "talks",
          Tools.progressing(
            [{ progress: 1, total: 2 }],
            Tools.logging(
              "info",
              "hello",
              Tools.asking({ ok: "?" }, Effect.succeed("yes"), (given) => Tools.answer(`${given}`))
            )
          )
        )
      ])
      const answers = yield* tools.provider
        .execute([invocation("a", "talks")])
        .pipe(Effect.provideService(CallScope.CallScope, scope))
      assert.deepStrictEqual(answers, [Tool.answered("yes")])
      assert.deepStrictEqual(said, [
        { callId: "a", progress: 1, total: 2 },
        ["info", "talks", "hello"],
        [{ ok: "?" }, "yes"]
      ])
    })
  )

  it.effect("changes its catalogue and its grants, and may fail to list", () =>
    Effect.gen(function* () {
      const tools = Tools.make([Tools.tool("a", Tools.echo)], { grants: [] })
      const first = yield* tools.provider.list
      assert.strictEqual(yield* tools.provider.list, first, "the same array while nothing changed")
      tools.setCatalogue([Tools.tool("b", Tools.echo, { idempotency: "read-only" })])
      assert.deepStrictEqual(
        (yield* tools.provider.list).map((declaration) => [declaration.name, declaration.idempotency]),
        [["b", "read-only"]]
      )
      tools.failListing("down")
      assert.strictEqual((yield* Effect.flip(tools.provider.list)).message, "testing: down")
      assert.strictEqual(tools.listings, 4)
      tools.setGrants([{ allow: "b" }])
      assert.deepStrictEqual(yield* tools.provider.grants ?? Effect.succeed([]), [{ allow: "b" }])
      assert.isUndefined(tools.provider.probe)
    })
  )

  it.effect("a probe tells what landed", () =>
    Effect.gen(function* () {
      const tools = Tools.make([Tools.tool("a", Tools.echo), Tools.tool("e", Tools.error("half"))], { probe: true })
      yield* tools.provider.execute([invocation("1", "a"), invocation("2", "e")])
      const probe = tools.provider.probe ?? (() => Effect.die("there is a probe"))
      assert.strictEqual(yield* probe(invocation("1", "a")), "landed")
      assert.strictEqual(yield* probe(invocation("2", "e")), undefined)
      assert.strictEqual(yield* probe(invocation("9", "a")), "did-not-land")
    })
  )
})
