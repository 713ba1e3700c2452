/** Every knob of a loop, its default, and what is refused at construction (L-GEN-08, L-GEN-09). Durations are `Duration.Input`. */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Json from "./Json.ts"
import * as Pattern from "./Pattern.ts"
import * as Refusal from "./Refusal.ts"
import { idempotencies, type Idempotency } from "./Tool.ts"

export interface IdempotencyRule {
  readonly tool: Pattern.Pattern
  readonly idempotency: Idempotency
}

export interface Input {
  /** Accepted tool batches before tools are switched off. Default 1000. */
  readonly maxToolRounds?: number
  /** Default 10000. */
  readonly maxToolCalls?: number
  /** How often one call with the same arguments may be dispatched. Default 30. */
  readonly maxIdenticalCalls?: number
  /** Attempts per backend, the first included. Default 3. */
  readonly maxRetries?: number
  /** Ceiling of one wait between attempts. Default 30 seconds. */
  readonly backoffCap?: Duration.Input
  /** Longest silence of an answer, not its total time: anything that arrives is a sign of life. Default 120 seconds. */
  readonly roundTripTimeout?: Duration.Input
  /**
   * Longest time without content while an answer only says that it lives: comments, pings (S11). Default 600 seconds, or
   * `roundTripTimeout` where that is longer.
   */
  readonly contentTimeout?: Duration.Input
  /** The window in tokens, where no request budget describes it: that window, no margin, no reserve (L-BUDG-02). Default: none. */
  readonly contextBudget?: number
  /** Working time of one call or group; time a human is asked does not count. Default: none. */
  readonly toolDeadline?: Duration.Input
  /** First match wins. */
  readonly idempotencyRules?: ReadonlyArray<IdempotencyRule>
  /** Tools whose neighbouring calls may run side by side. */
  readonly concurrentTools?: ReadonlyArray<Pattern.Pattern>
  /** Tools the identical-call guard ignores. */
  readonly identicalCallExempt?: ReadonlyArray<Pattern.Pattern>
  /** Default 1800 seconds. */
  readonly parkIdleTimeout?: Duration.Input
  /** How often a parked run asks a pull-only steer source. Default 0.1 seconds. */
  readonly parkPoll?: Duration.Input
  /** Default `native`. */
  readonly toolRouting?: "native" | "schema"
  /** Default 512. */
  readonly routingMaxTokens?: number
  /** 0, the default, leaves the loop unchanged. */
  readonly handoffAfterToolRounds?: number
  /** `transcript` adds what the transcript already cost to this run's accumulators (X-SPEND-01). Default `fresh`. */
  readonly resumeSpend?: "fresh" | "transcript"
  /** How long the closing of the owning scope waits for `drained`. Default 5 seconds. */
  readonly closeGrace?: Duration.Input
}

export interface Settings {
  readonly maxToolRounds: number
  readonly maxToolCalls: number
  readonly maxIdenticalCalls: number
  readonly maxRetries: number
  readonly backoffCapMs: number
  readonly roundTripTimeoutMs: number
  readonly contentTimeoutMs: number
  readonly contextBudget: number | undefined
  readonly toolDeadlineMs: number | undefined
  readonly idempotencyRules: ReadonlyArray<IdempotencyRule>
  readonly concurrentTools: ReadonlyArray<Pattern.Pattern>
  readonly identicalCallExempt: ReadonlyArray<Pattern.Pattern>
  readonly parkIdleTimeoutMs: number
  readonly parkPollMs: number
  readonly toolRouting: "native" | "schema"
  readonly routingMaxTokens: number
  readonly handoffAfterToolRounds: number
  readonly resumeSpend: "fresh" | "transcript"
  readonly closeGraceMs: number
}

type Checked<A> = Result.Result<A, Refusal.InvalidSetting>

const invalid = (setting: string, problem: string, remedy: string) =>
  Result.fail(new Refusal.InvalidSetting({ setting, problem, remedy }))

const count = (setting: string, given: number | undefined, fallback: number, least: number): Checked<number> => {
  const value = given ?? fallback
  return Number.isInteger(value) && value >= least
    ? Result.succeed(value)
    : invalid(setting, `${value} is not a whole number of at least ${least}`, `Leave it out for ${fallback}`)
}

const tokens = (setting: string, given: number | undefined): Checked<number | undefined> =>
  given === undefined || (Number.isInteger(given) && given > 0)
    ? Result.succeed(given)
    : invalid(setting, `${given} is not a number of tokens`, "Give the window in tokens, a whole number above zero")

const positive = (setting: string, given: Duration.Input): Checked<number> => {
  const ms = Option.getOrUndefined(Option.map(Duration.fromInput(given), Duration.toMillis))
  return ms !== undefined && ms > 0
    ? Result.succeed(ms)
    : invalid(setting, `${spell(given)} is not a duration above zero`, `Write it like "30 seconds"`)
}

