/**
 * What a person sees of a run: one event in, what to show out. Pure; `Render` puts it on a terminal or a pipe.
 *
 * S1. Tokens are shown as they come and withdrawn when their attempt fails or their turn is discarded (L-STREAM-01).
 * S2. Nothing is shown between the tokens of one attempt: a line that comes then waits until the attempt is over, so that a
 *     withdrawal takes exactly the withdrawn text.
 * S3. Every call gets exactly one line when its story ends: done, failed, outcome unknown, or never ran.
 * S4. Everything untrusted in a line is neutral (X-SAFE-03). Texts of the model are handed on as they are.
 */
import * as Data from "effect/Data"
import type * as Json from "@settle/core/model/Json"
import * as Result from "effect/Result"
import * as Message from "@settle/core/model/Message"
import * as RunEvent from "@settle/core/model/RunEvent"
import * as Figures from "./Figures.ts"
import * as Neutral from "@settle/core/decide/Neutral"

export type Tone = "plain" | "quiet" | "good" | "warning" | "bad"

/** A call in flight. */
export interface Running {
  readonly label: string
  /** Milliseconds since the epoch. */
  readonly since: number
  readonly note: string
}

export type Show = Data.TaggedEnum<{
  /** A piece of the turn that is being written. */
  Text: { readonly text: string }
  /** All pieces since the attempt began: they do not stand. */
  Withdraw: { readonly text: string }
  /** The turn as it was committed; `streamed` is what its pieces said. `isAnswer` when no call follows from it. */
  Turn: { readonly text: string; readonly streamed: string; readonly isAnswer: boolean }
  Line: { readonly tone: Tone; readonly text: string }
  /** The calls in flight, instead of those shown before. */
  Running: { readonly calls: ReadonlyArray<Running> }
}>
export const Show = Data.taggedEnum<Show>()

interface Call {
  readonly label: string
  readonly startedAt: number | undefined
  readonly note: string
}

export interface Screen {
  readonly text: string
  /** A backend that was given up: what follows says whether another one is tried. */
  readonly leaving: RunEvent.Of<"AttemptFailed"> | undefined
  readonly held: ReadonlyArray<Show>
  readonly calls: ReadonlyMap<string, Call>
  readonly children: ReadonlyMap<string, Screen>
}

export const empty: Screen = { text: "", leaving: undefined, held: [], calls: new Map(), children: new Map() }

type Step = readonly [Screen, ReadonlyArray<Show>]

const line = (tone: Tone, text: string): Show => Show.Line({ tone, text })

export const step = (self: Screen, event: RunEvent.RunEvent): Step => {
  const [next, shows] = left(self, event)
  if (RunEvent.isTerminal(event)) return [{ ...next, text: "", held: [], calls: new Map() }, [...next.held, ...shows]]
  if (next.text === "") return [{ ...next, held: [] }, [...flushed(self, shows), ...next.held.slice(self.held.length)]]
  return [
    { ...next, held: [...next.held, ...shows.filter(Show.$is("Line"))] },
    shows.filter((show) => show._tag !== "Line")
  ]
}

/** What waited comes after the end of the text it waited for, and before what that end says itself. */
const flushed = (self: Screen, shows: ReadonlyArray<Show>): ReadonlyArray<Show> => {
  const [first, ...rest] = shows
  if (first === undefined || first._tag === "Line") return [...self.held, ...shows]
  return [first, ...self.held, ...rest]
}

/** A backend that failed for good is told of when it is known what comes of it: the next one, or the end. */
const left = (self: Screen, event: RunEvent.RunEvent): Step => {
  const { leaving } = self
  const [next, shows] = visit(self, event)
  const follows = leaving === undefined ? undefined : after(leaving, event)
  if (leaving === undefined || follows === undefined) return [next, shows]
  const told = line("quiet", `↷ ${failing(leaving)}; ${follows}`)
  return [next.leaving === leaving ? { ...next, leaving: undefined } : next, [told, ...shows]]
}

const after = ({ backendIndex }: RunEvent.Of<"AttemptFailed">, event: RunEvent.RunEvent): string | undefined => {
  if (RunEvent.isTerminal(event)) return "giving up"
  if (event._tag !== "AttemptStarted" && event._tag !== "AttemptFailed") return undefined
  return event.backendIndex > backendIndex ? "going on with the next model" : "sending again"
}

