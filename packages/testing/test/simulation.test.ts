/** The kit against the real loop: seeded worlds, random scripts, tools that misbehave, cancels, deadlines, crashes. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Scope from "effect/Scope"
import * as Loop from "@settle/core/agent/Loop"
import * as Message from "@settle/core/model/Message"
import * as Replay from "@settle/core/model/Replay"
import { Transcript } from "@settle/core/port/Transcript"
import * as MemoryTranscript from "@settle/core/standard/MemoryTranscript"
import * as Arbitraries from "../src/Arbitraries.ts"
import * as FaultyTranscript from "../src/FaultyTranscript.ts"
import * as Invariants from "../src/Invariants.ts"
import * as Recorder from "../src/Recorder.ts"
import * as Script from "../src/Script.ts"
import * as Tools from "../src/Tools.ts"
import * as World from "../src/World.ts"

const misbehaving = (): Tools.Tools =>
  Tools.make([
    Tools.tool("quick", Tools.echo),
    Tools.tool("slow", Tools.after("3 seconds", Tools.answer("done"))),
    Tools.tool("stoppable", Tools.after("3 seconds", Tools.answer("done")), { interruption: "interrupt" }),
    Tools.tool("wrong", Tools.error("no such file")),
    Tools.tool("bare", Tools.bare("text")),
    Tools.tool("short", Tools.short),
    Tools.tool("missing", Tools.missing),
    Tools.tool("lost", Tools.lost("the server is gone")),
    Tools.tool("refused", Tools.notAccepted("no server")),
    Tools.tool("throws", Tools.die(new Error("boom"))),
    Tools.tool(
      "asks",
      Tools.asking({ may: "I" }, Effect.delay(Effect.succeed("yes"), "4 seconds"), () => Tools.answer("ok"))
    ),
    Tools.tool("goes", Tools.background("started")),
    Tools.tool("talks", Tools.progressing([{ progress: 1 }], Tools.logging("info", "hi", Tools.answer("said"))))
  ])
const names = [
  "quick",
  "slow",
  "stoppable",
  "wrong",
  "bare",
  "short",
  "missing",
  "lost",
  "refused",
  "throws",
  "asks",
  "goes",
  "talks"
]

/** A run of a random script, cancelled at a random time by one in three, its deadline always near. */
const play = (fault?: FaultyTranscript.Fault) =>
  Effect.gen(function* () {
    const [steps = []] = yield* Effect.orDie(Arbitrary.sampleEffect(Arbitraries.script(names), { count: 1, size: 40 }))
    const script = Script.make(steps, { then: Script.say("And that is all.") })
    const tools = misbehaving()
    const memory = yield* MemoryTranscript.make()
    const faulty = yield* FaultyTranscript.make(memory, fault)
    const scope = yield* Scope.make()
    const layer = Layer.mergeAll(Script.layer(script), Tools.layer(tools), Layer.succeed(Transcript, faulty.transcript))
    const loop = yield* Loop.make({
      toolDeadline: "2 seconds",
      roundTripTimeout: "3 seconds",
      concurrentTools: ["quick", "slow", "s*"],
      maxToolCalls: 12
    }).pipe(Effect.provide(layer), Effect.provideService(Scope.Scope, scope), Effect.orDie)
    const run = yield* Effect.orDie(loop.run([Message.user("go")]))
    const recorder = yield* Recorder.start(run.events).pipe(Effect.provideService(Scope.Scope, scope))
    if ((yield* Random.nextIntBetween(0, 3)) === 0) {
      const at = yield* Random.nextIntBetween(0, 20_000)
      yield* Effect.forkDetach(Effect.andThen(Effect.sleep(at), run.cancel))
    }
    const done = Effect.gen(function* () {
      const outcome = yield* run.outcome
      yield* run.drained
      yield* recorder.done
      return outcome
    })
    const outcome = yield* Effect.raceFirst(Effect.asSome(done), Effect.as(faulty.crashed, Option.none()))
    if (Option.isSome(outcome)) yield* Scope.close(scope, Exit.void)
    const torn = yield* faulty.torn
    return {
      outcome: Option.getOrUndefined(outcome),
      events: [...recorder.events],
      ran: [...tools.ran],
      lines: [...(yield* memory.lines), ...(torn === undefined ? [] : [torn])],
      written: yield* faulty.lines
    }
  })

/** Seeds whose undisturbed run writes a long record, with how many lines it has. */
const long = async (count: number) => {
  const found: Array<{ readonly seed: number; readonly written: number }> = []
  for (let seed = 0; found.length < count; seed++) {
    const { written } = await World.run(play(), { seed })
    if (written >= 15) found.push({ seed, written })
  }
  return found
}

describe("the kit and the loop", () => {
  it("what must hold holds in 150 worlds, and each replays", async () => {
    const ends = new Set<string>()
    await World.seeds({ count: 150 }, async (seed) => {
      const { outcome, events, ran, lines } = await World.run(play(), { seed })
      assert.isDefined(outcome)
      Invariants.assertHold({ outcome, events, ran, replay: Replay.fromLines(lines) }, `seed ${seed}`)
      ends.add(outcome.reason ?? outcome.outcome)
      for (const one of ran) ends.add(one.end)
    })
    for (const end of [
      "completed",
      "cancelled",
      "answered",
      "errored",
      "lost",
      "not-accepted",
      "died",
      "interrupted",
      "missing"
    ]) {
      assert.isTrue(ends.has(end), `no world had ${end}: ${[...ends].join(", ")}`)
    }
    assert.deepStrictEqual(await World.run(play(), { seed: 11 }), await World.run(play(), { seed: 11 }))
  }, 60_000)

  it("a crash at any line leaves a record whose claims are true", async () => {
    for (const { seed, written } of await long(2)) {
      for (let at = 0; at < written; at++) {
        for (const how of ["landed", "lost", "torn"] as const) {
          const { events, ran, lines } = await World.run(play(FaultyTranscript.crash(at, how)), { seed })
          const where = `seed ${seed}, ${how} at line ${at}`
          Invariants.assertHold({ events, ran, replay: Replay.fromLines(lines), crashed: true }, where)
        }
      }
    }
  }, 60_000)

  it("X-STORE-06 an append that fails ends the run in words; no call runs twice, and the record claims nothing that is not so", async () => {
    for (const { seed, written } of await long(2)) {
      for (let at = 0; at < written; at++) {
        const { events, outcome, ran, lines } = await World.run(play(FaultyTranscript.fail(at, Infinity)), { seed })
        if (outcome?.reason !== "transcript-failed") continue
        assert.match(outcome.error ?? "", /could not append the transcript memory: no space left on the device/)
        const replay = Replay.fromLines(lines)
        Invariants.assertHold({ events, outcome, ran, replay, crashed: true }, `seed ${seed}, append ${at}`)
        for (const open of replay.pending) assert.include(outcome.error ?? "", open.opId, `seed ${seed}, append ${at}`)
      }
    }
  }, 60_000)
})
