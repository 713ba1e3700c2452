/** The last turn, taken apart: what was said, what was done, and what came of it. */
import * as Json from "@settle/core/model/Json"
import type { Known } from "./Catalogue.ts"
import type { Limits } from "./Model.ts"
import * as Prompt from "./Prompt.ts"

export interface Call {
  /** The name it was trained under, where it is a known tool. */
  readonly tool: string
  readonly arguments: ReadonlyMap<string, string>
}

export interface Turn {
  /** The clipped messages, as the model sees them. */
  readonly seen: ReadonlyArray<Prompt.Message>
  readonly user: string
  /** The clipped last result. */
  readonly last: string | undefined
  readonly results: number
  readonly calls: ReadonlyArray<Call>
}

export const make = (
  messages: ReadonlyArray<Prompt.Message>,
  limits: Limits,
  offered: ReadonlyMap<Known, string>
): Turn => {
  const seen = Prompt.compact(messages, limits)
  const trained = new Map([...offered].map(([tool, name]) => [name, tool.name]))
  const results = seen.filter((message) => message.role === "result")
  return {
    seen,
    user: seen.find((message) => message.role === "user")?.text ?? "",
    last: results.at(-1)?.text,
    results: results.length,
    calls: Prompt.turnOf(messages)
      .filter((message) => message.role === "action")
      .map((message) => readCall(message.text, trained))
  }
}

/** The paths of the turn's calls, oldest first. */
export const paths = (self: Turn): ReadonlyArray<string> =>
  self.calls.flatMap((call) => {
    const path = call.arguments.get("path")
    return path === undefined ? [] : [path]
  })

/** Whether the turn already did exactly this. */
export const did = (self: Turn, tool: string, args: ReadonlyMap<string, string>): boolean =>
  self.calls.some(
    (call) =>
      call.tool === tool &&
      call.arguments.size === args.size &&
      [...args].every(([key, value]) => call.arguments.get(key) === value)
  )

const readCall = (action: string, trained: ReadonlyMap<string, string>): Call => {
  const json = Json.parse(action)
  if (!Json.isObject(json)) return { tool: "", arguments: new Map() }
  const { arguments: args, tool } = json
  const name = typeof tool === "string" ? tool : ""
  const texts = Object.entries(Json.isObject(args) ? args : {}).flatMap(([key, value]) =>
    typeof value === "string" ? [[key, value] as const] : []
  )
  return { tool: trained.get(name) ?? name, arguments: new Map(texts) }
}
