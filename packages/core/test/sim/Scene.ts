/**
 * A run in which a cancel, deadlines, answers, questions, steers and background reports arrive in an order drawn from the seed.
 * What must hold afterwards is checked here; what happened is answered for the test to count.
 */
import * as Message from "@settle/core/model/Message"
import * as Tool from "@settle/core/model/Tool"
import * as Bus from "@settle/core/standard/Bus"
import * as Mailbox from "@settle/core/standard/Mailbox"
import * as MemoryTranscript from "@settle/core/standard/MemoryTranscript"
import { FaultyTranscript, Script, Tools, World } from "@settle/testing"
import { Clock, Effect, Exit, Fiber, Random, Scope } from "effect"
import * as Story from "../engine/Story.ts"

const call = Script.call
const between = (least: number, most: number) => Random.nextIntBetween(least, most)
const pause = (least: number, most: number) => Effect.flatMap(between(least, most), (ms) => Effect.sleep(ms))

/** Answers after a while that may be longer than the deadline. */
const slow: Tools.Act = (one) => Effect.as(pause(0, 9), Tool.answered(`slow ${one.callId}`))
const asks: Tools.Act = Tools.asking({ tool: "asks" }, Effect.as(pause(0, 30), "yes"), () => slow)
const breaks: Tools.Act = (one) => Effect.flatMap(pause(0, 6), () => Effect.die(new Error(`broke ${one.callId}`)))
const loses: Tools.Act = () => Effect.as(pause(0, 6), Tool.Answer.Lost({ message: "the server died" }))

export const tools = () =>
  Tools.make([
    Tools.tool("slow", slow),
    Tools.tool("task", slow),
    Tools.tool("stoppable", slow, { interruption: "interrupt" }),
    Tools.tool("asks", asks),
    Tools.tool("breaks", breaks),
    Tools.tool("loses", loses)
  ])

const names = ["slow", "task", "task", "stoppable", "asks", "breaks", "loses"]

const turn = (round: number) =>
  Effect.gen(function* () {
    const size = yield* between(1, 4)
    const calls: Array<Message.ToolCall> = []
    for (let i = 0; i < size; i++) {
      const name = names[yield* Random.nextIntBetween(0, names.length - 1)] ?? "slow"
      calls.push(call(`r${round}c${i}`, name, { round, i }))
    }
    return {
      content: `turn ${round}`,
      toolCalls: calls,
      delay: `${yield* between(0, 5)} millis`,
      chunkDelay: "1 millis"
    } as const
  })

export interface Options {
  readonly cancel: boolean
  readonly park: boolean
}

export const scene = ({ cancel, park }: Options) =>
  Effect.gen(function* () {
    const provider = tools()
    const mailbox = yield* Mailbox.make
    const bus = yield* Bus.make()
    if (park) yield* bus.open({ operationId: "job", kind: "job" })
    const turns = [yield* turn(1), yield* turn(2)]
    const last: Script.Step = { content: "done", delay: `${yield* between(0, 5)} millis` }
    const on = yield* Story.stage({
      script: [...turns, ...Array.from({ length: 40 }, () => last)],
      tools: provider,
      transcript: true,
      steers: mailbox.source,
      bus,
      settings: { toolDeadline: "4 millis", concurrentTools: ["task"], parkIdleTimeout: "1 hour" }
    })
    let resultAt = -1
    const told = yield* Story.play(on, undefined, {
      meanwhile: (run) =>
        Effect.gen(function* () {
          if (cancel) yield* Effect.forkChild(Effect.andThen(pause(0, 60), run.cancel))
          yield* Effect.forkChild(Effect.andThen(pause(0, 40), mailbox.offer("a steer")))
          if (park) {
            yield* Effect.forkChild(
              Effect.andThen(pause(0, 80), bus.settle("job", { report: { kind: "job-settled", body: "42" } }))
            )
          }
          yield* run.outcome
          resultAt = yield* Clock.currentTimeMillis
        })
    })
    const drainedAt = yield* Clock.currentTimeMillis
    if (drainedAt < resultAt) throw new Error("drained before the result")
    const running = provider.ran.filter((ran) => ran.end === "running")
    if (running.length > 0) throw new Error(`drained while ${running.map((ran) => ran.callId).join(", ")} still ran`)
    const settled = told.replay?.settled.map((one) => one.outcome[0]).join("") ?? ""
    const marks = told.replay?.entries.filter((entry) => entry.mark === "abandoned").length ?? 0
    return `${told.outcome.outcome} ${settled} ${marks} ${drainedAt > resultAt ? "late" : ""}`
  }).pipe(Effect.scoped)

/** A question that may be taken away with its call, or by a timer of the tool's own. */
const asksOrLeaves: Tools.Act = (one) =>
  Effect.raceFirst(asks(one), Effect.as(pause(5, 25), Tool.answered(`nobody answered ${one.callId}`)))

const stormTools = () =>
  Tools.make([
    Tools.tool("slow", slow),
    Tools.tool("task", slow),
    Tools.tool("ask", asks, { interruption: "interrupt" }),
    Tools.tool("askTask", asksOrLeaves),
    Tools.tool("bg", (one) => Effect.flatMap(pause(0, 3), () => Tools.background("started")(one))),
    Tools.tool("read", Tools.echo)
  ])

