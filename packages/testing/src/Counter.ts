/** One token a character: sums that a test can do in its head. Framing is nothing unless it is asked for. */
import type { Message } from "@settle/core/model/Message"
import * as Canonical from "@settle/core/model/Canonical"
import type { Declaration } from "@settle/core/model/Tool"
import type { Report, RequestParts, TokenCounter } from "@settle/core/port/TokenCounter"

export interface Counter extends TokenCounter {
  /** Every bill it was shown. */
  readonly reports: ReadonlyArray<Report>
  readonly invalidations: number
}

export interface Options {
  /** Default `characters`. */
  readonly unit?: string
  /** Tokens of a whole request beyond its parts. Default 0. */
  readonly framing?: number
}

export const make = (options: Options = {}): Counter => {
  const reports: Array<Report> = []
  let invalidations = 0
  return {
    reports,
    get invalidations() {
      return invalidations
    },
    unit: options.unit ?? "characters",
    countText: length,
    countMessages,
    countTools,
    countRequest: (parts) => countParts(parts) + (options.framing ?? 0),
    recordUsage: (report) => void reports.push(report),
    invalidate: () => void invalidations++
  }
}

const length = (text: string): number => [...text].length

const countMessage = (message: Message): number =>
  (message.toolCalls ?? []).reduce(
    (sum, call) => sum + length(call.name) + length(call.arguments),
    length(message.content)
  )

const countMessages = (messages: ReadonlyArray<Message>): number =>
  messages.reduce((sum, message) => sum + countMessage(message), 0)

const countTools = (tools: ReadonlyArray<Declaration>): number =>
  tools.reduce(
    (sum, tool) => sum + length(`${tool.name}${tool.description ?? ""}${Canonical.json(tool.parameters)}`),
    0
  )

const countParts = ({ conversation, head, tail, tools }: RequestParts): number =>
  countMessages(conversation.messages) +
  (head === undefined ? 0 : countMessage(head)) +
  (tail === undefined ? 0 : countMessage(tail)) +
  countTools(tools)