const visit = (self: Screen, event: RunEvent.RunEvent): Step => {
  switch (event._tag) {
    case "AttemptStarted":
      return [{ ...self, text: "" }, []]
    case "Token":
      return [{ ...self, text: self.text + event.text }, [Show.Text({ text: event.text })]]
    case "AttemptFailed":
      return event.disposition === "advance"
        ? withdraw({ ...self, leaving: event }, [])
        : withdraw(self, [failedAttempt(event, event.disposition)])
    case "AssistantMessage":
      return committed(self, event.message)
    case "TurnDiscarded":
      return withdraw(
        self,
        event.reason === "failed" || event.reason === "limit" ? [line("quiet", discarded(event.reason))] : []
      )
    case "ToolCall":
    case "ToolStarted":
    case "ToolProgress":
    case "ToolResult":
    case "ToolAbandoned":
      return call(self, event)
    case "AskPending":
      return [self, [Show.Running({ calls: [] })]]
    case "AskAnswered":
      return [self, [running(self.calls)]]
    case "Subagent":
      return child(self, event)
    default:
      return [self, notes(event)]
  }
}

const withdraw = (self: Screen, after: ReadonlyArray<Show>): Step => [
  { ...self, text: "" },
  self.text === "" ? after : [Show.Withdraw({ text: self.text }), ...after]
]

const committed = (self: Screen, message: Message.Message): Step => [
  { ...self, text: "" },
  [Show.Turn({ text: message.content, streamed: self.text, isAnswer: Message.callsOf(message).length === 0 })]
]

const failing = (event: RunEvent.Of<"AttemptFailed">): string =>
  `${Neutral.bounded(event.model ?? "the model", 60)}: ${Neutral.bounded(event.error, 300)}`

const failedAttempt = (event: RunEvent.Of<"AttemptFailed">, disposition: "retry-same" | "abort"): Show =>
  disposition === "abort"
    ? line("quiet", `↛ ${failing(event)}`)
    : line(
        "quiet",
        `↻ ${failing(event)}; sending again${event.backoff ? ` in ${Figures.duration(event.backoff * 1000)}` : ""}`
      )

const discarded = (reason: string): string =>
  reason === "limit"
    ? "that turn was not kept: a limit was reached"
    : "that turn was not kept: its reply could not be used"

type CallEvent = RunEvent.RunEvent &
  RunEvent.Of<"ToolCall" | "ToolStarted" | "ToolProgress" | "ToolResult" | "ToolAbandoned">

const call = (self: Screen, event: CallEvent): Step => {
  const known = self.calls.get(event.id) ?? {
    label: Neutral.bounded("name" in event ? event.name : event.id, 80),
    startedAt: undefined,
    note: ""
  }
  const set = (changed: Call): Step => {
    const calls = new Map(self.calls).set(event.id, changed)
    return [{ ...self, calls }, changed.startedAt === undefined ? [] : [running(calls)]]
  }
  switch (event._tag) {
    case "ToolCall":
      return set({ ...known, label: Neutral.call(event.name, event.arguments) })
    case "ToolStarted":
      return set({ ...known, startedAt: event.ts })
    case "ToolProgress":
      return set({ ...known, note: progress(event) })
    case "ToolResult":
    case "ToolAbandoned":
      return ended(self, event, known)
  }
}

const progress = (event: RunEvent.Of<"ToolProgress">): string => {
  const of = event.total === undefined ? `${event.progress}` : `${event.progress} of ${event.total}`
  return event.message === undefined ? of : `${of}, ${Neutral.bounded(event.message, 60)}`
}

const ended = (
  self: Screen,
  event: RunEvent.RunEvent & RunEvent.Of<"ToolResult" | "ToolAbandoned">,
  known: Call
): Step => {
  const calls = new Map(self.calls)
  calls.delete(event.id)
  const took = known.startedAt === undefined ? "" : ` ${Figures.duration(event.ts - known.startedAt)}`
  const shown = line(...verdict(event, known.label, took))
  return [{ ...self, calls }, known.startedAt === undefined ? [shown] : [shown, running(calls)]]
}

const verdict = (
  event: RunEvent.Of<"ToolResult" | "ToolAbandoned">,
  label: string,
  took: string
): readonly [Tone, string] => {
  if (event._tag === "ToolAbandoned") {
    return event.dispatched
      ? ["warning", `? ${label}${took}: outcome unknown (${event.reason})`]
      : ["quiet", `– ${label}: did not run (${event.reason})`]
  }
  if (event.isError) {
    const first = event.content.split("\n").find((text) => text.trim() !== "") ?? "an error without a text"
    return ["bad", `✘ ${label}${took}: ${Neutral.bounded(first.trim(), 160)}`]
  }
  const kept =
    event.artifact === undefined
      ? ""
      : `, ${Figures.count(event.artifact.chars)} characters kept in ${Neutral.bounded(event.artifact.file, 80)}`
  return ["good", `✔ ${label}${took}${kept}`]
}

