/**
 * A closed world for one effect: a seed decides which ready fiber runs next and where a fiber yields, and time stands still
 * until nobody can run.
 *
 * W1. Same seed, same effect: same history. Time, order and Effect's `Random` all come from the seed.
 * W2. The clock jumps to the earliest sleeper, and only when no fiber is ready.
 * W3. When nobody is ready and nobody sleeps, the run rejects with `Deadlock`; when it takes too many steps, with `Endless`.
 * W4. The world ends with the effect: a detached fiber that still runs is left where it stands.
 *
 * The world replaces `TestClock`: do not adjust time inside it. Promises of the real world (a file, a socket) may be awaited
 * as long as they settle within `patienceMs`; virtual time may pass meanwhile, so W1 does not hold for their order.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Random from "effect/Random"
import * as Scheduler from "effect/Scheduler"

export interface Options {
  readonly seed: number
  /** Milliseconds since the epoch at which the world begins. Default 0. */
  readonly startAt?: number
  /** Chance of a yield before each step of a fiber, 0 to 1. Default 0.1. */
  readonly yieldRate?: number
  /** Real milliseconds of stillness before a deadlock is believed. Default 20. */
  readonly patienceMs?: number
  /** Steps of the scheduler after which the effect counts as endless. Default 2 000 000. */
  readonly maxSteps?: number
}

/** Everybody waits for somebody else. */
export class Deadlock extends Error {
  override readonly name = "Deadlock"
  readonly seed: number
  readonly at: number
  constructor(seed: number, at: number) {
    super(`seed ${seed}: at ${at} ms of virtual time every fiber waits and none sleeps`)
    this.seed = seed
    this.at = at
  }
}

/** It goes on and on, in virtual time or on the spot. */
export class Endless extends Error {
  override readonly name = "Endless"
  readonly seed: number
  readonly at: number
  constructor(seed: number, at: number, steps: number) {
    super(`seed ${seed}: not at an end after ${steps} steps and ${at} ms of virtual time`)
    this.seed = seed
    this.at = at
  }
}

