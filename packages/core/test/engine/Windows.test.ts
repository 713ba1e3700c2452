/** What fits, who counts it, and what happens when it does not: budgets, preflight, compactions, calibration. */
import * as Agent from "@settle/core/agent/Agent"
import type * as RunState from "@settle/core/engine/RunState"
import * as Message from "@settle/core/model/Message"
import * as RunContext from "@settle/core/model/RunContext"
import * as Backend from "@settle/core/port/Backend"
import { Billed, type Compactor, type Pass } from "@settle/core/port/Compactor"
import * as Transcript from "@settle/core/port/Transcript"
import * as EstimateCounter from "@settle/core/standard/EstimateCounter"
import * as MemoryTranscript from "@settle/core/standard/MemoryTranscript"
import * as StandardCompactor from "@settle/core/standard/Compactor"
import { Counter, Recorder, Script, Tools } from "@settle/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result, Stream } from "effect"
import * as Story from "./Story.ts"

const call = Script.call
const window = (contextWindow: number) => ({ contextWindow, completionReserve: 0, inputSafetyMargin: 0 })

/** A pass that replaces everything by one short message. */
const shortened = (messages: ReadonlyArray<Message.Message>, content = "short"): Pass => ({
  messages: [Message.user(content)],
  summary: content,
  dropped: messages.length,
  cutIndex: messages.length - 1,
  tokensBefore: 1000,
  tokensAfter: content.length,
  fallback: false,
  exhausted: false,
  elisions: []
})

const idle: Compactor = {
  budget: 1000,
  needsCompaction: () => false,
  compact: () => Effect.die("not asked")
}

