/**
 * A tool provider that knows what really ran: which call began when, and how it ended. A transcript's claims are checked
 * against it.
 *
 * T1. A call is recorded the moment it begins, before anything it does; one that is never handed over is never recorded.
 * T2. The record goes on after the run has stopped waiting: a detached call ends in it when it ends.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Cause from "effect/Cause"
import * as Layer from "effect/Layer"
import type * as Grant from "@settle/core/model/Grant"
import type * as Json from "@settle/core/model/Json"
import * as Tool from "@settle/core/model/Tool"
import * as CallScope from "@settle/core/port/CallScope"
import * as ToolProvider from "@settle/core/port/ToolProvider"

/** How a call that began has ended. `running` may last for ever. */
export type End = "running" | "answered" | "errored" | "lost" | "not-accepted" | "missing" | "interrupted" | "died"

/** One call that began. Times are milliseconds of the test's clock. */
export interface Ran extends Tool.Invocation {
  /** Which `execute` it came with, from 0. */
  readonly batch: number
  readonly startedAt: number
  readonly finishedAt: number | undefined
  readonly end: End
}

/** The answer list of the batch stops before this call. */
export const tooFew: unique symbol = Symbol.for("@settle/testing/Tools/tooFew")
export type Given = Tool.Answer | string | undefined | typeof tooFew

/** What a tool does with a call. `CallScope` is in its context. */
export type Act = (invocation: Tool.Invocation) => Effect.Effect<Given>

export interface Entry {
  readonly declaration: Tool.Declaration
  readonly act: Act
}

type Answered = Extract<Tool.Answer, { readonly _tag: "Answered" }>
type More = Partial<Omit<Answered, "_tag" | "content" | "isError">>

const always =
  (given: Given): Act =>
  () =>
    Effect.succeed(given)

export const answer = (content: string, more: More = {}): Act =>
  always(Tool.Answer.Answered({ content, isError: false, ...more }))
export const error = (content: string, more: More = {}): Act =>
  always(Tool.Answer.Answered({ content, isError: true, ...more }))
/** Answers with its own arguments. */
export const echo: Act = (invocation) => Effect.succeed(Tool.answered(invocation.arguments))
/** Acknowledges work that goes on behind the answer. */
export const background = (content: string): Act => answer(content, { background: true })
/** A bare string where an answer belongs. */
export const bare = (content: string): Act => always(content)
/** No entry for this call; those behind it keep their places. */
export const missing: Act = always(undefined)
/** The answers of the batch end before this call. */
export const short: Act = always(tooFew)
export const lost = (message: string): Act => always(Tool.Answer.Lost({ message }))
export const notAccepted = (message: string): Act => always(Tool.Answer.NotAccepted({ message }))
export const never: Act = () => Effect.never
/** Throws. */
export const die =
  (defect: unknown): Act =>
  () =>
    Effect.die(defect)

/** Waits, then acts. */
export const after =
  (wait: Duration.Input, act: Act): Act =>
  (invocation) =>
    Effect.andThen(Effect.sleep(wait), act(invocation))

/** The n-th call gets the n-th act; the last one stays. */
export const sequence = (first: Act, ...rest: ReadonlyArray<Act>): Act => {
  let calls = 0
  const acts = [first, ...rest]
  return (invocation) => Effect.suspend(() => (acts[Math.min(calls++, acts.length - 1)] ?? first)(invocation))
}

/** Asks through the call's scope, then acts on the answer. */
export const asking =
  (request: Json.JsonObject, ask: Effect.Effect<Json.Json>, then: (answer: Json.Json) => Act): Act =>
  (invocation) =>
    Effect.gen(function* () {
      const scope = yield* CallScope.CallScope
      return yield* then(yield* scope.asking(request, ask))(invocation)
    })

/** Reports progress of its own call, then acts. */
export const progressing =
  (notes: ReadonlyArray<Omit<CallScope.Progress, "callId">>, act: Act): Act =>
  (invocation) =>
    Effect.gen(function* () {
      const scope = yield* CallScope.CallScope
      for (const note of notes) yield* scope.progress({ ...note, callId: invocation.callId })
      return yield* act(invocation)
    })

/** Logs through the call's scope, then acts. */
export const logging =
  (level: CallScope.LogLevel, data: Json.Json, act: Act): Act =>
  (invocation) =>
    Effect.gen(function* () {
      const scope = yield* CallScope.CallScope
      yield* scope.log(level, invocation.name, data)
      return yield* act(invocation)
    })

export const tool = (name: string, act: Act, more: Partial<Omit<Tool.Declaration, "name">> = {}): Entry => ({
  declaration: { name, description: `does ${name}`, parameters: { type: "object" }, ...more },
  act
})

export interface Options {
  /** The snapshot it starts with; without it the provider keeps no grants. */
  readonly grants?: Grant.Snapshot
  /** True: `probe` tells the truth from the record. Default: there is no probe. */
  readonly probe?: boolean
  /** How the calls of one batch run. Default `unbounded`: side by side. */
  readonly concurrency?: number | "unbounded"
}