const running = (calls: ReadonlyMap<string, Call>): Show =>
  Show.Running({
    calls: [...calls.values()].flatMap(({ label, note, startedAt }) =>
      startedAt === undefined ? [] : [{ label, note, since: startedAt }]
    )
  })

/** A child's calls and end are shown under its name; its words are the parent's to tell. */
const child = (self: Screen, event: RunEvent.Of<"Subagent">): Step => {
  const inner = isObject(event.inner) ? Result.getOrElse(RunEvent.fromJson(event.inner), () => undefined) : undefined
  if (inner === undefined) return [self, []]
  const [next, shows] = step(self.children.get(event.agentId) ?? empty, inner)
  const who = Neutral.bounded(event.label ?? event.agentType, 40)
  const lines = shows.filter(Show.$is("Line")).map((show) => line(show.tone, `  ${who}: ${show.text}`))
  const end = RunEvent.isTerminal(inner) ? [line("quiet", `  ${who}: ${ending(inner)}`)] : []
  return [{ ...self, children: new Map(self.children).set(event.agentId, next) }, [...lines, ...end]]
}

const isObject = (value: unknown): value is Json.JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const ending = (event: RunEvent.Terminal): string => {
  switch (event._tag) {
    case "RunCompleted":
      return "done"
    case "RunFailed":
      return `failed: ${Neutral.bounded(event.error, 160)}`
    case "RunCancelled":
      return "cancelled"
  }
}

type Note = Exclude<
  RunEvent.RunEvent,
  {
    readonly _tag:
      | "AttemptStarted"
      | "Token"
      | "AttemptFailed"
      | "AssistantMessage"
      | "TurnDiscarded"
      | "ToolCall"
      | "ToolStarted"
      | "ToolProgress"
      | "ToolResult"
      | "ToolAbandoned"
      | "AskPending"
      | "AskAnswered"
      | "Subagent"
  }
>

const notes = (event: Note): ReadonlyArray<Show> => {
  switch (event._tag) {
    case "LimitReached":
      return [
        line(
          "warning",
          `the limit of ${event.max ?? "?"} ${event.limit.replace("-", " ")} is reached: no more calls, an answer from what is there`
        )
      ]
    case "CompactionDone":
      return [line("quiet", compaction(event))]
    case "RunParked":
      return [line("quiet", `waiting for ${Figures.plural(event.outstanding, "background operation")}`)]
    case "RunResumed":
      return [line("quiet", `going on: ${event.reason}${waited(event.parkedSeconds)}`)]
    case "BackgroundOpDelivered":
      return [line("quiet", `a ${Neutral.bounded(event.opKind, 40)} report arrived`)]
    case "Log":
      return event.level === "warning" || event.level === "error"
        ? [line(event.level === "error" ? "bad" : "warning", log(event))]
        : []
    case "RunCancelled":
      return [Show.Running({ calls: [] }), line("warning", "cancelled")]
    case "RunCompleted":
    case "RunFailed":
      return [Show.Running({ calls: [] })]
    case "RunStarted":
    case "RoundStarted":
    case "AttemptSucceeded":
    case "TurnCommitted":
    case "BackgroundOpStarted":
    case "BackgroundOpSettled":
    case "CompactionStarted":
    case "RouteOffered":
    case "RouteChosen":
      return []
  }
}

const waited = (seconds: number | undefined): string =>
  seconds === undefined ? "" : ` after ${Figures.duration(seconds * 1000)}`

const compaction = (event: RunEvent.Of<"CompactionDone">): string => {
  const sizes =
    event.tokensBefore === undefined || event.tokensAfter === undefined
      ? ""
      : `: ${Figures.count(event.tokensBefore)} → ${Figures.count(event.tokensAfter)} tokens`
  const how = event.fallback ? "older turns were dropped without a summary" : "older turns were summarised"
  return `${how}${sizes}`
}

const log = (event: RunEvent.Of<"Log">): string => {
  const text = typeof event.data === "string" ? event.data : JSON.stringify(event.data)
  return `${event.logger === undefined ? "" : `${Neutral.bounded(event.logger, 40)}: `}${Neutral.bounded(text, 300)}`
}