describe("a window alone", () => {
  it.effect("L-BUDG-01 without a budget nothing is refused, cut or summed up", () =>
    Effect.gen(function* () {
      const long = "x".repeat(20_000)
      const tools = Tools.make([Tools.tool("read", Tools.answer(long))])
      const told = yield* Story.tell({
        script: [Script.callTools(call("c1", "read")), Script.say("ok")],
        tools,
        counter: Counter.make()
      })
      assert.strictEqual(told.outcome.messages[2]?.content, long)
      assert.isUndefined(told.outcome.spent)
      assert.strictEqual(told.script.requests.length, 2)
    })
  )

  it.effect("L-BUDG-02 L-BUDG-03 contextBudget is that very window, with no margin and no reserve", () =>
    Effect.gen(function* () {
      const plan = { script: [Script.say("ok")], counter: Counter.make(), settings: { contextBudget: 5 } }
      const fits = yield* Story.tell(plan, Story.ask("12345"))
      assert.strictEqual(fits.outcome.final, "ok")
      assert.isDefined(fits.outcome.spent)
      const over = yield* Story.tell(plan, Story.ask("123456"))
      assert.strictEqual(over.outcome.reason, "context-exhausted")
      assert.strictEqual(over.script.requests.length, 0)
      assert.include(
        over.outcome.error,
        "it needs ~6 tokens (messages 6 + tools 0 + context 0 + margin 0 + reserve 0) and the window is 5"
      )
    })
  )

  it.effect("L-BUDG-02 a compactor's window is a budget too, and a given budget keeps the profiles it has", () =>
    Effect.gen(function* () {
      const compactor = { ...idle, budget: 5, compact: () => Effect.succeed({ ...shortened([]), exhausted: true }) }
      const alone = yield* Story.tell(
        { script: [Script.say("never")], counter: Counter.make(), compactor },
        Story.ask("123456")
      )
      assert.strictEqual(alone.outcome.reason, "context-exhausted")
      assert.strictEqual(alone.script.requests.length, 0)
      const beside = yield* Story.tell(
        { script: [Script.say("ok")], counter: Counter.make(), compactor, budget: { maxTotalTokens: 100 } },
        Story.ask("123456")
      )
      assert.strictEqual(beside.outcome.final, "ok")
      const merged = yield* Story.tell(
        {
          script: [Script.say("never")],
          counter: Counter.make(),
          settings: { contextBudget: 5 },
          budget: { maxTotalTokens: 100 }
        },
        Story.ask("123456")
      )
      assert.strictEqual(merged.outcome.reason, "context-exhausted")
    })
  )

  it.effect("L-BUDG-04 two windows that disagree are refused, and so is one that nobody counts for", () =>
    Effect.gen(function* () {
      const plan = { script: [], counter: Counter.make(), settings: { contextBudget: 8000 } }
      const refused = yield* Effect.flip(Story.stage({ ...plan, budget: { defaultProfile: window(16_000) } }))
      assert.strictEqual(
        refused.message,
        "contextBudget: it says 8000 tokens and the default profile of the request budget says 16000. Give one of the two, or the same window in both"
      )
      yield* Story.stage({ ...plan, budget: { defaultProfile: window(8000) } })
      const uncounted = yield* Effect.flip(Story.stage({ script: [], settings: { contextBudget: 8000 } }))
      assert.strictEqual(
        uncounted.message,
        "contextBudget: nothing counts tokens, so no request could be held to it. Give a counter"
      )
      const none = yield* Effect.flip(Story.stage({ script: [], settings: { contextBudget: 0 } }))
      assert.include(none.message, "contextBudget: 0 is not a number of tokens")
    })
  )

  it.effect("L-BUDG-05 a compactor above the smallest declared window is refused", () =>
    Effect.gen(function* () {
      const budget = { defaultProfile: window(2000), profiles: new Map([["small", window(500)]]) }
      const refused = yield* Effect.flip(Story.stage({ script: [], budget, compactor: idle }))
      assert.strictEqual(
        refused.message,
        "compactor: its budget of 1000 tokens is above the smallest declared window (500). Give the compactor that window or less"
      )
      yield* Story.stage({ script: [], budget, compactor: { ...idle, budget: 500 } })
      const both = { script: [], counter: Counter.make(), settings: { contextBudget: 999 }, compactor: idle }
      assert.include((yield* Effect.flip(Story.stage(both))).message, "the smallest declared window (999)")
    })
  )

  it.effect(
    "L-BUDG-02 L-BUDG-03 an agent counts by estimate where a window is given, and not at all where none is",
    () =>
      Effect.gen(function* () {
        const ask = (input: Agent.Input) =>
          Effect.gen(function* () {
            const script = Script.make([Script.say("ok")])
            const layer = Agent.layer(input).pipe(Layer.provide(Script.layer(script)))
            return yield* Effect.gen(function* () {
              const agent = yield* Agent.Agent
              const run = yield* agent.run("word ".repeat(500))
              const { events } = yield* Recorder.collect(run.events)
              return { outcome: yield* run.outcome, script, events }
            }).pipe(Effect.provide(layer))
          })
        const over = yield* ask({ contextBudget: 100 })
        assert.strictEqual(over.outcome.reason, "context-exhausted")
        assert.strictEqual(over.script.requests.length, 0)
        const free = yield* ask({})
        assert.strictEqual(free.outcome.final, "ok")
        const [started] = Recorder.all(free, "RoundStarted")
        assert.isUndefined(started?.tokens)
      })
  )
})

