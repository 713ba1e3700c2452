/** Links of a plan become backends. The code of a protocol is loaded when a model of it is used: one line each. */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { Backend } from "@settle/core/port/Backend"
import type * as Refusal from "@settle/core/model/Refusal"
import * as PerLine from "./demo/PerLine.ts"
import * as ConfigError from "./ConfigError.ts"
import type { Link } from "./Plan.ts"
import { type Model, modelName } from "./Protocols.ts"

type Made = Effect.Effect<Backend, Refusal.Refusal>

const openAi = "https://api.openai.com/v1"

const make = (model: Model, apiKey: Redacted.Redacted<string> | undefined): Made => {
  switch (model.protocol) {
    case "openai-chat": {
      const options = { ...sent(model), baseUrl: model.baseUrl ?? openAi, model: model.model, apiKey }
      return loaded(
        () => import("@settle/backends/openai-chat/Backend"),
        ({ make }) => make({ ...options, includeUsage: model.includeUsage }, model.apiKeyEnv ?? "apiKeyEnv")
      )
    }
    case "embedded":
      return loaded(
        () => import("@settle/backends/embedded/Backend"),
        ({ make }) => make({ ...sent(model), model: modelName(model) })
      ).pipe(Effect.map((backend) => (model.perLine === true ? PerLine.make(backend) : backend)))
  }
}

const loaded = <M>(load: () => Promise<M>, use: (module: M) => Made): Made => Effect.flatMap(Effect.promise(load), use)

/** The cap goes to the backend; window and reserve are the budget's. */
const sent = ({ maxTokens }: Model) => (maxTokens === undefined ? {} : { maxTokens })

const keyOf = (model: Model): string | undefined => ("apiKeyEnv" in model ? model.apiKeyEnv : undefined)

/** The value of a variable; an empty one counts as absent. */
export const secret = (name: string): Effect.Effect<Redacted.Redacted<string> | undefined> =>
  Config.option(Config.Redacted(name)).pipe(
    Effect.map(Option.getOrUndefined),
    Effect.map((value) => (value === undefined || Redacted.value(value).trim() === "" ? undefined : value)),
    Effect.orElseSucceed(() => undefined)
  )

/** Takes the key from the environment and makes the backend; connects to nothing. */
export const backend = Effect.fn("Models.backend")(function* ({ model, name }: Link) {
  const variable = keyOf(model)
  const key = variable === undefined ? undefined : yield* secret(variable)
  if (variable !== undefined && key === undefined) {
    return yield* ConfigError.make(new ConfigError.MissingKey({ model: name, variable }))
  }
  return yield* make(model, key)
})

export const chain = (links: ReadonlyArray<Link>) => Effect.forEach(links, backend)
