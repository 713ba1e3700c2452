/**
 * One backend's turn within a round trip: preflight, then sends until it has answered, given up or refused (L-PRE, L-FAIL, L-ADV).
 *
 * L1. Nothing is sent that the window cannot hold, and such a skip opens no token scope (L-PRE-03).
 * L2. A failed reply is never committed: only `Replied` leaves this file with one (L-LEN-22).
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Backoff from "../decide/Backoff.ts"
import type * as Chain from "../decide/Chain.ts"
import * as Classify from "../decide/Classify.ts"
import * as Disposition from "../decide/Disposition.ts"
import * as Overflow from "../decide/Overflow.ts"
import * as Preflight from "../decide/Preflight.ts"
import * as Suspect from "../decide/Suspect.ts"
import * as Target from "../decide/Target.ts"
import * as Verdict from "../decide/Verdict.ts"
import * as RunFailure from "../model/RunFailure.ts"
import * as Backend from "../port/Backend.ts"
import type { TokenCounter } from "../port/TokenCounter.ts"
import * as Attempt from "./Attempt.ts"
import * as AttemptLog from "./AttemptLog.ts"
import * as Live from "./Live.ts"
import type { Stage } from "./RoundOutcome.ts"
import type { TurnStyle } from "./TurnStyle.ts"
import * as Weigh from "./Weigh.ts"

export type LinkResult = Data.TaggedEnum<{
  Replied: { readonly reply: Backend.Reply; readonly attempt: number; readonly latencyMs: number }
  Cancelled: { readonly stage: Stage }
  /** This backend is through; `refusal` says how small a conversation it would have taken. */
  Through: {
    readonly end: Chain.LinkEnd
    readonly error: string
    readonly refusal: Target.Refusal<TokenCounter> | undefined
  }
}>
export const LinkResult = Data.taggedEnum<LinkResult>()

export interface Link {
  readonly live: Live.Live
  readonly style: TurnStyle
  readonly request: Backend.Request
  readonly backend: Backend.Backend
  readonly index: number
}

/** Facts of this backend that every step needs. */
interface Measured extends Link {
  readonly window: Preflight.Window | undefined
  readonly parts: Preflight.Parts
  readonly counter: TokenCounter | undefined
  readonly hasNext: boolean
}

export const take = Effect.fnUntraced(function* (link: Link): Effect.fn.Return<LinkResult, RunFailure.RunFailure> {
  const { backend, index, live, request } = link
  Weigh.align(live, backend, request)
  const { counter, window } = Weigh.scale(live, backend)
  const parts = Weigh.parts(live, backend, request)
  const measured: Measured = { ...link, window, counter, parts, hasNext: index + 1 < live.chain.length }
  const fits = Preflight.check(parts, window)
  if (fits._tag === "Refuses" && window !== undefined) {
    const error = AttemptLog.skipped(live, framing(measured), fits.error)
    Live.log(live, "info", {
      message: "a backend was skipped: the request does not fit its window",
      backendIndex: index,
      model: backend.model,
      needed: fits.needed,
      window: fits.window
    })
    return through(measured, { end: "window", error, usable: Target.afterPreflight(parts.request, window) })
  }
  for (let tries = 1; ; tries++) {
    const result = yield* once(measured, tries)
    if (result !== undefined) return result
  }
})

const framing = ({ backend, index, live }: Link) => ({ backend, backendIndex: index, round: live.state.round })

const through = (
  measured: Measured,
  { end, error, usable }: { readonly end: Chain.LinkEnd; readonly error: string; readonly usable?: number }
): LinkResult => {
  const { counter, parts } = measured
  const refusal = usable === undefined || counter === undefined ? undefined : { counter, parts, usable }
  return LinkResult.Through({ end, error, refusal })
}

