/**
 * One event of a chat-completions stream, or a whole body, as what it adds. Pure and total: every field of every provider may be
 * null, missing or of another type (D5, S13), and only the first choice counts.
 */
import * as Json from "@settle/core/model/Json"
import type { Usage } from "@settle/core/model/Usage"
import type { CallFragment } from "../Calls.ts"
import * as WireUsage from "./Usage.ts"

export type ReasoningField = "reasoning_content" | "reasoning" | "reasoning_details" | "content"

export interface Thought {
  readonly field: ReasoningField
  readonly text: string
}

export interface Delta {
  readonly text: string
  /** The same thought may come under several names at once: the reader picks one. */
  readonly thoughts: ReadonlyArray<Thought>
  readonly details: ReadonlyArray<Json.JsonObject>
  readonly refusal: string
  readonly calls: ReadonlyArray<CallFragment>
  readonly finish: string | undefined
  readonly usage: Usage | undefined
  readonly error: Json.Json | undefined
  readonly model: string | undefined
  readonly id: string | undefined
  readonly provider: string | undefined
  /** False for JSON that is no object at all. */
  readonly known: boolean
}

const none: ReadonlyArray<never> = []

const text = (value: Json.Json | undefined): string => (typeof value === "string" ? value : "")

const some = (value: Json.Json | undefined): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined

const object = (value: Json.Json | undefined): Json.JsonObject | undefined => (Json.isObject(value) ? value : undefined)

const array = (value: Json.Json | undefined): ReadonlyArray<Json.Json> => (Array.isArray(value) ? value : none)

/** A string, or parts of text; thinking parts are not in it. */
const partText = (value: Json.Json | undefined): string => {
  if (!Array.isArray(value)) return text(value)
  return value
    .map((part: Json.Json) => (Json.isObject(part) && part["type"] !== "thinking" ? text(part["text"]) : text(part)))
    .join("")
}

const thinkingText = (value: Json.Json | undefined): string =>
  array(value)
    .map((part) => (Json.isObject(part) && part["type"] === "thinking" ? partText(part["thinking"]) : ""))
    .join("")

const detailText = (value: Json.JsonObject): string => some(value["text"]) ?? text(value["summary"])

const thoughtsOf = (said: Json.JsonObject, details: ReadonlyArray<Json.JsonObject>): ReadonlyArray<Thought> => {
  const candidates: ReadonlyArray<Thought> = [
    { field: "reasoning_content", text: partText(said["reasoning_content"]) },
    { field: "reasoning", text: partText(said["reasoning"]) },
    { field: "reasoning_details", text: details.length === 0 ? "" : details.map(detailText).join("") },
    { field: "content", text: thinkingText(said["content"]) }
  ]
  return candidates.filter((thought) => thought.text !== "")
}

const argumentsOf = (value: Json.Json | undefined): string =>
  typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value)

const fragment = (given: Json.Json): CallFragment | undefined => {
  const call = object(given)
  if (call === undefined) return undefined
  const fn = object(call["function"]) ?? call
  const index = call["index"]
  return {
    index: typeof index === "number" && Number.isInteger(index) ? index : undefined,
    id: some(call["id"]),
    name: some(fn["name"]),
    arguments: argumentsOf(fn["arguments"]),
    extra: object(call["extra_content"])
  }
}

const callsOf = (said: Json.JsonObject): ReadonlyArray<CallFragment> => {
  const legacy = object(said["function_call"])
  const calls = array(said["tool_calls"])
    .map(fragment)
    .filter((call) => call !== undefined)
  if (calls.length > 0 || legacy === undefined) return calls
  const one = fragment({ function: legacy, index: 0 })
  return one === undefined ? none : [one]
}

/** Choice 0; a server that does not number its choices has only that one. */
const firstChoice = (choices: ReadonlyArray<Json.Json>): Json.JsonObject | undefined => {
  for (const choice of choices) {
    if (Json.isObject(choice) && (typeof choice["index"] !== "number" || choice["index"] === 0)) return choice
  }
  return undefined
}

const errorOf = (event: Json.JsonObject, choice: Json.JsonObject | undefined): Json.Json | undefined => {
  const error = event["error"] ?? choice?.["error"]
  if (error !== undefined && error !== null && error !== false && error !== "") {
    return event["error"] === error ? event : { error }
  }
  const bare = event["choices"] === undefined && event["usage"] === undefined
  return bare && (event["object"] === "error" || event["type"] === "error" || event["detail"] !== undefined)
    ? event
    : undefined
}

/** A delta that says nothing. */
export const empty: Delta = {
  text: "",
  thoughts: none,
  details: none,
  refusal: "",
  calls: none,
  finish: undefined,
  usage: undefined,
  error: undefined,
  model: undefined,
  id: undefined,
  provider: undefined,
  known: true
}

export const fromEvent = (given: Json.Json): Delta => {
  const event = object(given)
  if (event === undefined) return { ...empty, known: false }
  const choice = firstChoice(array(event["choices"]))
  // the cumulative `message` that some servers send beside each delta is not an addition
  const said = object(choice?.["delta"]) ?? object(choice?.["message"])
  const details = array(said?.["reasoning_details"]).filter((detail) => Json.isObject(detail))
  const error = errorOf(event, choice)
  return {
    text: said === undefined ? text(choice?.["text"]) : partText(said["content"]),
    thoughts: said === undefined ? none : thoughtsOf(said, details),
    details,
    refusal: text(said?.["refusal"]),
    calls: said === undefined ? none : callsOf(said),
    finish: some(choice?.["finish_reason"]),
    usage:
      WireUsage.decode(event["usage"]) ??
      WireUsage.decode(object(event["x_groq"])?.["usage"]) ??
      WireUsage.decode(choice?.["usage"]),
    error,
    model: some(event["model"]),
    id: some(event["id"]),
    provider: some(event["provider"]),
    known: true
  }
}
