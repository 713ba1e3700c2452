/**
 * Configuration and flags become one plan of a run. Pure: no file, no environment, no network.
 *
 * P1. A flag overrides what the file says; a denial of either stands.
 * P2. What cannot be is refused here, before anything is opened.
 */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Pattern from "@settle/core/model/Pattern"
import * as Settings from "@settle/core/model/Settings"
import * as Rules from "@settle/core/tools/Rules"
import type { Profile, RequestBudget } from "@settle/core/port/RequestBudget"
import type { Flags } from "./commands/Flags.ts"
import type { Config, Rule, Server } from "./Config.ts"
import * as ConfigError from "./ConfigError.ts"
import * as About from "@settle/backends/embedded/About"
import * as Protocols from "./Protocols.ts"

/** One link of the chain. */
export interface Link {
  /** As it is called in the configuration. */
  readonly name: string
  readonly model: Protocols.Model
}

/** What runs where nothing at all is configured. */
export const builtIn: Link = { name: About.name, model: { protocol: "embedded" } }

export interface Plan {
  readonly chain: ReadonlyArray<Link>
  /** Nobody chose the model: the built-in one answers, and whoever runs it is told so. */
  readonly isBuiltIn: boolean
  readonly settings: Settings.Input
  readonly budget: RequestBudget
  readonly rules: ReadonlyArray<Rule>
  /** Tools the person who typed the command allowed: they answer a question, they do not lift a denial. */
  readonly allowed: ReadonlyArray<Pattern.Pattern>
  readonly servers: ReadonlyMap<string, Server>
  /** Tokens of the smallest window of the chain, where one is known: every link must be able to take what is sent. */
  readonly window: number | undefined
  /** Parts of the window; `undefined` where it is not configured, or no window is known. */
  readonly compaction: { readonly window: number; readonly trigger: number; readonly target: number } | undefined
}

type Planned<A> = Result.Result<A, ConfigError.ConfigError>

const refuse = (reason: ConfigError.Reason): Planned<never> => Result.fail(ConfigError.make(reason))

export const make = (config: Config, flags: Flags): Planned<Plan> =>
  Result.gen(function* () {
    const chain = yield* chainOf(config, flags)
    const settings = yield* settingsOf(config, flags)
    const budget = yield* budgetOf(config, flags, chain)
    const window = windowOf(chain)
    yield* patterns("--allow", flags.allow)
    yield* patterns("--deny", flags.deny)
    const rules = [...(config.rules ?? []), ...flags.deny.map((tool) => ({ tool, decision: "deny" as const }))]
    yield* Result.mapError(Rules.decode(rules), ({ path, problem }) =>
      ConfigError.make(new ConfigError.BadValue({ subject: path, problem, remedy: "Correct it in the configuration" }))
    )
    return {
      chain,
      isBuiltIn: chain.length === 1 && chain[0] === builtIn,
      settings,
      budget,
      rules,
      allowed: flags.allow,
      servers: serversOf(config),
      window,
      compaction: compactionOf(config, window)
    }
  })

export const serversOf = (config: Config): ReadonlyMap<string, Server> =>
  new Map(Object.entries(config.mcpServers ?? {}))

/** The models to try, in order. */
export const chainOf = (config: Config, flags: Flags): Planned<ReadonlyArray<Link>> =>
  Result.gen(function* () {
    const models = new Map(Object.entries(config.models ?? {}))
    if (isUnconfigured(config, flags)) return [builtIn]
    const chosen = yield* chosenNames(config, flags, [...models.keys()])
    const links: Array<Link> = []
    for (const name of chosen) links.push(...(yield* expand(name, { models, flags, within: [] })))
    return links.map((link) => ({ ...link, model: overridden(link.model, flags) }))
  })

const isUnconfigured = ({ model = [], models = {} }: Config, flags: Flags): boolean =>
  flags.model.length === 0 && flags.baseUrl === undefined && model.length === 0 && Object.keys(models).length === 0

const chosenNames = (
  config: Config,
  flags: Flags,
  configured: ReadonlyArray<string>
): Planned<ReadonlyArray<string>> => {
  if (flags.model.length > 0) return Result.succeed(flags.model)
  if (config.model !== undefined && config.model.length > 0) {
    return Result.succeed(typeof config.model === "string" ? [config.model] : config.model)
  }
  if (configured.length === 1) return Result.succeed(configured)
  if (flags.baseUrl !== undefined) return Result.succeed(["default"])
  return refuse(new ConfigError.NoModel({ configured }))
}

interface Expansion {
  readonly models: ReadonlyMap<string, NonNullable<Config["models"]>[string]>
  readonly flags: Flags
  readonly within: ReadonlyArray<string>
}

const expand = (name: string, at: Expansion): Planned<ReadonlyArray<Link>> => {
  const entry = at.models.get(name)
  if (entry === undefined) {
    return at.flags.baseUrl === undefined
      ? refuse(new ConfigError.UnknownModel({ name, configured: [...at.models.keys()] }))
      : Result.succeed([{ name, model: { protocol: "openai-chat", model: name } }])
  }
  if (!isChain(entry)) return Result.succeed([{ name, model: entry }])
  if (at.within.includes(name)) return refuse(new ConfigError.ModelCycle({ name }))
  return Result.gen(function* () {
    const links: Array<Link> = []
    for (const [index, item] of entry.entries()) {
      if (typeof item === "string") links.push(...(yield* expand(item, { ...at, within: [...at.within, name] })))
      else links.push({ name: `${name}[${index}]`, model: item })
    }
    return links
  })
}

