/**
 * What the model is shown: the last user message and the steps after it, each clipped. It was trained on nothing else.
 *
 * P1. A cut is made in UTF-8 bytes, never inside a character, and is visible: the text then ends in `[...]`.
 * P2. A conversation of any length gives a prompt that leaves room for the reply: the oldest steps go first.
 */
import type { Limits, Model } from "./Model.ts"
import * as Tokenizer from "./Tokenizer.ts"

/** What the user said, an action of the model (its exact JSON), or what a tool answered. */
export interface Message {
  readonly role: "user" | "action" | "result"
  readonly text: string
}

export const cutMark = "[...]"
/** Positions kept free for the reply, so also its most tokens: a joined path and a content, every byte a token. */
export const replyRoom = 1024

const utf8 = new TextEncoder()
const text = new TextDecoder()

export const byteLength = (value: string): number => utf8.encode(value).length

/** The first `limit` bytes of a text, whole characters only. */
export const firstBytes = (value: string, limit: number): string => {
  const bytes = utf8.encode(value)
  if (bytes.length <= limit) return value
  let end = limit
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--
  return text.decode(bytes.subarray(0, end))
}

export const clip = (value: string, limit: number): string => {
  const first = firstBytes(value, limit)
  return first.length === value.length ? value : first + cutMark
}

export const isCut = (value: string): boolean => value.endsWith(cutMark)

/** File metadata without what would fill the clip: the time of access, and the zone's long name. */
const tidy = (result: string): string =>
  result.replace(/^accessed: .*\n?/gm, "").replace(/ GMT[+-]\d{4}( \([^)\n]*\))?/g, "")

/** The messages of the last turn. */
export const turnOf = (messages: ReadonlyArray<Message>): ReadonlyArray<Message> =>
  messages.slice(
    Math.max(
      0,
      messages.findLastIndex((message) => message.role === "user")
    )
  )

/** The last turn as the model sees it. */
export const compact = (messages: ReadonlyArray<Message>, limits: Limits): ReadonlyArray<Message> => {
  const turn = turnOf(messages)
  const last = turn.findLastIndex((message) => message.role === "result")
  return turn.map(({ role, text }, i) => {
    switch (role) {
      case "user":
        return { role, text: clip(text, limits.user) }
      case "action":
        return { role, text: clip(text, limits.last) }
      case "result":
        return { role, text: clip(tidy(text), i === last ? limits.last : limits.old) }
    }
  })
}

/**
 * The tokens of a prompt, up to and including the mark after which the model writes. `rename` gives an action the name that the
 * model was trained on, whatever prefix its tool is offered under.
 */
export const tokens = (
  model: Model,
  seen: ReadonlyArray<Message>,
  rename: (action: string) => string
): ReadonlyArray<number> => {
  const { marks, tokenizer } = model
  const framed = seen.map(({ role, text }) => [
    marks[role],
    ...Tokenizer.encode(tokenizer, role === "action" ? rename(text) : text),
    marks.end
  ])
  const room = model.llama.context - replyRoom - 2
  const first = framed[0]?.[0] === marks.user ? 1 : 0
  let length = framed.reduce((sum, message) => sum + message.length, 0)
  let dropped = 0
  while (length > room && first + dropped < framed.length) length -= framed[first + dropped++]?.length ?? 0
  framed.splice(first, dropped)
  return [marks.begin, ...framed.flat(), marks.action]
}
