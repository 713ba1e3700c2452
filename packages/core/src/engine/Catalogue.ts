/** The tools a run may offer: listed once per run natively, again for every later round when routed (L-DECL). */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as RunFailure from "../model/RunFailure.ts"
import type { Live } from "./Live.ts"

/** False: cancelled meanwhile. */
export const read = Effect.fnUntraced(function* (live: Live): Effect.fn.Return<boolean, RunFailure.RunFailure> {
  if (live.provider === undefined) return true
  const listed = yield* live.sections.run(live.provider.list)
  if (listed._tag === "Stopped") return false
  if (Exit.isSuccess(listed.exit)) {
    live.state.catalogue = listed.exit.value
    return true
  }
  return yield* Effect.mapError(Effect.failCause(listed.exit.cause), (error) =>
    RunFailure.failure(new RunFailure.CatalogueFailed({ detail: error.message }))
  )
})
