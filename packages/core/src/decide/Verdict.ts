/**
 * What a finished reply is (X-WIRE-03, L-LEN, L-CLIP, L-EMPTY). Checks in the order of the spec: what the provider says went wrong,
 * a reported length, a length it did not report, then what is in the reply.
 *
 * V1. Only a `Turn` may be committed or have a call dispatched.
 * V2. The finish reason is read as data, never from a text (L-LEN-01).
 * V3. Whole calls decide, not the word beside them: `stop` with calls is a tool round, `tool-calls` without any is empty (F1, F2).
 */
import * as Data from "effect/Data"
import type { ToolCall } from "../model/Message.ts"
import type { Usage } from "../model/Usage.ts"
import * as Excerpt from "./Excerpt.ts"
import * as LengthVerdict from "./LengthVerdict.ts"
import type * as Preflight from "./Preflight.ts"

/** The part of a backend's reply that is judged. */
export interface Reply {
  readonly text: string
  readonly reasoning?: string
  readonly toolCalls: ReadonlyArray<ToolCall>
  readonly partialCalls: ReadonlyArray<ToolCall>
  readonly finish: "stop" | "tool-calls" | "length" | "content-filter" | "context-window" | "error" | "unknown"
  readonly finishReason?: string
  readonly usage?: Usage
}

export type Verdict = Data.TaggedEnum<{
  Turn: {}
  /** Nothing came that can be an answer. `ignoredCalls`: calls where no tool is offered (L-GEN-04, L-LIM-07). */
  Empty: { readonly finishReason: string; readonly ignoredCalls: number }
  /** Thinking without an answer: not sent again (L-EMPTY-03, F7). */
  ReasoningOnly: {}
  Length: { readonly length: LengthVerdict.LengthVerdict }
  /** The bill says that the cap was reached, whatever the finish reason says (L-CLIP). `warning` is for the log. */
  Clipped: { readonly length: LengthVerdict.LengthVerdict; readonly warning: string }
  /** Failures of class `response`: the ordinary advance or retry. */
  Filtered: { readonly detail: string }
  ErrorFinish: { readonly detail: string }
  /** A call was still incomplete although the reply says that it ended well. */
  BrokenCall: { readonly detail: string }
}>
export const Verdict = Data.taggedEnum<Verdict>()

export interface Facts {
  readonly reply: Reply
  /** Of the backend that answered; `undefined` when no profile describes it. */
  readonly window: Preflight.Window | undefined
  /** Counted size of the request; 0 where nothing counts. */
  readonly request: number
  /** Completion cap of this very request. */
  readonly maxTokens: number | undefined
  /** False: a call in the reply is no call. */
  readonly takesCalls: boolean
}

export const judge = (facts: Facts): Verdict => {
  const { reply } = facts
  switch (reply.finish) {
    case "content-filter":
      return Verdict.Filtered({ detail: `the provider filtered the answer (finish reason ${word(reply)})` })
    case "error":
      return Verdict.ErrorFinish({
        detail: `the provider ended the answer with an error (finish reason ${word(reply)})`
      })
    case "length":
    case "context-window":
      return reportedLength(facts)
    case "stop":
    case "tool-calls":
    case "unknown":
      return ended(facts)
  }
}

const reportedLength = (facts: Facts): Verdict => {
  const length = LengthVerdict.judge(lengthFacts(facts))
  return isBlank(facts.reply) && length._tag !== "NearWindow" && !atCap(facts)
    ? Verdict.Empty({ finishReason: word(facts.reply), ignoredCalls: 0 })
    : Verdict.Length({ length })
}

const ended = (facts: Facts): Verdict => {
  const { reply } = facts
  if (atCap(facts)) {
    return Verdict.Clipped({ length: LengthVerdict.judge(lengthFacts(facts)), warning: clipWarning(facts) })
  }
  const [partial] = reply.partialCalls
  if (partial !== undefined) {
    return Verdict.BrokenCall({
      detail: `the answer ended (finish reason ${word(reply)}) with incomplete arguments of a call to ${partial.name}`
    })
  }
  const calls = reply.toolCalls.length
  if ((calls > 0 && facts.takesCalls) || reply.text.trim() !== "") return Verdict.Turn()
  return hasReasoning(reply) && calls === 0
    ? Verdict.ReasoningOnly()
    : Verdict.Empty({ finishReason: word(reply), ignoredCalls: calls })
}

const clipWarning = (facts: Facts): string =>
  `the answer is truncated although its finish reason is ${word(facts.reply)}: ${facts.reply.usage?.completionTokens ?? 0} completion tokens were billed and max_tokens is ${facts.maxTokens ?? 0}`

const word = (reply: Reply): string => reply.finishReason ?? reply.finish

const hasReasoning = (reply: Reply): boolean => (reply.reasoning ?? "").trim() !== ""

const isBlank = (reply: Reply): boolean =>
  reply.text.trim() === "" && reply.toolCalls.length === 0 && reply.partialCalls.length === 0 && !hasReasoning(reply)

const atCap = (facts: Facts): boolean =>
  LengthVerdict.billedAtCap(facts.reply.usage, LengthVerdict.cap(facts.maxTokens))

const lengthFacts = (facts: Facts): LengthVerdict.Facts => ({
  window: facts.window,
  request: facts.request,
  cap: LengthVerdict.cap(facts.maxTokens),
  usage: facts.reply.usage,
  outputBytes: outputBytes(facts.reply),
  hasReasoning: hasReasoning(facts.reply),
  saysWindow: facts.reply.finish === "context-window"
})

/** UTF-8 bytes of everything visible that was generated. */
export const outputBytes = (reply: Reply): number =>
  [...reply.toolCalls, ...reply.partialCalls].reduce(
    (sum, call) => sum + Excerpt.utf8Bytes(call.name) + Excerpt.utf8Bytes(call.arguments),
    Excerpt.utf8Bytes(reply.text)
  )
