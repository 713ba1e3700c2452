/**
 * Schema tool routing: every turn is one of the offered actions. Schema, parser and answer text are for hosts too (L-ROUTE-33).
 *
 * R1. One alternative for each tool, in catalogue order, `none` last.
 * R2. A reply is one JSON object with nothing around it, naming an offered action; anything else is no action (L-ROUTE-12).
 */
import * as Data from "effect/Data"
import * as Canonical from "../model/Canonical.ts"
import * as Json from "../model/Json.ts"
import type { Declaration } from "../model/Tool.ts"

export const schemaName = "tool_route"

export interface Route {
  readonly schema: Json.JsonObject
  readonly digest: string
  readonly tools: ReadonlyArray<Declaration>
}

export type Offer = Data.TaggedEnum<{
  Offered: { readonly route: Route }
  /** Nothing to choose but `none`. */
  Empty: {}
  Unroutable: { readonly problem: string }
}>
export const Offer = Data.taggedEnum<Offer>()

export const offer = (tools: ReadonlyArray<Declaration>): Offer => {
  if (tools.length === 0) return Offer.Empty()
  const seen = new Set<string>()
  for (const { name, parameters } of tools) {
    if (name === "none") return unroutable(`a tool is called "none", which means "no tool" here: rename it`)
    if (seen.has(name)) return unroutable(`two tools are called "${name}": a reply could not tell them apart`)
    if (parameters["type"] !== "object") return unroutable(`the parameters of "${name}" are not an object schema`)
    seen.add(name)
  }
  const schema = { anyOf: [...tools.map(alternative), noTool] }
  return Offer.Offered({ route: { schema, digest: Canonical.digest(schema), tools } })
}

const unroutable = (problem: string) => Offer.Unroutable({ problem: `the tools cannot be routed: ${problem}` })

const alternative = ({ name, parameters }: Declaration): Json.JsonObject => ({
  type: "object",
  properties: { tool: { const: name }, arguments: parameters },
  required: ["tool", "arguments"],
  additionalProperties: false
})

const noTool: Json.JsonObject = {
  type: "object",
  properties: { tool: { const: "none" } },
  required: ["tool"],
  additionalProperties: false
}

export type Action = Data.TaggedEnum<{
  Tool: { readonly name: string; readonly arguments: string }
  None: {}
  Invalid: { readonly problem: string }
}>
export const Action = Data.taggedEnum<Action>()

export const parse = (text: string, tools: ReadonlyArray<Declaration>): Action => {
  const value = Json.parse(text.trim())
  if (value === undefined || !Json.isObject(value)) return invalid("the reply is not exactly one JSON object")
  const { tool, ...rest } = value
  if (typeof tool !== "string") return invalid(`the reply names no tool`)
  if (tool === "none") {
    return Object.keys(rest).length === 0 ? Action.None() : invalid(`"none" stands with other keys`)
  }
  const declared = tools.find((candidate) => candidate.name === tool)
  if (declared === undefined) return invalid(`"${tool}" was not offered`)
  const { arguments: given, ...others } = rest
  const [stray] = Object.keys(others)
  if (stray !== undefined) return invalid(`"${stray}" does not belong beside tool and arguments`)
  if (given === undefined) {
    return hasRequired(declared)
      ? invalid(`"${tool}" stands without arguments`)
      : Action.Tool({ name: tool, arguments: "{}" })
  }
  return Json.isObject(given)
    ? Action.Tool({ name: tool, arguments: JSON.stringify(given) })
    : invalid(`the arguments of "${tool}" are not an object`)
}

const invalid = (problem: string) =>
  Action.Invalid({ problem: `the reply is not one of the offered actions: ${problem}` })

const hasRequired = ({ parameters }: Declaration): boolean => {
  const required = parameters["required"]
  return Array.isArray(required) && required.length > 0
}

/** A tool's answer as the next user turn (L-ROUTE-16, -17). */
export const answer = (
  call: { readonly id: string; readonly name: string },
  content: string,
  isError: boolean
): string => `Tool ${isError ? "error" : "result"} for ${call.name} (call ${call.id}):\n${content}`

export const callId = (round: number): string => `route-${round}`
