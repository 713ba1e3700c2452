/**
 * Hundreds of rounds in a window of 16k, counted by a real tokenizer: every request fits and is well formed, and a process that is
 * killed in the middle of a compaction goes on as if it had not been.
 */
import * as Loop from "@settle/core/agent/Loop"
import * as Conversation from "@settle/core/model/Conversation"
import * as Message from "@settle/core/model/Message"
import * as Replay from "@settle/core/model/Replay"
import { Backends } from "@settle/core/port/Backend"
import { Compactor } from "@settle/core/port/Compactor"
import { RequestBudget } from "@settle/core/port/RequestBudget"
import { TokenCounter } from "@settle/core/port/TokenCounter"
import { ToolProvider } from "@settle/core/port/ToolProvider"
import { Transcript } from "@settle/core/port/Transcript"
import * as StandardCompactor from "@settle/core/standard/Compactor"
import * as MemoryTranscript from "@settle/core/standard/MemoryTranscript"
import { FaultyTranscript, Recorder, Script, Tools } from "@settle/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result, Scope } from "effect"
import * as GptCounter from "../src/GptCounter.ts"

const window = { contextWindow: 16_384, completionReserve: 1024, inputSafetyMargin: 0 }
const words = "the record says what happened and nothing else so that whoever reads it later may rely on it".split(" ")

/** Text of step `n`: mostly short, every ninth long, every fortieth longer than an observation may be. */
const textOf = (n: number): string => {
  const length = n % 40 === 39 ? 4000 : n % 9 === 8 ? 1200 : 40 + ((n * 37) % 160)
  return `#${n} ${Array.from({ length }, (_, i) => words[(i * 7 + n) % words.length]).join(" ")}`
}

