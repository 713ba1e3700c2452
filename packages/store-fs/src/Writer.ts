/**
 * The pen of one open file: lines that wait together are one write and one sync (X-STORE-02).
 *
 * N1. Lines land in the order in which their appends began; the lines of one append stand together (J6).
 * N2. One fiber at a time writes, the leader; it hands the pen to the first that waits behind its group.
 * N3. A failed write is cut off again: the file ends where the last good group ended, or the pen is broken for good.
 * N4. Once an append has begun it is carried out, whatever happens to the fiber that asked; nobody behind it is hurt.
 * N5. Looked at before each synced group: the lock is still ours, the file under the path is still this one and as long as we left it.
 *     Unsynced, a look would cost as much as the line: the lock is looked at once a millisecond and once in `checkLines` lines, the
 *     path once in `checkMs`.
 */
import * as fs from "node:fs"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { Fenced, WriteFailed } from "@settle/core/port/Transcript"
import * as Errno from "./Errno.ts"
import type * as Lock from "./Lock.ts"

/** - `fsync`: on the disk before `append` returns. `flush`: handed to the system, which survives a kill and not a power failure. */
export type Durability = "fsync" | "flush"
export type Failure = WriteFailed | Fenced

export interface Target {
  readonly fd: number
  readonly path: string
  readonly lock: Lock.Lock
  readonly durability: Durability
  /** Bytes of the file. */
  readonly size: number
}

export interface Counts {
  readonly writes: number
  readonly syncs: number
}

export interface Writer {
  /** `text` is whole lines, each with its LF. `at` is the time in milliseconds. */
  readonly append: (text: string, at: number) => Effect.Effect<void, Failure>
  /** Bytes of the file that hold acknowledged lines. */
  readonly size: () => number
  readonly counts: () => Counts
  /** Waits for the group in flight; later appends fail. */
  readonly close: Effect.Effect<void>
}

interface Ticket {
  readonly text: string
  readonly at: number
  /** Done with "lead" when the pen is handed over. */
  readonly turn: Deferred.Deferred<"lead" | "done", Failure>
}

interface State {
  readonly target: Target
  /** Bytes of the file. */
  size: number
  /** Bytes that hold acknowledged lines. */
  kept: number
  waiting: Array<Ticket>
  isLed: boolean
  /** Why nothing can be written any more. */
  broken: Failure | undefined
  checkedAt: number
  lockSeenAt: number
  lockSeenLines: number
  readonly counts: { writes: number; syncs: number }
}

/** How long an unsynced pen trusts the path, in milliseconds. */
export const checkMs = 100
/** How many unsynced appends trust the lock within one millisecond. */
export const checkLines = 64

export const make = (target: Target): Writer => {
  const state: State = {
    target,
    size: target.size,
    kept: target.size,
    waiting: [],
    isLed: false,
    broken: undefined,
    checkedAt: Number.NEGATIVE_INFINITY,
    lockSeenAt: Number.NEGATIVE_INFINITY,
    lockSeenLines: 0,
    counts: { writes: 0, syncs: 0 }
  }
  return {
    append:
      target.durability === "fsync" ? (text, at) => queue(state, text, at) : (text, at) => direct(state, text, at),
    size: () => state.kept,
    counts: () => ({ ...state.counts }),
    close: close(state)
  }
}

/** Unsynced there is nothing to wait for: a write is one step of the caller's own fiber. */
const direct = (state: State, text: string, at: number): Effect.Effect<void, Failure> =>
  Effect.suspend(() => {
    const failure = write(state, text, at)
    if (failure !== undefined) return Effect.fail(failure)
    state.kept = state.size
    return Effect.void
  })

const queue = (state: State, text: string, at: number): Effect.Effect<void, Failure> =>
  Effect.uninterruptible(
    Effect.suspend(() => {
      const ticket: Ticket = { text, at, turn: Deferred.makeUnsafe() }
      state.waiting.push(ticket)
      if (state.isLed) return takeTurn(state, ticket)
      state.isLed = true
      return lead(state, ticket)
    })
  )

const takeTurn = (state: State, ticket: Ticket): Effect.Effect<void, Failure> =>
  Effect.flatMap(Deferred.await(ticket.turn), (turn) => (turn === "lead" ? lead(state, ticket) : Effect.void))

