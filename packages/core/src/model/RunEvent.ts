/**
 * Every event of a run, single source: `Draft` is what code emits, `RunEvent` is what leaves, stamped. The JSON form (`toJson`)
 * has `kind` (kebab-case), `ts` (ISO-8601 UTC), `runId` and `seq` beside the same keys.
 *
 * Attempt framing: AttemptStarted opens a scope of tokens; AttemptFailed retracts every Token since; AttemptSucceeded keeps them, and
 * the AssistantMessage that follows is authoritative (L-STREAM-01). An AttemptSucceeded without an AssistantMessage in its
 * round is always followed by a TurnDiscarded. Exactly one terminal event ends a run, and nothing follows it.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { AttemptRecord, Disposition } from "./AttemptRecord.ts"
import type * as Json from "./Json.ts"
import { Message } from "./Message.ts"
import { Usage } from "./Usage.ts"

const optional = Schema.optionalKey
const Text = Schema.String
const Count = Schema.Int
const round = { round: optional(Count) }

const Artifact = Schema.Struct({ file: Text, digest: Text, bytes: Count, chars: Count, elidedChars: Count })

export const HandoffMarker = Schema.Struct({
  version: Text,
  round: Count,
  completed_tool_rounds: Count,
  completed_tool_call_ids: Schema.Array(Text),
  failure_reason: Text,
  failed_attempts: Count
})
export type HandoffMarker = typeof HandoffMarker.Type

export const EmptyHandoffMarker = Schema.Struct({
  version: Text,
  round: Count,
  completed_tool_rounds: Count,
  completed_tool_call_ids: Schema.Array(Text),
  empty_attempts: Count
})
export type EmptyHandoffMarker = typeof EmptyHandoffMarker.Type

const body = {
  RunStarted: { messageCount: Count, contextDigest: optional(Text) },
  RoundStarted: { round: Count, tokens: optional(Count) },
  AttemptStarted: { round: Count, attempt: Count, backendIndex: Count, model: Text },
  /** The text that one read brought. */
  Token: { text: Text, ...round, attempt: optional(Count) },
  AttemptFailed: {
    round: Count,
    attempt: Count,
    backendIndex: Count,
    model: optional(Text),
    error: Text,
    errorClass: optional(Text),
    errorStatus: optional(Count),
    disposition: Disposition,
    /** Seconds until the next send. */
    backoff: optional(Schema.Finite),
    usage: optional(Usage)
  },
  AttemptSucceeded: {
    round: Count,
    attempt: Count,
    backendIndex: Count,
    modelUsed: optional(Text),
    finishReason: optional(Text),
    usage: Usage,
    latencyMs: optional(Count)
  },
  AssistantMessage: { message: Message, reasoning: optional(Text), ...round },
  TurnCommitted: { messageId: optional(Text), ...round },
  TurnDiscarded: { reason: Schema.Literals(["limit", "failed", "cancelled", "no-tool-needed"]), ...round },
  ToolCall: { id: Text, name: Text, arguments: Text, ...round },
  ToolStarted: { id: Text, name: Text, ...round },
  ToolProgress: {
    id: Text,
    progress: Schema.Finite,
    total: optional(Schema.Finite),
    message: optional(Text),
    ...round
  },
  ToolResult: { id: Text, name: Text, content: Text, isError: Schema.Boolean, artifact: optional(Artifact), ...round },
  ToolAbandoned: {
    id: Text,
    name: Text,
    reason: Schema.Literals(["cancelled", "deadline", "budget-exhausted", "connection-lost"]),
    /** True: the outcome is unknown. False: the call is known not to have run. */
    dispatched: Schema.Boolean,
    ...round
  },
  Subagent: { agentId: Text, agentType: Text, label: optional(Text), callId: optional(Text), inner: Schema.Json },
  BackgroundOpStarted: { opId: Text, opKind: Text, label: optional(Text), callId: optional(Text), ...round },
  BackgroundOpSettled: { opId: Text, opKind: Text, collected: Schema.Boolean, ...round },
  BackgroundOpDelivered: { opKind: Text, opId: optional(Text), messageId: optional(Text), ...round },
  RunParked: {
    outstanding: Count,
    ops: Schema.Array(Schema.Struct({ opId: Text, kind: Text, label: optional(Text), meta: Schema.Json })),
    ...round
  },
  RunResumed: {
    reason: Schema.Literals(["completion", "steer", "cancelled", "idle"]),
    parkedSeconds: optional(Schema.Finite),
    ...round
  },
  AskPending: { request: Schema.Json, tool: optional(Text) },
  AskAnswered: { request: Schema.Json, answer: optional(Schema.Json) },
  Log: {
    level: Schema.Literals(["debug", "info", "warning", "error"]),
    logger: optional(Text),
    data: Schema.Json
  },
  LimitReached: {
    limit: Schema.Literals(["tool-rounds", "tool-calls", "identical-calls"]),
    count: optional(Count),
    max: optional(Count)
  },
  CompactionStarted: {
    tokensBefore: optional(Count),
    budget: optional(Count),
    messageCount: optional(Count),
    ...round
  },
  CompactionDone: {
    tokensBefore: optional(Count),
    tokensAfter: optional(Count),
    dropped: optional(Count),
    summary: optional(Text),
    fallback: Schema.Boolean,
    ...round
  },
  RouteOffered: { round: Count, schema: Schema.Json, digest: Text },
  RouteChosen: {
    round: Count,
    attempt: Count,
    /** A tool's name, or `none`. */
    action: Text,
    callId: optional(Text),
    arguments: optional(Text),
    text: Text,
    usage: Usage,
    latencyMs: Count
  },
  RunCompleted: { final: Text, rounds: optional(Count), messageCount: optional(Count), reason: optional(Text) },
  RunFailed: {
    error: Text,
    attempts: Schema.Array(AttemptRecord),
    ...round,
    reason: optional(Text),
    retrieval_handoff: optional(HandoffMarker),
    empty_retrieval_handoff: optional(EmptyHandoffMarker)
  },
  RunCancelled: {
    stage: optional(Schema.Literals(["start", "compaction", "streaming", "backoff", "tools", "parked"])),
    ...round
  }
} as const

