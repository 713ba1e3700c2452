/**
 * Lines back into a conversation: one fold, used by every store.
 *
 * R1. Folding the lines a run appended gives the run's own messages.
 * R2. A line that cannot be used is named in `faults` and skipped; both sides of it are kept (X-STORE-03).
 * R3. Ids from a file are map keys, never property names (X-SAFE-02).
 */
import type * as Grant from "./Grant.ts"
import * as Json from "./Json.ts"
import type { Message, Part, Role, ToolCall } from "./Message.ts"
import { isSticky } from "./Message.ts"
import type { Outcome } from "./Operation.ts"
import { outcomes } from "./Operation.ts"
import type { ToolDispatched } from "./TranscriptLine.ts"
import { builtIn } from "./TranscriptLine.ts"
import type { Usage } from "./Usage.ts"

export interface Entry {
  readonly id: string
  readonly message: Message
  readonly usage?: Usage
  readonly isError?: boolean
  /** Set on a message that answers a call nobody heard of again, or that never ran. */
  readonly mark?: "outcome-unknown" | "abandoned"
  /** Kind and operation of an injected background turn: its durable mark of delivery (L-PARK-15). */
  readonly injected?: { readonly kind: string; readonly opId?: string }
}

/** A call that was handed over and has no settle line. */
export interface PendingOperation extends ToolDispatched {
  readonly opId: string
  readonly dispatchedAt: string
  /** What its tool message says, when there is one: it came back and only its settle line was lost (L-TOOL-05). */
  readonly answered?: Outcome
}

export interface SettledOperation extends Omit<PendingOperation, "answered"> {
  readonly outcome: Outcome
  readonly reason?: string
  readonly settledAt: string
}

export interface Fault {
  /** 1-based line number in the file; 0 where there is none. */
  readonly line: number
  readonly problem: string
}

export interface Replay {
  readonly meta: Json.JsonObject | undefined
  readonly entries: ReadonlyArray<Entry>
  readonly grants: Grant.Snapshot | undefined
  readonly pending: ReadonlyArray<PendingOperation>
  readonly settled: ReadonlyArray<SettledOperation>
  /** Line that carries each run-context section, by digest. */
  readonly contextCarriers: ReadonlyMap<string, string>
  /** Lines of types this version does not know, kept for their writers. */
  readonly custom: ReadonlyArray<{ readonly id: string; readonly type: string; readonly payload: Json.JsonObject }>
  readonly lines: number
  readonly faults: ReadonlyArray<Fault>
}

export const messages = (self: Replay): ReadonlyArray<Message> => self.entries.map((entry) => entry.message)

export interface Fold {
  /** Takes one decoded line. `number` is 1-based. */
  readonly add: (line: Json.Json | undefined, number: number) => void
  readonly fault: (number: number, problem: string) => void
  /** A snapshot: lines added later do not show in it. */
  readonly result: () => Replay
}

interface State {
  meta: Json.JsonObject | undefined
  entries: Array<Entry>
  grants: Grant.Snapshot | undefined
  readonly pending: Map<string, PendingOperation>
  readonly settled: Map<string, SettledOperation>
  readonly carriers: Map<string, string>
  readonly custom: Array<Replay["custom"][number]>
  readonly ids: Set<string>
  lines: number
  readonly faults: Array<Fault>
}

export const make = (): Fold => {
  const state: State = {
    meta: undefined,
    entries: [],
    grants: undefined,
    pending: new Map(),
    settled: new Map(),
    carriers: new Map(),
    custom: [],
    ids: new Set(),
    lines: 0,
    faults: []
  }
  const fault = (line: number, problem: string) => void state.faults.push({ line, problem })
  return {
    fault,
    add: (line, number) => {
      const problem = apply(state, line)
      if (problem !== undefined) fault(number, problem)
    },
    result: () => ({
      meta: state.meta,
      entries: [...state.entries],
      grants: state.grants,
      pending: [...state.pending.values()],
      settled: [...state.settled.values()],
      contextCarriers: new Map(state.carriers),
      custom: [...state.custom],
      lines: state.lines,
      faults: [...state.faults]
    })
  }
}

/** Folds whole lines at once. */
export const fromLines = (lines: Iterable<string>): Replay => {
  const fold = make()
  let number = 0
  for (const text of lines) fold.add(Json.parse(text), ++number)
  return fold.result()
}

