/**
 * Whom to ask when a tool or a server has a question for a person.
 *
 * A request says its `kind`: `server-elicit` carries the server's own request under `request` and is answered with
 * `{ action: "accept" | "decline" | "cancel", content? }`. An answer that is not understood counts as a refusal.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Json from "../model/Json.ts"

export interface Asker {
  readonly ask: (request: Json.JsonObject) => Effect.Effect<Json.JsonObject>
}

/** Nobody is there: every question is declined at once (M15). */
export const none: Asker = { ask: () => Effect.succeed({ action: "decline" }) }

/** Optional part. Read when the question comes, in the context of the call that brought it up. */
export const Asker: Context.Reference<Asker> = Context.Reference<Asker>("@settle/core/port/Asker", {
  defaultValue: () => none
})
