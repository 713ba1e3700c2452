/**
 * A run in which a cancel, deadlines, answers, questions, steers and background reports arrive in an order drawn from the seed.
 * What must hold afterwards is checked here; what happened is answered for the test to count.
 */
import * as Message from "@settle/core/model/Message"
import * as Tool from "@settle/core/model/Tool"
import * as Bus from "@settle/core/standard/Bus"
import * as Mailbox from "@settle/core/standard/Mailbox"
import { Script, Tools, World } from "@settle/testing"
import { Clock, Effect, Random } from "effect"
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

/** Plays so many seeds; answers how many different histories they had. */
export const explore = async (options: Options, seeds: { readonly from: number; readonly count: number }) => {
  const histories = await World.seeds(seeds, (seed) => World.run(scene(options), { seed }))
  return new Set(histories).size
}