describe("the preflight in the loop", () => {
  const context = RunContext.make({ headSections: [["rules", "be kind"]] })
  const read = Tools.make([Tools.tool("read", Tools.echo)])
  const declared = Counter.make().countTools([{ ...Tools.tool("read", Tools.echo).declaration }])

  it.effect(
    "L-PRE-01 L-PRE-04 L-CTX-08 messages, tools, context and margin together with the reserve fill the window",
    () =>
      Effect.gen(function* () {
        const sum = "go".length + declared + "be kind".length
        const at = (contextWindow: number) =>
          Effect.flatMap(
            Story.stage({
              script: [Script.say("ok")],
              tools: read,
              counter: Counter.make(),
              budget: { defaultProfile: { contextWindow, completionReserve: 7, inputSafetyMargin: 3 } }
            }),
            (on) => Story.play(on, undefined, { context })
          )
        assert.strictEqual((yield* at(sum + 10)).outcome.outcome, "completed")
        const refused = yield* at(sum + 9)
        assert.strictEqual(refused.outcome.reason, "context-exhausted")
        assert.strictEqual(
          refused.outcome.attempts[0]?.error,
          `[backend 0] the request does not fit the window: it needs ~${sum + 10} tokens (messages 2 + tools ${declared} + context 7 + margin 3 + reserve 7) and the window is ${sum + 9}`
        )
      })
  )

  it.effect("L-PRE-07 L-PRE-10 a chain of a large and a small window takes whichever holds the request", () =>
    Effect.gen(function* () {
      const chain = (sizes: readonly [number, number | undefined], text: string) =>
        Effect.gen(function* () {
          const a = Script.make([Script.say("from a")], { model: "a" })
          const b = Script.make([Script.say("from b")], { model: "b" })
          const profiles = new Map([["a", window(sizes[0])]])
          if (sizes[1] !== undefined) profiles.set("b", window(sizes[1]))
          return yield* Story.tell({ scripts: [a, b], counter: Counter.make(), budget: { profiles } }, Story.ask(text))
        })
      assert.strictEqual((yield* chain([5, 50], "longer than five")).outcome.final, "from b")
      assert.strictEqual((yield* chain([50, 5], "longer than five")).outcome.final, "from a")
      assert.strictEqual((yield* chain([5, undefined], "longer than five")).outcome.final, "from b")
    })
  )

  it.effect("L-PRE-11 the reserve is the profile's, else the backend's cap, else 1024", () =>
    Effect.gen(function* () {
      const fits = (contextWindow: number, maxTokens: number | undefined, completionReserve?: number) =>
        Effect.gen(function* () {
          const script = Script.make([Script.say("ok")], maxTokens === undefined ? {} : { maxTokens })
          const profile = {
            contextWindow,
            inputSafetyMargin: 0,
            ...(completionReserve === undefined ? {} : { completionReserve })
          }
          const told = yield* Story.tell({
            scripts: [script],
            counter: Counter.make(),
            budget: { defaultProfile: profile }
          })
          return told.outcome.outcome === "completed"
        })
      assert.deepStrictEqual([yield* fits(2 + 1024, undefined), yield* fits(1 + 1024, undefined)], [true, false])
      assert.deepStrictEqual([yield* fits(2 + 100, 100), yield* fits(1 + 100, 100)], [true, false])
      assert.deepStrictEqual([yield* fits(2 + 10, 100, 10), yield* fits(1 + 10, 100, 10)], [true, false])
    })
  )

  it.effect("L-PRE-02 L-PRE-05 a skip costs the next backend none of its attempts, and every round asks again", () =>
    Effect.gen(function* () {
      const small = Script.make([Script.say("small")], { model: "small" })
      const big = Script.make(
        [Script.failWith(Script.http(503)), Script.failWith(Script.http(503)), Script.say("big")],
        {
          model: "big"
        }
      )
      const budget = { profiles: new Map([["small", window(1)]]) }
      const told = yield* Story.tell({ scripts: [small, big], counter: Counter.make(), budget }).pipe(Story.passing)
      assert.strictEqual(told.outcome.final, "big")
      assert.strictEqual(small.requests.length, 0)
    })
  )

  it.effect(
    "L-CTX-10 L-CAL-03 a forced pass aims in the units of the counter that refused, and each counter hears its own bills",
    () =>
      Effect.gen(function* () {
        const fine = Counter.make({ unit: "fine" })
        const coarse = { ...Counter.make({ unit: "coarse" }), countRequest: () => 7 }
        const targets: Array<readonly [string | undefined, number | undefined]> = []
        const a = Script.make([Script.say("ok", { usage: { promptTokens: 4, completionTokens: 1 } })], { model: "a" })
        const b = Script.make([], { model: "b" })
        const budget = {
          profiles: new Map([
            ["a", { ...window(30), counter: fine }],
            ["b", { ...window(6), counter: coarse }]
          ])
        }
        const compactor: Compactor = {
          ...idle,
          budget: 6,
          compact: (messages, target) =>
            Effect.sync(() => {
              targets.push([target?.counter.unit, target?.tokens])
              return shortened(messages)
            })
        }
        const plan = { scripts: [a, b], budget, compactor, counter: Counter.make() }
        const told = yield* Story.tell(plan, [Message.user("x".repeat(100))])
        assert.deepStrictEqual(targets, [["coarse", 6]])
        assert.strictEqual(told.outcome.final, "ok")
        assert.strictEqual(fine.reports.length, 1)
        assert.deepStrictEqual([plan.counter.reports.length, coarse.reports.length], [0, 0])
      })
  )
})

