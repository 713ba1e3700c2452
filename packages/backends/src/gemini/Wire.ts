/**
 * A message as parts of a content on the wire, and the small rules about names. Pure.
 *
 * W1. Every string is well-formed Unicode (X-SAFE-01).
 * W2. The arguments of a call that is sent back are always an object (D9), and so is its result.
 * W3. A name that the provider would refuse is mapped, always to the same one (D13).
 * W4. An id goes out only where the server gave one, in a call and in its result alike: they belong together by name and order.
 */
import * as Json from "@settle/core/model/Json"
import * as Message from "@settle/core/model/Message"
import type { Declaration } from "@settle/core/model/Tool"
import type { Called } from "../Given.ts"
import type { Encoded } from "../Sides.ts"
import * as Constrain from "./Constrain.ts"
import * as Replay from "./Replay.ts"

export const toolName = (name: string): string => {
  const safe = name.replace(/[^A-Za-z0-9_.-]/g, "_").slice(0, 64)
  return /^[A-Za-z_]/.test(safe) ? safe : `_${safe}`.slice(0, 64)
}

export const textParts = (text: string): ReadonlyArray<Json.JsonObject> =>
  text.trim() === "" ? [] : [{ text: Json.wellFormed(text) }]

/** Said by a server's own documents to be taken for the signature of a call that another model made. */
const unsigned = "skip_thought_signature_validator"

const idOf = (id: string | undefined): Json.JsonObject => (id === undefined ? {} : { id })

const call = (self: Message.ToolCall, id: string | undefined): Json.JsonObject => {
  const args = Json.parse(self.arguments)
  return {
    functionCall: {
      ...idOf(id),
      name: toolName(self.name),
      args: Json.isObject(args) ? Json.fromUnknown(args) : {}
    }
  }
}

/** Pictures and sounds. For anything else the message's text says that it is there. */
const inline = (self: Message.Message): ReadonlyArray<Json.JsonObject> =>
  (self.parts ?? []).flatMap((part) =>
    part._tag === "ResourceLink" ? [] : [{ inlineData: { mimeType: part.mimeType, data: part.data } }]
  )

const result = (self: Message.Message, calls: ReadonlyMap<string, Called>): Json.JsonObject => {
  const called = calls.get(self.toolCallId ?? "")
  return {
    functionResponse: {
      ...idOf(called === undefined ? undefined : Replay.wireId(called.turn, called.at)),
      name: toolName(called?.name ?? "unnamed"),
      response: { output: Json.wellFormed(self.content) }
    }
  }
}

export interface Context {
  /** Calls made before this message, by id. */
  readonly calls: ReadonlyMap<string, Called>
  /** The model refuses a turn of calls whose first one is not signed. */
  readonly wantsSignatures: boolean
}

const turn = (self: Message.Message, wantsSignatures: boolean): ReadonlyArray<Json.JsonObject> => {
  const kept = Replay.parts(self, (one, n) => call(one, Replay.wireId(self, n)))
  if (kept !== undefined) return kept
  const calls = Message.callsOf(self).map((one, n) => ({
    ...call(one, Replay.wireId(self, n)),
    ...(n === 0 && wantsSignatures ? { thoughtSignature: unsigned } : {})
  }))
  return [...textParts(self.content), ...calls]
}

/** A system message in the middle of a conversation is told to the model as the user's. */
export const message = (self: Message.Message, { calls, wantsSignatures }: Context): Encoded => {
  switch (self.role) {
    case "system":
      return { role: "user", blocks: textParts(self.content) }
    case "user":
      return { role: "user", blocks: [...textParts(self.content), ...inline(self)] }
    case "tool":
      return { role: "user", blocks: [result(self, calls), ...inline(self)] }
    case "assistant":
      return { role: "assistant", blocks: turn(self, wantsSignatures) }
  }
}

const parameters = (given: Json.JsonObject): Json.JsonObject => {
  const { type: _, ...rest } = Constrain.schema(given)
  // an object without properties is refused: a tool that takes nothing has no parameters at all
  return Json.isObject(rest["properties"]) ? { parameters: { type: "object", ...rest } } : {}
}

export const tools = (declared: ReadonlyArray<Declaration>): Json.Json =>
  Json.fromUnknown([
    {
      functionDeclarations: declared.map((tool) => ({
        name: toolName(tool.name),
        ...(tool.description === undefined ? {} : { description: tool.description }),
        ...parameters(tool.parameters)
      }))
    }
  ])
