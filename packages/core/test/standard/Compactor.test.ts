import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import * as Conversation from "../../src/model/Conversation.ts"
import * as Message from "../../src/model/Message.ts"
import * as Replay from "../../src/model/Replay.ts"
import * as TranscriptLine from "../../src/model/TranscriptLine.ts"
import * as Backend from "../../src/port/Backend.ts"
import * as Port from "../../src/port/Compactor.ts"
import * as Aging from "../../src/standard/Aging.ts"
import * as Compactor from "../../src/standard/Compactor.ts"
import * as EstimateCounter from "../../src/standard/EstimateCounter.ts"
import * as Trim from "../../src/standard/Trim.ts"

const words = (count: number, word = "word") => Array.from({ length: count }, () => word).join(" ")
const call = (id: string, name = "fs_read", args = "{}"): Message.ToolCall => ({ id, name, arguments: args })

type Script = Partial<Backend.Reply> | Backend.BackendError | "hang" | "unfinished"

/** A backend that plays its script, then repeats the last entry, and keeps what it was sent. */
const scripted = (...script: ReadonlyArray<Script>) => {
  const requests: Array<Backend.Request> = []
  const stream = (request: Backend.Request): Stream.Stream<Backend.Chunk, Backend.BackendError> => {
    requests.push(request)
    const step = script[Math.min(requests.length, script.length) - 1] ?? {}
    if (step === "hang") {
      return Stream.concat(Stream.make(Backend.Chunk.Text({ text: "so" })), Stream.fromEffect(Effect.never))
    }
    if (step === "unfinished") return Stream.make(Backend.Chunk.Text({ text: "half" }))
    if (step instanceof Backend.BackendError) return Stream.fail(step)
    const reply = { text: "", toolCalls: [], partialCalls: [], finish: "stop" as const, warnings: [], ...step }
    return Stream.make(
      Backend.Chunk.Alive(),
      Backend.Chunk.Text({ text: reply.text }),
      Backend.Chunk.Finished({ reply })
    )
  }
  const backend: Backend.Backend = { model: "s", maxTokens: undefined, canConstrain: false, stream }
  return { backend, requests }
}

const refused = (status: number, detail = "no", retryAfterMs?: number) =>
  new Backend.BackendError({
    reason: new Backend.Refused({
      status,
      detail,
      inStream: false,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs })
    })
  })

const build = (options: Partial<Compactor.Options>, backend?: Backend.Backend, counter = EstimateCounter.make()) =>
  Result.getOrThrow(Compactor.make({ budget: 2000, keepRecent: 2, ...options }, { counter, backend }))

const weigh = (messages: ReadonlyArray<Message.Message>) => EstimateCounter.make().countMessages(messages)

/** Ten turns of about 169 tokens each: over the trigger of a budget of 2000. */
const history = (turns = 10) => [
  { ...Message.system("you are an agent"), sticky: true },
  ...Array.from({ length: turns }, (_, n) => Message.user(`${n} ${words(160)}`))
]

/** Started before the clock moves: a wait it begins is then a wait of the test's clock. */
const start = <A>(effect: Effect.Effect<A>) => Effect.forkChild(effect, { startImmediately: true })

const contents = (request: Backend.Request | undefined) =>
  (request?.conversation.messages ?? []).map((message) => message.content).join("\n")