describe("the context, weighed", () => {
  /** A head whose text counts how often it is read. */
  const watched = (): { readonly context: RunContext.RunContext; readonly reads: () => number } => {
    const made = RunContext.make({ headSections: [["rules", "be kind to everybody"]] })
    let reads = 0
    const head = Object.defineProperty({ ...Message.system("") }, "content", {
      enumerable: true,
      get: () => {
        reads++
        return made.head?.content ?? ""
      }
    })
    return { context: { ...made, head }, reads: () => reads }
  }

  /** A backend that never reads its request. */
  const deaf = (replies: ReadonlyArray<Partial<Backend.Reply>>): Backend.Backend => {
    let at = 0
    const base = { text: "", toolCalls: [], partialCalls: [], warnings: [] }
    return {
      model: "deaf",
      maxTokens: undefined,
      canConstrain: false,
      stream: () =>
        Stream.suspend(() =>
          Stream.make(Backend.Chunk.Finished({ reply: { ...base, finish: "stop", ...replies[at++] } }))
        )
    }
  }

  it.effect("L-CTX-07 L-CTX-09 the context is weighed once in a run of many rounds, and is in every figure", () =>
    Effect.gen(function* () {
      const { context, reads } = watched()
      const rounds = Array.from({ length: 5 }, (_, n) => ({ toolCalls: [call(`c${n}`, "read", { n })] }))
      const figures: Array<number | undefined> = []
      const compactor: Compactor = {
        ...idle,
        budget: 100_000,
        needsCompaction: (_, tokens) => {
          figures.push(tokens)
          return false
        }
      }
      const counter = EstimateCounter.make()
      const on = yield* Story.stage({
        backends: [deaf([...rounds, { text: "done" }])],
        tools: Tools.make([Tools.tool("read", Tools.echo)]),
        counter,
        compactor,
        budget: { defaultProfile: { contextWindow: 100_000 } }
      })
      const told = yield* Story.play(on, undefined, { context })
      assert.strictEqual(told.outcome.rounds, 6)
      const tools = yield* on.tools.provider.list
      const whole = (count: number) =>
        EstimateCounter.make().countRequest({
          conversation: { messages: told.outcome.messages.slice(0, count), revision: 0 },
          ...(context.head === undefined ? {} : { head: { ...context.head } }),
          tools
        })
      // Once as a message of the request, once as a text for the terms of a refusal; never again.
      assert.strictEqual(reads(), 2)
      assert.deepStrictEqual(
        figures,
        [1, 3, 5, 7, 9, 11].map((count) => whole(count))
      )
    })
  )

  it.effect(
    "K6 L-CTX-09 L-CAL-02 a counter that learned from a bill has context and tools inside: the figure adds nothing twice",
    () =>
      Effect.gen(function* () {
        const context = RunContext.make({ headSections: [["rules", "be kind to everybody"]] })
        const figures: Array<number | undefined> = []
        const counter = EstimateCounter.make()
        const on = yield* Story.stage({
          backends: [
            deaf([
              { toolCalls: [call("c1", "read")], usage: { promptTokens: 5000, completionTokens: 10 } },
              { text: "done", usage: { promptTokens: 5020, completionTokens: 10 } }
            ])
          ],
          tools: Tools.make([Tools.tool("read", Tools.echo)]),
          counter,
          compactor: {
            ...idle,
            budget: 100_000,
            needsCompaction: (_, tokens) => {
              figures.push(tokens)
              return false
            }
          }
        })
        const told = yield* Story.play(on, undefined, { context })
        const appended = EstimateCounter.make().countMessages(told.outcome.messages.slice(1, 3))
        assert.strictEqual(figures[1], 5000 + appended)
        const [, second] = Recorder.all(told.recording, "RoundStarted")
        assert.strictEqual(second?.tokens, 5000 + appended)
      })
  )

  it.effect("L-CAL-01 another model or another catalogue forgets the bill, the same one keeps it", () =>
    Effect.gen(function* () {
      const counter = Counter.make()
      const told = yield* Story.tell({
        script: [
          Script.callTools(call("c1", "read")),
          Script.callTools(call("c2", "read")),
          Script.callTools(call("c3", "read")),
          Script.say("ok")
        ],
        tools: Tools.make([Tools.tool("read", Tools.echo)]),
        counter,
        budget: {},
        settings: { maxToolRounds: 2 }
      })
      assert.strictEqual(told.outcome.final, "ok")
      // The limit takes the tools off the fourth request: one change of the catalogue.
      assert.strictEqual(counter.invalidations, 1)
      const other = Counter.make()
      const a = Script.make([Script.failWith(Script.http(429))], { model: "a" })
      const b = Script.make([Script.say("ok")], { model: "b" })
      yield* Story.tell({ scripts: [a, b], counter: other, budget: {} })
      assert.strictEqual(other.invalidations, 1)
    })
  )

  it.effect("L-CTX-02 the wire view is made anew for each request and stored nowhere", () =>
    Effect.gen(function* () {
      const context = RunContext.make({ facts: [["date", "today"]], headSections: [["rules", "be kind"]] })
      const on = yield* Story.stage({
        script: [Script.callTools(call("c1", "read")), Script.say("ok")],
        tools: Tools.make([Tools.tool("read", Tools.echo)]),
        transcript: true
      })
      const told = yield* Story.play(on, undefined, { context })
      for (const request of on.script.requests) {
        assert.deepStrictEqual([request.head, request.tail], [context.head, context.tail])
        assert.isFalse(request.messages.some((message) => message.role === "system"))
      }
      assert.isFalse(told.outcome.messages.some((message) => message.role === "system"))
      const lines = yield* told.transcript!.lines
      const holding = lines.filter((line) => line.includes("be kind")).map((line) => JSON.parse(line).type)
      assert.deepStrictEqual(holding, ["run-context"])
    })
  )

  it.effect("L-CTX-05 a context line that cannot be written costs a log and not the run", () =>
    Effect.gen(function* () {
      const memory = yield* MemoryTranscript.make()
      const transcript: Transcript.Transcript = {
        ...memory,
        append: (drafts) =>
          drafts.some((draft) => draft.type === "run-context")
            ? Transcript.fail("append", "memory", new Transcript.WriteFailed({ detail: "no space left" }))
            : memory.append(drafts)
      }
      const on = yield* Story.stage({ script: [Script.say("ok")], transcript })
      const told = yield* Story.play(on, undefined, { context: RunContext.make({ facts: [["date", "today"]] }) })
      assert.strictEqual(told.outcome.final, "ok")
      const [log] = Recorder.all(told.recording, "Log")
      assert.strictEqual(log?.level, "error")
      assert.deepInclude(log?.data, { message: "the run context could not be recorded" })
    })
  )
})

