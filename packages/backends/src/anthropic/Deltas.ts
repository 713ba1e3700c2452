/**
 * One event of a messages stream as what it says. Pure and total: every field may be null, missing or of another type, and what
 * nobody knows yet is `Unknown`.
 */
import * as Json from "@settle/core/model/Json"

export type Delta =
  | { readonly _tag: "Start"; readonly message: Json.JsonObject }
  | { readonly _tag: "BlockStart"; readonly index: number | undefined; readonly block: Json.JsonObject }
  | { readonly _tag: "BlockDelta"; readonly index: number | undefined; readonly delta: Json.JsonObject }
  | { readonly _tag: "BlockStop"; readonly index: number | undefined }
  | {
      readonly _tag: "End"
      readonly stopReason: string | undefined
      readonly usage: Json.JsonObject | undefined
    }
  | { readonly _tag: "Stop" }
  | { readonly _tag: "Ping" }
  | { readonly _tag: "Failed"; readonly error: Json.JsonObject }
  | { readonly _tag: "Unknown" }

export const text = (value: Json.Json | undefined): string => (typeof value === "string" ? value : "")

const some = (value: Json.Json | undefined): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined

const object = (value: Json.Json | undefined): Json.JsonObject => (Json.isObject(value) ? value : {})

const indexOf = (event: Json.JsonObject): number | undefined => {
  const { index } = event
  return typeof index === "number" && Number.isInteger(index) ? index : undefined
}

const ping: Delta = { _tag: "Ping" }
const unknown: Delta = { _tag: "Unknown" }

/** `name` is the event's own, for a server that leaves the type out of the data. */
export const fromEvent = (name: string, event: Json.JsonObject): Delta => {
  switch (some(event["type"]) ?? name) {
    case "message_start":
      return { _tag: "Start", message: object(event["message"]) }
    case "content_block_start":
      return { _tag: "BlockStart", index: indexOf(event), block: object(event["content_block"]) }
    case "content_block_delta":
      return { _tag: "BlockDelta", index: indexOf(event), delta: object(event["delta"]) }
    case "content_block_stop":
      return { _tag: "BlockStop", index: indexOf(event) }
    case "message_delta":
      return endOf(object(event["delta"]), event)
    case "message_stop":
      return { _tag: "Stop" }
    case "ping":
      return ping
    case "error":
      return { _tag: "Failed", error: event }
    default:
      return Json.isObject(event["error"]) ? { _tag: "Failed", error: event } : unknown
  }
}

const endOf = (delta: Json.JsonObject, event: Json.JsonObject): Delta => ({
  _tag: "End",
  stopReason: some(delta["stop_reason"]),
  usage: Json.isObject(event["usage"]) ? event["usage"] : undefined
})

/** A whole message served instead of a stream, as the deltas that a stream would have brought. */
export const fromMessage = (message: Json.JsonObject): ReadonlyArray<Delta> => {
  const { content } = message
  const blocks: ReadonlyArray<Json.Json> = Array.isArray(content) ? content : []
  return [
    { _tag: "Start", message },
    ...blocks.flatMap((block, index): ReadonlyArray<Delta> => [
      { _tag: "BlockStart", index, block: object(block) },
      { _tag: "BlockStop", index }
    ]),
    { _tag: "End", stopReason: some(message["stop_reason"]), usage: undefined },
    { _tag: "Stop" }
  ]
}