describe("Compactor settings", () => {
  it("L-GEN-09 refuses what cannot be, naming the setting", () => {
    const refusal = (options: Partial<Compactor.Options>) =>
      Result.match(
        Compactor.make({ budget: 1000, ...options }, { counter: EstimateCounter.make(), backend: undefined }),
        { onFailure: (error) => error.message, onSuccess: () => "accepted" }
      )
    assert.strictEqual(refusal({}), "accepted")
    assert.strictEqual(refusal({ budget: 0 }), "compaction.budget: 0 is not above zero. Give the window in tokens")
    assert.include(refusal({ triggerRatio: 1.2 }), "compaction.triggerRatio")
    assert.include(refusal({ targetRatio: 0.8 }), "compaction.targetRatio: 0.8 is not within 0 and the trigger of 0.8")
    assert.include(refusal({ keepRecent: 1.5 }), "compaction.keepRecent")
  })

  it("L-ROUND-07 L-ROUND-08 a pass is due above the trigger, weighed whole where the caller did", () => {
    const self = build({})
    assert.isFalse(self.needsCompaction(history(1), 1600))
    assert.isTrue(self.needsCompaction(history(1), 1601))
    assert.isFalse(self.needsCompaction(history(1), undefined))
    assert.isTrue(self.needsCompaction(history(10), undefined))
  })

  it.effect("L-GEN-07 the layer takes the first backend of the chain, and without it there is no compactor", () =>
    Effect.gen(function* () {
      assert.isUndefined(yield* Port.Compactor)
      const first = scripted({ text: "short" })
      const second = scripted({ text: "never" })
      const pass = yield* Effect.gen(function* () {
        const self = yield* Port.Compactor
        return self === undefined ? undefined : yield* self.compact(history(), undefined)
      }).pipe(
        Effect.provide(
          Compactor.layer({ budget: 2000 }).pipe(
            Layer.provide(Layer.succeed(Backend.Backends, { chain: [first.backend, second.backend] }))
          )
        )
      )
      assert.isTrue(pass?.summary?.endsWith("short"))
      assert.strictEqual(second.requests.length, 0)
    })
  )
})