describe("the price of a round", () => {
  const length = 1000

  /** An array that counts how often an item of it is read. */
  const counting = <A>(items: Array<A>): { readonly items: Array<A>; readonly take: () => number } => {
    let reads = 0
    return {
      items: new Proxy(items, {
        get: (target, key, receiver) => {
          if (typeof key === "string" && /^\d+$/.test(key)) reads++
          return Reflect.get(target, key, receiver)
        }
      }),
      take: () => {
        const taken = reads
        reads = 0
        return taken
      }
    }
  }

  it.effect.each([{ reports: true }, { reports: false }])(
    "L-CTX-08 L-CAL-02 a round over 1000 messages visits what it added, with bills ($reports) or without",
    ({ reports }) =>
      Effect.gen(function* () {
        const visits: Array<number> = []
        let watch: ReturnType<typeof counting<Message.Message>> | undefined
        const backend: Backend.Backend = {
          model: "watching",
          maxTokens: undefined,
          canConstrain: false,
          stream: (request) =>
            Stream.suspend(() => {
              // The loop's own array, watched from the first request on.
              const conversation: RunState.Growing = request.conversation as RunState.Growing
              if (watch === undefined) {
                watch = counting(conversation.messages)
                conversation.messages = watch.items
              } else visits.push(watch.take())
              const round = visits.length
              const done = round === 20
              const usage = { usage: { promptTokens: 30_000 + 20 * round, completionTokens: 5 } }
              return Stream.make(
                Backend.Chunk.Finished({
                  reply: {
                    text: done ? "done" : "",
                    toolCalls: done ? [] : [call(`n${round}`, "read", { round })],
                    partialCalls: [],
                    finish: "stop",
                    warnings: [],
                    ...(reports ? usage : {})
                  }
                })
              )
            })
        }
        const history = Array.from({ length }, (_, n) =>
          n % 2 === 0 ? Message.user(`q${n}`) : Message.assistant(`a${n}`)
        )
        const told = yield* Story.tell(
          {
            backends: [backend],
            tools: Tools.make([Tools.tool("read", Tools.echo)]),
            counter: EstimateCounter.make(),
            compactor: { ...idle, budget: 1_000_000 },
            budget: { defaultProfile: { contextWindow: 1_000_000 } }
          },
          history
        )
        assert.strictEqual(told.outcome.final, "done")
        // The array is another one from the first request on, so the first visit reads all of it.
        assert.isAbove(visits[0] ?? 0, length)
        const later = visits.slice(1)
        assert.strictEqual(later.length, 19)
        assert.isBelow(Math.max(...later), 100)
        assert.isAtMost(Math.max(...later) - Math.min(...later), 10)
      })
  )
})