/** Answers what is wrong with the line, or `undefined` once it is applied. */
const apply = (state: State, line: Json.Json | undefined): string | undefined => {
  if (!Json.isObject(line)) return "not a JSON object"
  const { id, payload, ts, type, v } = line
  if (v !== 1) return `version ${JSON.stringify(v ?? null)} is not known to this reader`
  if (typeof type !== "string" || typeof id !== "string" || typeof ts !== "string") return "type, id or ts is missing"
  if (!Json.isObject(payload)) return `${type}: payload is not an object`
  if (state.ids.has(id)) return `${type}: a second line with id ${id}`
  const problem = applyPayload(state, type, id, ts, payload)
  if (problem === undefined) {
    state.ids.add(id)
    state.lines++
  }
  return problem
}

const applyPayload = (state: State, type: string, id: string, ts: string, payload: Json.JsonObject) => {
  switch (type) {
    case "session-meta":
      state.meta = payload
      return undefined
    case "message":
      return addMessage(state, id, payload)
    case "grants":
      return addGrants(state, payload)
    case "compaction":
      return compact(state, id, payload)
    case "elision":
      return elide(state, payload)
    case "tool-dispatched":
      return dispatched(state, id, ts, payload)
    case "tool-settled":
      return settle(state, ts, payload)
    case "run-context":
      return addContext(state, id, payload)
    default:
      state.custom.push({ id, type, payload })
      return undefined
  }
}

const roles: ReadonlySet<unknown> = new Set<Role>(["system", "user", "assistant", "tool"])
const isRole = (value: unknown): value is Role => roles.has(value)

const addMessage = (state: State, id: string, payload: Json.JsonObject): string | undefined => {
  const message = readMessage(payload)
  if (typeof message === "string") return `message: ${message}`
  const { injected, isError, opId, usage } = payload
  const mark =
    payload["outcomeUnknown"] === true ? "outcome-unknown" : payload["abandoned"] === true ? "abandoned" : undefined
  state.entries.push({
    id,
    message,
    ...(Json.isObject(usage) ? { usage: readUsage(usage) } : {}),
    ...(isError === true ? { isError } : {}),
    ...(mark === undefined ? {} : { mark }),
    ...(typeof injected === "string"
      ? { injected: typeof opId === "string" ? { kind: injected, opId } : { kind: injected } }
      : {})
  })
  if (message.role === "tool") {
    const answered = mark === "outcome-unknown" ? mark : isError === true ? "failed" : "completed"
    for (const operation of state.pending.values()) {
      if (operation.callId === message.toolCallId) state.pending.set(operation.opId, { ...operation, answered })
    }
  }
  return undefined
}

/** The message of a payload, or what is wrong with it. Strings are made well-formed: an old log is healed on the way in (J10). */
export const readMessage = (payload: Json.JsonObject): Message | string => {
  const { content, depth, parts, replay, role, sticky, sysprompt, toolCallId, toolCalls } = payload
  if (!isRole(role)) return `role ${JSON.stringify(role ?? null)} is not known`
  if (typeof content !== "string") return "content is not text"
  if (role === "tool" && typeof toolCallId !== "string") return "a tool message without a toolCallId"
  const calls = toolCalls === undefined ? [] : readCalls(toolCalls)
  if (calls === undefined) return "toolCalls is not a list of {id, name, arguments}"
  return {
    role,
    content: Json.wellFormed(content),
    ...(calls.length > 0 ? { toolCalls: calls } : {}),
    ...(typeof toolCallId === "string" ? { toolCallId } : {}),
    ...(sticky === true ? { sticky } : {}),
    ...(sysprompt === true ? { sysprompt } : {}),
    ...(typeof depth === "number" ? { depth } : {}),
    ...(Array.isArray(parts) ? { parts: parts.filter(isPart) } : {}),
    ...(Json.isObject(replay) && typeof replay["protocol"] === "string"
      ? { replay: { protocol: replay["protocol"], data: replay["data"] ?? null } }
      : {})
  }
}

const readCalls = (value: Json.Json): ReadonlyArray<ToolCall> | undefined => {
  if (!Array.isArray(value)) return undefined
  const calls: Array<ToolCall> = []
  for (const call of value) {
    if (!Json.isObject(call)) return undefined
    const { arguments: args, id, name } = call
    if (typeof id !== "string" || typeof name !== "string" || typeof args !== "string") return undefined
    calls.push({ id, name, arguments: Json.wellFormed(args) })
  }
  return calls
}

const isPart = (value: unknown): value is Part => {
  if (!Json.isObject(value as Json.Json)) return false
  const part = value as Json.JsonObject
  switch (part["_tag"]) {
    case "Image":
    case "Audio":
      return typeof part["mimeType"] === "string" && typeof part["data"] === "string"
    case "ResourceLink":
      return typeof part["uri"] === "string"
    default:
      return false
  }
}

