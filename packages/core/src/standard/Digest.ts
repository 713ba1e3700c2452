/** Old turns as the text a summariser reads: roles in words, results and arguments bounded, cut into pieces that fit (K5). */
import * as Excerpt from "../decide/Excerpt.ts"
import * as Message from "../model/Message.ts"
import type { TokenCounter } from "../port/TokenCounter.ts"

export interface Bounds {
  /** Characters of one tool result or one call's arguments. */
  readonly toolResultCap: number
  /** Tokens of one piece. */
  readonly room: number
  readonly counter: TokenCounter
}

export const pieces = (messages: ReadonlyArray<Message.Message>, bounds: Bounds): ReadonlyArray<string> => {
  const names = new Map(messages.flatMap((m) => Message.callsOf(m).map((call) => [call.id, call.name] as const)))
  const found: Array<string> = []
  let open: Array<string> = []
  let used = 0
  for (const message of messages) {
    const text = bounded(render(message, names, bounds.toolResultCap), bounds)
    const tokens = bounds.counter.countText(text)
    if (open.length > 0 && used + tokens > bounds.room) {
      found.push(open.join("\n\n"))
      open = []
      used = 0
    }
    open.push(text)
    used += tokens
  }
  return open.length === 0 ? found : [...found, open.join("\n\n")]
}

/** A single turn that is longer than a whole piece loses its middle. */
export const bounded = (text: string, bounds: Pick<Bounds, "room" | "counter">): string => {
  const tokens = bounds.counter.countText(text)
  return tokens <= bounds.room ? text : cut(text, Math.max(1, Math.floor((text.length * bounds.room * 0.9) / tokens)))
}

const render = (message: Message.Message, names: ReadonlyMap<string, string>, cap: number): string => {
  switch (message.role) {
    case "tool":
      return `[result of ${names.get(message.toolCallId ?? "") ?? "a tool"}]\n${neutral(cut(message.content, cap))}`
    case "assistant":
      return [
        "[assistant]",
        ...(message.content === "" ? [] : [neutral(message.content)]),
        ...Message.callsOf(message).map((call) => `[calls ${call.name}] ${neutral(cut(call.arguments, cap))}`)
      ].join("\n")
    case "system":
    case "user":
      return `[${message.role}]\n${neutral(message.content)}`
  }
}

const cut = (text: string, limit: number): string => {
  const made = Excerpt.cut(text, limit)
  return made === undefined ? text : `${made.head}\n[... ${made.elidedChars} characters removed ...]\n${made.tail}`
}

/** A text cannot close the block it stands in. */
export const neutral = (text: string): string => text.replace(/<(\/?)(transcript|summary-so-far)/gi, "< $1$2")
