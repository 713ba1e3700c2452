/**
 * One send to one backend. It returns what happened; what to do about it is RoundTrip's.
 *
 * A1. Tokens are emitted as they arrive, one event for one read, inside the attempt's frame (L-STREAM-01).
 * A2. Two clocks measure silence, never duration (L-TIME-01, -02): one of anything at all, one of content, since a server may keep a
 *     connection alive for an answer that will not come (S11). A clock that jumped (the machine slept) is no silence (S12).
 * A3. Ending the wait interrupts the stream, which aborts the request (L-CANC-02, L-TIME-03).
 */
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import * as Backend from "../port/Backend.ts"
import type { Usage } from "../model/Usage.ts"
import type { Live } from "./Live.ts"

export type Sent = Data.TaggedEnum<{
  Replied: { readonly reply: Backend.Reply; readonly latencyMs: number }
  Failed: { readonly error: Backend.BackendError; readonly rawText: string }
  Cancelled: { readonly usage: Usage | undefined }
}>
export const Sent = Data.taggedEnum<Sent>()

export interface Framing {
  readonly backend: Backend.Backend
  readonly backendIndex: number
  readonly round: number
  readonly attempt: number
}

/** Growing record of one answer. */
interface Hearing {
  text: string
  lastHeard: number
  lastContent: number
  /** The clock that ended the wait. */
  silence: Silence | undefined
  reply: Backend.Reply | undefined
}

export const send = Effect.fnUntraced(function* (live: Live, request: Backend.Request, framing: Framing) {
  const { attempt, backend, backendIndex, round } = framing
  live.feed.emit({ _tag: "AttemptStarted", round, attempt, backendIndex, model: backend.model })
  const began = live.now()
  const hearing: Hearing = { text: "", lastHeard: began, lastContent: began, silence: undefined, reply: undefined }
  const reading = Stream.runForEachArray(
    Stream.suspend(() => backend.stream(request)),
    (chunks) => Effect.sync(() => hear(live, framing, hearing, chunks))
  )
  const ended = yield* live.sections.run(reading, watch(live, hearing))
  const { reply, text } = hearing
  if (ended._tag === "Stopped" && ended.reason === "cancelled") return Sent.Cancelled({ usage: reply?.usage })
  // A whole answer is one, whatever its connection does behind it.
  if (reply !== undefined) {
    catchUp(live, framing, hearing)
    return Sent.Replied({ reply, latencyMs: Math.round(live.now() - began) })
  }
  if (ended._tag === "Stopped") return Sent.Failed({ error: silent(live, hearing.silence ?? "bytes"), rawText: text })
  return Sent.Failed({ error: Exit.isFailure(ended.exit) ? toError(ended.exit.cause) : cut, rawText: text })
})

const hear = (
  live: Live,
  { attempt, round }: Framing,
  hearing: Hearing,
  chunks: ReadonlyArray<Backend.Chunk>
): void => {
  hearing.lastHeard = live.now()
  let text = ""
  let isContent = false
  for (const chunk of chunks) {
    if (chunk._tag !== "Alive") isContent = true
    switch (chunk._tag) {
      case "Text":
        text = text === "" ? chunk.text : text + chunk.text
        break
      case "Finished":
        hearing.reply = chunk.reply
        break
      case "Reasoning":
      case "ToolArguments":
      case "Alive":
        break
    }
  }
  if (isContent) hearing.lastContent = hearing.lastHeard
  if (text === "") return
  hearing.text += text
  live.feed.emit({ _tag: "Token", text, round, attempt })
}

/** A backend may know more text than it streamed: tokens and the committed text must say the same. */
const catchUp = (live: Live, { attempt, round }: Framing, { reply, text }: Hearing): void => {
  const whole = reply?.text ?? text
  if (whole === text || !whole.startsWith(text)) return
  live.feed.emit({ _tag: "Token", text: whole.slice(text.length), round, attempt })
}

/** How much later than asked a sleep may end before the clock is taken to have jumped. */
const jumpMs = 10_000

const watch = (live: Live, hearing: Hearing): Effect.Effect<"timeout"> => {
  const look: Effect.Effect<"timeout"> = Effect.suspend(() => {
    const { left, silence } = nearest(live, hearing)
    if (left <= 0) {
      return Effect.sync(() => {
        hearing.silence = silence
        return "timeout"
      })
    }
    const due = live.now() + left
    return Effect.flatMap(Effect.sleep(left), () => {
      if (live.now() - due > jumpMs) hearing.lastHeard = hearing.lastContent = live.now()
      return look
    })
  })
  return look
}

type Silence = "bytes" | "content"

const limit = (live: Live, silence: Silence): number =>
  silence === "bytes" ? live.settings.roundTripTimeoutMs : live.settings.contentTimeoutMs

/** The clock that runs out first. */
const nearest = (live: Live, hearing: Hearing): { readonly left: number; readonly silence: Silence } => {
  const bytes = hearing.lastHeard + limit(live, "bytes") - live.now()
  const content = hearing.lastContent + limit(live, "content") - live.now()
  return content < bytes ? { left: content, silence: "content" } : { left: bytes, silence: "bytes" }
}

const silent = (live: Live, waitedFor: Silence): Backend.BackendError =>
  new Backend.BackendError({ reason: new Backend.TimedOut({ seconds: limit(live, waitedFor) / 1000, waitedFor }) })

const cut = new Backend.BackendError({
  reason: new Backend.BadResponse({ problem: "cut", detail: "the answer ended without saying that it was finished" })
})

/** A defect of a backend ends its attempt, not the run. */
const toError = (cause: Cause.Cause<Backend.BackendError>): Backend.BackendError => {
  const squashed = Cause.squash(cause)
  if (squashed instanceof Backend.BackendError) return squashed
  const detail = squashed instanceof Error ? squashed.message : String(squashed)
  return new Backend.BackendError({
    reason: new Backend.BadResponse({ problem: "malformed", detail: `the backend broke: ${detail}` })
  })
}
