/** Writes the permission snapshot when its digest differs from the last written one. Always shielded (L-GRANT). */
import * as Effect from "effect/Effect"
import * as Grant from "../model/Grant.ts"
import * as Live from "./Live.ts"

export const sync = (live: Live.Live): Effect.Effect<void> => {
  const { provider, transcript } = live
  if (provider?.grants === undefined || transcript === undefined) return Effect.void
  const written = Effect.flatMap(provider.grants, (grants) => {
    const digest = Grant.digest(grants)
    if (digest === live.state.grantsDigest) return Effect.void
    return Effect.tap(transcript.append([{ type: "grants", payload: { grants } }]), () =>
      Effect.sync(() => {
        live.state.grantsDigest = digest
      })
    )
  })
  return Effect.catchCause(written, (cause) =>
    Effect.sync(() => {
      Live.log(live, "error", { message: "the permission grants could not be written", error: Live.describe(cause) })
    })
  )
}
