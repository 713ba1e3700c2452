/** Links of a plan become backends. The code of a protocol is loaded when a model of it is used: one line each. */
import { resolve } from "node:path"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type { Backend } from "@settle/core/port/Backend"
import type * as Refusal from "@settle/core/model/Refusal"
import * as PerLine from "./demo/PerLine.ts"
import * as ConfigError from "./ConfigError.ts"
import type { Link } from "./Plan.ts"
import type { Model } from "./Protocols.ts"
import * as Protocols from "./Protocols.ts"

type Made = Effect.Effect<Backend, Refusal.Refusal, Scope.Scope>

const make = (model: Model, apiKey: Redacted.Redacted<string> | undefined, root: string): Made => {
  const { protocol } = model
  const keyName = keyOf(model) ?? "apiKeyEnv"
  switch (protocol) {
    case "openai-chat": {
      const options = {
        ...remote(model, apiKey),
        baseUrl: model.baseUrl ?? Protocols.openAi,
        includeUsage: model.includeUsage
      }
      return loaded(
        () => import("@settle/backends/openai-chat/Backend"),
        ({ make }) => make(options, keyName)
      )
    }
    case "openai-responses": {
      const options = { ...remote(model, apiKey), encryptedReasoning: model.encryptedReasoning }
      return loaded(
        () => import("@settle/backends/openai-responses/Backend"),
        ({ make }) => make(options, keyName)
      )
    }
    case "anthropic": {
      const { promptCache } = model
      const options = { ...remote(model, apiKey), ...(promptCache === undefined ? {} : { promptCache }) }
      return loaded(
        () => import("@settle/backends/anthropic/Backend"),
        ({ make }) => make(options, keyName)
      )
    }
    case "gemini":
      return loaded(
        () => import("@settle/backends/gemini/Backend"),
        ({ make }) => make(remote(model, apiKey), keyName)
      )
    case "koboldcpp":
      return loaded(
        () => import("@settle/backends/KoboldCpp"),
        ({ make }) => make(remote(model, apiKey), keyName)
      )
    case "embedded": {
      const options = { ...sent(model), model: Protocols.modelName(model) }
      const made = loaded(
        () => import("@settle/backends/embedded/Backend"),
        ({ make }) => make(options)
      )
      return model.perLine === true ? Effect.map(made, PerLine.make) : made
    }
    case "gguf": {
      const { completionReserve: _, protocol: __, ...options } = model
      return loaded(
        () => import("@settle/backends/gguf/Backend"),
        ({ make }) => make({ ...options, path: resolve(root, model.path) })
      )
    }
  }
}

const loaded = <M>(load: () => Promise<M>, use: (module: M) => Made): Made => Effect.flatMap(Effect.promise(load), use)

/** What goes into every request; window and reserve are the budget's. */
const sent = (model: Model) => ({
  ...(model.maxTokens === undefined ? {} : { maxTokens: model.maxTokens }),
  ...("params" in model && model.params !== undefined ? { params: model.params } : {})
})

type Remote = Exclude<Model, { readonly protocol: "embedded" | "gguf" }>

const remote = (model: Remote, apiKey: Redacted.Redacted<string> | undefined) => ({
  ...sent(model),
  baseUrl: model.baseUrl,
  model: Protocols.modelName(model),
  apiKey
})

/** The list of prices, for a server that can be in it. */
export const prices = (server: string | undefined) =>
  Protocols.isPublic(server)
    ? Effect.flatMap(
        Effect.promise(() => import("@settle/backends/Prices")),
        (m) => m.load
      )
    : Effect.undefined

/** Bills without a cost get a computed one, where the list knows the server and the model. */
const priced = Effect.fnUntraced(function* (backend: Backend, server: string | undefined) {
  const list = yield* prices(server)
  if (list === undefined || server === undefined) return backend
  const { priced } = yield* Effect.promise(() => import("@settle/backends/Prices"))
  return priced(backend, list, { baseUrl: server })
})

const keyOf = (model: Model): string | undefined => ("apiKeyEnv" in model ? model.apiKeyEnv : undefined)

/** The value of a variable; an empty one counts as absent. */
export const secret = (name: string): Effect.Effect<Redacted.Redacted<string> | undefined> =>
  Config.option(Config.Redacted(name)).pipe(
    Effect.map(Option.getOrUndefined),
    Effect.map((value) => (value === undefined || Redacted.value(value).trim() === "" ? undefined : value)),
    Effect.orElseSucceed(() => undefined)
  )

/** Takes the key from the environment and makes the backend; connects to nothing. `root`: what the path of a model file is relative to; default the working directory. */
export const backend = Effect.fn("Models.backend")(function* ({ model, name }: Link, root = ".") {
  const variable = keyOf(model)
  const key = variable === undefined ? undefined : yield* secret(variable)
  if (variable !== undefined && key === undefined) {
    return yield* ConfigError.make(new ConfigError.MissingKey({ model: name, variable }))
  }
  return yield* priced(yield* make(model, key, root), Protocols.serverOf(model))
})

export const chain = (links: ReadonlyArray<Link>, root?: string) => Effect.forEach(links, (link) => backend(link, root))
