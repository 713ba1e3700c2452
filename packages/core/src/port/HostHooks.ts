/** What a host lends a run: told when it parks and when it wakes, in pairs (L-PARK-04, -11). */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Outstanding } from "../model/Completion.ts"

export interface Parked {
  readonly round: number
  readonly outstanding: number
  readonly ops: ReadonlyArray<Outstanding>
}

export interface Unparked {
  readonly round: number
  readonly reason: "completion" | "steer" | "cancelled" | "idle"
  readonly parkedSeconds: number
}

export interface HostHooks {
  readonly onPark: (info: Parked) => Effect.Effect<void>
  readonly onUnpark: (info: Unparked) => Effect.Effect<void>
}

export const HostHooks: Context.Reference<HostHooks> = Context.Reference<HostHooks>("@settle/core/port/HostHooks", {
  defaultValue: () => ({ onPark: () => Effect.void, onUnpark: () => Effect.void })
})
