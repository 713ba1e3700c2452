/** The loop over round outcomes, and nothing else. */
import * as Effect from "effect/Effect"
import type { RunFailure } from "../model/RunFailure.ts"
import type { Live } from "./Live.ts"
import * as Park from "./Park.ts"
import * as Resume from "./Resume.ts"
import * as Round from "./Round.ts"
import { RunEnd } from "./RoundOutcome.ts"
import type { TurnStyle } from "./TurnStyle.ts"

export const drive = Effect.fnUntraced(function* (
  live: Live,
  style: TurnStyle,
  opening: Resume.Opening
): Effect.fn.Return<RunEnd, RunFailure> {
  const stopped = yield* Resume.open(live, style, opening)
  if (stopped !== undefined) return RunEnd.Cancelled({ stage: stopped })
  while (true) {
    const outcome = yield* Round.round(live, style)
    switch (outcome._tag) {
      case "Again":
        continue
      case "HandedOver":
        return RunEnd.Completed({ final: "", reason: outcome.reason })
      case "Cancelled":
        return RunEnd.Cancelled({ stage: outcome.stage })
      case "Answered": {
        const woken = yield* Park.untilWoken(live)
        if (woken._tag === "Quiet") return RunEnd.Completed({ final: outcome.final, reason: undefined })
        if (woken._tag === "Cancelled") return RunEnd.Cancelled({ stage: "parked" })
      }
    }
  }
})
