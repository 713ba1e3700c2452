/** `settle tools`: the catalogue as the model sees it, by provider, with the class of each tool and the rule that applies to it. */
import * as Effect from "effect/Effect"
import type { Declaration } from "@settle/core/model/Tool"
import * as Pattern from "@settle/core/model/Pattern"
import * as Settings from "@settle/core/model/Settings"
import * as Config from "../Config.ts"
import * as ConfigFile from "../ConfigFile.ts"
import * as Neutral from "../Neutral.ts"
import * as Out from "../Out.ts"
import * as Plan from "../Plan.ts"
import * as Servers from "../Servers.ts"

export interface Input {
  readonly config?: string
  readonly output: "text" | "json"
}

interface Row {
  readonly name: string
  readonly provider: string
  readonly idempotency: string
  /** Who says so: a rule of the configuration, the tool itself, or nobody. */
  readonly from: "configuration" | "the tool" | "nobody"
  readonly rule: string
  readonly description: string
}

export const tools = Effect.fn("commands.Tools")(function* ({ config: file, output }: Input) {
  const { config, root } = yield* ConfigFile.load(file)
  const servers = Plan.serversOf(config)
  const { stdout } = yield* Out.Out
  if (servers.size === 0) return yield* stdout.write(output === "json" ? "[]\n" : none)
  const started = yield* Servers.strict(servers, root)
  const rows = (yield* Effect.orDie(started.provider.list)).map((tool) => row(tool, config))
  yield* stdout.write(output === "json" ? `${JSON.stringify(rows, null, 2)}\n` : table(rows))
}, Effect.scoped)

const none = 'No tools: no MCP server is configured. Add one under "mcpServers" in settle.json.\n'

const row = (tool: Declaration, config: Config.Config): Row => {
  const rules = config.idempotency ?? []
  const ruled = rules.some((rule) => Pattern.matches(rule.tool, tool.name))
  return {
    name: tool.name,
    provider: tool.origin ?? "",
    idempotency: Settings.idempotencyOf({ idempotencyRules: rules }, tool.name, tool.idempotency),
    from: ruled ? "configuration" : tool.idempotency === undefined ? "nobody" : "the tool",
    rule: ruleOf(tool.name, config.rules ?? []),
    description: tool.description ?? ""
  }
}

const strongest = ["deny", "ask", "allow"] as const

/** The strongest of the rules that match the name; one with conditions says so. */
const ruleOf = (tool: string, rules: ReadonlyArray<Config.Rule>): string => {
  const matching = rules.filter((rule) => Pattern.matches(rule.tool, tool))
  const bare = matching.filter((rule) => !isConditional(rule))
  const decision = strongest.find((each) => bare.some((rule) => rule.decision === each)) ?? "ask"
  const conditions = matching.filter(isConditional).map((rule) => `${rule.decision} ${conditionsOf(rule)}`)
  const by = bare.find((rule) => rule.decision === decision)
  return [by === undefined ? `${decision} (no rule)` : `${decision} (${by.tool})`, ...conditions].join("; ")
}

const isConditional = (rule: Config.Rule): boolean => conditionsOf(rule) !== ""

const conditionsOf = ({ args, argsAny, command, host, under }: Config.Rule): string =>
  [
    under === undefined ? [] : [`under ${under}`],
    host === undefined ? [] : [`to ${host}`],
    command === undefined ? [] : [`for ${command}`],
    args === undefined ? [] : [`with ${args.join(" ")}`],
    argsAny === undefined ? [] : [`with any of ${argsAny.join(", ")}`]
  ]
    .flat()
    .join(" ")

const table = (rows: ReadonlyArray<Row>): string => {
  const width = Math.max(0, ...rows.map((each) => each.name.length))
  const groups = Map.groupBy(rows, (each) => each.provider)
  return [...groups]
    .map(([provider, members]) => {
      const lines = members.map(
        (each) =>
          `  ${Neutral.line(each.name).padEnd(width)}  ${each.idempotency} (${each.from})  ${each.rule}\n  ${" ".repeat(width)}  ${Neutral.bounded(each.description, 100)}`
      )
      return `${Neutral.line(provider)}\n${lines.join("\n")}\n`
    })
    .join("\n")
}
