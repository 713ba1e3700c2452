/** `settle mcp check`: connects every configured server and says what it offers, or why it failed. */
import * as Effect from "effect/Effect"
import * as References from "effect/References"
import * as McpServers from "@settle/mcp/McpServers"
import * as ConfigFile from "../ConfigFile.ts"
import * as Exit from "../Exit.ts"
import * as Failure from "../Failure.ts"
import * as Figures from "../Figures.ts"
import * as Neutral from "@settle/core/decide/Neutral"
import * as Out from "../Out.ts"
import * as Plan from "../Plan.ts"
import * as Render from "../Render.ts"
import * as Servers from "../Servers.ts"

export interface Input {
  readonly config?: string
  readonly output: "text" | "json"
}

export const check = Effect.fn("commands.Mcp.check")(function* ({ config: file, output }: Input) {
  const { config, root } = yield* ConfigFile.load(file)
  const { stdout } = yield* Out.Out
  const servers = Plan.serversOf(config)
  if (servers.size === 0) return yield* stdout.write(output === "json" ? "[]\n" : none)
  // What a server that is down would log is what its report says.
  const statuses = yield* McpServers.check(yield* Servers.specs(servers, root)).pipe(
    Effect.provideService(References.MinimumLogLevel, "None")
  )
  if (output === "json") yield* stdout.write(`${JSON.stringify(statuses, null, 2)}\n`)
  else yield* Effect.forEach(statuses, (status) => stdout.write(report(status, stdout)), { discard: true })
  const down = statuses.filter((status) => status.problem !== undefined).length
  if (down > 0)
    return yield* new Failure.CommandError({
      code: Exit.failed,
      detail: `${down} of ${Figures.plural(statuses.length, "server")} failed.`
    })
})

const none = 'No MCP server is configured. Add one under "mcpServers" in settle.json.\n'

const report = (status: McpServers.Status, device: Out.Device): string => {
  const target = Neutral.bounded(status.target, 200)
  if (status.problem !== undefined) {
    return `${Render.toned(device, "bad", `✘ ${Neutral.line(status.server)}`)}  ${target}\n    ${Neutral.bounded(Failure.sentence(status.problem), 600)}\n`
  }
  const about =
    status.about === undefined
      ? ""
      : `${Neutral.bounded(status.about.name, 60)} ${Neutral.bounded(status.about.version, 30)}, `
  const took = status.tookMs === undefined ? "" : ` after ${Figures.duration(status.tookMs)}`
  const names = status.tools.map((tool) => Neutral.line(tool)).join(", ")
  const refused = status.refused.map(
    ({ name, why }) => `    left out ${Neutral.bounded(name, 60)}: ${Neutral.bounded(why, 200)}\n`
  )
  const skipped =
    status.skippedLines > 0 ? `    ${Figures.plural(status.skippedLines, "line")} on its stdout were not MCP\n` : ""
  return `${Render.toned(device, "good", `✔ ${Neutral.line(status.server)}`)}  ${target}\n    ${about}${Figures.plural(status.tools.length, "tool")}${took}${names === "" ? "" : `: ${names}`}\n${refused.join("")}${skipped}`
}