/** One send; `undefined` means: wait was served, send again. */
const once = Effect.fnUntraced(function* (
  measured: Measured,
  tries: number
): Effect.fn.Return<LinkResult | undefined, RunFailure.RunFailure> {
  const { backend, live, request } = measured
  const frame: Attempt.Framing = { ...framing(measured), attempt: ++live.state.scratch.attempt }
  const count = request.conversation.messages.length
  const sent = yield* Attempt.send(live, request, frame)
  if (sent._tag === "Cancelled") {
    // A stream that was left says nothing about its bill; one that was heard out is paid.
    if (sent.usage !== undefined) AttemptLog.bill(live, sent.usage)
    return LinkResult.Cancelled({ stage: "streaming" })
  }
  const usage = sent._tag === "Replied" ? sent.reply.usage : sent.error.usage
  AttemptLog.bill(live, usage)
  if (usage !== undefined) Weigh.learn(live, backend, { count, usage })
  return sent._tag === "Replied"
    ? yield* judge(measured, { frame, tries, sent })
    : yield* transportFailed(measured, { frame, tries, sent })
})

interface Failing {
  readonly frame: Attempt.Framing
  readonly tries: number
  readonly sent: Extract<Attempt.Sent, { readonly _tag: "Failed" }>
}

const transportFailed = Effect.fnUntraced(function* (measured: Measured, { frame, sent, tries }: Failing) {
  const { error } = sent
  const refused = error.reason._tag === "Refused" ? error.reason : undefined
  const facts = {
    error: error.message,
    errorClass: Backend.errorClass(error),
    ...(refused === undefined ? {} : { errorStatus: refused.status }),
    ...(error.usage === undefined ? {} : { usage: error.usage }),
    rawText: sent.rawText
  }
  const bucket = Classify.classify({
    errorClass: facts.errorClass,
    status: refused?.status,
    overflow: refused !== undefined && Overflow.overflow(refused.detail, refused.code)
  })
  return yield* obey(measured, { frame, tries, facts, bucket, retryAfterMs: refused?.retryAfterMs })
})

interface Obeying {
  readonly frame: Attempt.Framing
  readonly tries: number
  readonly facts: Omit<AttemptLog.Failure, "disposition" | "backoffMs">
  readonly bucket: Classify.Bucket
  readonly retryAfterMs?: number | undefined
}

const obey = Effect.fnUntraced(function* (
  measured: Measured,
  { bucket, facts, frame, retryAfterMs, tries }: Obeying
): Effect.fn.Return<LinkResult | undefined, RunFailure.RunFailure> {
  const { live } = measured
  const disposition = Disposition.decide({
    bucket,
    attempt: tries,
    maxRetries: live.settings.maxRetries,
    hasNext: measured.hasNext,
    retryAfterMs,
    backoffCapMs: live.settings.backoffCapMs,
    jitterMs: yield* jitter
  })
  const overflow = bucket._tag === "Advance" && bucket.overflow
  const note = disposition._tag === "Advance" || disposition._tag === "GiveUp" ? disposition.note : ""
  const error = AttemptLog.failed(live, frame, {
    ...facts,
    error: note === "" ? facts.error : `${facts.error}; ${note}`,
    disposition: Disposition.reported(disposition),
    ...(disposition._tag === "RetrySame" ? { backoffMs: disposition.backoffMs } : {})
  })
  switch (disposition._tag) {
    case "RetrySame":
      return yield* wait(live, disposition.backoffMs)
    case "Abort":
      return yield* RunFailure.failure(new RunFailure.AttemptsSpent({ last: error }))
    case "Advance":
    case "GiveUp":
      return through(measured, {
        end: overflow ? "overflow" : "failed",
        error,
        ...(overflow ? { usable: Target.afterProvider(measured.parts.request, measured.window, undefined) } : {})
      })
  }
})

const jitter = Effect.map(Random.next, Backoff.jitterMs)

