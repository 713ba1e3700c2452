/**
 * A message as the JSON text that goes on the wire, and the small rules about names and ids. Pure.
 *
 * W1. Every string is well-formed Unicode (X-SAFE-01).
 * W2. The arguments of a call that is sent back are always the text of a JSON object (D9).
 * W3. A name or id that the provider would refuse is mapped, always to the same one (D2, D13).
 */
import * as Canonical from "@settle/core/model/Canonical"
import * as Json from "@settle/core/model/Json"
import * as Message from "@settle/core/model/Message"
import type { Declaration } from "@settle/core/model/Tool"
import type { Dialect, ReplayReasoning } from "./Dialect.ts"

/** What this protocol keeps with a turn, to send it back where a provider wants it (F8, F9). */
export const protocol = "openai-chat"

export const toolName = (name: string): string => {
  const safe = name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 64)
  return safe === "" ? "unnamed" : safe
}

export const callId = (id: string, dialect: Dialect): string =>
  dialect.callId.test(id) ? id : Canonical.textDigest(id).slice(0, dialect.callIdLength)

/** Text of a JSON object; anything else goes back as an empty one, and the tool's answer says what was wrong with it. */
const objectText = (text: string): string => {
  const parsed = Json.parse(text)
  if (!Json.isObject(parsed)) return "{}"
  return text.isWellFormed() && !/\\ud[89a-f]/i.test(text) ? text : JSON.stringify(Json.fromUnknown(parsed))
}

/** What came with this call and must go back, where the provider insists. */
const extraOf = (turn: Message.Message, id: string, dialect: Dialect): Json.JsonObject => {
  const kept = dialect.callExtras && turn.replay?.protocol === protocol ? turn.replay.data : undefined
  const extras = Json.isObject(kept) ? kept["callExtras"] : undefined
  const own = Array.isArray(extras)
    ? extras.find((pair: Json.Json) => Array.isArray(pair) && pair[0] === id)
    : undefined
  return Array.isArray(own) && Json.isObject(own[1]) ? { extra_content: own[1] } : {}
}

const call = (self: Message.ToolCall, turn: Message.Message, dialect: Dialect): Json.Json => ({
  ...extraOf(turn, self.id, dialect),
  id: callId(self.id, dialect),
  type: "function",
  function: { name: toolName(self.name), arguments: objectText(self.arguments) }
})

const part = (self: Message.Part): ReadonlyArray<Json.Json> => {
  switch (self._tag) {
    case "Image":
      return [{ type: "image_url", image_url: { url: `data:${self.mimeType};base64,${self.data}` } }]
    case "Audio":
      return [{ type: "input_audio", input_audio: { data: self.data, format: self.mimeType.replace(/^audio\//, "") } }]
    case "ResourceLink":
      return []
  }
}

const isImage = (self: Message.Part): boolean => self._tag === "Image"

/** The text, and whether pictures that it speaks of are kept from the model. */
const textContent = (self: Message.Message, shown: boolean): string => {
  const hidden = shown ? 0 : (self.parts ?? []).filter(isImage).length
  const note = hidden === 0 ? "" : `\n[${hidden === 1 ? "1 image" : `${hidden} images`} left out: not shown to you]`
  return Json.wellFormed(`${self.content}${note}`)
}

/** Only a user's message may hold anything but text in this protocol. */
const userContent = (self: Message.Message, { vision = true }: Dialect): Json.Json => {
  const parts = (self.parts ?? []).filter((one) => vision || !isImage(one)).flatMap(part)
  if (parts.length === 0) return textContent(self, vision)
  if (!vision) return [{ type: "text", text: textContent(self, vision) }, ...parts]
  const text = self.content === "" ? [] : [{ type: "text", text: Json.wellFormed(self.content) }]
  return [...text, ...parts]
}

const reasoning = (self: Message.Message, rule: ReplayReasoning): Json.JsonObject => {
  const calls = Message.callsOf(self).length > 0
  if (rule.when === "never" || (rule.when === "calls" && !calls)) return {}
  const kept = self.replay?.protocol === protocol ? self.replay.data : undefined
  const details = Json.isObject(kept) ? kept["details"] : undefined
  const text = Json.isObject(kept) ? kept["text"] : undefined
  const origin = Json.isObject(kept) ? kept["field"] : undefined
  const field = rule.field ?? (origin === "reasoning_content" ? "reasoning_content" : "reasoning")
  if (rule.field === undefined && Array.isArray(details)) return { reasoning_details: details }
  if (typeof text === "string") return { [field]: Json.wellFormed(text) }
  return rule.insist === true && calls ? { [field]: "" } : {}
}

const body = (self: Message.Message, dialect: Dialect): Json.JsonObject => {
  switch (self.role) {
    case "system":
      return { role: "system", content: Json.wellFormed(self.content) }
    case "user":
      return { role: "user", content: userContent(self, dialect) }
    case "tool":
      return {
        role: "tool",
        tool_call_id: callId(self.toolCallId ?? "", dialect),
        content: textContent(self, dialect.vision === true)
      }
    case "assistant": {
      const calls = Message.callsOf(self)
      return {
        role: "assistant",
        content: self.content === "" && calls.length > 0 ? null : Json.wellFormed(self.content),
        ...reasoning(self, dialect.replayReasoning),
        ...(calls.length === 0 ? {} : { tool_calls: calls.map((one) => call(one, self, dialect)) })
      }
    }
  }
}

export const message = (self: Message.Message, dialect: Dialect): string => JSON.stringify(body(self, dialect))

/** The pictures of results as a user's message, where the model sees them; it may stand only behind all results of a turn (M13). */
export const pictures = (results: ReadonlyArray<Message.Message>, dialect: Dialect): string => {
  if (dialect.vision !== true) return ""
  const content = results.flatMap((result) => {
    const images = (result.parts ?? []).filter(isImage).flatMap(part)
    const said = `From the result of call ${callId(result.toolCallId ?? "", dialect)}:`
    return images.length === 0 ? [] : [{ type: "text", text: said }, ...images]
  })
  return content.length === 0 ? "" : JSON.stringify({ role: "user", content })
}

export const tools = (declared: ReadonlyArray<Declaration>): string =>
  JSON.stringify(
    declared.map((tool) => ({
      type: "function",
      function: {
        name: tool.name,
        ...(tool.description === undefined ? {} : { description: Json.wellFormed(tool.description) }),
        parameters: Json.fromUnknown(tool.parameters)
      }
    }))
  )
