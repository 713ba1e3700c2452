/**
 * The standard pass: age, summarise, and as the last resort trim.
 *
 * C1. A pass never makes a conversation larger, and says so when it could not make it small enough: `exhausted` (L-CTXEX-01, K1).
 * C2. Cuts lie between closed steps, so no result loses its call; what was well formed stays so (K2).
 * C3. Whatever happens to the summary, the conversation is usable afterwards: the old one, or one that was trimmed (K4).
 * C4. At most two summaries are asked for in one pass, and none where there is nothing worth replacing.
 * C5. All comparisons of a pass are made in one counter's own weights: a bill for the old conversation says nothing of the new (K6).
 *
 * Ratios are of `budget`, in tokens; sizes of results are characters.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Conversation from "../model/Conversation.ts"
import * as Message from "../model/Message.ts"
import type { Usage } from "../model/Usage.ts"
import * as Refusal from "../model/Refusal.ts"
import type { Backend } from "../port/Backend.ts"
import { Backends } from "../port/Backend.ts"
import * as Port from "../port/Compactor.ts"
import { TokenCounter } from "../port/TokenCounter.ts"
import * as Aging from "./Aging.ts"
import * as EstimateCounter from "./EstimateCounter.ts"
import * as Summary from "./Summary.ts"
import * as Trim from "./Trim.ts"

export interface Options {
  /** The window, in tokens. */
  readonly budget: number
  /** A pass begins above this share of the budget. Default 0.8. */
  readonly triggerRatio?: number
  /** A trim aims at this share. Default 0.4. */
  readonly targetRatio?: number
  /** Messages at the end that are never touched. Default 6. */
  readonly keepRecent?: number
  /** What the summariser sees of one result. Default 2000. */
  readonly toolResultCap?: number
  /** Sends for one summary. Default 3. */
  readonly maxAttempts?: number
  /** Replace stale tool results by stubs first. Default false. */
  readonly ageObservations?: boolean
  /** Default 2048. */
  readonly ageMinChars?: number
  /** Default 49152. */
  readonly ageReclaimMin?: number
  /** Milliseconds. Default 30000. */
  readonly backoffCapMs?: number
  /** Longest silence of a summary, in milliseconds. Default 120000. */
  readonly timeoutMs?: number
}

export interface Parts {
  /** The loop's own counter. */
  readonly counter: TokenCounter
  /** Writes the summaries; without one a pass only ages and trims. */
  readonly backend: Backend | undefined
}

interface Standard {
  readonly counter: TokenCounter
  readonly budget: number
  readonly trigger: number
  readonly target: number
  readonly keepRecent: number
  readonly aging: Aging.Settings | undefined
  readonly summary: Summary.Settings | undefined
}

export const make = (options: Options, parts: Parts): Result.Result<Port.Compactor, Refusal.Refusal> =>
  Result.map(Result.mapError(settings(options, parts), Refusal.refuse), (self) => ({
    budget: self.budget,
    needsCompaction: (messages, tokens) => needsCompaction(self, messages, tokens),
    compact: (messages, target) => compact(self, messages, target)
  }))

/** Summaries are written by the first backend of the chain, and measured by the loop's counter, or an estimate. */
export const layer = (options: Options): Layer.Layer<never, Refusal.Refusal, Backends> =>
  Layer.effect(
    Port.Compactor,
    Effect.gen(function* () {
      const { chain } = yield* Backends
      const counter = (yield* TokenCounter) ?? EstimateCounter.make()
      return yield* Effect.fromResult(make(options, { counter, backend: chain[0] }))
    })
  )

