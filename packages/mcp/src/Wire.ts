/**
 * What a server wrote, as JSON-RPC messages. Total: whatever stands on a line becomes messages or one piece of noise.
 *
 * W1. A line that is no JSON, or JSON that is no JSON-RPC, is noise and breaks nothing (M1). A message glued to the end of a
 *     banner is still heard.
 * W2. An answer leaves here in a form that the SDK cannot mistake for something else: a request can then never wait for an
 *     answer that came and was dropped as malformed.
 */
import {
  isJSONRPCErrorResponse,
  isJSONRPCResultResponse,
  type JSONRPCMessage
} from "@modelcontextprotocol/sdk/types.js"
import * as Json from "@settle/core/model/Json"
import * as Data from "effect/Data"

export type Heard = Data.TaggedEnum<{
  Answer: { readonly id: number; readonly message: JSONRPCMessage }
  Notification: { readonly method: string; readonly params: Json.JsonObject; readonly message: JSONRPCMessage }
  Request: { readonly message: JSONRPCMessage }
  Noise: { readonly text: string }
}>
export const Heard = Data.taggedEnum<Heard>()

/** One line of a stdio server. An array is a batch, as older protocol versions had it. */
export const line = (text: string): ReadonlyArray<Heard> => {
  const parsed = parse(text)
  if (parsed === undefined) return [Heard.Noise({ text })]
  return Array.isArray(parsed) ? parsed.map(message) : [message(parsed)]
}

const attempts = 8

const parse = (text: string): Json.Json | undefined => {
  const whole = Json.parse(text)
  if (whole !== undefined) return whole
  // a banner printed without an end of line stands in front of the message
  let at = text.indexOf("{")
  for (let i = 0; i < attempts && at !== -1; i++, at = text.indexOf("{", at + 1)) {
    const rest = at === 0 ? undefined : Json.parse(text.slice(at))
    if (Json.isObject(rest) && rest["jsonrpc"] === "2.0") return rest
  }
  return undefined
}

export const message = (value: Json.Json): Heard => {
  if (!Json.isObject(value) || value["jsonrpc"] !== "2.0") return noise(value)
  const method = value["method"]
  if (typeof method === "string") return called(value, method)
  if ("result" in value || "error" in value) return answer(value)
  return noise(value)
}

const noise = (value: Json.Json): Heard => Heard.Noise({ text: JSON.stringify(value) })

const called = (value: Json.JsonObject, method: string): Heard => {
  const params = Json.isObject(value["params"]) ? value["params"] : {}
  const id = value["id"]
  if (id === undefined) {
    return Heard.Notification({ method, params, message: { jsonrpc: "2.0", method, params: { ...params } } })
  }
  if (typeof id !== "string" && typeof id !== "number") return noise(value)
  return Heard.Request({ message: { jsonrpc: "2.0", id, method, params: { ...params } } })
}

/** Our ids are whole numbers; a server that sends them back as text is understood, anything else is not ours. */
const ownId = (id: unknown): number | undefined => {
  if (typeof id === "number" && Number.isSafeInteger(id)) return id
  if (typeof id === "string" && /^(0|[1-9]\d{0,14})$/.test(id)) return Number(id)
  return undefined
}

const answer = (value: Json.JsonObject): Heard => {
  const id = ownId(value["id"])
  if (id === undefined) return noise(value)
  const error = value["error"]
  if (error !== undefined && error !== null) return Heard.Answer({ id, message: refusal(id, error) })
  const result: unknown = value["result"]
  // a bare value where the protocol has an object: `null` after a ping, or a whole result that would be lost
  const body = Json.isObject(result) ? result : result === null || result === undefined ? {} : { value: result }
  const whole = { jsonrpc: "2.0", id, result: body } as const
  if (isJSONRPCResultResponse(whole)) return Heard.Answer({ id, message: whole })
  const { _meta: _dropped, ...rest } = body as Json.JsonObject
  return Heard.Answer({ id, message: { jsonrpc: "2.0", id, result: rest } })
}

const refusal = (id: number, error: Json.Json): JSONRPCMessage => {
  const whole: unknown = { jsonrpc: "2.0", id, error }
  if (isJSONRPCErrorResponse(whole)) return whole
  const code = Json.isObject(error) && Number.isSafeInteger(error["code"]) ? Number(error["code"]) : -32603
  const text = Json.isObject(error) && typeof error["message"] === "string" ? error["message"] : Json.render(error)
  return { jsonrpc: "2.0", id, error: { code, message: text } }
}
