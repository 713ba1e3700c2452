/**
 * What a tool returned, as an answer. Pure and total.
 *
 * T1. Every block leaves a trace in the text: text as it is, a picture or a link by name in brackets, an unknown block as JSON
 *     (M13). Pictures, sounds and links go along as typed parts.
 * T2. An error is never checked against the tool's output schema, and neither is anything else: both the text and the structured
 *     content are shown (M6). The second is left out of the text only where the text already says all of it: as its JSON, or
 *     because every value in it is the whole of some block.
 */
import * as Canonical from "@settle/core/model/Canonical"
import * as Json from "@settle/core/model/Json"
import type * as Message from "@settle/core/model/Message"
import * as Tool from "@settle/core/model/Tool"

interface Shown {
  readonly text: string
  readonly part?: Message.Part
}

export const answer = (result: Json.JsonObject): Tool.Answer => {
  const blocks = Array.isArray(result["content"]) ? result["content"].map(block) : []
  const given = result["structuredContent"]
  const structured = given === undefined || given === null ? undefined : Json.fromUnknown(given)
  const texts = blocks.map((each) => each.text)
  // neither content nor structured content: an older or a foreign shape, shown whole
  if (!Array.isArray(result["content"]) && structured === undefined) texts.push(bare(result))
  if (structured !== undefined && !repeats(texts, structured)) texts.push(Json.render(structured))
  const parts = blocks.flatMap((each) => (each.part === undefined ? [] : [each.part]))
  return Tool.Answer.Answered({
    content: texts.join("\n"),
    isError: isError(result),
    ...(structured === undefined ? {} : { structuredContent: structured }),
    ...(parts.length === 0 ? {} : { parts })
  })
}

/** Some servers say it only inside the structured content, where an error would pass for a success (M6). */
const isError = (result: Json.JsonObject): boolean => {
  if (typeof result["isError"] === "boolean") return result["isError"]
  const structured = result["structuredContent"]
  return Json.isObject(structured) && structured["isError"] === true
}

const bare = (result: Json.JsonObject): string => {
  const { _meta: _dropped, isError: _flag, ...rest } = result
  return Object.keys(rest).length === 0 ? "" : Json.render(rest)
}

const repeats = (texts: ReadonlyArray<string>, structured: Json.Json): boolean => {
  const said = new Set([...texts, texts.join("\n")])
  if (leaves(structured).every((leaf) => said.has(leaf)) && texts.length > 0) return true
  const whole = Canonical.json(structured)
  return texts.some((text) => {
    const start = text.trimStart().charAt(0)
    if (start !== "{" && start !== "[") return false
    const parsed = Json.parse(text)
    return parsed !== undefined && Canonical.json(parsed) === whole
  })
}

/** Every value in it that is no container, as text. */
const leaves = (value: Json.Json): ReadonlyArray<string> => {
  if (Array.isArray(value)) return value.flatMap(leaves)
  if (Json.isObject(value)) return Object.values(value).flatMap(leaves)
  return [typeof value === "string" ? value : JSON.stringify(value)]
}

const block = (given: Json.Json): Shown => {
  if (typeof given === "string") return { text: Json.wellFormed(given) }
  if (!Json.isObject(given)) return { text: Json.render(given) }
  switch (given["type"]) {
    case "text":
      return typeof given["text"] === "string" ? { text: Json.wellFormed(given["text"]) } : { text: Json.render(given) }
    case "image":
      return media(given, "Image")
    case "audio":
      return media(given, "Audio")
    case "resource_link":
      return link(given)
    case "resource":
      return resource(given)
    default:
      return { text: Json.render(given) }
  }
}

const media = (given: Json.JsonObject, kind: "Image" | "Audio"): Shown => {
  const data = given["data"]
  const mimeType = textOf(given["mimeType"]) ?? (kind === "Image" ? "image/png" : "audio/wav")
  if (typeof data !== "string" || data === "") return { text: `[${kind.toLowerCase()} without data]` }
  return { text: `[${kind.toLowerCase()} ${mimeType}, ${bytes(data)} bytes]`, part: { _tag: kind, mimeType, data } }
}

const link = (given: Json.JsonObject): Shown => {
  const uri = textOf(given["uri"])
  if (uri === undefined) return { text: Json.render(given) }
  const name = textOf(given["title"]) ?? textOf(given["name"])
  const mimeType = textOf(given["mimeType"])
  const about = textOf(given["description"])
  const label = [name, uri, mimeType].filter((each) => each !== undefined).join(", ")
  return {
    text: `[resource link ${label}]${about === undefined ? "" : ` ${about}`}`,
    part: {
      _tag: "ResourceLink",
      uri,
      ...(name === undefined ? {} : { name }),
      ...(mimeType === undefined ? {} : { mimeType })
    }
  }
}

const resource = (given: Json.JsonObject): Shown => {
  const inner = given["resource"]
  if (!Json.isObject(inner)) return { text: Json.render(given) }
  const uri = textOf(inner["uri"]) ?? "without a name"
  const mimeType = textOf(inner["mimeType"])
  if (typeof inner["text"] === "string") return { text: `[resource ${uri}]\n${Json.wellFormed(inner["text"])}` }
  const blob = inner["blob"]
  if (typeof blob !== "string") return { text: Json.render(given) }
  const text = `[resource ${uri}, ${mimeType ?? "of unknown type"}, ${bytes(blob)} bytes]`
  if (mimeType?.startsWith("image/") === true) return { text, part: { _tag: "Image", mimeType, data: blob } }
  if (mimeType?.startsWith("audio/") === true) return { text, part: { _tag: "Audio", mimeType, data: blob } }
  return { text }
}

const textOf = (value: Json.Json | undefined): string | undefined =>
  typeof value === "string" && value !== "" ? Json.wellFormed(value) : undefined

const bytes = (base64: string): number =>
  Math.floor((base64.length * 3) / 4) - (base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0)
