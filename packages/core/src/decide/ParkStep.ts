/**
 * One look while parked, in the spec's order: bus, cancel, steers, idle valve (L-PARK-05).
 *
 * Steers are pulled only when this answers `AskSteers`: the pull is destructive, so a cancelled run must not do it (L-PARK-08).
 */
import * as Data from "effect/Data"
import type { BusState } from "../model/Completion.ts"

export type ParkStep = Data.TaggedEnum<{
  Deliver: {}
  Quiet: {}
  Cancel: {}
  AskSteers: {}
}>
export const ParkStep = Data.taggedEnum<ParkStep>()

export const look = (bus: BusState, cancelled: boolean): ParkStep => {
  if (bus.queued > 0) return ParkStep.Deliver()
  if (bus.outstanding === 0) return ParkStep.Quiet()
  return cancelled ? ParkStep.Cancel() : ParkStep.AskSteers()
}

export type AfterPull = Data.TaggedEnum<{ Steered: {}; Idle: {}; Stay: {} }>
export const AfterPull = Data.taggedEnum<AfterPull>()

/** The idle valve is last, because it is the only one that is a guess (L-PARK-10). */
export const afterPull = (pulled: number, idleMs: number, idleTimeoutMs: number): AfterPull => {
  if (pulled > 0) return AfterPull.Steered()
  return idleMs >= idleTimeoutMs ? AfterPull.Idle() : AfterPull.Stay()
}