/** Numbers, texts and flags under their own names; whatever else stands there was not billed (J12). */
const readUsage = (value: Json.JsonObject): Usage =>
  Object.fromEntries(Object.entries(value).filter(([key, given]) => typeof given === usageTypes.get(key)))

const usageTypes: ReadonlyMap<string, "number" | "string" | "boolean"> = new Map([
  ["promptTokens", "number"],
  ["completionTokens", "number"],
  ["totalTokens", "number"],
  ["cachedPromptTokens", "number"],
  ["cacheWriteTokens", "number"],
  ["reasoningTokens", "number"],
  ["cost", "number"],
  ["costComputed", "boolean"],
  ["generationId", "string"],
  ["providerName", "string"]
])

const addGrants = (state: State, payload: Json.JsonObject): string | undefined => {
  const { grants } = payload
  if (!Array.isArray(grants) || !grants.every(Json.isObject)) return "grants: not a list of rules"
  state.grants = grants
  return undefined
}

const compact = (state: State, id: string, payload: Json.JsonObject): string | undefined => {
  const { replacesThroughId, summary } = payload
  if (typeof summary !== "string") return "compaction: no summary"
  const through = state.entries.findIndex((entry) => entry.id === replacesThroughId)
  if (through < 0) return `compaction: replacesThroughId ${JSON.stringify(replacesThroughId ?? null)} names no message`
  const kept = state.entries.slice(0, through + 1).filter((entry) => isSticky(entry.message))
  const summaryEntry: Entry = { id, message: { role: "user", content: Json.wellFormed(summary) } }
  state.entries = [...kept, summaryEntry, ...state.entries.slice(through + 1)]
  return undefined
}

const elide = (state: State, payload: Json.JsonObject): string | undefined => {
  const { items } = payload
  if (!Array.isArray(items)) return "elision: no list of items"
  const stubs = new Map<string, string>()
  for (const item of items) {
    if (!Json.isObject(item) || typeof item["id"] !== "string" || typeof item["stub"] !== "string") {
      return "elision: an item without id or stub"
    }
    stubs.set(item["id"], item["stub"])
  }
  const known = new Set(state.entries.map((entry) => entry.id))
  for (const id of stubs.keys()) if (!known.has(id)) return `elision: ${id} names no message`
  state.entries = state.entries.map((entry) => {
    const stub = stubs.get(entry.id)
    if (stub === undefined) return entry
    const { parts: _, ...message } = entry.message
    return { ...entry, message: { ...message, content: stub } }
  })
  return undefined
}

const dispatched = (state: State, id: string, ts: string, payload: Json.JsonObject): string | undefined => {
  const { argumentsDigest, callId, idempotency, round, runId, tool } = payload
  const args = payload["arguments"]
  if (typeof callId !== "string" || typeof tool !== "string") return "tool-dispatched: callId or tool is missing"
  state.pending.set(id, {
    opId: id,
    callId,
    tool,
    arguments: typeof args === "string" ? args : "",
    dispatchedAt: ts,
    ...(typeof argumentsDigest === "string" ? { argumentsDigest } : {}),
    ...(idempotency === "read-only" || idempotency === "idempotent" || idempotency === "destructive"
      ? { idempotency }
      : {}),
    ...(typeof runId === "string" ? { runId } : {}),
    ...(typeof round === "number" ? { round } : {})
  })
  return undefined
}

const isOutcome = (value: unknown): value is Outcome => outcomes.some((outcome) => outcome === value)

const settle = (state: State, ts: string, payload: Json.JsonObject): string | undefined => {
  const { opId, outcome, reason } = payload
  if (typeof opId !== "string" || !isOutcome(outcome)) return "tool-settled: opId or outcome is missing"
  const operation = state.pending.get(opId)
  if (operation === undefined) {
    return state.settled.has(opId)
      ? `tool-settled: ${opId} was settled before`
      : `tool-settled: ${opId} was never dispatched`
  }
  const { answered: _, ...handedOver } = operation
  state.pending.delete(opId)
  state.settled.set(opId, {
    ...handedOver,
    outcome,
    settledAt: ts,
    ...(typeof reason === "string" ? { reason } : {})
  })
  return undefined
}

const addContext = (state: State, id: string, payload: Json.JsonObject): string | undefined => {
  const { sections } = payload
  if (!Array.isArray(sections)) return "run-context: no list of sections"
  for (const section of sections) {
    if (!Json.isObject(section) || typeof section["digest"] !== "string") return "run-context: a section without digest"
    if (typeof section["rendered"] === "string") state.carriers.set(section["digest"], id)
  }
  return undefined
}

/** True for a type that only this project writes: a host's own lines may not use the name. */
export const isBuiltIn = (type: string): boolean => builtIn.has(type)