/** One of many seeds did not hold. `cause` is what went wrong there. */
export class SeedFailed extends Error {
  override readonly name = "SeedFailed"
  readonly seed: number
  constructor(seed: number, cause: unknown) {
    super(`seed ${seed}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
    this.seed = seed
  }
}

/** Runs the effect to its end in a world of its own. */
export const run = <A, E>(effect: Effect.Effect<A, E>, options: Options): Promise<A> =>
  new Promise((resolve, reject) => {
    const world = make(options, reject)
    const closed = effect.pipe(
      Random.withSeed(options.seed),
      Effect.provideContext(
        Context.make(Scheduler.Scheduler, world.scheduler).pipe(Context.add(Clock.Clock, world.clock))
      )
    )
    Effect.runFork(closed, { scheduler: world.scheduler }).addObserver((exit) => {
      world.close()
      if (Exit.isSuccess(exit)) resolve(exit.value)
      else reject(Cause.squash(exit.cause))
    })
  })

/** Runs seeds `from` to `from + count - 1` one after the other; the first that rejects names its seed. */
export const seeds = async <A>(
  options: { readonly from?: number; readonly count: number },
  each: (seed: number) => Promise<A>
): Promise<ReadonlyArray<A>> => {
  const from = options.from ?? 0
  const results: Array<A> = []
  for (let seed = from; seed < from + options.count; seed++) {
    try {
      results.push(await each(seed))
    } catch (cause) {
      throw new SeedFailed(seed, cause)
    }
  }
  return results
}

interface World {
  readonly scheduler: Scheduler.Scheduler
  readonly clock: Clock.Clock
  readonly close: () => void
}

const make = (options: Options, onStuck: (problem: Deadlock | Endless) => void): World => {
  const draw = generator(options.seed)
  const time = timeline(options.startAt ?? 0)
  const ready = new Map<number, Array<() => void>>()
  const yieldRate = options.yieldRate ?? 0.1
  const maxSteps = options.maxSteps ?? 2_000_000
  let steps = 0
  let open = true
  let scheduled = false
  let doubt: NodeJS.Timeout | undefined

  const close = (): void => {
    open = false
    clearTimeout(doubt)
  }
  const runReady = (): void => {
    for (let task = takeOne(ready, draw); task !== undefined; task = open ? takeOne(ready, draw) : undefined) {
      task()
      if (++steps < maxSteps || !open) continue
      close()
      onStuck(new Endless(options.seed, time.now(), steps))
    }
  }
  const turn = (): void => {
    do runReady()
    while (open && time.jump())
    scheduled = false
    if (open) doubt = setTimeout(() => onStuck(new Deadlock(options.seed, time.now())), options.patienceMs ?? 20)
  }
  const scheduler: Scheduler.Scheduler = {
    executionMode: "async",
    shouldYield: () => draw() < yieldRate,
    makeDispatcher: () => ({
      scheduleTask: (task, priority) => {
        clearTimeout(doubt)
        const peers = ready.get(priority)
        if (peers === undefined) ready.set(priority, [task])
        else peers.push(task)
        if (scheduled || !open) return
        scheduled = true
        queueMicrotask(turn)
      },
      flush: runReady
    })
  }
  return { scheduler, clock: time.clock, close }
}

/** A random one of the most urgent: a lower number goes first, as in Effect's own scheduler. */
const takeOne = (ready: Map<number, Array<() => void>>, draw: () => number): (() => void) | undefined => {
  if (ready.size === 0) return undefined
  const urgent = Math.min(...ready.keys())
  const peers = ready.get(urgent) ?? []
  const [task] = peers.splice(Math.floor(draw() * peers.length), 1)
  if (peers.length === 0) ready.delete(urgent)
  return task
}

interface Timeline {
  readonly clock: Clock.Clock
  readonly now: () => number
  /** Moves to the earliest sleeper and wakes all of that instant; false when nobody sleeps. */
  readonly jump: () => boolean
}

const timeline = (startAt: number): Timeline => {
  const sleepers = new Map<() => void, number>()
  let now = startAt
  const nanos = () => BigInt(Math.round(now * 1e6))
  return {
    now: () => now,
    jump: () => {
      const earliest = Math.min(...sleepers.values())
      if (earliest === Infinity) return false
      now = Math.max(now, earliest)
      for (const [wake, at] of [...sleepers]) {
        if (at > now) continue
        sleepers.delete(wake)
        wake()
      }
      return true
    },
    clock: {
      currentTimeMillisUnsafe: () => now,
      currentTimeMillis: Effect.sync(() => now),
      currentTimeNanosUnsafe: nanos,
      currentTimeNanos: Effect.sync(nanos),
      monotonicTimeNanosUnsafe: nanos,
      monotonicTimeNanos: Effect.sync(nanos),
      sleep: (duration) =>
        Effect.callback<void>((resume) => {
          const wake = () => resume(Effect.void)
          const ms = Math.max(0, Duration.toMillis(duration))
          // Whole milliseconds, rounded up, as real timers: a remainder too small to add would sleep on the spot for ever.
          sleepers.set(wake, ms > 0 ? Math.max(now + 1, Math.ceil(now + ms)) : now)
          return Effect.sync(() => void sleepers.delete(wake))
        })
    }
  }
}

/** Uniform in [0, 1), from a 32-bit counter and a mixing hash. */
const generator = (seed: number): (() => number) => {
  let counter = Math.imul(seed | 0, 0x9e3779b1)
  return () => {
    counter = (counter + 0x9e3779b9) | 0
    let mixed = counter ^ (counter >>> 16)
    mixed = Math.imul(mixed, 0x21f0aaad)
    mixed ^= mixed >>> 15
    mixed = Math.imul(mixed, 0x735a2d97)
    mixed ^= mixed >>> 15
    return (mixed >>> 0) / 0x1_0000_0000
  }
}
