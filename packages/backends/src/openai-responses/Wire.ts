/**
 * A message as input items on the wire, and the small rules about names and ids. Pure.
 *
 * W1. Every string is well-formed Unicode (X-SAFE-01).
 * W2. The arguments of a call that is sent back are always the text of a JSON object (D9), those of a call of free text that text.
 * W3. A name or id that the provider would refuse is mapped, always to the same one (D2, D13).
 * W4. A call and its result are of one kind.
 */
import * as Canonical from "@settle/core/model/Canonical"
import * as Json from "@settle/core/model/Json"
import * as Message from "@settle/core/model/Message"
import type { Declaration } from "@settle/core/model/Tool"
import type { Called } from "../Given.ts"
import * as Replay from "./Replay.ts"

export const toolName = (name: string): string => {
  const safe = name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 64)
  return safe === "" ? "unnamed" : safe
}

const acceptableId = /^[A-Za-z0-9_.:-]{1,64}$/

export const callId = (id: string): string =>
  acceptableId.test(id) ? id : `call_${Canonical.textDigest(id).slice(0, 24)}`

/** Text of a JSON object; anything else goes back as an empty one, and the tool's answer says what was wrong with it. */
const objectText = (text: string): string => {
  const parsed = Json.parse(text)
  return Json.isObject(parsed) ? JSON.stringify(Json.fromUnknown(parsed)) : "{}"
}

const freeText = (text: string): string => {
  const parsed = Json.parse(text)
  return Json.wellFormed(typeof parsed === "string" ? parsed : text)
}

const call = ({ arguments: given, id, name }: Message.ToolCall, custom: boolean): Json.JsonObject => ({
  type: custom ? "custom_tool_call" : "function_call",
  call_id: callId(id),
  name: toolName(name),
  ...(custom ? { input: freeText(given) } : { arguments: objectText(given) })
})

const imageTypes: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"])

/** Pictures of the kinds it takes. For anything else the message's text says that it is there. */
const images = (self: Message.Message): ReadonlyArray<Json.JsonObject> =>
  (self.parts ?? []).flatMap((part) =>
    part._tag === "Image" && imageTypes.has(part.mimeType)
      ? [{ type: "input_image", image_url: `data:${part.mimeType};base64,${part.data}` }]
      : []
  )

/** Text alone, or text with its pictures. */
const content = (self: Message.Message): Json.Json => {
  const text = Json.wellFormed(self.content)
  const pictures = images(self)
  if (pictures.length === 0) return text
  return [...(text === "" ? [] : [{ type: "input_text", text }]), ...pictures]
}

const result = (self: Message.Message, calls: ReadonlyMap<string, Called>): Json.JsonObject => {
  const id = self.toolCallId ?? ""
  const called = calls.get(id)
  const custom = called !== undefined && Replay.isCustom(called.turn, called.at)
  return {
    type: custom ? "custom_tool_call_output" : "function_call_output",
    call_id: callId(id),
    output: content(self)
  }
}

const said = (text: string): ReadonlyArray<Json.JsonObject> =>
  text === ""
    ? []
    : [{ type: "message", role: "assistant", content: [{ type: "output_text", text: Json.wellFormed(text) }] }]

/** `calls`: those made before this message, by id. */
export const items = (self: Message.Message, calls: ReadonlyMap<string, Called>): ReadonlyArray<Json.JsonObject> => {
  switch (self.role) {
    case "system":
      return [{ role: "system", content: Json.wellFormed(self.content) }]
    case "user":
      return [{ role: "user", content: content(self) }]
    case "tool":
      return [result(self, calls)]
    case "assistant":
      return (
        Replay.items(self, call) ?? [...said(self.content), ...Message.callsOf(self).map((one) => call(one, false))]
      )
  }
}

export const tools = (declared: ReadonlyArray<Declaration>): string =>
  JSON.stringify(
    declared.map((tool) => ({
      type: "function",
      name: tool.name,
      ...(tool.description === undefined ? {} : { description: Json.wellFormed(tool.description) }),
      parameters: Json.fromUnknown(tool.parameters),
      // strict by default there, and then most schemas are refused
      strict: false
    }))
  )
