/** Drafts of a run, stamped as the feed would. */
import * as Message from "@settle/core/model/Message"
import type * as RunEvent from "@settle/core/model/RunEvent"

export const stamp = (drafts: ReadonlyArray<RunEvent.Draft>): ReadonlyArray<RunEvent.RunEvent> =>
  drafts.map((draft, seq) => ({ ...draft, runId: "run", seq, ts: seq }))

export const started: RunEvent.Draft = { _tag: "RunStarted", messageCount: 1 }
export const round = (n: number): RunEvent.Draft => ({ _tag: "RoundStarted", round: n })
export const attempt = (n: number, attemptNumber = 1): RunEvent.Draft => ({
  _tag: "AttemptStarted",
  round: n,
  attempt: attemptNumber,
  backendIndex: 0,
  model: "m"
})
export const token = (text: string): RunEvent.Draft => ({ _tag: "Token", text })
export const failed = (
  n: number,
  attemptNumber = 1,
  disposition: "retry-same" | "advance" | "abort" = "retry-same"
): RunEvent.Draft => ({
  _tag: "AttemptFailed",
  round: n,
  attempt: attemptNumber,
  backendIndex: 0,
  error: "[backend 0] no",
  disposition
})
export const succeeded = (n: number, attemptNumber = 1): RunEvent.Draft => ({
  _tag: "AttemptSucceeded",
  round: n,
  attempt: attemptNumber,
  backendIndex: 0,
  usage: {}
})
export const spoken: RunEvent.Draft = { _tag: "AssistantMessage", message: Message.assistant("hello") }
export const committed: RunEvent.Draft = { _tag: "TurnCommitted" }
export const discarded = (reason: "limit" | "failed" | "cancelled" | "no-tool-needed"): RunEvent.Draft => ({
  _tag: "TurnDiscarded",
  reason
})
export const call = (id: string): RunEvent.Draft => ({ _tag: "ToolCall", id, name: "t", arguments: "{}" })
export const toolStarted = (id: string): RunEvent.Draft => ({ _tag: "ToolStarted", id, name: "t" })
export const result = (id: string): RunEvent.Draft => ({
  _tag: "ToolResult",
  id,
  name: "t",
  content: "ok",
  isError: false
})
export const abandoned = (
  id: string,
  dispatched: boolean,
  reason: "cancelled" | "deadline" | "budget-exhausted" | "connection-lost" = "cancelled"
): RunEvent.Draft => ({ _tag: "ToolAbandoned", id, name: "t", reason, dispatched })
export const log: RunEvent.Draft = { _tag: "Log", level: "info", data: "x" }
export const completed: RunEvent.Draft = { _tag: "RunCompleted", final: "hello" }
export const cancelled: RunEvent.Draft = { _tag: "RunCancelled" }
export const runFailed = (reason?: string): RunEvent.Draft => ({
  _tag: "RunFailed",
  error: "no",
  attempts: [],
  ...(reason === undefined ? {} : { reason })
})
export const parked: RunEvent.Draft = { _tag: "RunParked", outstanding: 1, ops: [] }
export const resumed = (reason: "completion" | "steer" | "cancelled" | "idle"): RunEvent.Draft => ({
  _tag: "RunResumed",
  reason
})

/** One round that commits a turn. */
export const turn = (n: number): ReadonlyArray<RunEvent.Draft> => [
  round(n),
  attempt(n),
  token("hel"),
  token("lo"),
  succeeded(n),
  spoken,
  committed
]
