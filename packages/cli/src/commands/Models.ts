/**
 * `settle models`: the configured backends; window, completion cap, key, and what they cost. Without a configuration, the built-in
 * model.
 */
import * as Described from "@settle/backends/Described"
import * as About from "@settle/backends/embedded/About"
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
  /** What a run works by. */
  readonly contextWindow?: number
  readonly maxTokens?: number
  /** The variable that holds the key, and whether it is set. Never the key. */
  readonly apiKeyEnv?: string
  readonly hasKey?: boolean
  /** Whether a cost can be computed where the server reports none. */
  readonly hasPrices: boolean
  /** US dollars for a million tokens. */
  readonly prices?: { readonly input: number; readonly output: number }
  /** Of the price list, where no window is configured and its maker's is not known: said, and not worked by. */
  readonly listedWindow?: number
  /** The longest completion it is known to give. */
  readonly knownMaxOutput?: number
}

export const models = Effect.fn("commands.Models")(function* ({ config: file, output }: Input) {
  const { config } = yield* ConfigFile.load(file)
  const { stdout } = yield* Out.Out
  const names = Object.keys(config.models ?? {})
  if (names.length === 0) {
    const builtIn = yield* row(Plan.builtIn, Plan.builtIn.name, true)
    return yield* stdout.write(output === "json" ? shown([builtIn]) : `${text(builtIn)}${howTo}`)
  }
  const chosen = new Set(config.model === undefined ? (names.length === 1 ? names : []) : [config.model].flat())
  const rows = yield* Effect.forEach(names, (name) =>
    Effect.fromResult(Plan.chainOf(config, { ...Flags.none, model: [name] })).pipe(
      Effect.flatMap((links) => Effect.forEach(links, (link) => row(link, name, chosen.has(name))))
    )
  )
  yield* stdout.write(output === "json" ? shown(rows.flat()) : rows.flat().map(text).join(""))
})

const shown = (rows: ReadonlyArray<Row>): string => `${JSON.stringify(rows, null, 2)}\n`

const howTo =
  'No model is configured, so this one answers. Add a real one under "models" in settle.json, or name a server with --base-url and --model.\n'

const row = Effect.fnUntraced(function* ({ model, name }: Plan.Link, entry: string, isDefault: boolean) {
  const apiKeyEnv = "apiKeyEnv" in model ? model.apiKeyEnv : undefined
  const hasKey = apiKeyEnv === undefined ? undefined : (yield* Models.secret(apiKeyEnv)) !== undefined
  const server = Protocols.serverOf(model)
  const known = yield* knownOf(model, server)
  return {
    name: name === entry ? name : `${entry} → ${name}`,
    isDefault,
    protocol: model.protocol,
    model: Protocols.modelName(model),
    ...(server === undefined ? {} : { server }),
    ...(model.maxTokens === undefined ? {} : { maxTokens: model.maxTokens }),
    ...known,
    ...(apiKeyEnv === undefined || hasKey === undefined ? {} : { apiKeyEnv, hasKey })
  } satisfies Row
})

/** A server of one's own is in no list: of what it runs nothing is presumed. */
const knownOf = Effect.fnUntraced(function* (model: Protocols.Model, server: string | undefined) {
  const configured = Protocols.windowOf(model)
  if (server !== undefined && !Protocols.isPublic(server)) return { hasPrices: false, ...windows(configured) }
  const source = server === undefined ? undefined : { baseUrl: server }
  const { contextWindow, maxOutput, price } = yield* Described.describe(
    Protocols.modelName(model),
    model.protocol,
    source
  )
  return {
    hasPrices: price !== undefined,
    ...(price === undefined || server === undefined ? {} : { prices: { input: price.input, output: price.output } }),
    ...windows(configured, contextWindow, server),
    ...(maxOutput === undefined ? {} : { knownMaxOutput: maxOutput })
  }
})

/** A model in the box is known for what it is. */
const windows = (
  worked: number | undefined,
  said?: number,
  server?: string
): Pick<Row, "contextWindow" | "listedWindow"> => {
  const contextWindow = worked ?? (server === undefined ? said : undefined)
  if (contextWindow !== undefined) return { contextWindow }
  return said === undefined ? {} : { listedWindow: said }
}

const windowOf = ({ contextWindow, listedWindow }: Row): string => {
  if (contextWindow !== undefined) return `window ${Figures.count(contextWindow)} tokens`
  return listedWindow === undefined
    ? "window not configured"
    : `window not configured (listed: ${Figures.count(listedWindow)} tokens)`
}

const capOf = ({ knownMaxOutput, maxTokens }: Row): string => {
  if (maxTokens !== undefined) return `completion cap ${Figures.count(maxTokens)}`
  return knownMaxOutput === undefined
    ? "no completion cap"
    : `no completion cap (it gives at most ${Figures.count(knownMaxOutput)})`
}

const pricesOf = ({ hasPrices, prices }: Row): string => {
  if (!hasPrices) return "prices not known"
  return prices === undefined
    ? "costs nothing"
    : `${Figures.cost(prices.input)} in, ${Figures.cost(prices.output)} out for a million tokens`
}

const text = (row: Row): string => {
  const facts = [
    row.protocol === "embedded" ? `embedded, ${About.label}` : `${row.protocol} ${Neutral.bounded(row.model, 80)}`,
    row.server === undefined ? [] : `at ${Neutral.bounded(row.server, 120)}`,
    windowOf(row),
    capOf(row),
    row.apiKeyEnv === undefined ? "no key" : `key in ${row.apiKeyEnv} (${row.hasKey === true ? "set" : "not set"})`,
    pricesOf(row)
  ].flat()
  return `${row.isDefault ? "* " : "  "}${Neutral.line(row.name)}\n      ${facts.join(" · ")}\n`
}