describe("Compactor pass", () => {
  it.effect("L-ROUND-09 replaces the old turns by one summary and keeps sticky and recent messages", () =>
    Effect.gen(function* () {
      const { backend, requests } = scripted({ text: " the story so far \n", usage: { totalTokens: 9 } })
      const messages = history()
      const pass = yield* build({}, backend).compact(messages, undefined)
      assert.deepStrictEqual(pass.messages, [
        ...messages.slice(0, 1),
        Message.user(`${Trim.header}\nthe story so far`),
        ...messages.slice(-2)
      ])
      assert.strictEqual(pass.summary, `${Trim.header}\nthe story so far`)
      assert.strictEqual(pass.dropped, 8)
      assert.strictEqual(pass.cutIndex, 8)
      assert.strictEqual(pass.tokensBefore, weigh(messages))
      assert.strictEqual(pass.tokensAfter, weigh(pass.messages))
      assert.deepStrictEqual([pass.fallback, pass.exhausted, pass.elisions.length], [false, false, 0])
      assert.deepStrictEqual(pass.usage, [{ totalTokens: 9 }])
      assert.strictEqual(requests.length, 1)
      assert.deepStrictEqual(requests[0]?.tools, [])
      assert.include(contents(requests[0]), "<transcript>\n[user]\n0 word")
      assert.notInclude(contents(requests[0]), "you are an agent")
      assert.notInclude(contents(requests[0]), "[user]\n9 word")
    })
  )

  it.effect("L-ROUND-09 nothing to replace is no pass: nobody is asked, and only a full room is exhausted", () =>
    Effect.gen(function* () {
      const { backend, requests } = scripted({ text: "x" })
      const self = build({ keepRecent: 20 }, backend)
      const messages = history(5)
      const quiet = yield* self.compact(messages, undefined)
      assert.deepStrictEqual([quiet.cutIndex, quiet.dropped, quiet.exhausted], [-1, 0, false])
      assert.strictEqual(quiet.messages, messages)
      const over = yield* self.compact(history(12), undefined)
      assert.isTrue(over.exhausted)
      const forced = yield* self.compact(messages, { tokens: 100, counter: EstimateCounter.make() })
      assert.isTrue(forced.exhausted)
      assert.strictEqual(requests.length, 0)
    })
  )

  it.effect("L-CTXEX-01 L-CTXEX-02 recent turns that fill the window exhaust it, and what was achieved is kept", () =>
    Effect.gen(function* () {
      const { backend } = scripted({ text: "short" })
      const messages = [...history(8), Message.user(words(3000)), Message.user("and?")]
      const pass = yield* build({}, backend).compact(messages, undefined)
      assert.isTrue(pass.exhausted)
      assert.strictEqual(pass.dropped, 8)
      assert.isBelow(pass.tokensAfter, pass.tokensBefore)
    })
  )

  it.effect("K1 a summary as long as before gets one shorter try, then a trim; never a third", () =>
    Effect.gen(function* () {
      const { backend, requests } = scripted({ text: words(5000) }, { text: words(4000) })
      const pass = yield* build({}, backend).compact(history(), undefined)
      assert.strictEqual(requests.length, 2)
      assert.notInclude(contents(requests[0]), "much shorter")
      assert.include(contents(requests[1]), "much shorter")
      assert.deepStrictEqual([pass.fallback, pass.exhausted], [true, false])
      assert.strictEqual(pass.summary, Trim.unsummarised(pass.dropped))
      assert.isAtMost(pass.tokensAfter, 800)
    })
  )

  it.effect("K1 the shorter try is taken when it is smaller, and the bill has both", () =>
    Effect.gen(function* () {
      const { backend } = scripted(
        { text: words(5000), usage: { totalTokens: 1 } },
        { text: "short", usage: { totalTokens: 2 } }
      )
      const pass = yield* build({}, backend).compact(history(), undefined)
      assert.isFalse(pass.fallback)
      assert.deepStrictEqual(pass.usage, [{ totalTokens: 1 }, { totalTokens: 2 }])
    })
  )

  it.effect("K1 a pass that cannot shrink says exhausted and changes nothing", () =>
    Effect.gen(function* () {
      const { backend } = scripted({ text: words(5000) })
      const messages = [Message.user(words(60)), ...history(0), Message.user(words(3000)), Message.user("now?")]
      const pass = yield* build({}, backend).compact(messages, { tokens: 50, counter: EstimateCounter.make() })
      assert.isTrue(pass.exhausted)
      assert.isAtMost(pass.tokensAfter, pass.tokensBefore)
    })
  )

  it.effect("K1 earlier summaries alone are not summarised again, unless the pass is forced", () =>
    Effect.gen(function* () {
      const { backend, requests } = scripted({ text: "shorter" })
      const messages = [Message.user(Trim.summarised(words(200))), Message.user(words(500)), Message.user(words(300))]
      const self = build({}, backend)
      const quiet = yield* self.compact(messages, undefined)
      assert.deepStrictEqual([quiet.cutIndex, requests.length], [-1, 0])
      const forced = yield* self.compact(messages, { tokens: 900, counter: EstimateCounter.make() })
      assert.deepStrictEqual([forced.cutIndex, requests.length, forced.exhausted], [0, 1, false])
    })
  )

  it.effect("L-PRE-08 L-CTX-10 a forced pass reaches its target in the units of its own counter", () =>
    Effect.gen(function* () {
      const characters = { ...EstimateCounter.make(), unit: "characters" }
      const counter = {
        ...characters,
        countText: (text: string) => text.length,
        countMessages: (messages: ReadonlyArray<Message.Message>) =>
          messages.reduce((sum, message) => sum + message.content.length, 0)
      }
      const { backend, requests } = scripted({ text: words(150) }, { text: words(120) })
      const messages = history()
      const pass = yield* build({}, backend).compact(messages, { tokens: 2200, counter })
      assert.strictEqual(pass.tokensBefore, counter.countMessages(messages))
      assert.strictEqual(pass.tokensAfter, counter.countMessages(pass.messages))
      assert.isAtMost(pass.tokensAfter, 2200)
      assert.isTrue(pass.fallback, "749 and 599 characters of summary are over the target")
      assert.strictEqual(requests.length, 2)
      assert.isFalse(pass.exhausted)
    })
  )

  it.effect("K4 a cut, filtered, empty or endless summary is asked for again, then the old turns are trimmed", () =>
    Effect.gen(function* () {
      const { backend, requests } = scripted(
        { text: "half a summ", finish: "length" },
        { text: "  " },
        { text: "no", finish: "content-filter" }
      )
      const fiber = yield* start(build({}, backend).compact(history(), undefined))
      yield* TestClock.adjust("10 seconds")
      const pass = yield* Fiber.join(fiber)
      assert.strictEqual(requests.length, 3)
      assert.deepStrictEqual([pass.fallback, pass.exhausted], [true, false])
      assert.isFalse(pass.messages.some((message) => message.content.includes("half a summ")))
      assert.isTrue(Conversation.isWellFormed(pass.messages))
    })
  )

  it.effect("K4 a body that just stops is tried again and can still succeed", () =>
    Effect.gen(function* () {
      const { backend, requests } = scripted("unfinished", refused(503), { text: "short" })
      const fiber = yield* start(build({}, backend).compact(history(), undefined))
      yield* TestClock.adjust("900 millis")
      assert.strictEqual(requests.length, 1, "the wait is served")
      yield* TestClock.adjust("10 seconds")
      const pass = yield* Fiber.join(fiber)
      assert.strictEqual(requests.length, 3)
      assert.isFalse(pass.fallback)
    })
  )

  it.effect("F11 F12 L-FAIL-02 a refusal that stays one is not asked again: straight to the trim", () =>
    Effect.gen(function* () {
      for (const error of [refused(401), refused(400, "prompt is too long"), refused(429, "slow down", 3_600_000)]) {
        const { backend, requests } = scripted(error)
        const pass = yield* build({}, backend).compact(history(), undefined)
        assert.deepStrictEqual([requests.length, pass.fallback], [1, true])
      }
    })
  )

  it.effect("L-TIME-01 a summary that falls silent is given up", () =>
    Effect.gen(function* () {
      const { backend, requests } = scripted("hang")
      const fiber = yield* start(build({ maxAttempts: 1 }, backend).compact(history(), undefined))
      yield* TestClock.adjust("119 seconds")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("2 seconds")
      const pass = yield* Fiber.join(fiber)
      assert.deepStrictEqual([requests.length, pass.fallback], [1, true])
    })
  )

  it.effect("L-CANC-04 interruption ends a pass at once, in a wait too", () =>
    Effect.gen(function* () {
      const { backend } = scripted(refused(503))
      const fiber = yield* start(build({}, backend).compact(history(), undefined))
      yield* TestClock.adjust("100 millis")
      yield* Fiber.interrupt(fiber)
      const exit = yield* Fiber.await(fiber)
      assert.isTrue(Exit.isFailure(exit))
    })
  )

  it.effect("K5 a history larger than the window is summarised in pieces that fit, each on the last", () =>
    Effect.gen(function* () {
      const { backend, requests } = scripted({ text: "part one" }, { text: "part two" }, { text: "all parts" })
      const pass = yield* build({ budget: 1000 }, backend).compact(history(8), undefined)
      assert.isAbove(requests.length, 1)
      for (const request of requests) assert.isAtMost(weigh(request.conversation.messages), 1000)
      assert.include(contents(requests[1]), "<summary-so-far>\npart one\n</summary-so-far>")
      assert.isFalse(pass.fallback)
    })
  )

  it.effect("K5 huge results and turns are bounded for the summariser, saying by how much", () =>
    Effect.gen(function* () {
      const { backend, requests } = scripted({ text: "short" })
      const messages = [
        Message.user(`read it </transcript> ${words(3000)}`),
        Message.assistant("", [call("c1", "fs_read", `{"path":"${"p".repeat(5000)}"}`)]),
        Message.tool("c1", "r".repeat(400_000)),
        Message.assistant("done"),
        Message.user("and now?")
      ]
      const pass = yield* build({ budget: 4000 }, backend).compact(messages, undefined)
      assert.isFalse(pass.fallback)
      const sent = requests.map(contents).join("\n")
      assert.include(sent, "[result of fs_read]")
      assert.include(sent, "[... 398000 characters removed ...]")
      assert.include(sent, "< /transcript>", "a text cannot close its block")
      for (const request of requests) assert.isAtMost(weigh(request.conversation.messages), 4000)
    })
  )

  it.effect("K5 a history of too many pieces costs nothing and is trimmed", () =>
    Effect.gen(function* () {
      const { backend, requests } = scripted({ text: "short" })
      const pass = yield* build({ budget: 400 }, backend).compact(history(40), undefined)
      assert.strictEqual(requests.length, 0)
      assert.isTrue(pass.fallback)
    })
  )

  it.effect("K6 a bill for the old conversation says nothing of the new one", () =>
    Effect.gen(function* () {
      const counter = EstimateCounter.make()
      const messages = history()
      counter.recordUsage({
        model: "m",
        promptTokens: 100_000,
        completionTokens: 1,
        messageCount: messages.length,
        prefixDigest: ""
      })
      const { backend } = scripted({ text: "short" })
      const self = build({}, backend, counter)
      assert.isTrue(self.needsCompaction(messages, undefined))
      const pass = yield* self.compact(messages, undefined)
      assert.strictEqual(pass.tokensBefore, weigh(messages))
      assert.isFalse(self.needsCompaction(pass.messages, undefined), "it does not compact again at once")
    })
  )

  it.effect("L-ROUND-09 without a backend a pass trims to its target, oldest first and no more than it must", () =>
    Effect.gen(function* () {
      const messages = history()
      const pass = yield* build({}).compact(messages, undefined)
      assert.isTrue(pass.fallback)
      assert.isAtMost(pass.tokensAfter, 800)
      const one = Trim.replace(messages, pass.cutIndex, Trim.unsummarised(pass.dropped - 1))
      assert.isAbove(weigh(one), 800, "one message less would not do")
      assert.deepStrictEqual(pass.messages[0], messages[0])
    })
  )
})

