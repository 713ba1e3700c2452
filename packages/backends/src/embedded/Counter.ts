/**
 * Counts in the model's own tokens. `countRequest` is exactly what a request will be billed: the prompt that is really evaluated,
 * clipped as it will be. The declarations of tools are never shown to the model and cost nothing.
 */
import type * as Message from "@settle/core/model/Message"
import type { TokenCounter } from "@settle/core/port/TokenCounter"
import { name } from "./About.ts"
import * as Dialogue from "./Dialogue.ts"
import type { Model } from "./Model.ts"
import * as Router from "./Router.ts"
import * as Tokenizer from "./Tokenizer.ts"

/** The mark of the role and the mark of the end. */
const framing = 2

export const make = (model: Model): TokenCounter => {
  const countText = (text: string): number => Tokenizer.count(model.tokenizer, text)
  const counted = new WeakMap<Message.Message, number>()
  const countMessage = (message: Message.Message): number => {
    const known = counted.get(message)
    if (known !== undefined) return known
    const shown = Dialogue.fromMessages([{ ...message, role: message.role === "system" ? "user" : message.role }])
    const calls = message.toolCalls ?? []
    const texts = [...shown.map(({ text }) => text), ...calls.map((call) => Dialogue.action(call.name, call.arguments))]
    const count = texts.reduce((sum, text) => sum + countText(text) + framing, 0)
    counted.set(message, count)
    return count
  }
  return {
    unit: name,
    countText,
    countMessages: (messages) => messages.reduce((sum, message) => sum + countMessage(message), 0),
    countTools: () => 0,
    countRequest: ({ conversation, tools }) =>
      Router.prompt(model, { messages: Dialogue.fromMessages(conversation.messages), tools }).length,
    recordUsage: () => {},
    invalidate: () => {}
  }
}
