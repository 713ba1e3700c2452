/**
 * A message as content blocks on the wire, and the small rules about names and ids. Pure.
 *
 * W1. Every string is well-formed Unicode (X-SAFE-01).
 * W2. The input of a call that is sent back is always an object (D9).
 * W3. A name or id that the provider would refuse is mapped, always to the same one (D2, D13).
 * W4. No text block is blank: the provider refuses one.
 */
import * as Canonical from "@settle/core/model/Canonical"
import * as Json from "@settle/core/model/Json"
import * as Message from "@settle/core/model/Message"
import type { Declaration } from "@settle/core/model/Tool"
import type { Encoded } from "../Sides.ts"
import * as Replay from "./Replay.ts"

export const toolName = (name: string): string => {
  const safe = name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 128)
  return safe === "" ? "unnamed" : safe
}

const acceptableId = /^[A-Za-z0-9_-]{1,64}$/

export const callId = (id: string): string =>
  acceptableId.test(id) ? id : `call_${Canonical.textDigest(id).slice(0, 24)}`

export const textBlocks = (text: string): ReadonlyArray<Json.JsonObject> =>
  Replay.isBlank(text) ? [] : [{ type: "text", text: Json.wellFormed(text) }]

const call = (self: Message.ToolCall): Json.JsonObject => {
  const input = Json.parse(self.arguments)
  return {
    type: "tool_use",
    id: callId(self.id),
    name: toolName(self.name),
    input: Json.isObject(input) ? Json.fromUnknown(input) : {}
  }
}

const imageTypes: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"])

/** Pictures of the kinds it takes. For anything else the message's text says that it is there. */
const images = (self: Message.Message, vision: boolean): ReadonlyArray<Json.JsonObject> =>
  (self.parts ?? []).flatMap((part) =>
    part._tag === "Image" && vision && imageTypes.has(part.mimeType)
      ? [{ type: "image", source: { type: "base64", media_type: part.mimeType, data: part.data } }]
      : []
  )

/** The text, and whether pictures that it speaks of are kept from the model (M13). */
const words = (self: Message.Message, shown: number): string => {
  const hidden = (self.parts ?? []).filter((part) => part._tag === "Image").length - shown
  const note = hidden === 0 ? "" : `\n[${hidden === 1 ? "1 image" : `${hidden} images`} left out: not shown to you]`
  return Json.wellFormed(`${self.content}${note}`)
}

const result = (self: Message.Message, vision: boolean): Json.JsonObject => {
  const pictures = images(self, vision)
  const text = words(self, pictures.length)
  return {
    type: "tool_result",
    tool_use_id: callId(self.toolCallId ?? ""),
    content: pictures.length === 0 ? text : [...textBlocks(text), ...pictures]
  }
}

const userBlocks = (self: Message.Message, vision: boolean): ReadonlyArray<Json.JsonObject> => {
  const pictures = images(self, vision)
  return [...textBlocks(words(self, pictures.length)), ...pictures]
}

export interface How {
  /** The digest that a turn's thinking must have been signed after; `undefined` sends it whatever it followed. */
  readonly prefix: string | undefined
  /** Whether the model sees pictures. Default true. */
  readonly vision?: boolean
}

/** A system message in the middle of a conversation is told to the model as the user's. */
export const message = (self: Message.Message, { prefix, vision = true }: How): Encoded => {
  switch (self.role) {
    case "system":
      return { role: "user", blocks: textBlocks(self.content) }
    case "user":
      return { role: "user", blocks: userBlocks(self, vision) }
    case "tool":
      return { role: "user", blocks: [result(self, vision)] }
    case "assistant":
      return {
        role: "assistant",
        blocks: Replay.blocks(self, prefix, call) ?? [...textBlocks(self.content), ...Message.callsOf(self).map(call)]
      }
  }
}

export const tools = (declared: ReadonlyArray<Declaration>): ReadonlyArray<Json.JsonObject> =>
  declared.map((tool) => ({
    name: tool.name,
    ...(tool.description === undefined ? {} : { description: Json.wellFormed(tool.description) }),
    input_schema: Json.fromUnknown({ ...tool.parameters, type: "object" })
  }))
