/** Ids of runs, operations and lines. Drawn from Effect's `Random`, so one seed replays a run. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

export interface IdGenerator {
  readonly next: Effect.Effect<string>
}

/** Version 4 UUIDs. */
export const IdGenerator: Context.Reference<IdGenerator> = Context.Reference<IdGenerator>(
  "@settle/core/port/IdGenerator",
  { defaultValue: () => ({ next: uuid }) }
)

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, "0")
const half = 0x1_0000_0000

const uuid: Effect.Effect<string> = Effect.map(Random.Random, (random) => {
  const [a, b, c, d] = [0, 1, 2, 3].map(() => Math.floor(random.nextDoubleUnsafe() * half)) as [
    number,
    number,
    number,
    number
  ]
  const versioned = (b & 0xffff & 0x0fff) | 0x4000
  const varianted = ((c >>> 16) & 0x3fff) | 0x8000
  return `${hex(a, 8)}-${hex(b >>> 16, 4)}-${hex(versioned, 4)}-${hex(varianted, 4)}-${hex(c & 0xffff, 4)}${hex(d, 8)}`
})