describe("Aging", () => {
  const settings: Aging.Settings = { minChars: 100, reclaimMin: 500 }
  const turn = (id: string, path: string, content: string) => [
    Message.assistant("", [call(id, "fs_read", `{"path":"${path}"}`)]),
    Message.tool(id, content)
  ]
  const long = "x".repeat(300)

  it("L-ROUTE-32 elides old answers, and leaves users, short ones and the newest of a call alone", () => {
    const messages = [
      ...turn("c1", "a", long),
      ...turn("c2", "b", "short"),
      Message.user(long),
      ...turn("c3", "a", long),
      Message.user("y".repeat(600))
    ]
    const items = Aging.elisions(messages, messages.length - 1, settings)
    assert.deepStrictEqual(items, [{ index: 1, stub: Aging.stub(300, "fs_read") }])
    assert.strictEqual(
      items[0]?.stub,
      "[Elided by the harness: a result of 300 characters from fs_read. Call the tool again if it is needed.]"
    )
    const aged = Aging.apply(messages, items)
    assert.strictEqual(aged[1]?.content, items[0]?.stub)
    assert.strictEqual(aged[1]?.toolCallId, "c1")
    assert.strictEqual(Aging.reclaimed(messages, items), 300 - (items[0]?.stub.length ?? 0))
    assert.deepStrictEqual(Aging.elisions(aged, aged.length - 1, settings), [], "a stub is never elided again")
  })

  it("L-IDENT-02 knows the same call by its canonical arguments", () => {
    const messages = [
      Message.assistant("", [call("c1", "q", '{"a":1,"b":2}')]),
      Message.tool("c1", long),
      Message.assistant("", [call("c2", "q", '{"b":2,"a":1}')]),
      Message.tool("c2", long)
    ]
    assert.deepStrictEqual(
      Aging.elisions(messages, 4, settings).map((item) => item.index),
      [1]
    )
  })

  it("L-ROUTE-32 a long answer goes only when enough came after it, and never a sticky one", () => {
    const sticky = [Message.assistant("", [call("s")]), { ...Message.tool("s", long), sticky: true }]
    const after = (chars: number) => [...turn("c1", "a", long), ...sticky, Message.user("y".repeat(chars))]
    const indexes = (chars: number) => Aging.elisions(after(chars), 4, settings).map((item) => item.index)
    assert.deepStrictEqual(indexes(199), [])
    assert.deepStrictEqual(indexes(200), [1])
  })

  it.effect("L-ROUND-09 ages first and asks nobody when that is enough", () =>
    Effect.gen(function* () {
      const { backend, requests } = scripted({ text: "x" })
      const self = build({ ageObservations: true, ageMinChars: 100, ageReclaimMin: 500 }, backend)
      const messages = [
        ...turn("c1", "a", words(300)),
        ...turn("c2", "b", words(300)),
        ...turn("c3", "c", words(200)),
        Message.user("go"),
        Message.user("on")
      ]
      assert.isTrue(self.needsCompaction(messages, 1), "reclaimable results are a reason of their own")
      const pass = yield* self.compact(messages, undefined)
      assert.strictEqual(requests.length, 0)
      assert.deepStrictEqual([pass.dropped, pass.cutIndex, pass.summary, pass.fallback], [0, -1, undefined, false])
      assert.deepStrictEqual(
        pass.elisions.map((item) => item.index),
        [1, 3]
      )
      assert.isBelow(pass.tokensAfter, pass.tokensBefore)
      assert.isFalse(self.needsCompaction(pass.messages, 1))
    })
  )

  it.effect(
    "L-ROUND-09 a trim reports the elisions that survive it, and the lines replay to the same conversation",
    () =>
      Effect.gen(function* () {
        const self = build({ ageObservations: true, ageMinChars: 100, ageReclaimMin: 500, budget: 1500, keepRecent: 1 })
        const image: Message.Part = { _tag: "Image", mimeType: "image/png", data: "aaaa" }
        const messages = [
          { ...Message.system("sticky"), sticky: true },
          ...turn("c0", "z", words(300)),
          Message.user(words(900)),
          Message.user(words(500)),
          ...turn("c1", "a", words(300)).map((m) => (m.role === "tool" ? { ...m, parts: [image] } : m)),
          Message.user(words(500))
        ]
        const pass = yield* self.compact(messages, { tokens: 1150, counter: EstimateCounter.make() })
        assert.strictEqual(pass.cutIndex, 3)
        assert.deepStrictEqual(
          pass.elisions.map((item) => item.index),
          [6]
        )
        const lines: ReadonlyArray<TranscriptLine.Draft> = [
          ...messages.map((message) => ({ type: "message" as const, message, extras: {} })),
          {
            type: "elision",
            payload: { items: pass.elisions.map(({ index, stub }) => ({ id: `m${index}`, stub })) }
          },
          {
            type: "compaction",
            payload: { summary: pass.summary ?? "", replacesThroughId: `m${pass.cutIndex}`, fallback: pass.fallback }
          }
        ]
        const replay = Replay.fromLines(lines.map((line, n) => TranscriptLine.encode(line, `m${n}`, 0)))
        assert.deepStrictEqual(replay.faults, [])
        assert.deepStrictEqual(Replay.messages(replay), pass.messages)
      })
  )
})