describe("what a compaction costs", () => {
  const paid = { promptTokens: 100, completionTokens: 10, cost: 0.5 }

  it.effect("L-CAP-12 L-CAP-05 every send of a summary is billed, failed ones too", () =>
    Effect.gen(function* () {
      const summariser = Script.make([
        Script.failWith(Script.http(500), { usage: { promptTokens: 7, completionTokens: 0, cost: 0.25 } }),
        Script.say("they greeted each other", { usage: paid })
      ])
      const compactor = Result.getOrThrow(
        StandardCompactor.make(
          { budget: 2000, keepRecent: 1, triggerRatio: 0.5 },
          { counter: Counter.make(), backend: summariser.backend }
        )
      )
      const told = yield* Story.tell(
        {
          script: [Script.say("ok", { usage: { promptTokens: 20, completionTokens: 2, cost: 0.25 } })],
          counter: Counter.make(),
          compactor,
          budget: { defaultProfile: window(2000) }
        },
        [Message.user("x".repeat(850)), Message.assistant("y".repeat(200)), Message.user("go on")]
      ).pipe(Story.passing)
      assert.strictEqual(told.outcome.final, "ok")
      assert.strictEqual(summariser.requests.length, 2)
      assert.deepInclude(told.outcome.spent, { cost: 1, promptTokens: 127, completionTokens: 12, totalTokens: 139 })
    })
  )

  it.effect("L-CAP-12 a compactor that reports only with its pass is billed once all the same", () =>
    Effect.gen(function* () {
      let asked = 0
      const compactor: Compactor = {
        ...idle,
        needsCompaction: () => asked++ === 0,
        compact: (messages) =>
          Effect.gen(function* () {
            const billed = yield* Billed
            billed(paid)
            return { ...shortened(messages), usage: [paid, paid] }
          })
      }
      const told = yield* Story.tell({ script: [Script.say("ok")], compactor })
      assert.strictEqual(told.outcome.spent?.cost, 1)
    })
  )

  it.effect("L-CAP-12 L-CANC-06 a cancel in the middle of a pass keeps what was paid", () =>
    Effect.gen(function* () {
      const summariser = Script.make([Script.say("", { usage: paid }), { stall: true }])
      const compactor = Result.getOrThrow(
        StandardCompactor.make({ budget: 400, keepRecent: 1 }, { counter: Counter.make(), backend: summariser.backend })
      )
      const on = yield* Story.stage({ script: [], counter: Counter.make(), compactor })
      const told = yield* Story.play(on, [Message.user("x".repeat(390)), Message.user("go on")], {
        meanwhile: (run) => Effect.andThen(summariser.arrived(1), run.cancel)
      }).pipe(Story.passing)
      assert.strictEqual(told.outcome.outcome, "cancelled")
      assert.deepInclude(told.outcome.spent, { cost: 0.5, promptTokens: 100, completionTokens: 10 })
      assert.deepStrictEqual(Recorder.all(told.recording, "RunCancelled")[0]?.stage, "compaction")
    })
  )

  it.effect("L-CAP-01 L-CAP-02 a summary that reaches the cap ends the run at the next boundary", () =>
    Effect.gen(function* () {
      const compactor: Compactor = {
        ...idle,
        needsCompaction: (messages) => messages.length === 1,
        compact: (messages) => Effect.succeed({ ...shortened(messages), usage: [paid] })
      }
      const tools = Tools.make([Tools.tool("read", Tools.echo)])
      const told = yield* Story.tell({
        script: [Script.callTools(call("c1", "read")), Script.say("never")],
        tools,
        compactor,
        budget: { maxCost: 0.5 }
      })
      assert.strictEqual(told.outcome.reason, "budget-exhausted")
      assert.strictEqual(tools.ran.length, 1)
      assert.strictEqual(told.script.requests.length, 1)
    })
  )
})

