/**
 * Any end of the command as an exit code and, unless it went well, one paragraph: what happened, to what, what to do.
 *
 * F1. Total: an error nobody foresaw still gives a sentence, and no stack unless it is asked for.
 * F2. The paragraph is neutral, whoever wrote its parts (X-SAFE-03).
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type * as RunFailure from "@settle/core/model/RunFailure"
import * as Refusal from "@settle/core/model/Refusal"
import * as RunOutcome from "@settle/core/model/RunOutcome"
import { TranscriptError } from "@settle/core/port/Transcript"
import { ConfigError } from "./ConfigError.ts"
import * as Exit from "./Exit.ts"
import * as Neutral from "@settle/core/decide/Neutral"

export interface Failure {
  readonly code: number
  /** Empty when everything was said already. */
  readonly text: string
}

/** A failure of the command itself that belongs to no library: an unreadable prompt file, a session that is not there. */
export class CommandError extends Schema.TaggedError<CommandError>()("CommandError", {
  code: Schema.Int,
  detail: Schema.String
}) {
  override get message(): string {
    return this.detail
  }
}

export const usage = (detail: string): Effect.Effect<never, CommandError> =>
  Effect.fail(new CommandError({ code: Exit.usage, detail }))

export const failed = (detail: string): Effect.Effect<never, CommandError> =>
  Effect.fail(new CommandError({ code: Exit.failed, detail }))

/** The failure of a cause. `debug` adds the trace. */
export const ofCause = (cause: Cause.Cause<unknown>, debug: boolean): Failure => {
  if (Cause.hasInterruptsOnly(cause)) return { code: Exit.cancelled, text: "" }
  const error = Option.getOrElse(Cause.findErrorOption(cause), () => undefined)
  const failure = error === undefined ? ofDefect(Cause.squash(cause)) : ofError(error)
  const text = Neutral.block(failure.text)
  return { code: failure.code, text: debug ? `${text}\n\n${Neutral.block(Cause.pretty(cause))}` : text }
}

export const ofError = (error: unknown): Failure => {
  if (error instanceof CommandError) return { code: error.code, text: error.detail }
  if (error instanceof ConfigError) return { code: Exit.usage, text: error.message }
  if (error instanceof TranscriptError) return { code: Exit.transcript, text: ofTranscript(error) }
  if (error instanceof Refusal.Refusal) return { code: Exit.usage, text: sentence(error.message) }
  if (error instanceof RunOutcome.RunFailed) {
    return { code: error.reason._tag === "TranscriptFailed" ? Exit.transcript : Exit.failed, text: ofRun(error.reason) }
  }
  if (error instanceof RunOutcome.RunCancelled) return { code: Exit.cancelled, text: "" }
  if (Predicate.hasProperty(error, "_tag") && usageTags.has(error._tag)) {
    return { code: Exit.usage, text: sentence(said(error)) }
  }
  return { code: Exit.failed, text: sentence(said(error)) }
}

/** Errors of packages that are loaded only when they are used: told by their tag, so as not to load them here. */
const usageTags: ReadonlySet<unknown> = new Set(["SessionError", "McpError", "BadPrefix", "ConfigError"])

const ofDefect = (defect: unknown): Failure => ({
  code: Exit.failed,
  text: `Settle broke: ${said(defect)}. This is a bug; --log-level debug shows where it happened.`
})

const said = (error: unknown): string =>
  Predicate.hasProperty(error, "message") && typeof error.message === "string" ? error.message : String(error)

/** A message of a library as a sentence: a capital at its head, a full stop at its end. */
export const sentence = (text: string): string => {
  const trimmed = text.trim()
  const head = trimmed.charAt(0).toUpperCase() + trimmed.slice(1)
  return /[.!?…]$/.test(head) ? head : `${head}.`
}

const ofTranscript = (error: TranscriptError): string => {
  const what = sentence(error.message)
  switch (error.reason._tag) {
    case "Locked":
      return `${what} Wait until that process ends, or write another session with --session NAME.`
    case "Fenced":
      return `${what} Another process writes it now; nothing more was written by this one.`
    case "Unreadable":
      return `${what} Nothing was changed. Take another one with --session, or run without one: --no-session.`
    case "WriteFailed":
      return `${what} Check the place and its free space, take another one with --session, or run without one: --no-session.`
  }
}

const ofRun = (reason: RunFailure.Reason): string => {
  const what = sentence(`the run failed: ${reason.message}`)
  switch (reason._tag) {
    case "AttemptsSpent":
      return `${what} Check that the server of the model runs and that its address, name and key are right: settle models.`
    case "BudgetExhausted":
      return `${what} Here the caps are --max-cost, --max-total-tokens and --max-wall-clock.`
    case "ContextExhausted":
      return `${what} Use a model with a larger window, or begin a new session with a summary.`
    case "CatalogueFailed":
      return `${what} See settle mcp check.`
    case "SuspectReply":
      return `${what} Try it again, another --model, or a larger maxTokens.`
    case "TranscriptFailed":
      return `${what} Check the place and its free space before you resume.`
    case "UnansweredTail":
      return `${what} settle resume answers them.`
    case "SeedMismatch":
    case "DriverCrashed":
    case "ParkIdle":
    case "HandoffIncomplete":
      return what
  }
}