const Step = Schema.Struct({
  kind: Schema.Literals(["user", "assistant", "calls", "sticky", "sticky-call"]),
  calls: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3 })),
  size: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 60 }))
})

const conversation = (steps: ReadonlyArray<typeof Step.Type>): ReadonlyArray<Message.Message> =>
  steps.flatMap((step, n): ReadonlyArray<Message.Message> => {
    const text = words(step.size)
    const ids = Array.from({ length: step.calls }, (_, k) => `c${n}.${k}`)
    const asked = Message.assistant(
      text,
      ids.map((id) => call(id))
    )
    switch (step.kind) {
      case "user":
        return [Message.user(text)]
      case "assistant":
        return [Message.assistant(text)]
      case "sticky":
        return [{ ...Message.system(text), sticky: true }]
      case "calls":
        return [asked, ...ids.map((id) => Message.tool(id, text))]
      case "sticky-call":
        return [{ ...asked, sticky: true }, ...ids.map((id) => Message.tool(id, text))]
    }
  })

describe("Compactor properties", () => {
  const arbitrary = {
    steps: Schema.Array(Step),
    keepRecent: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 6 })),
    target: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 800 })),
    forced: Schema.Boolean,
    summary: Schema.Literals(["", "short", words(40), words(500)]),
    age: Schema.Boolean
  }

  it.effect.prop(
    "K2 L-LIM-04 no pass orphans a tool message, loses a sticky one, touches a recent one or grows",
    arbitrary,
    ({ age, forced, keepRecent, steps, summary, target }) =>
      Effect.gen(function* () {
        const messages = conversation(steps)
        const { backend } = scripted({ text: summary })
        const self = build(
          { budget: 600, keepRecent, maxAttempts: 1, ageObservations: age, ageMinChars: 20, ageReclaimMin: 60 },
          backend
        )
        let pass = yield* self.compact(
          messages,
          forced ? { tokens: target, counter: EstimateCounter.make() } : undefined
        )
        for (let again = 0; again < 2; again++) {
          assert.isTrue(Conversation.isWellFormed(pass.messages))
          const sticky = pass.messages.filter(Message.isSticky)
          assert.deepStrictEqual(sticky, messages.filter(Message.isSticky))
          const kept = Math.min(keepRecent, messages.length)
          assert.deepStrictEqual(
            pass.messages.slice(pass.messages.length - kept),
            messages.slice(messages.length - kept)
          )
          assert.isAtMost(pass.tokensAfter, pass.tokensBefore)
          if (pass.cutIndex >= 0 || pass.elisions.length > 0) assert.isBelow(pass.tokensAfter, pass.tokensBefore)
          if (forced && again === 0 && !pass.exhausted) assert.isAtMost(pass.tokensAfter, target)
          pass = yield* self.compact(pass.messages, undefined)
        }
      }),
    { arbitrary: { runs: 300 } }
  )

  it.prop(
    "K2 every cut lies between closed steps",
    { steps: Schema.Array(Step), keepRecent: arbitrary.keepRecent },
    ({ keepRecent, steps }) => {
      const messages = conversation(steps)
      for (const cut of Trim.cuts(messages, messages.length)) {
        assert.isTrue(Conversation.isWellFormed(Trim.replace(messages, cut, "stand-in")))
      }
      assert.isAtMost(Trim.middle(messages, keepRecent), Math.max(0, messages.length - keepRecent))
    }
  )

  it("L-ROUND-06 trims a conversation of 20000 messages without going quadratic", () => {
    const messages = Array.from({ length: 20_000 }, (_, n) => Message.user(`turn ${n}`))
    const weight = () => 10
    const made = Trim.trim(messages, { limit: 19_990, tokens: 200, weigh: weight })
    assert.strictEqual(made?.messages.length, 20)
  })
})

describe("Compactor time", () => {
  it.effect("L-FAIL-07 waits between the sends of a summary as a chain would", () =>
    Effect.gen(function* () {
      const { backend, requests } = scripted(refused(500))
      const fiber = yield* start(build({ maxAttempts: 3 }, backend).compact(history(), undefined))
      yield* TestClock.adjust(Duration.millis(999))
      assert.strictEqual(requests.length, 1)
      yield* TestClock.adjust(Duration.millis(501))
      assert.strictEqual(requests.length, 2)
      yield* TestClock.adjust(Duration.millis(2500))
      assert.strictEqual(requests.length, 3)
      yield* Fiber.join(fiber)
    })
  )
})
