/**
 * Work of a finalizer that waits with a limit. A fiber that is being interrupted gives up every wait that can be given up, so a
 * finalizer that says "two seconds at most" in it would not wait at all, and leave behind what it should have ended. This runs such
 * work in a fiber of its own, and waits for that.
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

export const apart = (work: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.uninterruptible(Effect.asVoid(Effect.flatMap(Effect.forkDetach(work), Fiber.await)))