const spell = (given: unknown): string => (typeof given === "object" ? Json.render(given) : String(given))

const patterns = (setting: string, given: ReadonlyArray<unknown> = []): Checked<ReadonlyArray<string>> => {
  if (!Array.isArray(given)) return invalid(setting, "it is not a list", "Give a list of tool names")
  for (const [index, pattern] of given.entries()) {
    const fault = Pattern.fault(pattern)
    if (fault !== undefined)
      return invalid(`${setting}[${index}]`, fault, `Use a tool's name or a prefix ending in "*"`)
  }
  return Result.succeed(given.map(String))
}

const rules = (given: ReadonlyArray<IdempotencyRule> = []): Checked<ReadonlyArray<IdempotencyRule>> => {
  if (!Array.isArray(given)) {
    return invalid("idempotencyRules", "it is not a list", "Give a list of {tool, idempotency}")
  }
  for (const [index, rule] of given.entries()) {
    const at = `idempotencyRules[${index}]`
    const fault = Pattern.fault(rule?.tool)
    if (fault !== undefined) return invalid(`${at}.tool`, fault, `Use a tool's name or a prefix ending in "*"`)
    if (!idempotencies.includes(rule.idempotency)) {
      return invalid(`${at}.idempotency`, `"${rule.idempotency}" is no class`, `Use one of ${idempotencies.join(", ")}`)
    }
  }
  return Result.succeed(given)
}

const oneOf = <A extends string>(setting: string, given: A, allowed: ReadonlyArray<A>): Checked<A> =>
  allowed.includes(given)
    ? Result.succeed(given)
    : invalid(setting, `"${given}" is not known`, `Use one of ${allowed.join(", ")}`)

/** Checks every field, then what the fields say together. The first fault is the refusal. */
export const make = (input: Input = {}): Result.Result<Settings, Refusal.Refusal> =>
  Result.gen(function* () {
    const maxToolRounds = yield* count("maxToolRounds", input.maxToolRounds, 1000, 0)
    const handoffAfterToolRounds = yield* count("handoffAfterToolRounds", input.handoffAfterToolRounds, 0, 0)
    if (handoffAfterToolRounds > maxToolRounds) {
      return yield* invalid(
        "handoffAfterToolRounds",
        `${handoffAfterToolRounds} is more than maxToolRounds (${maxToolRounds})`,
        "Hand off at or before the last tool round"
      )
    }
    const deadline = input.toolDeadline
    const roundTripTimeoutMs = yield* positive("roundTripTimeout", input.roundTripTimeout ?? "120 seconds")
    return {
      maxToolRounds,
      maxToolCalls: yield* count("maxToolCalls", input.maxToolCalls, 10_000, 0),
      maxIdenticalCalls: yield* count("maxIdenticalCalls", input.maxIdenticalCalls, 30, 1),
      maxRetries: yield* count("maxRetries", input.maxRetries, 3, 1),
      backoffCapMs: yield* positive("backoffCap", input.backoffCap ?? "30 seconds"),
      roundTripTimeoutMs,
      contentTimeoutMs: yield* positive(
        "contentTimeout",
        input.contentTimeout ?? Math.max(600_000, roundTripTimeoutMs)
      ),
      contextBudget: yield* tokens("contextBudget", input.contextBudget),
      toolDeadlineMs: deadline === undefined ? undefined : yield* positive("toolDeadline", deadline),
      idempotencyRules: yield* rules(input.idempotencyRules),
      concurrentTools: yield* patterns("concurrentTools", input.concurrentTools),
      identicalCallExempt: yield* patterns("identicalCallExempt", input.identicalCallExempt),
      parkIdleTimeoutMs: yield* positive("parkIdleTimeout", input.parkIdleTimeout ?? "1800 seconds"),
      parkPollMs: yield* positive("parkPoll", input.parkPoll ?? "0.1 seconds"),
      toolRouting: yield* oneOf("toolRouting", input.toolRouting ?? "native", ["native", "schema"]),
      routingMaxTokens: yield* count("routingMaxTokens", input.routingMaxTokens, 512, 1),
      handoffAfterToolRounds,
      resumeSpend: yield* oneOf("resumeSpend", input.resumeSpend ?? "fresh", ["fresh", "transcript"]),
      closeGraceMs: yield* positive("closeGrace", input.closeGrace ?? "5 seconds")
    } satisfies Settings
  }).pipe(Result.mapError(Refusal.refuse))

/** Configured rule first, then the tool's own annotation, then `unknown` (O-IDEM-02, X-IDEM-01). */
export const idempotencyOf = (
  settings: Pick<Settings, "idempotencyRules">,
  tool: string,
  annotated: Idempotency | undefined
): Idempotency =>
  settings.idempotencyRules.find((rule) => Pattern.matches(rule.tool, tool))?.idempotency ?? annotated ?? "unknown"
