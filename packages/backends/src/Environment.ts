/** The one backend that environment variables describe, for any protocol. */
import type * as Refusal from "@settle/core/model/Refusal"
import type * as Port from "@settle/core/port/Backend"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Chain from "./Chain.ts"

export interface Names {
  /** Of the variables: `<prefix>_BASE_URL`, `<prefix>_MODEL`, `<prefix>_API_KEY`. */
  readonly prefix: string
  /** Where requests go unless the environment says otherwise. */
  readonly baseUrl: string
  /** A further name for the key. */
  readonly otherKey?: string
}

export interface Described {
  readonly baseUrl: string
  readonly model: string
  readonly apiKey: Option.Option<Redacted.Redacted<string>>
}

export const config = ({ baseUrl, otherKey, prefix }: Names): Config.Config<Described> => {
  const key = Config.Redacted(`${prefix}_API_KEY`)
  return Config.all({
    baseUrl: Config.String(`${prefix}_BASE_URL`).pipe(Config.withDefault(baseUrl)),
    model: Config.String(`${prefix}_MODEL`),
    apiKey: Config.option(otherKey === undefined ? key : Config.orElse(key, () => Config.Redacted(otherKey)))
  })
}

/** How a protocol makes its backend. `keyName`: where a user would put the key. */
export type Make = (
  options: { readonly baseUrl: string; readonly model: string; readonly apiKey: Redacted.Redacted<string> | undefined },
  keyName: string
) => Effect.Effect<Port.Backend, Refusal.Refusal>

/** A chain of the one backend that the environment describes. */
export const layer = (
  described: Config.Config<Described>,
  make: Make,
  keyName: string
): Layer.Layer<Port.Backends, Refusal.Refusal | Config.ConfigError> =>
  Chain.layer([
    Effect.flatMap(described, ({ apiKey, baseUrl, model }) =>
      make({ baseUrl, model, apiKey: Option.getOrUndefined(apiKey) }, keyName)
    )
  ])