const stormNames = ["slow", "task", "task", "ask", "askTask", "askTask", "bg", "read"]

/** A turn, or the failure in its place. */
const stormStep = (round: number) =>
  Effect.gen(function* () {
    const luck = yield* between(0, 9)
    if (luck === 0) return Script.failWith(Script.http(503), { delay: "1 millis" })
    if (luck === 1) return { content: "cut", chunks: ["c", "ut"], cut: true, chunkDelay: "2 millis" } as const
    if (luck === 2) return { stall: true } as const
    if (luck === 3) return Script.say("")
    const calls: Array<Message.ToolCall> = []
    for (let i = yield* between(1, 6); i > 0; i--) {
      calls.push(call(`r${round}c${i}`, stormNames[yield* between(0, stormNames.length - 1)] ?? "slow", { round, i }))
    }
    return { content: `turn ${round}`, toolCalls: calls, delay: `${yield* between(0, 3)} millis` } as const
  })

/**
 * Everything at once: two patterns of groups, questions that are interrupted, sends that fail and back off, a limit in the middle, a
 * transcript that takes no more lines, steers and reports, and an owner that cancels, closes its scope, or does neither.
 */
export const storm = Effect.gen(function* () {
  const provider = stormTools()
  const mailbox = yield* Mailbox.make
  const bus = yield* Bus.make()
  if ((yield* between(0, 1)) === 1) yield* bus.open({ operationId: "job", kind: "job" })
  const steps: Array<Script.Entry> = []
  for (let round = 1; round <= 5; round++) steps.push(yield* stormStep(round))
  const memory = yield* MemoryTranscript.make()
  const isFaulty = (yield* between(0, 3)) === 0
  const faulty = yield* FaultyTranscript.make(
    memory,
    isFaulty ? FaultyTranscript.fail(yield* between(1, 12), 99) : undefined
  )
  const scope = yield* Scope.make()
  const staged = yield* Story.stage({
    script: [...steps, ...Array.from({ length: 60 }, () => Script.say("done"))],
    tools: provider,
    transcript: faulty.transcript,
    steers: mailbox.source,
    bus,
    settings: {
      toolDeadline: "4 millis",
      concurrentTools: ["task", "askTask"],
      maxToolCalls: yield* between(3, 12),
      maxRetries: 2,
      roundTripTimeout: "50 millis",
      backoffCap: "20 millis",
      parkIdleTimeout: "200 millis",
      closeGrace: "1 hour"
    }
  }).pipe(Effect.provideService(Scope.Scope, scope))
  const ending = yield* between(0, 2)
  const told = yield* Story.play({ ...staged, transcript: memory }, undefined, {
    meanwhile: (run) =>
      Effect.gen(function* () {
        if (ending === 0) yield* Effect.forkChild(Effect.andThen(pause(0, 90), run.cancel))
        if (ending === 1) yield* Effect.forkChild(Effect.andThen(pause(0, 90), Scope.close(scope, Exit.void)))
        yield* Effect.forkChild(Effect.andThen(pause(0, 60), mailbox.offer("a steer")))
        yield* Effect.forkChild(
          Effect.andThen(pause(0, 120), bus.settle("job", { report: { kind: "job-settled", body: "42" } }))
        )
      })
  })
  const running = provider.ran.filter((ran) => ran.end === "running")
  if (running.length > 0) throw new Error(`drained while ${running.map((ran) => ran.callId).join(", ")} still ran`)
  const pending = told.recording.events.filter((event) => event._tag === "AskPending").length
  const answered = told.recording.events.filter((event) => event._tag === "AskAnswered").length
  if (answered !== pending) throw new Error(`${answered} answers to ${pending} questions`)
  yield* Scope.close(scope, Exit.void)
  const settled = told.replay?.settled.map((one) => one.outcome[0]).join("") ?? ""
  return `${told.outcome.outcome} ${told.outcome.reason ?? ""} ${settled} ${answered}/${pending}`
}).pipe(Effect.scoped)

/** A scope that closes in the moment a run begins: the run is refused, or it is cancelled; a model that never answers holds nobody. */
export const closing = Effect.gen(function* () {
  const scope = yield* Scope.make()
  const on = yield* Story.stage({ script: [{ stall: true }] }).pipe(Effect.provideService(Scope.Scope, scope))
  const owner = yield* Effect.forkChild(Scope.close(scope, Exit.void))
  const started = yield* Effect.result(on.loop.run(Story.ask()))
  yield* Fiber.join(owner)
  if (started._tag === "Failure") return started.failure.reason._tag
  const { outcome } = yield* started.success.outcome
  yield* started.success.drained
  return outcome
}).pipe(Effect.scoped)

/** Plays so many seeds of a scene; answers how many different histories they had. */
export const exploreAll = async (
  played: Effect.Effect<string, unknown>,
  seeds: { readonly from: number; readonly count: number }
) => {
  const histories = await World.seeds(seeds, (seed) => World.run(played, { seed }))
  return new Set(histories).size
}

export const explore = (options: Options, seeds: { readonly from: number; readonly count: number }) =>
  exploreAll(scene(options), seeds)
