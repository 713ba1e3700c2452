/**
 * Whom to ask when a tool or a server has a question for a person.
 *
 * A request says its `kind`, and `server` where one asks:
 * - `server-elicit`: a form or a page, the server's own `{ method, params }` under `request`. Answered with
 *   `{ action: "accept" | "decline" | "cancel", content? }`.
 * - `server-login`: `url` is to be opened in a browser; `accept` once it is, and the login comes back by itself.
 * - `server-sampling`: the server wants an answer of a model; its params under `request`. `accept` or `decline`.
 *
 * An answer that is not understood counts as a refusal.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Json from "../model/Json.ts"

export interface Asker {
  readonly ask: (request: Json.JsonObject) => Effect.Effect<Json.JsonObject>
}

/** What a question about permission says. */
export type Permission = {
  readonly kind: "permission"
  readonly tool: string
  /** As the model gave them. Text from outside: `shown` is the same, safe to print (X-SAFE-03). */
  readonly arguments: Json.JsonObject
  readonly shown: string
  /** Together they name the call: of two that wait, an answer belongs to one (T11, T12). */
  readonly callId: string
  readonly digest: string
  /** Why somebody is asked: `rule`, `no-match`, `unevaluable-path`. */
  readonly reason: string
  /** Absolute paths of the call; null for one that could not be read. */
  readonly paths: ReadonlyArray<string | null>
  /** The server the tool lives on, where it is known. */
  readonly origin?: string
  /** The rule that asks, where one does. */
  readonly rule?: Json.JsonObject
  /** The rule that "always" means, without its decision; absent where nothing narrow enough can be said. */
  readonly suggestion?: Json.JsonObject
}

/** The answer to a `Permission`. */
export type PermissionAnswer = {
  readonly action: "allow-once" | "deny-once" | "always-allow" | "always-deny"
  /** For "always": what else than the suggestion shall hold from now on. One of the two, without a decision. */
  readonly rule?: Json.JsonObject
  readonly rules?: ReadonlyArray<Json.JsonObject>
  /** The call that is answered. Where they are given they must be those of the question. */
  readonly callId?: string
  readonly digest?: string
  /** For the model, with a denial. */
  readonly message?: string
}

/** Nobody is there: every question is declined at once (M15). */
export const none: Asker = { ask: () => Effect.succeed({ action: "decline" }) }

/** Optional part. Read when the question comes, in the context of the call that brought it up. */
export const Asker: Context.Reference<Asker> = Context.Reference<Asker>("@settle/core/port/Asker", {
  defaultValue: () => none
})
