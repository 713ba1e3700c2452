/**
 * Did it land? Asked of the provider once a deadline passed, before anything is worded (X-IDEM-03).
 *
 * P1. A probe that cannot tell, breaks or takes too long leaves the call as it was: outcome unknown.
 * P2. "Did not land" counts only when the call's own work has ended: while it runs it may land yet.
 * P3. The real answer may come meanwhile, and wins.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Wording from "../decide/Wording.ts"
import * as Tool from "../model/Tool.ts"
import type { ToolProvider } from "../port/ToolProvider.ts"
import * as Live from "./Live.ts"
import { type Settlement, Verdict } from "./Settlement.ts"

/** Longest wait for one probe. */
const limit = "10 seconds"

export interface Probing {
  readonly provider: ToolProvider
  readonly members: ReadonlyArray<Settlement>
  /** The work of these calls is over. */
  readonly hasEnded: () => boolean
}

export const ask = Effect.fnUntraced(function* (live: Live.Live, { hasEnded, members, provider }: Probing) {
  const { probe } = provider
  if (probe === undefined) return
  for (const settlement of members) {
    const { arguments: given, id: callId, name } = settlement.call
    const { operationId } = settlement.operation()
    const found = yield* live.sections.run(
      Effect.timeoutOrElse(probe({ callId, operationId, name, arguments: given }), {
        duration: limit,
        orElse: () => Effect.succeed(undefined)
      })
    )
    if (found._tag === "Stopped") return
    if (Exit.isFailure(found.exit)) {
      Live.log(live, "error", { message: "a probe broke", tool: name, callId, error: Cause.pretty(found.exit.cause) })
      continue
    }
    const answer = read(found.exit.value, hasEnded())
    if (answer !== undefined) settlement.offer(Verdict.Spoke({ answer, at: live.now() }))
  }
})

const read = (found: "landed" | "did-not-land" | undefined, hasEnded: boolean): Tool.Answer | undefined => {
  if (found === "landed") return Tool.answered(Wording.landed)
  return found === "did-not-land" && hasEnded ? Tool.failed(Wording.didNotLand) : undefined
}
