/**
 * Where a conversation may be cut, and the hard trim that drops its oldest turns (K2).
 *
 * T1. A cut lies between two closed steps: an assistant turn and the tool messages that answer it stay or go together.
 * T2. Sticky messages survive every cut. A step that is sticky in part bounds the cut: nothing of it is ever replaced.
 * T3. The result is well formed whenever the input is.
 *
 * A cut is the number of leading messages that are replaced.
 */
import * as Message from "../model/Message.ts"

/** Ends of the closed steps from the front, in ascending order, up to `limit`. */
export const cuts = (messages: ReadonlyArray<Message.Message>, limit: number): ReadonlyArray<number> => {
  const found: Array<number> = []
  let from = 0
  while (from < messages.length) {
    const end = stepEnd(messages, from)
    if (end > limit || isMixed(messages.slice(from, end))) break
    found.push(end)
    from = end
  }
  return found
}

/** The largest cut that leaves at least `keepRecent` messages; 0 when there is none. */
export const middle = (messages: ReadonlyArray<Message.Message>, keepRecent: number): number =>
  cuts(messages, Math.max(0, messages.length - keepRecent)).at(-1) ?? 0

/** A turn with calls ends behind the last tool message that follows it; every other message is a step of its own. */
const stepEnd = (messages: ReadonlyArray<Message.Message>, from: number): number => {
  let end = from + 1
  while (messages[end]?.role === "tool") end++
  return end
}

const isMixed = (step: ReadonlyArray<Message.Message>): boolean =>
  step.some(Message.isSticky) && !step.every(Message.isSticky)

/** How many messages a cut really takes. */
export const dropped = (messages: ReadonlyArray<Message.Message>, cut: number): number =>
  messages.slice(0, cut).filter((message) => !Message.isSticky(message)).length

/** The conversation with its first `cut` messages replaced: sticky ones, then the stand-in, then the rest. */
export const replace = (
  messages: ReadonlyArray<Message.Message>,
  cut: number,
  standIn: string
): ReadonlyArray<Message.Message> => [
  ...messages.slice(0, cut).filter(Message.isSticky),
  Message.user(standIn),
  ...messages.slice(cut)
]

export interface Trimmed {
  readonly messages: ReadonlyArray<Message.Message>
  readonly cut: number
  readonly standIn: string
}

export interface Goal {
  /** Never cut beyond. */
  readonly limit: number
  readonly tokens: number
  readonly weigh: (message: Message.Message) => number
}

/** The smallest drop that fits the goal, else the largest there is; `undefined` when nothing may be dropped. */
export const trim = (messages: ReadonlyArray<Message.Message>, goal: Goal): Trimmed | undefined => {
  let weight = messages.reduce((sum, message) => sum + goal.weigh(message), 0)
  let count = 0
  let from = 0
  let best: { readonly cut: number; readonly standIn: string } | undefined
  for (const cut of cuts(messages, goal.limit)) {
    const gone = messages.slice(from, cut).filter((message) => !Message.isSticky(message))
    from = cut
    if (gone.length === 0) continue
    count += gone.length
    weight -= gone.reduce((sum, message) => sum + goal.weigh(message), 0)
    const standIn = unsummarised(count)
    best = { cut, standIn }
    if (weight + goal.weigh(Message.user(standIn)) <= goal.tokens) break
  }
  return best === undefined ? undefined : { ...best, messages: replace(messages, best.cut, best.standIn) }
}

/** First line of every stand-in. */
export const header = "[Summary of earlier turns of this conversation, which were compacted and are no longer shown.]"

export const summarised = (summary: string): string => `${header}\n${summary}`

export const unsummarised = (count: number): string =>
  `${header}\n${count} ${count === 1 ? "message was" : "messages were"} dropped without a summary to make room. Ask, or look again, for what is missing.`
