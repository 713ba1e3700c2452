/**
 * Settings, admission and `run`: one run at a time (L-RUN). A scheduler is somebody else's; a loop can be queued.
 *
 * L1. Wiring mistakes are refused here, before anything runs (L-GEN-09).
 * L2. The door opens again at `drained`, never at `result` (L-RUN-03).
 * L3. Closing the owning scope ends a live run as a cancel does and waits for its work up to the grace (X-CANC-05).
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Run from "../engine/Run.ts"
import type { Parts } from "../engine/Live.ts"
import * as Admission from "../model/Admission.ts"
import type { Message } from "../model/Message.ts"
import * as Refusal from "../model/Refusal.ts"
import * as RunContext from "../model/RunContext.ts"
import type * as RunEvent from "../model/RunEvent.ts"
import type { Spent } from "../model/RunOutcome.ts"
import * as Settings from "../model/Settings.ts"
import { Artifacts } from "../port/Artifacts.ts"
import { type Backend, Backends } from "../port/Backend.ts"
import { Compactor } from "../port/Compactor.ts"
import * as Bus from "../port/CompletionBus.ts"
import { HostHooks } from "../port/HostHooks.ts"
import { IdGenerator } from "../port/IdGenerator.ts"
import { forWindow, RequestBudget } from "../port/RequestBudget.ts"
import { SteerSource } from "../port/SteerSource.ts"
import { TokenCounter } from "../port/TokenCounter.ts"
import { ToolProvider } from "../port/ToolProvider.ts"
import { Transcript } from "../port/Transcript.ts"

export interface RunOptions {
  /** What is true now, rendered around the conversation (L-CTX). */
  readonly context?: RunContext.RunContext
  /** Every open call of the tail, by id: run them again as the first round (L-TAIL-02). */
  readonly resumeToolCalls?: ReadonlyArray<string>
}

export interface Loop {
  readonly settings: Settings.Settings
  readonly run: (messages: ReadonlyArray<Message>, options?: RunOptions) => Effect.Effect<Run.Run, Refusal.Refusal>
  /** The run whose result is not kept yet. */
  readonly liveRun: Effect.Effect<Option.Option<Run.Run>>
  /** Publishes on the run in flight; false when there is none (L-EXT-01, -02). */
  readonly emitExternal: (draft: RunEvent.Draft) => Effect.Effect<boolean>
  /** Adds another run's spend to the run in flight; with a run id, only to that run (L-ABS-05). */
  readonly absorbSpend: (spent: Spent, runId?: string) => Effect.Effect<boolean>
}

/** Reads every part from the context: a part without a layer is a feature that does not exist (L-GEN-07). */
export const make = Effect.fnUntraced(function* (
  input: Settings.Input
): Effect.fn.Return<Loop, Refusal.Refusal, Backends | Scope.Scope> {
  const settings = yield* Effect.fromResult(Settings.make(input))
  const parts = yield* assemble(settings)
  let admission = Admission.idle
  let isClosed = false
  let current: Run.Run | undefined

  const listener: Run.Listener = {
    onResult: (runId) => {
      admission = Admission.step(admission, { _tag: "Result", runId }) ?? admission
    },
    onDrained: (runId) => {
      admission = Admission.step(admission, { _tag: "Drained", runId }) ?? admission
      if (current?.id === runId) current = undefined
    }
  }

  const run = Effect.fnUntraced(function* (
    messages: ReadonlyArray<Message>,
    options: RunOptions = {}
  ): Effect.fn.Return<Run.Run, Refusal.Refusal> {
    if (messages.length === 0) return yield* Refusal.refuse(new Refusal.NoMessages())
    const resumeToolCalls = options.resumeToolCalls ?? []
    if (settings.toolRouting === "schema" && resumeToolCalls.length > 0) {
      return yield* refuse("resumeToolCalls", "a routed run has no tool calls to resume", "Use native routing")
    }
    const runId = yield* parts.ids.next
    if (isClosed) return yield* Refusal.refuse(new Refusal.LoopClosed())
    // Asking and entering are one synchronous step: of two callers in the same tick one is refused.
    const entered = Admission.step(admission, { _tag: "Start", runId })
    if (entered === undefined) return yield* Effect.fail(inProgress(admission))
    admission = entered
    current = yield* Run.start(parts, listener, {
      runId,
      messages,
      resumeToolCalls,
      context: options.context ?? RunContext.empty
    })
    // The scope closed while the run began: it found nothing to cancel.
    if (isClosed) yield* current.cancel
    return current
  }, Effect.uninterruptible)

  const live = Effect.sync(() => (admission._tag === "Live" ? current : undefined))
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      isClosed = true
      return close(settings, current)
    })
  )
  return {
    settings,
    run,
    liveRun: Effect.map(live, Option.fromUndefinedOr),
    emitExternal: (draft) => Effect.map(live, (run) => run?.emit(draft) ?? false),
    absorbSpend: (spent, runId) =>
      Effect.map(live, (run) =>
        run === undefined || (runId !== undefined && runId !== run.id) ? false : run.absorbSpend(spent)
      )
  }
})

const inProgress = (admission: Admission.Admission): Refusal.Refusal => {
  const phase = admission._tag === "Draining" ? "draining" : "live"
  const runId = admission._tag === "Idle" ? "" : admission.runId
  return Refusal.refuse(new Refusal.RunInProgress({ runId, phase }))
}

const refuse = (setting: string, problem: string, remedy: string) =>
  Effect.fail(Refusal.refuse(new Refusal.InvalidSetting({ setting, problem, remedy })))

