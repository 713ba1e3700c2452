/**
 * Every durable line. A line is a promise to the next process: `{"v":1,"type":…,"id":…,"ts":…,"payload":{…}}`, one JSON object,
 * LF at its end. `Draft` is what writers hand over; id and time are stamped where it is appended.
 *
 * T1. Old files open for ever: a type or a key is added, never changed.
 * T2. A message line is written before the settle of its operation, so that a crash between them is told apart from one before
 *     both (L-TOOL-05).
 * T3. The id of a tool-dispatched line is the id of its operation (O-ID-01).
 */
import * as Json from "./Json.ts"
import { Message } from "./Message.ts"
import type { Outcome } from "./Operation.ts"
import type { ArtifactRef, Idempotency } from "./Tool.ts"
import type { Usage } from "./Usage.ts"

/** Facts about a message that a replay can show and a model is never sent (L-ROUND-14). They never overwrite a message key. */
export interface Extras {
  readonly reasoning?: string
  readonly finishReason?: string
  readonly usage?: Usage
  readonly isError?: boolean
  readonly background?: boolean
  readonly outcomeUnknown?: boolean
  readonly cancelled?: boolean
  readonly abandoned?: boolean
  readonly injected?: string
  readonly opId?: string
  readonly artifact?: ArtifactRef
  readonly [producer: string]: unknown
}

export interface ToolDispatched {
  readonly callId: string
  readonly tool: string
  /** Canonical. */
  readonly arguments: string
  readonly argumentsDigest?: string
  readonly idempotency?: Idempotency
  readonly runId?: string
  readonly round?: number
}

export interface ToolSettled {
  readonly opId: string
  readonly outcome: Outcome
  readonly reason?: string
  /** Seconds. */
  readonly duration?: number
  readonly resultDigest?: string
  readonly artifact?: ArtifactRef
  readonly error?: string
}

export interface Compaction {
  readonly summary: string
  readonly replacesThroughId: string
  readonly tokensBefore?: number
  readonly tokensAfter?: number
  readonly fallback: boolean
}

export interface Elision {
  readonly items: ReadonlyArray<{ readonly id: string; readonly stub: string }>
}

export interface ContextRecord {
  readonly runId: string
  readonly digest: string
  readonly facts: ReadonlyArray<readonly [string, string]>
  /** A body is stored once per digest; later records name the line that carries it. */
  readonly sections: ReadonlyArray<{
    readonly name: string
    readonly digest: string
    readonly rendered?: string
    readonly renderedIn?: string
  }>
}

export type Draft =
  | { readonly type: "session-meta"; readonly payload: Json.JsonObject }
  | { readonly type: "message"; readonly message: Message; readonly extras: Extras }
  | { readonly type: "grants"; readonly payload: { readonly grants: ReadonlyArray<Json.JsonObject> } }
  | { readonly type: "compaction"; readonly payload: Compaction }
  | { readonly type: "elision"; readonly payload: Elision }
  | { readonly type: "tool-dispatched"; readonly payload: ToolDispatched }
  | { readonly type: "tool-settled"; readonly payload: ToolSettled }
  | { readonly type: "run-context"; readonly payload: ContextRecord }
  | { readonly type: "custom"; readonly name: string; readonly payload: Json.JsonObject }

export const builtIn: ReadonlySet<string> = new Set([
  "session-meta",
  "message",
  "grants",
  "compaction",
  "elision",
  "tool-dispatched",
  "tool-settled",
  "run-context"
])

/** The text of one line, without its LF. `at` is milliseconds since the epoch. */
export const encode = (draft: Draft, id: string, at: number): string => {
  const ts = new Date(at).toISOString()
  switch (draft.type) {
    case "message":
      return write({ v: 1, type: draft.type, id, ts, payload: { ...beside(draft.extras), ...draft.message } })
    case "custom":
      return JSON.stringify({ v: 1, type: draft.name, id, ts, payload: draft.payload })
    case "session-meta":
    case "grants":
    case "compaction":
    case "elision":
    case "tool-dispatched":
    case "tool-settled":
    case "run-context":
      return JSON.stringify({ v: 1, type: draft.type, id, ts, payload: draft.payload })
  }
}

const messageKeys: ReadonlySet<string> = new Set(Object.keys(Message.fields))

/** A producer's extra under the name of a message key would come back as a part of the message. */
const beside = (extras: Extras): Extras =>
  Object.fromEntries(Object.entries(extras).filter(([key]) => !messageKeys.has(key)))

/** Extras come from outside and may be no JSON: a line is written all the same (X-SAFE-01). */
const write = (line: object): string => {
  try {
    return JSON.stringify(line)
  } catch {
    return JSON.stringify(Json.fromUnknown(line))
  }
}
