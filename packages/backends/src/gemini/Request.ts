/**
 * The body of a request. Pure but for what it keeps of the last round.
 *
 * Q1. A message becomes bytes once for as long as its conversation only grows, a tool list once for as long as it is the same array.
 * Q2. While a conversation only grows, the body of a round begins with the bytes of the round before it, up to the end of its
 *     messages.
 * Q3. Results of the calls of one turn are parts of one user content, in their order in the conversation.
 */
import * as Json from "@settle/core/model/Json"
import type * as Backend from "@settle/core/port/Backend"
import { Memory, Once } from "../Given.ts"
import * as Listing from "../Listing.ts"
import * as Sides from "../Sides.ts"
import type * as Streaming from "../Streaming.ts"
import * as Constrain from "./Constrain.ts"
import * as Wire from "./Wire.ts"

export interface Options {
  readonly model: string
  readonly maxTokens: number | undefined
  readonly safetySettings: ReadonlyArray<Json.JsonObject> | undefined
  /** Further members of the body: `generationConfig`, `toolConfig`, `cachedContent`. */
  readonly params: Json.JsonObject
}

export interface Encoder {
  readonly prepare: (request: Backend.Request) => Streaming.Prepared
}

const reserved = new Set(["contents", "systemInstruction", "tools", "generationConfig", "safetySettings"])

/** From the third generation on a turn of calls must be signed. */
const wantsSignatures = (model: string): boolean => Number(/gemini-(\d+)/.exec(model)?.[1] ?? 0) >= 3

const silence = { text: "(no message yet)" }

export const make = (options: Options): Encoder => {
  const tools = new Once(Wire.tools)
  const talks = new Memory<Sides.Talk>()
  const signatures = wantsSignatures(options.model)
  const writer: Sides.Writer = {
    opening: { user: `{"role":"user","parts":[`, assistant: `{"role":"model","parts":[` },
    silence,
    system: Wire.textParts,
    encode: (message, { given }) => Wire.message(message, { calls: given.calls, wantsSignatures: signatures })
  }
  return {
    prepare: (request) => {
      const { conversation, head, tail } = request
      const talk = talks.of(conversation, () => new Sides.Talk(writer, conversation))
      talk.grow(conversation.messages)
      const declared = request.tools.length === 0 ? {} : { tools: tools.of(request.tools) }
      const bytes = [
        Buffer.from(`{"contents":[`),
        ...talk.messages({ head, tail, mark: undefined }),
        Buffer.from(`]${Listing.members({ ...closing(talk, request, options), ...declared })}}`)
      ]
      return { body: Buffer.concat(bytes), callIds: talk.given.callIds }
    }
  }
}

const closing = (talk: Sides.Talk, { head, maxTokens, schema }: Backend.Request, options: Options): Json.JsonObject => {
  const now = head?.role === "system" ? Wire.textParts(head.content) : []
  const system = [...talk.system, ...now]
  const given = options.params["generationConfig"]
  const cap = Listing.capOf(options.maxTokens, maxTokens)
  const generation: Json.JsonObject = {
    ...(Json.isObject(given) ? given : {}),
    ...(cap === undefined ? {} : { maxOutputTokens: cap }),
    ...(schema === undefined
      ? {}
      : { responseMimeType: "application/json", responseSchema: Constrain.schema(schema.schema) })
  }
  return {
    ...(system.length === 0 ? {} : { systemInstruction: { parts: system } }),
    ...(Object.keys(generation).length === 0 ? {} : { generationConfig: generation }),
    ...(options.safetySettings === undefined ? {} : { safetySettings: options.safetySettings }),
    ...Object.fromEntries(Object.entries(options.params).filter(([key]) => !reserved.has(key)))
  }
}
