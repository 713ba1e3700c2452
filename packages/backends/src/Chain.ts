/** Several backends as the chain of an agent: tried in order, every round trip from the first (L-GEN-01). */
import * as Backend from "@settle/core/port/Backend"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** `Chain.layer([OpenAiChat.make(a), OpenAiChat.make(b)])`. The first one that cannot be made is the refusal. */
export const layer = <E, R>(
  backends: ReadonlyArray<Effect.Effect<Backend.Backend, E, R>>
): Layer.Layer<Backend.Backends, E, R> =>
  Layer.effect(
    Backend.Backends,
    Effect.map(Effect.all(backends), (chain) => ({ chain }))
  )

/** Backends that are there already. */
export const of = (...chain: ReadonlyArray<Backend.Backend>): Layer.Layer<Backend.Backends> =>
  Layer.succeed(Backend.Backends, { chain })
