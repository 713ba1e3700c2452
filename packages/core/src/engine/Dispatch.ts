/**
 * Puts one group down and waits for answer, clock or cancel.
 *
 * D1. The dispatched lines are durable before the provider is called (T3).
 * D2. The provider runs in the run's work set: giving up on the answer does not stop the work, and `drained` waits for it.
 * D3. Deadline and cancel end the wait, then only offer; an answer that is there already wins (L-DL-13).
 * D4. Nothing the provider does can fail the run: a defect is one error for each call (L-TOOL-09).
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Deadline from "../decide/Deadline.ts"
import * as Wording from "../decide/Wording.ts"
import * as Canonical from "../model/Canonical.ts"
import * as Json from "../model/Json.ts"
import type * as Operation from "../model/Operation.ts"
import * as Tool from "../model/Tool.ts"
import type { RunFailure } from "../model/RunFailure.ts"
import type * as TranscriptLine from "../model/TranscriptLine.ts"
import { CallScope } from "../port/CallScope.ts"
import type { ToolProvider } from "../port/ToolProvider.ts"
import * as Commit from "./Commit.ts"
import * as Live from "./Live.ts"
import * as Probe from "./Probe.ts"
import * as Settle from "./Settle.ts"
import { type Settlement, Verdict } from "./Settlement.ts"

export interface Group {
  readonly provider: ToolProvider
  readonly members: ReadonlyArray<Settlement>
}

/** How the wait ended; every member is settled either way. */
export type GroupEnd = "answered" | "deadline" | "cancelled"

export const dispatch = Effect.fnUntraced(function* (at: Settle.Settling, group: Group) {
  const { live } = at
  yield* handOver(at, group.members)
  live.inFlight.enter(group.members)
  for (const settlement of group.members) Settle.started(at, settlement)
  const end = live.sections.isCancelled() ? withhold(live, group.members) : yield* run(live, group)
  live.inFlight.leave()
  for (const [index, settlement] of group.members.entries()) {
    const settled = Settle.settle(at, settlement, yield* settlement.verdict)
    yield* Effect.catch(settled, (failure) => keepRest(at, group.members.slice(index + 1), failure))
  }
  return end
})

const run = Effect.fnUntraced(function* (live: Live.Live, group: Group): Effect.fn.Return<GroupEnd> {
  const { members } = group
  let isGivenUp = false
  const worker = yield* start(live, group, () => isGivenUp)
  const answers = Effect.forEach(members, (settlement) => settlement.verdict, { discard: true })
  const ended = yield* live.sections.run(answers, clock(live, members))
  const end = ended._tag === "Finished" ? "answered" : ended.reason === "cancelled" ? "cancelled" : "deadline"
  isGivenUp = end !== "answered"
  if (end !== "answered") yield* giveUp(live, group, { end, worker })
  return end
})

/** A cancel came while the lines were written. They say "handed over", so no more than "unknown" is claimed; but nothing runs (T8). */
const withhold = (live: Live.Live, members: ReadonlyArray<Settlement>): GroupEnd => {
  for (const settlement of members) settlement.offer(Verdict.GaveUp({ reason: "cancelled", at: live.now() }))
  return "cancelled"
}

/** The record takes no more lines: what the rest of the group answered is kept in memory, and named as without a settle. */
const keepRest = Effect.fnUntraced(function* (
  at: Settle.Settling,
  rest: ReadonlyArray<Settlement>,
  failure: RunFailure
): Effect.fn.Return<never, RunFailure> {
  const unrecorded = { ...at, live: { ...at.live, transcript: undefined } }
  for (const settlement of rest) yield* Settle.settle(unrecorded, settlement, yield* settlement.verdict)
  return yield* Effect.fail(rest.reduce(Settle.withoutSettle, failure))
})

/** Durable first, then the operations move. */
const handOver = Effect.fnUntraced(function* ({ live, round }: Settle.Settling, members: ReadonlyArray<Settlement>) {
  const fresh = members.filter(({ adopted }) => adopted === undefined)
  const ids = yield* Commit.lines(
    live,
    fresh.map((settlement) => envelope(settlement.operation(), live.runId, round))
  )
  const written = new Map(fresh.map(({ call }, index) => [call.id, ids[index]]))
  for (const settlement of members) {
    settlement.dispatch(live.now(), settlement.adopted ?? written.get(settlement.call.id))
  }
})

const envelope = (operation: Operation.Operation, runId: string, round: number): TranscriptLine.Draft => ({
  type: "tool-dispatched",
  payload: {
    callId: operation.callId,
    tool: operation.tool,
    arguments: operation.arguments,
    argumentsDigest: Canonical.textDigest(operation.arguments),
    idempotency: operation.idempotency,
    runId,
    round
  }
})

