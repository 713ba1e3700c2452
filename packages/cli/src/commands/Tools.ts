/** `settle tools`: the catalogue as the model sees it, by provider, with the class of each tool and the rule that applies to it. */
import * as Effect from "effect/Effect"
import type { Declaration } from "@settle/core/model/Tool"
import type { ToolProvider } from "@settle/core/port/ToolProvider"
import * as Pattern from "@settle/core/model/Pattern"
import * as Rules from "@settle/core/tools/Rules"
import * as Settings from "@settle/core/model/Settings"
import * as Config from "../Config.ts"
import * as ConfigFile from "../ConfigFile.ts"
import * as Neutral from "@settle/core/decide/Neutral"
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
  yield* print(started.provider, config, output)
}, Effect.scoped)

/** The catalogue of tools that are there. */
export const print = Effect.fn("Tools.print")(function* (
  provider: ToolProvider,
  config: Config.Config,
  output: Input["output"]
) {
  const { stdout } = yield* Out.Out
  const listed = yield* Effect.orDie(provider.list)
  const isHidden = ({ name }: Declaration) => Rules.isHidden(config.rules ?? [], name)
  const rows = listed.filter((tool) => !isHidden(tool)).map((tool) => row(tool, config))
  const hidden = listed.filter(isHidden).map(({ name }) => Neutral.line(name))
  if (output === "json") return yield* stdout.write(`${JSON.stringify(rows, null, 2)}\n`)
  yield* stdout.write(table(rows))
  if (hidden.length > 0) yield* stdout.write(`\nDenied by a rule, and not shown to the model: ${hidden.join(", ")}\n`)
})

export const none = 'No tools: no MCP server is configured. Add one under "mcpServers" in settle.json.\n'

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

/** What decides about a call of the tool: the strongest rule for all of its calls, and those with conditions. */
const ruleOf = (tool: string, rules: ReadonlyArray<Rules.Rule>): string => {
  const about = Rules.about(rules, tool)
  const [first] = about.filter((rule) => !isConditional(rule))
  const conditions = about.filter(isConditional).map((rule) => `${rule.decision} ${conditionsOf(rule)}`)
  return [first === undefined ? "ask (no rule)" : `${first.decision} (${first.tool})`, ...conditions].join("; ")
}

const isConditional = (rule: Rules.Rule): boolean => conditionsOf(rule) !== ""

const conditionsOf = ({ args, argsAny, command, host, under }: Rules.Rule): string =>
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
          `  ${Neutral.line(each.name).padEnd(width)}  ${each.idempotency} (${each.from})  ${each.rule}\n  ${" ".repeat(width)}  ${short(each.description)}`
      )
      return `${Neutral.line(provider)}\n${lines.join("\n")}\n`
    })
    .join("\n")
}

const short = (text: string): string => {
  const points = [...Neutral.line(text)]
  return points.length > 100 ? `${points.slice(0, 99).join("")}…` : points.join("")
}