const settings = (options: Options, parts: Parts): Result.Result<Standard, Refusal.InvalidSetting> => {
  const { ageMinChars = 2048, ageReclaimMin = 49_152, keepRecent = 6, targetRatio = 0.4, triggerRatio = 0.8 } = options
  const fault = (setting: string, problem: string, remedy: string) =>
    Result.fail(new Refusal.InvalidSetting({ setting: `compaction.${setting}`, problem, remedy }))
  if (!(options.budget > 0)) return fault("budget", `${options.budget} is not above zero`, "Give the window in tokens")
  if (!(triggerRatio > 0 && triggerRatio <= 1)) {
    return fault("triggerRatio", `${triggerRatio} is not within 0 and 1`, "Leave it out for 0.8")
  }
  if (!(targetRatio > 0 && targetRatio < triggerRatio)) {
    return fault(
      "targetRatio",
      `${targetRatio} is not within 0 and the trigger of ${triggerRatio}`,
      "Leave it out for 0.4"
    )
  }
  if (!Number.isInteger(keepRecent) || keepRecent < 0) {
    return fault("keepRecent", `${keepRecent} is not a count`, "Leave it out for 6")
  }
  const { backoffCapMs = 30_000, maxAttempts = 3, timeoutMs = 120_000, toolResultCap = 2000 } = options
  return Result.succeed({
    counter: parts.counter,
    budget: options.budget,
    trigger: Math.ceil(options.budget * triggerRatio),
    target: Math.ceil(options.budget * targetRatio),
    keepRecent,
    aging: options.ageObservations === true ? { minChars: ageMinChars, reclaimMin: ageReclaimMin } : undefined,
    summary:
      parts.backend === undefined
        ? undefined
        : {
            backend: parts.backend,
            maxAttempts,
            backoffCapMs,
            timeoutMs,
            toolResultCap,
            room: Math.max(64, Math.floor(options.budget * 0.85) - Summary.overhead)
          }
  })
}

const needsCompaction = (
  self: Standard,
  messages: ReadonlyArray<Message.Message>,
  tokens: number | undefined
): boolean => {
  if ((tokens ?? self.counter.countMessages(messages)) > self.trigger) return true
  if (self.aging === undefined) return false
  const items = Aging.elisions(messages, Trim.middle(messages, self.keepRecent), self.aging)
  return Aging.reclaimed(messages, items) >= self.aging.reclaimMin
}

/** One pass in progress: the conversation after aging, and how it is weighed. */
interface Work {
  readonly self: Standard
  readonly given: ReadonlyArray<Message.Message>
  readonly counter: TokenCounter
  /** Of a forced pass. */
  readonly goal: number | undefined
  /** How many leading messages may be replaced. */
  readonly cut: number
  readonly weigh: (message: Message.Message) => number
  readonly before: number
  readonly aged: ReadonlyArray<Message.Message>
  readonly elisions: ReadonlyArray<Aging.Elision>
}

const compact = Effect.fnUntraced(function* (
  self: Standard,
  given: ReadonlyArray<Message.Message>,
  target: Port.Target | undefined
): Effect.fn.Return<Port.Pass> {
  const counter = target?.counter ?? self.counter
  const cut = Trim.middle(given, self.keepRecent)
  const untouched = () => unchanged(given, counter.countMessages(given), target?.tokens ?? self.budget)
  if (!isWorthwhile(given.slice(0, cut), counter, target !== undefined)) return untouched()
  const work = prepare({ self, given, counter, cut, goal: target?.tokens })
  if (work.elisions.length > 0 && total(work, work.aged) <= (work.goal ?? self.trigger)) {
    return done(work, { messages: work.aged, cut: 0, usage: [] })
  }
  const summarised = yield* summarise(work)
  return summarised.pass ?? trimmed(work, summarised.usage) ?? untouched()
})

const prepare = (start: Pick<Work, "self" | "given" | "counter" | "cut" | "goal">): Work => {
  const { counter, cut, given, self } = start
  const base = counter.countMessages([])
  const known = new Map<Message.Message, number>()
  const weigh = (message: Message.Message): number => {
    const weight = known.get(message) ?? counter.countMessages([message]) - base
    known.set(message, weight)
    return weight
  }
  const elisions = self.aging === undefined ? [] : Aging.elisions(given, cut, self.aging)
  const before = given.reduce((sum, message) => sum + weigh(message), 0)
  return { ...start, weigh, before, elisions, aged: Aging.apply(given, elisions) }
}

const total = (work: Work, messages: ReadonlyArray<Message.Message>): number =>
  messages.reduce((sum, message) => sum + work.weigh(message), 0)