describe("one forced pass a round", () => {
  const refused = Script.failWith(Script.http(400, "This model's maximum context length is 100 tokens"))
  const once = (passes: Array<number>): Compactor => ({
    ...idle,
    compact: (messages) =>
      Effect.sync(() => {
        passes.push(messages.length)
        return shortened(messages)
      })
  })

  it.effect("K1 L-CTXEX-04 L-400-03 an overflow by its text compacts once and the second refusal ends the run", () =>
    Effect.gen(function* () {
      const passes: Array<number> = []
      const told = yield* Story.tell({ script: [refused, refused, Script.say("never")], compactor: once(passes) })
      assert.deepStrictEqual(passes, [1])
      assert.strictEqual(told.script.requests.length, 2)
      assert.strictEqual(told.outcome.reason, "context-exhausted")
      assert.include(told.outcome.error, "it was compacted once and still does not fit")
      assert.deepStrictEqual(
        told.outcome.messages.map((message) => message.content),
        ["short"]
      )
    })
  )

  it.effect("K8 the next round may compact again, and another model is asked without one", () =>
    Effect.gen(function* () {
      const passes: Array<number> = []
      const told = yield* Story.tell({
        script: [refused, Script.callTools(call("c1", "read")), refused, Script.say("ok")],
        tools: Tools.make([Tools.tool("read", Tools.echo)]),
        compactor: once(passes)
      })
      assert.strictEqual(told.outcome.final, "ok")
      assert.deepStrictEqual(passes, [1, 3])
    })
  )

  it.effect("L-EMPTY-06 a forced compaction does not renew the extra send", () =>
    Effect.gen(function* () {
      const a = Script.make([Script.say(""), refused, Script.say(""), Script.say("never")])
      const passes: Array<number> = []
      const told = yield* Story.tell({ scripts: [a], compactor: once(passes) }).pipe(Story.passing)
      assert.deepStrictEqual(passes, [1])
      assert.strictEqual(a.requests.length, 3)
      assert.strictEqual(told.outcome.reason, "empty-completion")
      assert.include(told.outcome.error, "It was sent once more already in this round")
    })
  )

  it.effect("K3 a word that arrives while the conversation is compacted is worked on after it", () =>
    Effect.gen(function* () {
      const words: Array<string> = []
      let asked = 0
      const compactor: Compactor = {
        ...idle,
        needsCompaction: () => asked++ === 0,
        compact: (messages) =>
          Effect.sync(() => {
            words.push("and be quick")
            return shortened(messages)
          })
      }
      const told = yield* Story.tell({
        script: [Script.callTools(call("c1", "read")), Script.say("ok")],
        tools: Tools.make([Tools.tool("read", Tools.echo)]),
        compactor,
        transcript: true,
        steers: { pull: Effect.sync(() => words.splice(0)) }
      })
      assert.strictEqual(told.outcome.messages.at(-2)?.content, "and be quick")
      const lines = yield* told.transcript!.lines
      assert.isTrue(lines.some((line) => line.includes("and be quick")))
    })
  )
})

