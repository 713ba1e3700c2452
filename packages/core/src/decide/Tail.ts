/** The three states of a tool-call tail: answered, pending again, or refused (L-TAIL). */
import * as Data from "effect/Data"
import * as Conversation from "../model/Conversation.ts"
import type { Message, ToolCall } from "../model/Message.ts"

export type Tail = Data.TaggedEnum<{
  Answered: {}
  /** Re-enter exactly these, in the turn's order. */
  PendingAgain: { readonly calls: ReadonlyArray<ToolCall> }
  Refused: { readonly problem: string; readonly calls: ReadonlyArray<ToolCall> }
}>
export const Tail = Data.taggedEnum<Tail>()

export const read = (
  messages: ReadonlyArray<Message>,
  resumeToolCalls: ReadonlyArray<string>,
  hasProvider: boolean
): Tail => {
  const open = Conversation.openCalls(messages)
  const named = new Set(resumeToolCalls)
  const unknown = resumeToolCalls.filter((id) => !open.some((call) => call.id === id))
  if (unknown.length > 0) {
    const calls = unknown.map((id) => ({ id, name: "no such open call", arguments: "" }))
    return Tail.Refused({ problem: "resumeToolCalls names calls that are not open", calls })
  }
  if (open.length === 0) return broken(messages) ?? Tail.Answered()
  const unnamed = open.filter((call) => !named.has(call.id))
  if (named.size > 0 && unnamed.length > 0) {
    return Tail.Refused({ problem: "resumeToolCalls leaves open calls out", calls: unnamed })
  }
  if (named.size === 0)
    return Tail.Refused({ problem: "the conversation ends in tool calls that nothing answers", calls: open })
  return hasProvider
    ? Tail.PendingAgain({ calls: open })
    : Tail.Refused({ problem: "resumeToolCalls needs a tool provider to dispatch to", calls: open })
}

/** An unanswered turn further up is the same 400 from a provider, so it is refused here too. */
const broken = (messages: ReadonlyArray<Message>): Tail | undefined => {
  const fault = Conversation.fault(messages)
  if (fault === undefined) return undefined
  const calls = [{ id: fault.callId, name: `message ${fault.index}`, arguments: "" }]
  return fault._tag === "UnansweredCall"
    ? Tail.Refused({ problem: "a tool call inside the conversation is unanswered", calls })
    : Tail.Refused({ problem: "a tool message answers no call before it", calls })
}
