/**
 * The messages of one run, in order. The array only grows, except when a compaction replaces it, which starts a new
 * `revision`: whoever keeps something derived from a prefix (wire bytes, a count) compares the revision and the length.
 */
import * as Canonical from "./Canonical.ts"
import * as Message from "./Message.ts"

export interface Conversation {
  readonly messages: ReadonlyArray<Message.Message>
  readonly revision: number
}

export const of = (messages: ReadonlyArray<Message.Message>): Conversation => ({ messages, revision: 0 })

/** Digest of a whole list; the empty list has one too. */
export const digest = (messages: ReadonlyArray<Message.Message>): string =>
  Canonical.textDigest(messages.map(Message.digest).join("\n"))

/** Calls of the last assistant turn that no tool message answers, in the turn's order. */
export const openCalls = (messages: ReadonlyArray<Message.Message>): ReadonlyArray<Message.ToolCall> => {
  const answered = new Set<string>()
  for (let i = messages.length - 1; i >= 0; i--) {
    const message = messages[i]!
    if (message.role === "tool") {
      if (message.toolCallId !== undefined) answered.add(message.toolCallId)
      continue
    }
    if (message.role === "assistant") return Message.callsOf(message).filter((call) => !answered.has(call.id))
    return []
  }
  return []
}

export type Fault =
  | { readonly _tag: "UnansweredCall"; readonly index: number; readonly callId: string }
  | { readonly _tag: "OrphanResult"; readonly index: number; readonly callId: string }

/**
 * The first place where a provider would answer 400: a turn with calls that its tool messages do not answer, or a tool message
 * that answers nothing (L-LIM-04, K2). `undefined` means well formed.
 */
export const fault = (messages: ReadonlyArray<Message.Message>): Fault | undefined => {
  let open = new Map<string, number>()
  for (const [index, message] of messages.entries()) {
    if (message.role === "tool") {
      const callId = message.toolCallId ?? ""
      if (!open.delete(callId)) return { _tag: "OrphanResult", index, callId }
      continue
    }
    for (const [callId, at] of open) return { _tag: "UnansweredCall", index: at, callId }
    open = new Map(Message.callsOf(message).map((call) => [call.id, index]))
  }
  for (const [callId, at] of open) return { _tag: "UnansweredCall", index: at, callId }
  return undefined
}

export const isWellFormed = (messages: ReadonlyArray<Message.Message>): boolean => fault(messages) === undefined