export const Draft = Schema.TaggedUnion(body)
export type Draft = typeof Draft.Type
export type Tag = Draft["_tag"]
export type Of<T extends Tag> = Extract<Draft, { readonly _tag: T }>

/** Put on by `engine/Feed` alone. `seq` counts from 0 without a gap; `ts` is milliseconds since the epoch. */
export interface Stamp {
  readonly runId: string
  readonly seq: number
  readonly ts: number
}
export type RunEvent = Draft & Stamp

export const isTerminal = Draft.isAnyOf(["RunCompleted", "RunFailed", "RunCancelled"])
export type Terminal = Of<"RunCompleted"> | Of<"RunFailed"> | Of<"RunCancelled">

const kebab = (tag: string): string => tag.replace(/(?<!^)[A-Z]/g, (c) => `-${c}`).toLowerCase()

const kinds: ReadonlyMap<string, string> = new Map(Object.keys(body).map((tag) => [tag, kebab(tag)]))
const tags: ReadonlyMap<string, string> = new Map([...kinds].map(([tag, kind]) => [kind, tag]))

/** The stable wire name: `tool-started` for `ToolStarted`. */
export const kindOf = (tag: Tag): string => kinds.get(tag) ?? kebab(tag)

/** What `--output events` prints and other processes read. Our own data: written, not walked by a schema. */
export const toJson = (event: RunEvent): Json.JsonObject => {
  const { _tag, ts, runId, seq, ...payload } = event
  return { kind: kindOf(_tag), ts: new Date(ts).toISOString(), runId, seq, ...(payload as Json.JsonObject) }
}

const Stamped = Schema.Struct({ kind: Schema.String, ts: Schema.String, runId: Schema.String, seq: Schema.Int })
const decodeStamp = Schema.decodeUnknownResult(Stamped)
const decodeDraft = Schema.decodeUnknownResult(Schema.toCodecJson(Draft))

/** Reads what `toJson` wrote; fails with the schema error on an unknown kind or a wrong field. */
export const fromJson = (json: Json.JsonObject): Result.Result<RunEvent, Schema.SchemaError> =>
  Result.flatMap(decodeStamp(json), ({ kind, runId, seq, ts }) =>
    Result.map(decodeDraft({ ...json, _tag: tags.get(kind) ?? kind }), (draft) => ({
      ...draft,
      runId,
      seq,
      ts: Date.parse(ts)
    }))
  )
