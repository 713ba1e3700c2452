/**
 * Our messages as a prompt of `effect/ai`, and a prompt as our messages. Pure.
 *
 * R1. What came from a provider with signatures or reasoning goes back as it came: as parts of that turn.
 * R2. The results of one turn stand in one tool message; a result knows the name of its tool.
 * R3. What has no place on the other side is named in the text.
 */
import * as Json from "@settle/core/model/Json"
import * as Message from "@settle/core/model/Message"
import * as Prompt from "effect/ai/Prompt"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { namespace } from "./Outcome.ts"

/** Of replays that hold the turn's own parts. */
export const protocol = "effect-ai"

const encodeTurn = Schema.encodeUnknownOption(Schema.Array(Prompt.AssistantMessagePart))
const decodeTurn = Schema.decodeUnknownOption(Schema.Array(Prompt.AssistantMessagePart))

/** What must go back with this turn, when there is more to it than text and calls. */
export const replayOf = (parts: ReadonlyArray<Prompt.AssistantMessagePart>): Message.Replay | undefined => {
  const more = parts.some(
    (part) => part.type === "reasoning" || part.type === "tool-result" || Object.keys(part.options).length > 0
  )
  if (!more) return undefined
  const encoded = Option.getOrUndefined(encodeTurn(parts))
  return encoded === undefined ? undefined : { protocol, data: Json.fromUnknown(encoded) }
}

const text = (content: string): ReadonlyArray<Prompt.TextPart> =>
  content === "" ? [] : [Prompt.makePart("text", { text: Json.wellFormed(content) })]

const files = (self: Message.Message): ReadonlyArray<Prompt.FilePart> =>
  (self.parts ?? []).flatMap((part) =>
    part._tag === "ResourceLink"
      ? []
      : [Prompt.makePart("file", { mediaType: part.mimeType, data: Buffer.from(part.data, "base64") })]
  )

const assistant = (self: Message.Message): Prompt.AssistantMessage => {
  const kept = self.replay?.protocol === protocol ? Option.getOrUndefined(decodeTurn(self.replay.data)) : undefined
  const content = kept ?? [
    ...text(self.content),
    ...Message.callsOf(self).map((call) =>
      Prompt.makePart("tool-call", {
        id: call.id,
        name: call.name,
        params: Json.parse(call.arguments) ?? {},
        providerExecuted: false
      })
    )
  ]
  return Prompt.makeMessage("assistant", { content })
}

const result = (self: Message.Message, name: string): Prompt.ToolResultPart => {
  const pictures = files(self)
  return Prompt.makePart("tool-result", {
    id: self.toolCallId ?? "",
    name,
    isFailure: false,
    result: Json.wellFormed(self.content),
    providerExecuted: false,
    ...(pictures.length === 0 ? {} : { modelOutput: [...text(self.content), ...pictures] })
  })
}

/** The messages of one request. */
export const fromMessages = (messages: ReadonlyArray<Message.Message>): Prompt.Prompt => {
  const out: Array<Prompt.Message> = []
  const names = new Map<string, string>()
  let results: Array<Prompt.ToolMessagePart> | undefined
  for (const message of messages) {
    if (message.role === "tool") {
      const part = result(message, names.get(message.toolCallId ?? "") ?? "")
      if (results === undefined) {
        results = [part]
        out.push(Prompt.makeMessage("tool", { content: results }))
      } else results.push(part)
      continue
    }
    results = undefined
    switch (message.role) {
      case "system":
        out.push(Prompt.makeMessage("system", { content: Json.wellFormed(message.content) }))
        break
      case "user":
        out.push(Prompt.makeMessage("user", { content: [...text(message.content), ...files(message)] }))
        break
      case "assistant":
        for (const call of Message.callsOf(message)) names.set(call.id, call.name)
        out.push(assistant(message))
    }
  }
  return Prompt.fromMessages(out)
}

