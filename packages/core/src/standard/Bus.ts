/**
 * The live completion bus: background work is opened and settled here, the loop reads and drains it. One for a conversation; it
 * outlives runs. Every method is one synchronous step.
 *
 *           open            settle, closeAll
 * (none) ---------> open ------------------> closed
 *
 * B1. A key settles once. Unless it was collected, its report is queued in the same step (L-PARK-12).
 * B2. `collected` means that somebody already has the report: nothing is queued, and one that waits for that key is withdrawn.
 * B3. Reports leave in the order they came; what `drain` answers is gone.
 * B4. Ids are map keys, never property names (X-SAFE-02).
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type { Deliverable, Outstanding } from "../model/Completion.ts"
import * as Json from "../model/Json.ts"
import * as Refusal from "../model/Refusal.ts"
import { CompletionBus } from "../port/CompletionBus.ts"

/** A report as its producer hands it over. A field left out is empty. */
export interface Report {
  /** Not blank. */
  readonly kind: string
  readonly head?: string
  readonly body?: string
  readonly tail?: string
  readonly extras?: Json.JsonObject
}

export interface Work {
  readonly operationId: string
  readonly kind: string
  readonly label?: string
  readonly meta?: Json.JsonObject
}

/** `outstanding` counts a successful open in. */
export interface Opened {
  readonly ok: boolean
  readonly outstanding: number
  readonly max: number
  readonly reason?: "at-capacity" | "duplicate"
}

export interface Settling {
  readonly report?: Report
  /** Default false. */
  readonly collected?: boolean
}

export interface Options {
  /** How many may be open at once, at least 1. Default 16. */
  readonly maxOutstanding?: number
}

export class Bus extends Context.Service<
  Bus,
  CompletionBus & {
    readonly open: (work: Work) => Effect.Effect<Opened>
    /**
     * True for the one that closed the key. A report with no kind or no text is not queued, the key is closed all the same. For a
     * key that is not open nothing is queued.
     */
    readonly settle: (operationId: string, how?: Settling) => Effect.Effect<boolean>
    /** A report of nothing that was opened; false when it has no kind or no text. */
    readonly push: (report: Report) => Effect.Effect<boolean>
    /** Forgets both what is open and what is queued. */
    readonly clear: Effect.Effect<void>
  }
>()("@settle/core/standard/Bus") {}

interface State {
  readonly open: Map<string, Outstanding>
  queue: Array<Deliverable>
  seq: number
  next: Deferred.Deferred<void>
}

export const make = (options: Options = {}): Effect.Effect<Bus["Service"], Refusal.Refusal> => {
  const max = options.maxOutstanding ?? 16
  if (!Number.isInteger(max) || max < 1) {
    return Refusal.refuse(
      new Refusal.InvalidSetting({
        setting: "maxOutstanding",
        problem: `${max} is not a whole number of at least 1`,
        remedy: "Leave it out for 16"
      })
    )
  }
  return Effect.sync(() => {
    const state: State = { open: new Map(), queue: [], seq: 0, next: Deferred.makeUnsafe() }
    return Bus.of({
      open: (work) => Effect.sync(() => open(state, work, max)),
      settle: (operationId, how = {}) => Effect.sync(() => settle(state, operationId, how)),
      push: (report) => Effect.sync(() => enqueue(state, report, undefined)),
      clear: Effect.sync(() => {
        state.open.clear()
        state.queue = []
        changed(state)
      }),
      state: Effect.sync(() => ({ outstanding: state.open.size, queued: state.queue.length })),
      outstanding: Effect.sync(() => [...state.open.values()]),
      drain: Effect.sync(() => {
        const drained = state.queue
        state.queue = []
        if (drained.length > 0) changed(state)
        return drained
      }),
      closeAll: Effect.sync(() => {
        const closed = [...state.open.values()]
        state.open.clear()
        if (closed.length > 0) changed(state)
        return closed
      }),
      // One cell serves every waiter and is replaced at a change: waiting for hours leaves nothing behind.
      changed: Effect.suspend(() => Deferred.await(state.next))
    })
  })
}

/** The bus for producers, and as the port for the loop. */
export const layer = (options: Options = {}): Layer.Layer<Bus, Refusal.Refusal> =>
  Layer.effectContext(Effect.map(make(options), (bus) => Context.make(Bus, bus).pipe(Context.add(CompletionBus, bus))))

const changed = (state: State): void => {
  const woken = state.next
  state.next = Deferred.makeUnsafe()
  Deferred.doneUnsafe(woken, Exit.void)
}

const open = (state: State, work: Work, max: number): Opened => {
  const refused = (reason: "at-capacity" | "duplicate"): Opened => ({
    ok: false,
    outstanding: state.open.size,
    max,
    reason
  })
  if (state.open.has(work.operationId)) return refused("duplicate")
  if (state.open.size >= max) return refused("at-capacity")
  state.open.set(work.operationId, { ...work, meta: work.meta ?? {} })
  changed(state)
  return { ok: true, outstanding: state.open.size, max }
}

const settle = (state: State, operationId: string, how: Settling): boolean => {
  const isFirst = state.open.delete(operationId)
  const before = state.queue.length
  // Also for a key that closed before: its report may still wait, and whoever collected has it.
  if (how.collected === true) state.queue = state.queue.filter((waiting) => waiting.operationId !== operationId)
  else if (isFirst && how.report !== undefined) enqueue(state, how.report, operationId)
  if (isFirst || state.queue.length !== before) changed(state)
  return isFirst
}

const enqueue = (state: State, report: Report, operationId: string | undefined): boolean => {
  const kind = text(report.kind)
  const [head, body, tail] = [text(report.head), text(report.body), text(report.tail)]
  if (kind.trim() === "" || (head === "" && body === "" && tail === "")) return false
  const extras = report.extras ?? {}
  const own = operationId === undefined ? {} : { operationId }
  state.queue.push({ kind, seq: ++state.seq, head, body, tail, extras, ...own })
  changed(state)
  return true
}

/** What comes from a host may be no text at all, or text that no provider takes. */
const text = (value: unknown): string => (typeof value === "string" ? Json.wellFormed(value) : "")