/**
 * Is there something to win? A middle that is lighter than its stand-in is not, and neither is one that holds earlier stand-ins
 * alone, unless the pass is forced: summarising a summary each round would cost money for ever.
 */
const isWorthwhile = (middle: ReadonlyArray<Message.Message>, counter: TokenCounter, forced: boolean): boolean => {
  const loose = middle.filter((message) => !Message.isSticky(message))
  if (loose.length === 0) return false
  if (!forced && loose.every((message) => message.content.startsWith(Trim.header))) return false
  if (loose.some((message) => message.parts !== undefined)) return true
  return counter.countText(loose.map(textOf).join("\n")) > counter.countText(Trim.unsummarised(loose.length))
}

const textOf = (message: Message.Message): string =>
  [message.content, ...Message.callsOf(message).map((call) => call.name + call.arguments)].join("\n")

interface Summarised {
  readonly pass: Port.Pass | undefined
  readonly usage: ReadonlyArray<Usage>
}

/** A summary counts when it makes the conversation strictly smaller and reaches the goal of a forced pass; one shorter try else. */
const summarise = Effect.fnUntraced(function* (work: Work): Effect.fn.Return<Summarised> {
  const { summary } = work.self
  if (summary === undefined) return { pass: undefined, usage: [] }
  const messages = work.aged.slice(0, work.cut).filter((message) => !Message.isSticky(message))
  const usage: Array<Usage> = []
  let bound = total(work, work.aged)
  for (const shorter of [false, true]) {
    const answer = yield* Summary.ask(summary, { messages, counter: work.self.counter, shorter })
    usage.push(...answer.usage)
    if (answer._tag === "Unavailable") {
      yield* Effect.logWarning(`no summary of the old turns: ${answer.because}`)
      break
    }
    const standIn = Trim.summarised(answer.text)
    const candidate = Trim.replace(work.aged, work.cut, standIn)
    const weight = total(work, candidate)
    if (weight < bound && (work.goal === undefined || weight <= work.goal)) {
      return { pass: done(work, { messages: candidate, cut: work.cut, standIn, usage }), usage }
    }
    bound = Math.min(bound, weight)
  }
  return { pass: undefined, usage }
})

const trimmed = (work: Work, usage: ReadonlyArray<Usage>): Port.Pass | undefined => {
  const goal = { limit: work.cut, tokens: work.goal ?? work.self.target, weigh: work.weigh }
  const made = Trim.trim(work.aged, goal)
  if (made === undefined) return undefined
  return done(work, { messages: made.messages, cut: made.cut, standIn: made.standIn, usage, fallback: true })
}

interface Made {
  readonly messages: ReadonlyArray<Message.Message>
  readonly cut: number
  readonly standIn?: string
  readonly usage: ReadonlyArray<Usage>
  readonly fallback?: boolean
}

const done = (work: Work, made: Made): Port.Pass => {
  const after = total(work, made.messages)
  const broken = Conversation.isWellFormed(work.given) && !Conversation.isWellFormed(made.messages)
  if (broken || after >= work.before) {
    return { ...unchanged(work.given, work.before, 0), ...billed(made.usage) }
  }
  return {
    messages: made.messages,
    ...(made.standIn === undefined ? {} : { summary: made.standIn }),
    dropped: Trim.dropped(work.given, made.cut),
    cutIndex: made.cut - 1,
    tokensBefore: work.before,
    tokensAfter: after,
    fallback: made.fallback === true,
    exhausted: after > (work.goal ?? work.self.budget),
    elisions: work.elisions.filter(({ index }) => index >= made.cut),
    ...billed(made.usage)
  }
}

const billed = (usage: ReadonlyArray<Usage>) => (usage.length === 0 ? {} : { usage })

/** The conversation as it was; exhausted when it is over the room there is. */
const unchanged = (messages: ReadonlyArray<Message.Message>, tokens: number, room: number): Port.Pass => ({
  messages,
  dropped: 0,
  cutIndex: -1,
  tokensBefore: tokens,
  tokensAfter: tokens,
  fallback: false,
  exhausted: tokens > room,
  elisions: []
})