const isChain = (entry: NonNullable<Config["models"]>[string]): entry is ReadonlyArray<string | Protocols.Model> =>
  Array.isArray(entry)

const overridden = (model: Protocols.Model, flags: Flags): Protocols.Model => ({
  ...model,
  ...(flags.baseUrl !== undefined && Protocols.takes(model, "baseUrl") ? { baseUrl: flags.baseUrl } : {}),
  ...(flags.apiKeyEnv !== undefined && Protocols.takes(model, "apiKeyEnv") ? { apiKeyEnv: flags.apiKeyEnv } : {})
})

const durationOf = Schema.decodeUnknownOption(Schema.DurationFromString)

const duration = (flag: string, text: string | undefined): Planned<Duration.Duration | undefined> => {
  if (text === undefined) return Result.succeed(undefined)
  const read = durationOf(text)
  return Option.isSome(read) && Duration.toMillis(read.value) > 0 && Duration.isFinite(read.value)
    ? Result.succeed(read.value)
    : refuse(
        new ConfigError.BadValue({
          subject: flag,
          problem: `"${text}" is not a duration above zero`,
          remedy: `Write it like "30 seconds"`
        })
      )
}

const patterns = (flag: string, given: ReadonlyArray<string>): Planned<void> => {
  for (const pattern of given) {
    const problem = Pattern.fault(pattern)
    if (problem !== undefined) {
      const remedy = "Give a tool's name, or a prefix ending in *"
      return refuse(new ConfigError.BadValue({ subject: flag, problem, remedy }))
    }
  }
  return Result.void
}

/** Only what was said somewhere; the rest is the engine's to default. */
const said = <A extends object>(values: { readonly [K in keyof A]: A[K] | undefined }): Partial<A> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<A>

const settingsOf = (config: Config, flags: Flags): Planned<Settings.Input> =>
  Result.gen(function* () {
    const limits = config.limits ?? {}
    const toolDeadline = yield* duration("--tool-deadline", flags.toolDeadline)
    const input = said<Settings.Input>({
      ...limits,
      maxToolRounds: flags.maxToolRounds ?? limits.maxToolRounds,
      maxToolCalls: flags.maxToolCalls ?? limits.maxToolCalls,
      toolDeadline: toolDeadline ?? limits.toolDeadline,
      idempotencyRules: config.idempotency,
      concurrentTools: config.concurrentTools,
      identicalCallExempt: config.identicalCallExempt,
      toolRouting: flags.toolRouting ?? config.toolRouting,
      resumeSpend: flags.spend
    })
    const checked = Settings.make(input)
    if (Result.isSuccess(checked)) return input
    const reason = checked.failure.reason
    return reason._tag === "InvalidSetting"
      ? yield* refuse(
          new ConfigError.BadValue({ subject: reason.setting, problem: reason.problem, remedy: reason.remedy })
        )
      : yield* refuse(new ConfigError.BadValue({ subject: "settings", problem: reason.message, remedy: "Correct it" }))
  })

const amount = (flag: string, value: number | undefined): Planned<number | undefined> =>
  value === undefined || (Number.isFinite(value) && value >= 0)
    ? Result.succeed(value)
    : refuse(new ConfigError.BadValue({ subject: flag, problem: `${value} is below zero`, remedy: "Give 0 or more" }))

const budgetOf = (config: Config, flags: Flags, chain: ReadonlyArray<Link>): Planned<RequestBudget> =>
  Result.gen(function* () {
    const file = config.budget ?? {}
    const wallClock = (yield* duration("--max-wall-clock", flags.maxWallClock)) ?? file.maxWallClock
    return said<RequestBudget>({
      profiles: profilesOf(chain),
      defaultProfile: undefined,
      maxObservationSize: file.maxObservationSize,
      maxCost: (yield* amount("--max-cost", flags.maxCost)) ?? file.maxCost,
      maxTotalTokens: (yield* amount("--max-total-tokens", flags.maxTotalTokens)) ?? file.maxTotalTokens,
      maxWallClockMs: wallClock === undefined ? undefined : Duration.toMillis(wallClock)
    })
  })

const profilesOf = (chain: ReadonlyArray<Link>): ReadonlyMap<string, Profile> =>
  new Map(
    chain.flatMap(({ model }): ReadonlyArray<readonly [string, Profile]> => {
      const contextWindow = Protocols.windowOf(model)
      if (contextWindow === undefined) return []
      const reserve = model.completionReserve === undefined ? {} : { completionReserve: model.completionReserve }
      return [[Protocols.modelName(model), { contextWindow, ...reserve }]]
    })
  )

const windowOf = (chain: ReadonlyArray<Link>): number | undefined => {
  const windows = chain.flatMap(({ model }) => Protocols.windowOf(model) ?? [])
  return windows.length === 0 ? undefined : Math.min(...windows)
}

const compactionOf = ({ compaction }: Config, window: number | undefined): Plan["compaction"] =>
  compaction === undefined || window === undefined
    ? undefined
    : { window, trigger: compaction.trigger ?? 0.8, target: compaction.target ?? 0.4 }
