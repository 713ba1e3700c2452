/**
 * What happens to a conversation, as data: played onto a transcript through its port, and onto a list of messages that owes
 * nothing to the fold. A store that keeps its lines gives the list back.
 */
import * as Effect from "effect/Effect"
import * as Message from "@settle/core/model/Message"
import type { Outcome } from "@settle/core/model/Operation"
import type * as Json from "@settle/core/model/Json"
import type * as TranscriptLine from "@settle/core/model/TranscriptLine"
import type { Transcript, TranscriptError } from "@settle/core/port/Transcript"

export type Act =
  | { readonly _tag: "Say"; readonly message: Message.Message }
  /** A whole turn of one call. */
  | {
      readonly _tag: "Call"
      readonly name: string
      readonly arguments: string
      readonly end: Outcome | "abandoned"
      readonly content: string
    }
  | { readonly _tag: "Grants"; readonly grants: ReadonlyArray<Json.JsonObject> }
  /** Replaces everything up to `share`, 0 to 1, of the messages. */
  | { readonly _tag: "Compact"; readonly share: number; readonly summary: string }
  /** Stubs the tool message nearest to `share` of the messages. */
  | { readonly _tag: "Elide"; readonly share: number; readonly stub: string }
  | { readonly _tag: "Context"; readonly digest: string; readonly rendered: string }
  | { readonly _tag: "Custom"; readonly name: string; readonly payload: Json.JsonObject }

/** What a reader must find. */
export interface Expected {
  readonly messages: ReadonlyArray<Message.Message>
  readonly ids: ReadonlyArray<string>
  readonly grants: ReadonlyArray<Json.JsonObject> | undefined
  readonly settled: ReadonlyArray<{ readonly callId: string; readonly outcome: Outcome }>
  readonly lines: number
}

type Append = Transcript["append"]

/** Appends the history and answers what a replay must give. */
export const play = (
  transcript: { readonly append: Append },
  acts: ReadonlyArray<Act>
): Effect.Effect<Expected, TranscriptError> =>
  Effect.gen(function* () {
    let state: Expected = { messages: [], ids: [], grants: undefined, settled: [], lines: 0 }
    for (const [index, act] of acts.entries()) {
      const step = yield* one(transcript.append, act, { state, index })
      state = { ...state, ...step }
    }
    return state
  })

const one = (append: Append, act: Act, at: { readonly state: Expected; readonly index: number }) => {
  switch (act._tag) {
    case "Say":
      return say(append, act.message, at.state)
    case "Call":
      return call(append, act, at)
    case "Compact":
      return compact(append, act, at.state)
    case "Elide":
      return elide(append, act, at.state)
    case "Grants":
      return write(append, at.state, { type: "grants", payload: { grants: act.grants } }, { grants: act.grants })
    case "Context": {
      const sections = [{ name: "n", digest: act.digest, rendered: act.rendered }]
      const payload = { runId: "run", digest: act.digest, facts: [], sections }
      return write(append, at.state, { type: "run-context", payload }, {})
    }
    case "Custom":
      return write(append, at.state, { type: "custom", name: act.name, payload: act.payload }, {})
  }
}

const write = (append: Append, state: Expected, draft: TranscriptLine.Draft, change: Partial<Expected>) =>
  Effect.as(append([draft]), { ...change, lines: state.lines + 1 })

const line = (message: Message.Message, extras: TranscriptLine.Extras = {}): TranscriptLine.Draft => ({
  type: "message",
  message,
  extras
})

const say = (append: Append, message: Message.Message, state: Expected) =>
  Effect.map(append([line(message)]), (ids) => ({
    messages: [...state.messages, message],
    ids: [...state.ids, ...ids],
    lines: state.lines + 1
  }))

const call = Effect.fnUntraced(function* (
  append: Append,
  act: Extract<Act, { readonly _tag: "Call" }>,
  { index, state }: { readonly state: Expected; readonly index: number }
) {
  const callId = `call-${index}`
  const turn = Message.assistant("", [{ id: callId, name: act.name, arguments: act.arguments }])
  const answer = Message.tool(callId, act.content)
  const [turnId = ""] = yield* append([line(turn)])
  const messages = [...state.messages, turn, answer]
  if (act.end === "abandoned") {
    const [answerId = ""] = yield* append([line(answer, { abandoned: true })])
    return { messages, ids: [...state.ids, turnId, answerId], lines: state.lines + 2 }
  }
  const payload = { callId, tool: act.name, arguments: act.arguments }
  const [opId = ""] = yield* append([{ type: "tool-dispatched", payload }])
  const extras =
    act.end === "outcome-unknown" ? { outcomeUnknown: true } : act.end === "failed" ? { isError: true } : {}
  const [answerId = ""] = yield* append([
    line(answer, extras),
    { type: "tool-settled", payload: { opId, outcome: act.end } }
  ])
  return {
    messages,
    ids: [...state.ids, turnId, answerId],
    settled: [...state.settled, { callId, outcome: act.end }],
    lines: state.lines + 4
  }
})

const compact = Effect.fnUntraced(function* (
  append: Append,
  { share, summary }: { readonly share: number; readonly summary: string },
  state: Expected
) {
  const cut = place(share, state.ids)
  const replacesThroughId = state.ids[cut]
  if (replacesThroughId === undefined) return {}
  const [id = ""] = yield* append([{ type: "compaction", payload: { summary, replacesThroughId, fallback: false } }])
  const stays = [...state.messages.keys()].filter((at) => at > cut || isKept(state.messages[at]))
  const before = stays.filter((at) => at <= cut)
  const after = stays.filter((at) => at > cut)
  const pick = <A>(all: ReadonlyArray<A>, own: A) => [
    ...before.flatMap((at) => all.slice(at, at + 1)),
    own,
    ...after.flatMap((at) => all.slice(at, at + 1))
  ]
  return {
    messages: pick(state.messages, Message.user(summary)),
    ids: pick(state.ids, id),
    lines: state.lines + 1
  }
})

const isKept = (message: Message.Message | undefined): boolean =>
  message?.sticky === true || message?.sysprompt === true || message?.depth !== undefined

const elide = Effect.fnUntraced(function* (
  append: Append,
  { share, stub }: { readonly share: number; readonly stub: string },
  state: Expected
) {
  const near = place(share, state.ids)
  const at = state.messages.findIndex((message, index) => index >= near && message.role === "tool")
  const id = state.ids[at]
  if (id === undefined) return {}
  yield* append([{ type: "elision", payload: { items: [{ id, stub }] } }])
  return {
    messages: state.messages.map((message, index) => (index === at ? { ...message, content: stub } : message)),
    lines: state.lines + 1
  }
})

const place = (share: number, all: ReadonlyArray<unknown>): number =>
  Math.min(all.length - 1, Math.floor(share * all.length))