const start = Effect.fnUntraced(function* (live: Live.Live, { members, provider }: Group, isGivenUp: () => boolean) {
  const { callable, refused } = sort(members)
  for (const settlement of refused) {
    const message = Wording.argumentsNotAnObject(settlement.call.arguments)
    settlement.offer(Verdict.Spoke({ answer: Tool.Answer.NotAccepted({ message }), at: live.now() }))
  }
  const batch = callable.map(({ call, operation }): Tool.Invocation => ({
    callId: call.id,
    operationId: operation().operationId,
    name: call.name,
    arguments: call.arguments
  }))
  const offer = (index: number, answer: Tool.Answer) => {
    const settlement = callable[index]
    if (settlement === undefined || settlement.offer(Verdict.Spoke({ answer, at: live.now() }))) return
    if (answer._tag === "Lost") return
    Live.log(live, "info", {
      message: "an answer came after the call was given up; it was dropped",
      tool: settlement.call.name,
      callId: settlement.call.id
    })
  }
  const work = (batch.length === 0 ? Effect.succeed([]) : Effect.suspend(() => provider.execute(batch))).pipe(
    // Reading the answers is part of the supervised call: a lazy one is forced here (L-TOOL-11).
    Effect.map((answers) => batch.map((invocation, index) => read(invocation, answers[index]))),
    Effect.provideService(CallScope, live.callScope)
  )
  live.work.begin()
  const fiber = yield* Effect.forkDetach(work, { startImmediately: true })
  fiber.addObserver((exit) => {
    if (Exit.isSuccess(exit)) exit.value.forEach((answer, index) => offer(index, answer))
    else if (!Cause.hasInterruptsOnly(exit.cause)) {
      const detail = Live.describe(exit.cause)
      batch.forEach(({ name }, index) => offer(index, Tool.failed(Wording.toolThrew(name, detail))))
      // Interrupted by ourselves, a call is worded by whoever gave it up.
    } else if (!isGivenUp()) batch.forEach((_, index) => offer(index, Tool.Answer.Lost({ message: "interrupted" })))
    live.work.end()
  })
  return fiber
})

/** A call whose arguments are no JSON object is answered for: no tool ever sees what a model did not finish (D9). */
const sort = (members: ReadonlyArray<Settlement>) => {
  const callable: Array<Settlement> = []
  const refused: Array<Settlement> = []
  for (const settlement of members) {
    const text = settlement.call.arguments.trim()
    const isObject = text === "" || Json.isObject(Json.parse(text))
    ;(isObject ? callable : refused).push(settlement)
  }
  return { callable, refused }
}

const read = (invocation: Tool.Invocation, answer: Tool.Answer | string | undefined): Tool.Answer => {
  if (answer === undefined || answer === null) return Tool.failed(Wording.noResult(invocation.name))
  if (typeof answer === "string") return Tool.answered(answer)
  switch (answer._tag) {
    case "Answered":
      return { ...answer, content: Json.render(answer.content) }
    case "Lost":
    case "NotAccepted":
      return answer
    default:
      // Untyped code may answer anything: it did answer, so it is no unknown outcome.
      return Tool.failed(Wording.answerOfNoShape(invocation.name, Json.render(answer)))
  }
}

/** A timer for the group, stood still while a human is asked. */
const clock = (live: Live.Live, members: ReadonlyArray<Settlement>): Effect.Effect<"deadline"> | undefined => {
  const limit = live.settings.toolDeadlineMs
  if (limit === undefined) return undefined
  const tick: Effect.Effect<"deadline"> = Effect.suspend(() =>
    Deadline.Deadline.$match(
      Deadline.look(
        members.map((settlement) => settlement.operation()),
        live.now(),
        limit
      ),
      {
        Passed: () => Effect.succeed("deadline" as const),
        Sleep: ({ ms }) => Effect.andThen(Effect.sleep(ms), tick),
        Asking: () => Effect.andThen(live.inFlight.asksClosed, tick)
      }
    )
  )
  return tick
}

const giveUp = Effect.fnUntraced(function* (
  live: Live.Live,
  { members, provider }: Group,
  { end, worker }: { readonly end: "deadline" | "cancelled"; readonly worker: Fiber.Fiber<unknown> }
) {
  // A question that is on somebody's screen cannot be taken back: the run ends when it is answered (L-CANC-09).
  if (end === "cancelled") yield* live.inFlight.asksClosed
  const stoppable = members.every(({ call }) => interruption(live, call.name) === "interrupt")
  if (stoppable) worker.interruptUnsafe()
  if (end === "deadline") {
    yield* Probe.ask(live, { provider, members, hasEnded: () => worker.pollUnsafe() !== undefined })
  }
  for (const settlement of members) settlement.offer(Verdict.GaveUp({ reason: end, at: live.now() }))
})

const interruption = (live: Live.Live, tool: string): Tool.Interruption =>
  live.state.catalogue.find((declaration) => declaration.name === tool)?.interruption ?? "detach"
