/**
 * Puts the questions of a run to the person at the terminal: may this call run, and what a server wants to know.
 *
 * Q1. What is shown is neutral and bounded, with length and digest where it is cut (X-SAFE-03).
 * Q2. Whatever is not clearly a yes is a no; no answer at all declines.
 * Q3. While a question stands nothing else is drawn.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Semaphore from "effect/Semaphore"
import * as Json from "@settle/core/model/Json"
import * as Asker from "@settle/core/port/Asker"
import type { Ask } from "./commands/Flags.ts"
import type { Lines } from "./Lines.ts"
import * as Neutral from "@settle/core/decide/Neutral"
import type { Device } from "./Out.ts"
import * as Render from "./Render.ts"

export interface Parts {
  readonly render: Render.Render
  readonly lines: Lines
  readonly device: Device
}

/** Whether there is somebody to ask. */
export const isAttended = (ask: Ask, isTerminal: boolean): boolean => ask === "always" || (ask === "tty" && isTerminal)

/** One question at a time, in the order they come. */
export const make = (parts: Parts): Asker.Asker => {
  const one = Semaphore.makeUnsafe(1)
  return { ask: (request) => one.withPermits(1)(parts.render.aside(question(parts, request))) }
}

const question = (parts: Parts, request: Json.JsonObject): Effect.Effect<Json.JsonObject> => {
  switch (request["kind"]) {
    case "permission":
      return permission(parts, request)
    case "server-elicit":
      return elicitation(parts, request)
    case "server-login":
      return confirm(parts, request, {
        asks: "wants a login. Open this page",
        shown: request["url"],
        yes: "y: it is open"
      })
    case "server-sampling":
      return confirm(parts, request, {
        asks: "wants an answer of the model",
        shown: request["request"],
        yes: "y: let it"
      })
    default:
      return Effect.succeed({ action: "decline" })
  }
}

const write = ({ device }: Parts, text: string) => device.write(text)

/** `keys`: the answers there are; none of them for a line of text. */
const choose = Effect.fnUntraced(function* (parts: Parts, text: string, keys = "") {
  yield* write(parts, `${text} `)
  const { next, pick } = parts.lines
  return (yield* keys === "" || pick === undefined ? next : pick(keys))?.trim() ?? ""
})

const permission = Effect.fnUntraced(function* (parts: Parts, request: Json.JsonObject) {
  const origin = typeof request["origin"] === "string" ? ` (${Neutral.bounded(request["origin"], 60)})` : ""
  yield* write(
    parts,
    `${Render.toned(parts.device, "warning", `May ${Neutral.bounded(textOf(request["tool"]), 80)}${origin} run?`)}\n`
  )
  yield* write(parts, argumentLines(request["arguments"]))
  const reasons = reasonOf(request)
  if (reasons !== "") yield* write(parts, `  ${Render.toned(parts.device, "quiet", reasons)}\n`)
  const wider = suggestionOf(request["suggestion"])
  const always = wider === undefined ? "" : `, a: always, d: never (${wider})`
  const typed = (yield* choose(parts, `y: once, n: no${always}?`, always === "" ? "yn" : "ynad")).toLowerCase()
  const { callId, digest } = request
  return {
    action: actionOf(typed, wider !== undefined),
    ...(callId === undefined || digest === undefined ? {} : { callId, digest })
  }
})

const actionOf = (typed: string, mayKeep: boolean): Asker.PermissionAnswer["action"] => {
  if (typed === "y" || typed === "yes") return "allow-once"
  if (typed === "a" && mayKeep) return "always-allow"
  return typed === "d" && mayKeep ? "always-deny" : "deny-once"
}

interface Confirm {
  readonly asks: string
  readonly shown: Json.Json | undefined
  readonly yes: string
}

const confirm = Effect.fnUntraced(function* (parts: Parts, request: Json.JsonObject, { asks, shown, yes }: Confirm) {
  const server = Neutral.bounded(textOf(request["server"] ?? "a server"), 60)
  yield* write(
    parts,
    `${Render.toned(parts.device, "warning", `${server} ${asks}:`)}\n  ${Neutral.bounded(textOf(shown ?? ""), 600)}\n`
  )
  const typed = (yield* choose(parts, `${yes}, n: no?`, "yn")).toLowerCase()
  return { action: typed === "y" || typed === "yes" ? "accept" : "decline" }
})

const textOf = (value: Json.Json | undefined): string =>
  typeof value === "string" ? value : JSON.stringify(value ?? null)