describe("two clocks", () => {
  const alive = Backend.Chunk.Alive()
  const settings = { roundTripTimeout: "10 seconds", contentTimeout: "60 seconds" } as const

  it.effect("S11 comments keep the connection alive longer than its idle limit, and the answer still comes", () =>
    Effect.gen(function* () {
      const told = yield* Story.tell({
        script: [{ chunks: [alive, alive, alive, alive, alive, "hi"], chunkDelay: "9 seconds" }],
        settings
      }).pipe(Story.passing)
      assert.strictEqual(told.outcome.final, "hi")
      assert.deepStrictEqual(told.outcome.attempts, [])
    })
  )

  it.effect("S11 an answer that only says that it lives is given up, and the text says which clock ran out", () =>
    Effect.gen(function* () {
      const pinging = {
        chunks: ["half", ...Array.from({ length: 20 }, () => alive)] as const,
        chunkDelay: "9 seconds" as const
      }
      const first = Script.make([{ ...pinging, stall: true }])
      const second = Script.make([Script.say("here")])
      const told = yield* Story.tell({ scripts: [first, second], settings }).pipe(Story.passing)
      assert.strictEqual(told.outcome.final, "here")
      assert.strictEqual(told.outcome.attempts[0]?.error, "[backend 0] no content for 60 seconds")
      assert.strictEqual(first.cancels, 1)
    })
  )

  it.effect("S11 the clock of content is 600 seconds, and never the shorter one by default", () =>
    Effect.gen(function* () {
      const on = yield* Story.stage({ script: [] })
      assert.strictEqual(on.loop.settings.contentTimeoutMs, 600_000)
      const patient = yield* Story.stage({ script: [], settings: { roundTripTimeout: "20 minutes" } })
      assert.strictEqual(patient.loop.settings.contentTimeoutMs, 1_200_000)
    })
  )
})