const close = (settings: Settings.Settings, run: Run.Run | undefined) => {
  if (run === undefined) return Effect.void
  return run.cancel.pipe(
    Effect.andThen(run.drained),
    Effect.timeoutOrElse({
      duration: settings.closeGraceMs,
      orElse: () =>
        Effect.logError(
          `run ${run.id} still had work open ${settings.closeGraceMs / 1000} seconds after its scope closed; it was left behind`
        )
    })
  )
}

const assemble = Effect.fnUntraced(function* (
  settings: Settings.Settings
): Effect.fn.Return<Parts, Refusal.Refusal, Backends> {
  const [first, ...rest] = (yield* Backends).chain
  if (first === undefined) return yield* refuse("backends", "the chain is empty", "Give at least one backend")
  const compactor = yield* Compactor
  const counter = yield* TokenCounter
  const parts: Parts = {
    settings,
    chain: [first, ...rest],
    provider: yield* ToolProvider,
    transcript: yield* Transcript,
    artifacts: yield* Artifacts,
    budget: yield* budgetOf({ given: yield* RequestBudget, contextBudget: settings.contextBudget, compactor, counter }),
    counter,
    compactor,
    steers: yield* SteerSource,
    bus: yield* Bus.CompletionBus,
    hooks: yield* HostHooks,
    ids: yield* IdGenerator
  }
  yield* shapes(parts)
  yield* windows(parts)
  if (settings.toolRouting === "schema") yield* routable(parts)
  if (settings.handoffAfterToolRounds > 0 && parts.bus !== Bus.none) {
    return yield* refuse(
      "handoffAfterToolRounds",
      "a completion bus is there too, and background work needs the loop to keep the run",
      "Use one of the two"
    )
  }
  return parts
})

interface Described {
  readonly given: RequestBudget | undefined
  readonly contextBudget: number | undefined
  readonly compactor: Compactor | undefined
  readonly counter: TokenCounter | undefined
}

/**
 * The budget as given; from `contextBudget`, or from a compactor's window, when none is (L-BUDG-02). A budget without a default
 * profile takes the one that `contextBudget` names.
 */
const budgetOf = Effect.fnUntraced(function* (described: Described) {
  const { compactor, contextBudget, counter, given } = described
  if (contextBudget === undefined) {
    return given ?? (compactor === undefined ? undefined : forWindow(compactor.budget))
  }
  if (counter === undefined) {
    return yield* refuse("contextBudget", "nothing counts tokens, so no request could be held to it", "Give a counter")
  }
  const declared = given?.defaultProfile?.contextWindow
  if (declared !== undefined && declared !== contextBudget) {
    return yield* refuse(
      "contextBudget",
      `it says ${contextBudget} tokens and the default profile of the request budget says ${declared}`,
      "Give one of the two, or the same window in both"
    )
  }
  return declared === undefined ? { ...given, ...forWindow(contextBudget) } : given
})

/** Structural parts are checked by shape: a host may bring them from untyped code. */
const shapes = Effect.fnUntraced(function* (parts: Parts) {
  for (const [index, backend] of parts.chain.entries()) {
    if (typeof (backend as Partial<Backend>).stream !== "function") {
      return yield* refuse(
        `backends[${index}]`,
        "it has no stream function",
        "A backend is what port/Backend describes"
      )
    }
  }
  const { provider, transcript } = parts
  if (provider !== undefined && (typeof provider.execute !== "function" || !Effect.isEffect(provider.list))) {
    return yield* refuse("provider", "it lacks list or execute", "A provider has both: list, and execute of a batch")
  }
  if (transcript !== undefined && (typeof transcript.append !== "function" || !Effect.isEffect(transcript.replay))) {
    return yield* refuse("transcript", "it lacks append or replay", "A transcript is what port/Transcript describes")
  }
  if (!Effect.isEffect(parts.steers.pull)) {
    return yield* refuse("steerSource", "its pull is not an effect", "Give { pull: Effect<ReadonlyArray<string>> }")
  }
})

/** A compaction must converge on something every declared window can take (L-BUDG-05). */
const windows = ({ budget, compactor }: Parts) => {
  if (budget === undefined || compactor === undefined) return Effect.void
  const declared = [budget.defaultProfile, ...(budget.profiles?.values() ?? [])].flatMap((profile) =>
    profile === undefined ? [] : [profile.contextWindow]
  )
  const smallest = Math.min(...declared)
  return compactor.budget > smallest
    ? refuse(
        "compactor",
        `its budget of ${compactor.budget} tokens is above the smallest declared window (${smallest})`,
        "Give the compactor that window or less"
      )
    : Effect.void
}

const routable = Effect.fnUntraced(function* (parts: Parts) {
  const setting = "toolRouting"
  if (parts.provider === undefined) {
    return yield* refuse(setting, "schema routing without a provider has nothing to choose from", "Give a provider")
  }
  if (parts.bus !== Bus.none) {
    return yield* refuse(setting, "a routed run hands back instead of waiting for background work", "Leave out the bus")
  }
  if (parts.transcript !== undefined) {
    return yield* refuse(
      setting,
      "a routed action is an ordinary assistant message, so an interrupted transcript could not be told from a finished one",
      "Leave out the transcript"
    )
  }
  for (const [index, backend] of parts.chain.entries()) {
    if (backend.canConstrain) continue
    return yield* refuse(
      setting,
      `backend ${index} (${backend.model}) cannot hold a reply to a JSON schema`,
      "Use native routing, or a backend that can"
    )
  }
})
