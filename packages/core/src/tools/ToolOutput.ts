/** What an Effect tool put out, as the text and the parts of an answer. Pure and total. */
import type * as AiError from "effect/ai/AiError"
import type * as Prompt from "effect/ai/Prompt"
import * as Base64 from "effect/encoding/Base64"
import * as Predicate from "effect/Predicate"
import * as Json from "../model/Json.ts"
import type * as Message from "../model/Message.ts"

export type Parts = ReadonlyArray<Prompt.ToolModelOutputPart>

/** A result as text; one that is nothing says so. */
export const render = (value: unknown): string => (value === undefined ? "[no result]" : Json.render(value))

export interface Shown {
  readonly content: string
  readonly parts: ReadonlyArray<Message.Part>
}

/** The text says of every part that it is there. */
export const fromParts = (parts: Parts): Shown => ({
  content: parts.map((part) => (part.type === "text" ? Json.wellFormed(part.text) : naming(part))).join("\n"),
  parts: parts.flatMap((part) => (part.type === "text" ? [] : partOf(part)))
})

const naming = ({ fileName, mediaType }: Prompt.FilePart): string =>
  fileName === undefined ? `[${mediaType}]` : `[${mediaType} ${fileName}]`

const partOf = ({ data, fileName, mediaType: mimeType }: Prompt.FilePart): ReadonlyArray<Message.Part> => {
  const link = data instanceof URL ? data.href : typeof data === "string" && /^https?:/i.test(data) ? data : undefined
  if (link !== undefined) {
    return [{ _tag: "ResourceLink", uri: link, mimeType, ...(fileName === undefined ? {} : { name: fileName }) }]
  }
  const encoded = typeof data === "string" ? data.replace(/^data:[^,]*,/, "") : bytes(data)
  if (encoded === undefined) return []
  if (mimeType.startsWith("image/")) return [{ _tag: "Image", mimeType, data: encoded }]
  return mimeType.startsWith("audio/") ? [{ _tag: "Audio", mimeType, data: encoded }] : []
}

const bytes = (data: unknown): string | undefined => (data instanceof Uint8Array ? Base64.encode(data) : undefined)

/** What a handler failed with, or why it was not called. */
export const failure = (name: string, error: unknown): string => {
  if (isAiError(error)) {
    return error.reason._tag === "ToolParameterValidationError"
      ? `The arguments of ${name} do not fit, and it was not called: ${flat(error.reason.description)}`
      : `${name} failed: ${error.reason.message}`
  }
  return error instanceof Error ? `${name} failed: ${Json.wellFormed(error.message)}` : Json.render(error)
}

const isAiError = (error: unknown): error is AiError.AiError =>
  Predicate.isTagged(error, "AiError") &&
  Predicate.hasProperty(error, "reason") &&
  Predicate.hasProperty(error.reason, "_tag")

/** One line: each problem with its place. */
const flat = (description: string): string => description.replace(/\n\s+at /g, " at ").replaceAll("\n", "; ")
