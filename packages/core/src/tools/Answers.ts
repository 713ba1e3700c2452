/**
 * What somebody answered to a question of permission, read against the call it was about. Pure and total.
 *
 * A1. An answer that is not understood, that names another call, or whose rules are not rules, allows nothing (T11, T12).
 * A2. The decision comes from the action alone; a rule that says another one is refused.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Json from "../model/Json.ts"
import * as Rules from "./Rules.ts"

const Answer = Schema.Struct({
  action: Schema.Literals(["allow-once", "deny-once", "always-allow", "always-deny"]),
  rule: Schema.optionalKey(Schema.Unknown),
  rules: Schema.optionalKey(Schema.Array(Schema.Unknown)),
  callId: Schema.optionalKey(Schema.String),
  digest: Schema.optionalKey(Schema.String),
  message: Schema.optionalKey(Schema.String)
})

export interface Asked {
  readonly callId: string
  readonly digest: string
}

export interface Read {
  readonly decision: "allow" | "deny"
  readonly always: boolean
  /** `undefined`: the suggestion. */
  readonly rules: ReadonlyArray<Rules.Rule> | undefined
  readonly message: string | undefined
}

const decode = Schema.decodeUnknownResult(Answer)

/** The answer, or why it is none. */
export const read = (given: unknown, asked: Asked): Result.Result<Read, string> => {
  const answer = decode(given)
  if (Result.isFailure(answer)) return Result.fail("what came back is no answer to a question of permission")
  const { action, callId, digest, message, rule, rules } = answer.success
  if ((callId ?? asked.callId) !== asked.callId || (digest ?? asked.digest) !== asked.digest) {
    return Result.fail("the answer was given for another call")
  }
  const decision = action === "allow-once" || action === "always-allow" ? "allow" : "deny"
  const base = { decision, always: action.startsWith("always"), message } as const
  if (rule === undefined && rules === undefined) return Result.succeed({ ...base, rules: undefined })
  if (rule !== undefined && rules !== undefined) return Result.fail(`the answer has both "rule" and "rules"`)
  if (!base.always) return Result.fail(`the answer has a rule, and "${action}" keeps none`)
  const decided = decidedBy(rules ?? [rule], decision)
  if (Result.isFailure(decided)) return Result.fail(decided.failure)
  const valid = Rules.decode(decided.success, "the rules of the answer")
  return Result.mapBoth(valid, {
    onFailure: ({ message }) => message,
    onSuccess: (read) => ({ ...base, rules: read })
  })
}

const decidedBy = (rules: ReadonlyArray<unknown>, decision: "allow" | "deny"): Result.Result<unknown, string> => {
  if (rules.length === 0) return Result.fail("the answer has an empty list of rules")
  const other = rules.find((rule) => Json.isObject(rule) && (rule["decision"] ?? decision) !== decision)
  return other === undefined
    ? Result.succeed(rules.map((rule) => (Json.isObject(rule) ? { ...rule, decision } : rule)))
    : Result.fail("a rule of the answer decides otherwise than the answer")
}