/** A cancel ends the wait at once (L-CANC-04). */
const wait = (live: Live.Live, ms: number): Effect.Effect<LinkResult | undefined> =>
  Effect.map(live.sections.run(Effect.sleep(ms)), (ended) =>
    ended._tag === "Stopped" ? LinkResult.Cancelled({ stage: "backoff" }) : undefined
  )

interface Judging {
  readonly frame: Attempt.Framing
  readonly tries: number
  readonly sent: Extract<Attempt.Sent, { readonly _tag: "Replied" }>
}

/** A finished reply is judged before its attempt counts as a success (L-CLIP-02, L-ROUTE-12). */
const judge = Effect.fnUntraced(function* (
  measured: Measured,
  { frame, sent, tries }: Judging
): Effect.fn.Return<LinkResult | undefined, RunFailure.RunFailure> {
  const { backend, live, request, style } = measured
  const { latencyMs, reply } = sent
  for (const warning of reply.warnings) Live.log(live, "warning", { message: warning, backendIndex: measured.index })
  const verdict = Verdict.judge({
    reply,
    window: measured.window,
    request: measured.parts.request,
    maxTokens: smaller(request.maxTokens, backend.maxTokens),
    takesCalls: style.takesCalls(live)
  })
  if (verdict._tag === "Clipped") Live.log(live, "warning", { message: verdict.warning, backendIndex: measured.index })
  const suspect = Suspect.decide({
    verdict,
    spent: live.state.scratch.suspectSpent,
    attempt: tries,
    maxRetries: live.settings.maxRetries,
    jitterMs: yield* jitter,
    backoffCapMs: live.settings.backoffCapMs
  })
  const facts = {
    errorClass: "response",
    rawText: reply.text,
    ...(reply.usage === undefined ? {} : { usage: reply.usage }),
    finishReason: reply.finishReason ?? reply.finish
  }
  switch (suspect._tag) {
    case "Commit": {
      const rejected = style.reject(live, reply)
      if (rejected !== undefined) {
        return yield* end(live, frame, {
          ...facts,
          reason: rejected.reason,
          error: rejected.detail,
          counts: rejected.reason
        })
      }
      AttemptLog.succeeded(live, frame, { reply, latencyMs })
      return LinkResult.Replied({ reply, attempt: frame.attempt, latencyMs })
    }
    case "Resend": {
      live.state.scratch.suspectSpent = true
      if (suspect.reason === "unexplained-length") Live.log(live, "warning", { message: suspect.error })
      const { backoffMs, error, reason } = suspect
      AttemptLog.failed(live, frame, { ...facts, error, reason, counts: reason, disposition: "retry-same", backoffMs })
      return yield* wait(live, backoffMs)
    }
    case "End": {
      const counts = suspect.mayHandOff ? suspect.reason : "other"
      return yield* end(live, frame, { ...facts, reason: suspect.reason, error: suspect.error, counts })
    }
    case "WindowRefusal": {
      Live.log(live, "warning", { message: suspect.error, backendIndex: measured.index, model: backend.model })
      const error = AttemptLog.failed(live, frame, { ...facts, error: suspect.error, disposition: "advance" })
      const usable = Target.afterProvider(measured.parts.request, measured.window, reply.usage?.promptTokens)
      return through(measured, { end: "window", error, usable })
    }
    case "Failed":
      return yield* obey(measured, {
        frame,
        tries,
        facts: { ...facts, error: suspect.error },
        bucket: Classify.classify({ errorClass: "response", overflow: false })
      })
  }
})

const smaller = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : Math.min(a, b)

/** The run ends on this attempt. */
const end = (
  live: Live.Live,
  frame: Attempt.Framing,
  failure: Omit<AttemptLog.Failure, "disposition"> & { readonly reason: NonNullable<AttemptLog.Failure["reason"]> }
) => {
  const detail = AttemptLog.failed(live, frame, { ...failure, disposition: "abort" })
  return Effect.fail(RunFailure.failure(new RunFailure.SuspectReply({ reason: failure.reason, detail })))
}