/** Writes one group, the own ticket in it, and passes the pen on. */
const lead = (state: State, own: Ticket): Effect.Effect<void, Failure> =>
  Effect.gen(function* () {
    // Who was woken by the last group writes again in this same tick: at its end all of them are in the queue. A turn of the event
    // loop would say the same and cost a lone writer a fifth of its rate.
    yield* endOfTick
    const group = state.waiting
    state.waiting = []
    const failure = yield* commit(state, group)
    const outcome = failure === undefined ? Exit.succeed("done" as const) : Exit.fail(failure)
    for (const ticket of group) if (ticket !== own) Deferred.doneUnsafe(ticket.turn, outcome)
    const next = state.waiting[0]
    if (next === undefined) state.isLed = false
    else Deferred.doneUnsafe(next.turn, Exit.succeed("lead"))
    if (failure !== undefined) return yield* Effect.fail(failure)
  })

const endOfTick: Effect.Effect<void> = Effect.callback((resume) => queueMicrotask(() => resume(Effect.void)))

const commit = Effect.fnUntraced(function* (state: State, group: ReadonlyArray<Ticket>) {
  const [first] = group
  if (first === undefined) return undefined
  const before = state.size
  const text = group.length === 1 ? first.text : group.map((ticket) => ticket.text).join("")
  const failure = write(state, text, first.at)
  if (failure !== undefined) return failure
  state.counts.syncs++
  const refusal = yield* sync(state.target.fd)
  if (refusal === null) {
    state.kept = state.size
    return undefined
  }
  // What a failed sync left on the disk is unknown, so the pen is broken even when the lines are cut off again.
  if (state.target.lock.lost() === undefined) rollBack(state, before)
  return breakPen(state, new WriteFailed({ detail: `the disk did not confirm the write: ${Errno.describe(refusal)}` }))
})

const sync = (fd: number): Effect.Effect<Error | null> =>
  Effect.callback((resume) => fs.fdatasync(fd, (refusal) => resume(Effect.succeed(refusal))))

/** Checks and writes in one synchronous step; answers why not. */
const write = (state: State, text: string, at: number): Failure | undefined => {
  if (state.broken !== undefined) return state.broken
  try {
    const moved = check(state, at)
    if (moved !== undefined) return breakPen(state, moved)
    state.size += writeWhole(state.target.fd, text)
    state.counts.writes++
    return undefined
  } catch (cause) {
    const failure = new WriteFailed({ detail: Errno.describe(cause) })
    const isWhole = rollBack(state, state.size)
    return isWhole && Errno.passes(cause) ? failure : breakPen(state, failure)
  }
}

/** Answers the bytes written. A string goes to the system without a copy of ours, unless it took only a part of it. */
const writeWhole = (fd: number, text: string): number => {
  const length = Buffer.byteLength(text)
  let done = fs.writeSync(fd, text)
  if (done === length) return length
  const bytes = Buffer.from(text)
  while (done < length) done += fs.writeSync(fd, bytes, done)
  return length
}

const check = (state: State, at: number): Failure | undefined => {
  const { durability, fd, lock, path } = state.target
  const isUnsynced = durability === "flush"
  if (isUnsynced && at === state.lockSeenAt && ++state.lockSeenLines < checkLines) return undefined
  state.lockSeenAt = at
  state.lockSeenLines = 0
  const lost = lock.lost()
  if (lost !== undefined) return new Fenced({ detail: `${lost}; nothing was written` })
  if (isUnsynced && at - state.checkedAt < checkMs && at >= state.checkedAt) return undefined
  state.checkedAt = at
  const there = fs.statSync(path, { throwIfNoEntry: false })
  if (there === undefined)
    return new WriteFailed({ detail: "the file was removed while it was open; nothing was written" })
  const ours = fs.fstatSync(fd)
  if (there.ino !== ours.ino || there.dev !== ours.dev) {
    return new WriteFailed({ detail: "the file was replaced by another one while it was open; nothing was written" })
  }
  if (ours.size === state.size) return undefined
  return new WriteFailed({
    detail: `the file has ${ours.size} bytes where this process left ${state.size}: something else wrote to it; nothing was written`
  })
}

/** True when the file ends at `size` again. */
const rollBack = (state: State, size: number): boolean => {
  state.size = size
  try {
    fs.ftruncateSync(state.target.fd, size)
    return true
  } catch {
    return false
  }
}

const breakPen = (state: State, failure: Failure): Failure => {
  state.broken = failure
  return failure
}

const close = (state: State): Effect.Effect<void> =>
  Effect.suspend(() => {
    const closed = new WriteFailed({ detail: "it was closed" })
    if (!state.isLed) {
      state.broken ??= closed
      return Effect.void
    }
    const ticket: Ticket = { text: "", at: state.checkedAt, turn: Deferred.makeUnsafe() }
    state.waiting.push(ticket)
    return Effect.ignore(takeTurn(state, ticket)).pipe(
      Effect.andThen(Effect.sync(() => void (state.broken ??= closed)))
    )
  })