/** A file as a part of ours, and the words for it. */
const fileFrom = (self: Prompt.FilePart): { readonly part: Message.Part | undefined; readonly words: string } => {
  const { data, fileName, mediaType } = self
  const address = data instanceof URL ? data.href : undefined
  const label = `[${mediaType}${fileName === undefined ? "" : ` "${fileName}"`}${address === undefined ? "" : ` at ${address}`}]`
  if (address !== undefined) {
    return { part: { _tag: "ResourceLink", uri: address, mimeType: mediaType }, words: label }
  }
  const base64 = typeof data === "string" ? data.replace(/^data:[^,]*,/, "") : bytes(data)
  if (base64 !== undefined && mediaType.startsWith("image/")) {
    return { part: { _tag: "Image", mimeType: mediaType, data: base64 }, words: label }
  }
  if (base64 !== undefined && mediaType.startsWith("audio/")) {
    return { part: { _tag: "Audio", mimeType: mediaType, data: base64 }, words: label }
  }
  return { part: undefined, words: `${label} (left out)` }
}

const bytes = (data: Uint8Array | URL): string | undefined =>
  data instanceof URL ? undefined : Buffer.from(data).toString("base64")

interface Gathered {
  readonly content: string
  readonly parts: ReadonlyArray<Message.Part>
}

const gather = (parts: ReadonlyArray<Prompt.TextPart | Prompt.FilePart>): Gathered => {
  const found = parts.map((part) => (part.type === "text" ? { part: undefined, words: part.text } : fileFrom(part)))
  return {
    content: found.map(({ words }) => words).join("\n"),
    parts: found.flatMap(({ part }) => (part === undefined ? [] : [part]))
  }
}

const withParts = (message: Message.Message, { parts }: Pick<Gathered, "parts">): Message.Message =>
  parts.length === 0 ? message : { ...message, parts }

/** What one of our backends gave with this turn, and wants back. */
const replayIn = (parts: ReadonlyArray<Prompt.AssistantMessagePart>): Message.Replay | undefined => {
  for (const { options } of parts) {
    const kept = options[namespace]
    const replay = Json.isObject(kept) ? Option.getOrUndefined(decodeReplay(kept["replay"])) : undefined
    if (replay !== undefined) return replay
  }
  return undefined
}

const decodeReplay = Schema.decodeUnknownOption(Message.Replay)

const turn = (parts: ReadonlyArray<Prompt.AssistantMessagePart>): Message.Message => {
  const content = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("")
  const calls = parts.flatMap((part) =>
    part.type === "tool-call" && !part.providerExecuted
      ? [{ id: part.id, name: part.name, arguments: argumentsOf(part.params) }]
      : []
  )
  const replay = replayIn(parts)
  return { ...Message.assistant(content, calls), ...(replay === undefined ? {} : { replay }) }
}

/** The text of what a call was given; a provider may hand over text already. */
export const argumentsOf = (params: unknown): string =>
  params === undefined ? "{}" : typeof params === "string" ? params : JSON.stringify(Json.fromUnknown(params))

const results = (parts: ReadonlyArray<Prompt.ToolMessagePart>): ReadonlyArray<Message.Message> =>
  parts.flatMap((part) => {
    if (part.type !== "tool-result" || part.providerExecuted) return []
    if (part.modelOutput === undefined) return [Message.tool(part.id, Json.render(part.result))]
    const said = gather(part.modelOutput)
    return [withParts(Message.tool(part.id, said.content), said)]
  })

/** The conversation that a prompt is. */
export const toMessages = (prompt: Prompt.Prompt): ReadonlyArray<Message.Message> =>
  prompt.content.flatMap((message): ReadonlyArray<Message.Message> => {
    switch (message.role) {
      case "system":
        return [Message.system(message.content)]
      case "user": {
        const said = gather(message.content)
        return [withParts(Message.user(said.content), said)]
      }
      case "assistant":
        return [turn(message.content)]
      case "tool":
        return results(message.content)
    }
  })
