/** Counts in the model's own tokens. `countRequest` weighs the prompt as its template writes it: what a request will be billed. */
import * as Words from "@settle/core/model/Message"
import type { Message } from "@settle/core/model/Message"
import * as Prefix from "@settle/core/model/Prefix"
import type { Declaration } from "@settle/core/model/Tool"
import type { TokenCounter } from "@settle/core/port/TokenCounter"
import type { Model } from "./Model.ts"

const sample = "a"

/** What the template writes around one message, on average of both sides. */
const frameOf = ({ count, weigh }: Model): number => {
  const one = [Words.user(sample)]
  const three = [...one, Words.assistant(sample), Words.user(sample)]
  return Math.max(0, Math.ceil((weigh(three, undefined) - weigh(one, undefined)) / 2) - count(sample))
}

export const make = (unit: string, model: Model): TokenCounter => {
  const frame = frameOf(model)
  const counted = new WeakMap<Message, number>()
  const catalogues = new WeakMap<ReadonlyArray<Declaration>, number>()
  const empty = [Words.user("")]
  const countMessage = (message: Message): number => {
    const known = counted.get(message)
    if (known !== undefined) return known
    const calls = Words.callsOf(message).reduce(
      (n, { name, arguments: text }) => n + model.count(`${name}(${text})`),
      0
    )
    const made = model.count(message.content) + calls + frame
    counted.set(message, made)
    return made
  }
  const countMessages = Prefix.fold(0, (sum: number, message: Message) => sum + countMessage(message))
  return {
    unit,
    countText: (text) => model.count(text),
    countMessages: (messages) => countMessages(messages),
    countTools: (tools) => {
      const known = catalogues.get(tools)
      if (known !== undefined) return known
      const made = model.weigh(empty, model.functions(tools)) - model.weigh(empty, undefined)
      catalogues.set(tools, made)
      return made
    },
    countRequest: ({ conversation, head, tail, tools }) => {
      const around = [
        ...(head === undefined ? [] : [head]),
        ...conversation.messages,
        ...(tail === undefined ? [] : [tail])
      ]
      return model.weigh(around, model.functions(tools))
    },
    recordUsage: () => {},
    invalidate: () => {}
  }
}