const stepOf = (message: Message.Message | undefined): number =>
  Number(/^#(\d+) /.exec(message?.content ?? "")?.[1] ?? -1)

/** The model: the next step follows from the last result alone, so a resumed conversation is answered as the first one was. */
const model =
  (rounds: number) =>
  (request: Script.Recorded): Script.Step => {
    const next = stepOf(request.messages.at(-1)) + 1
    if (next >= rounds) return Script.say(`done after ${next} steps`)
    return Script.callTools(Script.call(`call-${next}`, "step", { n: next }))
  }

/** The summariser: its answer follows from its request; every fifth is refused, so that the pass must trim. */
const summariser = (request: Script.Recorded): Script.Step => {
  const digest = Conversation.digest(request.messages)
  if (Number.parseInt(digest.slice(0, 4), 16) % 5 === 0) return Script.failWith(Script.http(400, "not today"))
  return Script.say(`The goal is to take every step. Seen so far: ${digest}. ${"Nothing is open. ".repeat(20)}`)
}

interface World {
  readonly rounds: number
  readonly counter: TokenCounter
  /** Stubs for stale results; `mixed`: so few that a pass must trim beside them. */
  readonly aging: "off" | "on" | "mixed"
}

const aging = {
  off: {},
  on: { ageObservations: true, ageReclaimMin: 12_000 },
  mixed: { ageObservations: true, ageMinChars: 6000, ageReclaimMin: 14_000 }
}

/** One process: a loop over a transcript, which may be about to die. */
const life = Effect.fnUntraced(function* (world: World, transcript: Transcript) {
  const script = Script.make([], { then: model(world.rounds) })
  const effects: Array<number> = []
  const tools = Tools.make([
    Tools.tool("step", (invocation) => {
      const { n } = JSON.parse(invocation.arguments) as { readonly n: number }
      effects.push(n)
      return Tools.answer(textOf(n))(invocation)
    })
  ])
  const compactor = Result.getOrThrow(
    StandardCompactor.make(
      { budget: window.contextWindow, ...aging[world.aging] },
      {
        counter: world.counter,
        backend: world.aging === "mixed" ? undefined : Script.make([], { then: summariser }).backend
      }
    )
  )
  const layer = Layer.mergeAll(
    Layer.succeed(Backends, { chain: [script.backend] }),
    Layer.succeed(ToolProvider, tools.provider),
    Layer.succeed(Transcript, transcript),
    Layer.succeed(TokenCounter, world.counter),
    Layer.succeed(RequestBudget, { defaultProfile: window }),
    Layer.succeed(Compactor, compactor)
  )
  // Nobody closes the scope of a process that is killed.
  const scope = yield* Scope.make()
  const loop = yield* Loop.make({}).pipe(Effect.provide(layer), Effect.provideService(Scope.Scope, scope))
  const recorded = Replay.messages(yield* transcript.replay)
  const run = yield* loop.run(recorded.length === 0 ? [Message.user("Take every step.")] : recorded)
  return { run, script, effects }
})

/** Nothing doomed was sent: every request is within its window, and answers every call it shows. */
const assertSendable = (world: World, requests: ReadonlyArray<Script.Recorded>): void => {
  for (const [index, request] of requests.entries()) {
    const tokens = world.counter.countRequest({
      conversation: { messages: request.messages, revision: request.revision },
      tools: request.tools
    })
    assert.isAtMost(tokens + window.completionReserve, window.contextWindow, `request ${index}`)
    assert.isUndefined(Conversation.fault(request.messages), `request ${index}`)
  }
}

const whole = Effect.fnUntraced(function* (world: World) {
  const transcript = yield* MemoryTranscript.make()
  const { effects, run, script } = yield* life(world, transcript)
  const { events } = yield* Recorder.collect(run.events)
  const outcome = yield* run.outcome
  return { outcome, effects, script, events, lines: yield* transcript.lines, replay: yield* transcript.replay }
})

const steps = (rounds: number) => Array.from({ length: rounds }, (_, n) => n)

describe("a long run in a small window", () => {
  it.live(
    "K1 K2 L-PRE-01 L-CTXEX-04 300 rounds in 16k: every request fits its window and no result loses its call",
    () =>
      Effect.gen(function* () {
        const world: World = { rounds: 300, counter: yield* GptCounter.make(), aging: "off" }
        const { effects, events, outcome, replay, script } = yield* whole(world)
        assert.strictEqual(outcome.final, "done after 300 steps", outcome.error)
        assert.strictEqual(script.requests.length, 301)
        assert.deepStrictEqual(effects, steps(300))
        assertSendable(world, script.requests)
        const passes = Recorder.all({ events }, "CompactionDone")
        assert.isAbove(passes.filter((pass) => pass.fallback).length, 0)
        assert.isAbove(passes.filter((pass) => !pass.fallback).length, 5)
        assert.isTrue(passes.every((pass) => (pass.tokensAfter ?? 0) < (pass.tokensBefore ?? 0)))
        assert.isTrue(outcome.messages.some((message) => message.content.startsWith("[Summary of earlier turns")))
        assert.deepStrictEqual(Replay.messages(replay), outcome.messages)
      }),
    30_000
  )

  it.live(
    "K1 K2 with aging: stubs and summaries together keep every request within the window",
    () =>
      Effect.gen(function* () {
        const world: World = { rounds: 150, counter: yield* GptCounter.make(), aging: "on" }
        const { effects, lines, outcome, replay, script } = yield* whole(world)
        assert.strictEqual(outcome.final, "done after 150 steps", outcome.error)
        assert.deepStrictEqual(effects, steps(150))
        assertSendable(world, script.requests)
        assert.isTrue(lines.some((line) => line.includes('"type":"elision"')))
        assert.deepStrictEqual(Replay.messages(replay), outcome.messages)
      }),
    30_000
  )
})

describe("killed while compacting", () => {
  const typeOf = (line: string): string => (JSON.parse(line) as { readonly type: string }).type

  /** One process dies at this line; the next goes on from what is in the record. */
  const killedAt = Effect.fnUntraced(function* (world: World, at: number, how: "landed" | "lost" | "torn") {
    const record = yield* MemoryTranscript.make()
    const faulty = yield* FaultyTranscript.make(record, FaultyTranscript.crash(at, how))
    const first = yield* life(world, faulty.transcript)
    yield* faulty.crashed
    assertSendable(world, first.script.requests)
    const torn = yield* faulty.torn
    const lines = [...(yield* record.lines), ...(torn === undefined ? [] : [torn])]
    const next = yield* MemoryTranscript.make({ lines })
    const second = yield* life(world, next)
    const outcome = yield* second.run.outcome
    assertSendable(world, second.script.requests)
    return { outcome, effects: [...first.effects, ...second.effects], replay: yield* next.replay }
  })

  it.live(
    "K1 K4 L-ROUND-09 at any line of a compaction, landed, lost or torn: the same conversation in the end, and no step twice",
    () =>
      Effect.gen(function* () {
        const world: World = { rounds: 90, counter: yield* GptCounter.make(), aging: "off" }
        const reference = yield* whole(world)
        const at = reference.lines.flatMap((line, index) => (typeOf(line) === "compaction" ? [index] : []))
        assert.isAtLeast(at.length, 2)
        for (const index of [at[0] ?? 0, at.at(-1) ?? 0]) {
          for (const how of ["landed", "lost", "torn"] as const) {
            const { effects, outcome, replay } = yield* killedAt(world, index, how)
            const where = `line ${index}, ${how}`
            assert.strictEqual(outcome.final, reference.outcome.final, where)
            assert.deepStrictEqual(effects, steps(90), where)
            assert.deepStrictEqual(outcome.messages, reference.outcome.messages, where)
            assert.deepStrictEqual(Replay.messages(replay), outcome.messages, where)
          }
        }
      }),
    30_000
  )

  it.live(
    "K1 K4 between a stub and its summary: either is a conversation that goes on",
    () =>
      Effect.gen(function* () {
        const world: World = { rounds: 90, counter: yield* GptCounter.make(), aging: "mixed" }
        const reference = yield* whole(world)
        const types = reference.lines.map(typeOf)
        const stubs = types.flatMap((type, index) => (type === "elision" ? [index] : []))
        const pairs = stubs.filter((index) => types[index + 1] === "compaction")
        assert.isAtLeast(stubs.length, 1)
        assert.isAtLeast(pairs.length, 1)
        for (const index of [stubs[0] ?? 0, (pairs[0] ?? 0) + 1]) {
          for (const how of ["landed", "lost", "torn"] as const) {
            const { effects, outcome, replay } = yield* killedAt(world, index, how)
            assert.strictEqual(outcome.final, reference.outcome.final, `line ${index}, ${how}`)
            assert.deepStrictEqual(effects, steps(90), `line ${index}, ${how}`)
            assert.deepStrictEqual(Replay.messages(replay), outcome.messages)
          }
        }
      }),
    30_000
  )
})
