/** `settle models`: the configured backends; window, completion cap, key, and whether their prices are known. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as ConfigFile from "../ConfigFile.ts"
import * as Figures from "../Figures.ts"
import * as Models from "../Models.ts"
import * as Neutral from "@settle/core/decide/Neutral"
import * as Out from "../Out.ts"
import * as Plan from "../Plan.ts"
import * as Protocols from "../Protocols.ts"
import * as Flags from "./Flags.ts"

export interface Input {
  readonly config?: string
  readonly output: "text" | "json"
}

interface Row {
  readonly name: string
  readonly isDefault: boolean
  readonly protocol: string
  readonly model: string
  readonly server?: string
  readonly contextWindow?: number
  readonly maxTokens?: number
  /** The variable that holds the key, and whether it is set. Never the key. */
  readonly apiKeyEnv?: string
  readonly hasKey?: boolean
  /** Whether a cost can be computed where the server reports none. */
  readonly hasPrices: boolean
  /** Of the price list, where no window is configured. */
  readonly listedWindow?: number
}

export const models = Effect.fn("commands.Models")(function* ({ config: file, output }: Input) {
  const { config } = yield* ConfigFile.load(file)
  const { stdout } = yield* Out.Out
  const names = Object.keys(config.models ?? {})
  if (names.length === 0) return yield* stdout.write(output === "json" ? "[]\n" : none)
  const chosen = new Set(config.model === undefined ? (names.length === 1 ? names : []) : [config.model].flat())
  const rows = yield* Effect.forEach(names, (name) =>
    Effect.fromResult(Plan.chainOf(config, { ...Flags.none, model: [name] })).pipe(
      Effect.flatMap((links) => Effect.forEach(links, (link) => row(link, name, chosen.has(name))))
    )
  )
  yield* stdout.write(output === "json" ? `${JSON.stringify(rows.flat(), null, 2)}\n` : rows.flat().map(text).join(""))
})

const none =
  'No model is configured. Add one under "models" in settle.json, or name a server with --base-url and --model.\n'

const row = Effect.fnUntraced(function* ({ model, name }: Plan.Link, entry: string, isDefault: boolean) {
  const apiKeyEnv = "apiKeyEnv" in model ? model.apiKeyEnv : undefined
  const hasKey = apiKeyEnv === undefined ? undefined : (yield* Models.secret(apiKeyEnv)) !== undefined
  const server = Protocols.serverOf(model)
  const listed = yield* listing(server, Protocols.modelName(model))
  return {
    name: name === entry ? name : `${entry} → ${name}`,
    isDefault,
    protocol: model.protocol,
    model: Protocols.modelName(model),
    ...(server === undefined ? {} : { server }),
    ...(model.contextWindow === undefined ? {} : { contextWindow: model.contextWindow }),
    ...(model.maxTokens === undefined ? {} : { maxTokens: model.maxTokens }),
    ...listed,
    ...(apiKeyEnv === undefined || hasKey === undefined ? {} : { apiKeyEnv, hasKey })
  } satisfies Row
})

const listing = Effect.fnUntraced(function* (server: string | undefined, model: string) {
  const list = yield* Models.prices(server)
  if (list === undefined || server === undefined) return { hasPrices: false }
  const query = { baseUrl: server, model, at: yield* Clock.currentTimeMillis }
  const listedWindow = list.contextWindow(query)
  return {
    hasPrices: list.cost({ promptTokens: 1, completionTokens: 1 }, query) !== undefined,
    ...(listedWindow === undefined ? {} : { listedWindow })
  }
})

const windowOf = ({ contextWindow, listedWindow }: Row): string => {
  if (contextWindow !== undefined) return `window ${Figures.count(contextWindow)} tokens`
  return listedWindow === undefined
    ? "window not configured"
    : `window not configured (listed: ${Figures.count(listedWindow)} tokens)`
}

const text = (row: Row): string => {
  const facts = [
    `${row.protocol} ${Neutral.bounded(row.model, 80)}`,
    row.server === undefined ? [] : `at ${Neutral.bounded(row.server, 120)}`,
    windowOf(row),
    row.maxTokens === undefined ? "no completion cap" : `completion cap ${Figures.count(row.maxTokens)}`,
    row.apiKeyEnv === undefined ? "no key" : `key in ${row.apiKeyEnv} (${row.hasKey === true ? "set" : "not set"})`,
    row.protocol === "embedded" ? "costs nothing" : row.hasPrices ? "prices known" : "prices not known"
  ].flat()
  return `${row.isDefault ? "* " : "  "}${Neutral.line(row.name)}\n      ${facts.join(" · ")}\n`
}