export interface Tools {
  readonly provider: ToolProvider.ToolProvider
  /** Every call that began, in the order they began. */
  readonly ran: ReadonlyArray<Ran>
  /** Every batch handed over, as it was. */
  readonly batches: ReadonlyArray<ReadonlyArray<Tool.Invocation>>
  /** How often the catalogue was listed. */
  readonly listings: number
  readonly setCatalogue: (entries: ReadonlyArray<Entry>) => void
  /** Makes `list` fail with this text; `undefined` heals it. */
  readonly failListing: (detail: string | undefined) => void
  /** Replaces the snapshot. An act that grants calls it and then the scope's `grantsChanged`. */
  readonly setGrants: (snapshot: Grant.Snapshot) => void
  /** Completes when call number `index`, from 0, has begun. */
  readonly began: (index: number) => Effect.Effect<Ran>
}

export const make = (entries: ReadonlyArray<Entry>, options: Options = {}): Tools => {
  const record = makeRecord()
  const batches: Array<ReadonlyArray<Tool.Invocation>> = []
  let catalogue = catalogueOf(entries)
  let listings = 0
  let problem: string | undefined
  let grants = options.grants ?? []

  const list = Effect.suspend(() => {
    listings++
    return problem === undefined
      ? Effect.succeed(catalogue.declarations)
      : Effect.fail(new ToolProvider.ToolProviderError({ provider: "testing", detail: problem }))
  })
  const execute: ToolProvider.ToolProvider["execute"] = (batch) =>
    Effect.suspend(() => {
      const number = batches.push([...batch]) - 1
      const acts = catalogue.acts
      return Effect.map(
        Effect.forEach(
          batch,
          (invocation) => record.run(invocation, number, acts.get(invocation.name) ?? unknown(invocation.name)),
          { concurrency: options.concurrency ?? "unbounded" }
        ),
        untilShort
      )
    })
  return {
    ran: record.ran,
    batches,
    get listings() {
      return listings
    },
    began: record.began,
    setCatalogue: (next) => void (catalogue = catalogueOf(next)),
    failListing: (detail) => void (problem = detail),
    setGrants: (snapshot) => void (grants = snapshot),
    provider: {
      list,
      execute,
      ...(options.grants === undefined ? {} : { grants: Effect.sync(() => grants) }),
      ...(options.probe === true ? { probe: record.probe } : {})
    }
  }
}

export const layer = (tools: Tools): Layer.Layer<never> => Layer.succeed(ToolProvider.ToolProvider, tools.provider)

const catalogueOf = (entries: ReadonlyArray<Entry>) => ({
  declarations: entries.map((entry) => entry.declaration),
  acts: new Map(entries.map((entry) => [entry.declaration.name, entry.act]))
})

const unknown = (name: string): Act => error(`there is no tool named ${name}`)

const untilShort = (given: ReadonlyArray<Given>): ReadonlyArray<Tool.Answer | string | undefined> => {
  const answers: Array<Tool.Answer | string | undefined> = []
  for (const one of given) {
    if (one === tooFew) break
    answers.push(one)
  }
  return answers
}

const makeRecord = () => {
  const ran: Array<Ran> = []
  const waiting = new Map<number, Deferred.Deferred<Ran>>()
  const begin = (invocation: Tool.Invocation, batch: number, startedAt: number): number => {
    const begun: Ran = { ...invocation, batch, startedAt, finishedAt: undefined, end: "running" }
    const index = ran.push(begun) - 1
    const waiter = waiting.get(index)
    if (waiter !== undefined) Deferred.doneUnsafe(waiter, Effect.succeed(begun))
    return index
  }
  const finish = (index: number, finishedAt: number, end: End) => {
    const begun = ran[index]
    if (begun !== undefined) ran[index] = { ...begun, finishedAt, end }
  }
  return {
    ran,
    run: (invocation: Tool.Invocation, batch: number, act: Act): Effect.Effect<Given> =>
      Clock.clockWith((clock) => {
        const index = begin(invocation, batch, clock.currentTimeMillisUnsafe())
        return Effect.onExit(
          Effect.suspend(() => act(invocation)),
          (exit) => Effect.sync(() => finish(index, clock.currentTimeMillisUnsafe(), endOf(exit)))
        )
      }),
    began: (index: number) =>
      Effect.suspend(() => {
        const already = ran[index]
        if (already !== undefined) return Effect.succeed(already)
        const waiter = waiting.get(index) ?? Deferred.makeUnsafe<Ran>()
        waiting.set(index, waiter)
        return Deferred.await(waiter)
      }),
    probe: (invocation: Tool.Invocation) =>
      Effect.sync(() => {
        const last = ran.findLast((one) => one.operationId === invocation.operationId)
        if (last === undefined || last.end === "not-accepted") return "did-not-land" as const
        return last.end === "answered" ? ("landed" as const) : undefined
      })
  }
}

const endOf = (exit: Exit.Exit<Given>): End => {
  if (Exit.isFailure(exit)) return Cause.hasInterrupts(exit.cause) ? "interrupted" : "died"
  const given = exit.value
  if (given === undefined || given === tooFew) return "missing"
  if (typeof given === "string") return "answered"
  switch (given._tag) {
    case "Answered":
      return given.isError ? "errored" : "answered"
    case "Lost":
      return "lost"
    case "NotAccepted":
      return "not-accepted"
  }
}