const argumentLines = (given: Json.Json | undefined): string => {
  const value = typeof given === "string" ? Json.parse(given) : given
  if (!Json.isObject(value)) return `  ${Neutral.bounded(textOf(given), 400)}\n`
  return Object.entries(value)
    .map(([name, each]) => `  ${Neutral.bounded(name, 60)}: ${Neutral.bounded(textOf(each), 400)}\n`)
    .join("")
}

const reasonOf = ({ reason, rule }: Json.JsonObject): string => {
  const note = Json.isObject(rule) && typeof rule["note"] === "string" ? `: ${Neutral.bounded(rule["note"], 200)}` : ""
  switch (reason) {
    case "rule":
      return `a rule wants you to be asked${note}`
    case "no-match":
      return "no rule decides about it"
    case "unevaluable-path":
      return `a place or a command in it cannot be told for certain${note}`
    default:
      return ""
  }
}

const suggestionOf = (suggestion: Json.Json | undefined): string | undefined => {
  if (!Json.isObject(suggestion)) return undefined
  const { args, command, host, tool, under } = suggestion
  const narrowed = [
    under === undefined ? [] : [`under ${textOf(under)}`],
    host === undefined ? [] : [`to ${textOf(host)}`],
    command === undefined ? [] : [`for ${[command, ...(Array.isArray(args) ? args : [])].map(textOf).join(" ")}`]
  ].flat()
  return Neutral.bounded([textOf(tool), ...narrowed].join(" "), 160)
}

const elicitation = Effect.fnUntraced(function* (parts: Parts, request: Json.JsonObject) {
  const inner = Json.isObject(request["request"]) ? request["request"] : {}
  const params = Json.isObject(inner["params"]) ? inner["params"] : {}
  const server = Neutral.bounded(textOf(request["server"] ?? "a server"), 60)
  yield* write(
    parts,
    `${Render.toned(parts.device, "warning", `${server} asks:`)} ${Neutral.bounded(textOf(params["message"] ?? ""), 600)}\n`
  )
  if (typeof params["url"] === "string") yield* write(parts, `  ${Neutral.bounded(params["url"], 600)}\n`)
  const isPage = typeof params["url"] === "string"
  const answer = (yield* choose(parts, `y: ${isPage ? "it is open" : "answer"}, n: decline?`, "yn")).toLowerCase()
  if (answer !== "y" && answer !== "yes") return { action: "decline" }
  if (isPage) return { action: "accept" }
  const content = yield* form(parts, params["requestedSchema"])
  return content === undefined ? { action: "decline" } : { action: "accept", content }
})

/** One line for each field; an empty line leaves out what is not required. */
const form = Effect.fnUntraced(function* (parts: Parts, schema: Json.Json | undefined) {
  if (!Json.isObject(schema) || !Json.isObject(schema["properties"])) return {}
  const required = Array.isArray(schema["required"]) ? schema["required"] : []
  const content = new Map<string, Json.Json>()
  for (const [name, field] of Object.entries(schema["properties"])) {
    const shape = Json.isObject(field) ? field : {}
    const value = yield* fieldValue(parts, name, shape, required.includes(name))
    if (Option.isNone(value)) return undefined
    if (value.value !== "") content.set(name, value.value)
  }
  return Object.fromEntries(content)
})

const attempts = 3

/** `None` when no usable answer came; an empty text for a field that was left out. */
const fieldValue = Effect.fnUntraced(function* (
  parts: Parts,
  name: string,
  shape: Json.JsonObject,
  isRequired: boolean
) {
  const about = textOf(shape["description"] ?? shape["title"] ?? "")
  const choices = Array.isArray(shape["enum"]) ? ` (${shape["enum"].map(textOf).join(", ")})` : ""
  const label = Neutral.bounded(`${name}${about === '""' || about === "" ? "" : `, ${about}`}${choices}`, 300)
  for (let left = attempts; left > 0; left--) {
    const line = yield* choose(parts, `  ${label}${isRequired ? "" : " [optional]"}:`)
    if (line === "" && !isRequired) return Option.some<Json.Json>("")
    const value = typed(line, shape)
    if (value !== undefined && line !== "") return Option.some(value)
    yield* write(parts, "  That is not an answer to it.\n")
  }
  return Option.none<Json.Json>()
})

const typed = (line: string, shape: Json.JsonObject): Json.Json | undefined => {
  switch (shape["type"]) {
    case "boolean":
      return /^(y|yes|true)$/i.test(line) ? true : /^(n|no|false)$/i.test(line) ? false : undefined
    case "integer":
      return /^-?\d+$/.test(line) ? Number(line) : undefined
    case "number":
      return line !== "" && Number.isFinite(Number(line)) ? Number(line) : undefined
    default:
      return Array.isArray(shape["enum"]) && !shape["enum"].includes(line) ? undefined : line
  }
}
