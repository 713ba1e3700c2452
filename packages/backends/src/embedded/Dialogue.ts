/**
 * A conversation as the model's own kind of messages, and the catalogue of a routed request.
 *
 * The model knows no system message and no answer of its own: the context around a conversation is not shown to it.
 *
 * I1. A call stands directly before its result, whatever order a batch was answered in.
 * I2. The loop's own sentence at a limit is not shown: it closes the turn (L-LIM-02).
 * I3. A routed result is told by where it stands: behind an action of that tool, under its header line.
 */
import * as Wording from "@settle/core/decide/Wording"
import * as Json from "@settle/core/model/Json"
import type * as Message from "@settle/core/model/Message"
import type { Offer } from "./Catalogue.ts"
import type * as Prompt from "./Prompt.ts"

const routedResult = /^Tool (?:result|error) for (.+) \(call route-\d+\):(?:\n|$)/

export const fromMessages = (messages: ReadonlyArray<Message.Message>): ReadonlyArray<Prompt.Message> => {
  const out: Array<Prompt.Message> = []
  const asked = new Map<string, string>()
  for (const message of messages) {
    switch (message.role) {
      case "system":
        break
      case "user":
        if (message.content !== Wording.limitReached) out.push(said(message.content, out.at(-1)))
        break
      case "assistant":
        if (message.toolCalls === undefined) out.push({ role: "action", text: actionOf(message.content) })
        for (const call of message.toolCalls ?? []) asked.set(call.id, action(call.name, call.arguments))
        break
      case "tool": {
        const call = asked.get(message.toolCallId ?? "")
        if (call !== undefined) out.push({ role: "action", text: call })
        out.push({ role: "result", text: message.content })
      }
    }
  }
  return out
}

/** Whether the loop has closed the tools: the last word is then its own and no request. */
export const isClosing = (messages: ReadonlyArray<Message.Message>): boolean =>
  messages.findLast((message) => message.role === "user")?.content === Wording.limitReached

const said = (content: string, before: Prompt.Message | undefined): Prompt.Message => {
  const [header, tool] = routedResult.exec(content) ?? []
  if (header === undefined || before?.role !== "action" || toolOf(before.text) !== tool) {
    return { role: "user", text: content }
  }
  return { role: "result", text: content.slice(header.length) }
}

const toolOf = (text: string): string | undefined => {
  const json = Json.parse(text)
  return Json.isObject(json) && typeof json["tool"] === "string" ? json["tool"] : undefined
}

/** A routed action is one already; any other text was an answer. */
const actionOf = (content: string): string =>
  toolOf(content) === undefined ? `{"tool":"answer","arguments":{"text":${JSON.stringify(content)}}}` : content

/** A call as the model would have written it. */
export const action = (name: string, args: string): string => {
  const json = Json.parse(args)
  return `{"tool":${JSON.stringify(name)},"arguments":${json === undefined ? args : JSON.stringify(json)}}`
}

/** The name under which a routed request sends its schema. */
export const routeSchema = "tool_route"

/** The catalogue that a route schema offers, in its order; `undefined` where it is no such schema. */
export const offers = (schema: Json.JsonObject): ReadonlyArray<Offer> | undefined => {
  const { anyOf } = schema
  if (!Array.isArray(anyOf)) return undefined
  const out: Array<Offer> = []
  for (const alternative of anyOf) {
    const properties = Json.isObject(alternative) ? alternative["properties"] : undefined
    const tool = Json.isObject(properties) ? properties["tool"] : undefined
    const name = Json.isObject(tool) ? (tool["const"] ?? onlyOf(tool["enum"])) : undefined
    if (!Json.isObject(properties) || typeof name !== "string") return undefined
    const parameters = properties["arguments"]
    if (name !== "none") out.push({ name, parameters: Json.isObject(parameters) ? parameters : {} })
  }
  return out
}

const onlyOf = (values: Json.Json | undefined): Json.Json | undefined =>
  Array.isArray(values) && values.length === 1 ? values[0] : undefined
