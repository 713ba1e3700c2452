/**
 * Questions of a server to a person. One is asked through the call that was out when it came; with nobody to ask it is declined at
 * once (M15).
 */
import type { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { type ElicitResult, ElicitRequestSchema, ElicitResultSchema } from "@modelcontextprotocol/sdk/types.js"
import * as Json from "@settle/core/model/Json"
import * as Asker from "@settle/core/port/Asker"
import * as Effect from "effect/Effect"
import type * as Calls from "./Calls.ts"

export interface Options {
  readonly server: string
  readonly calls: Calls.Calls
  readonly run: <A>(effect: Effect.Effect<A>, options: { readonly signal: AbortSignal }) => Promise<A>
}

/** Must be installed before the connection is made. */
export const install = (sdk: Client, options: Options): void => {
  sdk.setRequestHandler(ElicitRequestSchema, (request, extra) =>
    options.run(answer(options, Json.fromUnknown(request.params)), { signal: extra.signal })
  )
}

const answer = (options: Options, params: Json.Json): Effect.Effect<ElicitResult> => {
  const call = options.calls.youngest()
  const question = {
    kind: "server-elicit",
    server: options.server,
    request: { method: "elicitation/create", params }
  }
  if (call === undefined) return Effect.as(declined(options, "it came outside a call"), { action: "decline" as const })
  if (call.asker === Asker.none) {
    return Effect.as(declined(options, "nobody is there to answer"), { action: "decline" as const })
  }
  return Effect.map(call.scope.asking(question, call.asker.ask(question)), understood)
}

const declined = (options: Options, why: string): Effect.Effect<void> =>
  Effect.sync(() => options.calls.log("warning", options.server, `a question of the server was declined: ${why}`))

const understood = (given: Json.JsonObject): ElicitResult => {
  const parsed = ElicitResultSchema.safeParse(given)
  return parsed.success ? parsed.data : { action: "decline" }
}
