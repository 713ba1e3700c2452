/**
 * Permission in front of any provider: calls are allowed, denied, or asked about; only then are they handed over.
 *
 * P1. All calls of a batch are decided before the first of them runs, in their order; those that are allowed go on unchanged, as one
 *     batch. A denial is an answer with an error, worded as one (L-CONC-12).
 * P2. The rules decide first. Only where they say "ask" the grants are read, then what was approved beforehand, then somebody is
 *     asked. Nothing a tool says of itself takes part (X-IDEM-02).
 * P3. One question at a time among all who share the lock. The grants are read again once it is one's turn, and a new one is kept
 *     and recorded before the next turn: whoever waited behind an "always" is not asked.
 * P4. Whatever goes wrong while asking denies that call and no other. A call that nobody waits for any
 *     more is not handed over (T8).
 * P5. An approval is for the call that was shown: the one that is handed over, by its id and the digest of tool and arguments
 *     (T11, T12). A grant is for the declaration that was listed when the question was put (X-SAFE-04).
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Semaphore from "effect/Semaphore"
import * as Neutral from "../decide/Neutral.ts"
import * as Canonical from "../model/Canonical.ts"
import type * as Grant from "../model/Grant.ts"
import * as Json from "../model/Json.ts"
import * as Operation from "../model/Operation.ts"
import * as Tool from "../model/Tool.ts"
import * as Asker from "../port/Asker.ts"
import { CallScope } from "../port/CallScope.ts"
import type { ToolProvider } from "../port/ToolProvider.ts"
import * as Answers from "./Answers.ts"
import { Denial, text } from "./Denial.ts"
import * as Grants from "./Grants.ts"
import * as Paths from "./Paths.ts"
import * as Rules from "./Rules.ts"
import * as Suggestion from "./Suggestion.ts"

export interface Options {
  readonly provider: ToolProvider
  /** Default: none, so that every call is asked about. */
  readonly rules?: ReadonlyArray<Rules.Rule>
  /** What relative paths begin at, which arguments are paths or commands, named checks. */
  readonly ground?: Rules.Ground
  /** Answers a person gave beforehand, for this process alone: they answer a question, they lift no denial. */
  readonly preapproved?: ReadonlyArray<Rules.Rule>
  /** Default: an empty list of its own. Several policies may share one. */
  readonly grants?: Grants.Grants
  /** Default: the one in the context of the call. */
  readonly asker?: Asker.Asker
  /** Several policies with one lock ask one after another. Default: a lock of its own. */
  readonly lock?: Semaphore.Semaphore
  /** Tools that no call can pass are left out of the catalogue. Default true. */
  readonly hide?: boolean
}

export interface Policy extends ToolProvider {
  readonly grants: Effect.Effect<Grant.Snapshot>
  /** Takes effect with the next decision, all or none. */
  readonly replaceRules: (rules: unknown) => Effect.Effect<void, Rules.InvalidRules>
  /** What would be decided without asking anybody; `ask` where somebody would have to be asked. */
  readonly decide: (call: Rules.Call) => Effect.Effect<Rules.Verdict>
}

/** Refuses rules that are not rules, and a check that is not there. */
export const make = (options: Options): Effect.Effect<Policy, Rules.InvalidRules> =>
  Effect.gen(function* () {
    const ground = options.ground ?? {}
    const read = (rules: unknown, name: string) => Effect.fromResult(checked(Rules.decode(rules, name), ground, name))
    // replaced whole: a decision under way keeps the rules it began with
    let rules = yield* read(options.rules ?? [], "rules")
    const gate: Gate = {
      provider: options.provider,
      ground,
      rules: () => rules,
      preapproved: yield* read(options.preapproved ?? [], "preapproved"),
      grants: options.grants ?? (yield* Grants.make()),
      asker: options.asker,
      lock: options.lock ?? (yield* Semaphore.make(1))
    }
    const { probe } = options.provider
    return {
      list: options.hide === false ? options.provider.list : listing(gate),
      execute: (batch) => execute(gate, batch),
      ...(probe === undefined ? {} : { probe }),
      grants: gate.grants.current,
      replaceRules: (next) =>
        Effect.map(
          Effect.suspend(() => read(next, "rules")),
          (valid) => {
            rules = valid
          }
        ),
      decide: (call) => Effect.map(settled(gate, Rules.facts(call, ground)), ({ verdict }) => verdict)
    }
  })

const checked = (
  rules: Result.Result<ReadonlyArray<Rules.Rule>, Rules.InvalidRules>,
  ground: Rules.Ground,
  name: string
): typeof rules => {
  if (Result.isFailure(rules)) return rules
  const index = rules.success.findIndex(({ check }) => check !== undefined && ground.checks?.has(check) !== true)
  if (index < 0) return rules
  const known = [...(ground.checks?.keys() ?? [])].join(", ")
  const problem = `there is no check of that name; ${known === "" ? "none is there" : `there are: ${known}`}`
  return Result.fail(new Rules.InvalidRules({ path: `${name}[${index}].check`, problem }))
}

interface Gate extends Pick<Required<Options>, "provider" | "ground" | "preapproved" | "grants" | "lock"> {
  readonly rules: () => ReadonlyArray<Rules.Rule>
  readonly asker: Asker.Asker | undefined
}

interface Listing {
  readonly all: ReadonlyArray<Tool.Declaration>
  readonly rules: ReadonlyArray<Rules.Rule>
  readonly shown: ReadonlyArray<Tool.Declaration>
}

/** The same array for as long as the catalogue and the rules are the same. */
const listing = (gate: Gate): ToolProvider["list"] => {
  let last: Listing | undefined
  return Effect.map(gate.provider.list, (all) => {
    const rules = gate.rules()
    if (last?.all === all && last.rules === rules) return last.shown
    const shown = all.filter(({ name }) => !Rules.isHidden(rules, name))
    last = { all, rules, shown: shown.length === all.length ? all : shown }
    return last.shown
  })
}

const execute = (gate: Gate, batch: ReadonlyArray<Tool.Invocation>) =>
  Effect.gen(function* () {
    const scope = yield* CallScope
    const denials: Array<Denial | undefined> = []
    for (const invocation of batch) denials.push(yield* judge(gate, invocation, scope))
    const gone = yield* Effect.forEach(batch, (invocation) => isWithdrawn(scope, invocation))
    const closed = denials.map((denial, index) => denial ?? (gone[index] === true ? Denial.Withdrawn() : undefined))
    const allowed = batch.filter((_, index) => closed[index] === undefined)
    const answers = allowed.length === 0 ? [] : yield* gate.provider.execute(allowed)
    let next = 0
    return batch.map(({ name }, index) => {
      const denial = closed[index]
      return denial === undefined ? answers[next++] : Tool.failed(text(name, denial))
    })
  })

/** Nobody waits for the call any more: what has not begun must not begin (T8). */
const isWithdrawn = (scope: CallScope, { callId }: Tool.Invocation) =>
  Effect.gen(function* () {
    return (yield* scope.isCancelled) || !(yield* scope.isAwaited(callId))
  })

/** Why a call may not be handed over; `undefined`: it may. */
const judge = (gate: Gate, invocation: Tool.Invocation, scope: CallScope) =>
  Effect.gen(function* () {
    const args = invocation.arguments.trim() === "" ? {} : Json.parse(invocation.arguments)
    if (!Json.isObject(args)) return Denial.Malformed()
    const call = Rules.facts({ tool: invocation.name, arguments: args }, gate.ground)
    const first = yield* settled(gate, call)
    if (first.verdict.decision !== "ask") return denialOf(first)
    const asker = gate.asker ?? (yield* Asker.Asker)
    if (asker === Asker.none) return Denial.NobodyToAsk(first)
    return yield* gate.lock.withPermits(1)(
      Effect.gen(function* () {
        if (yield* isWithdrawn(scope, invocation)) return Denial.Withdrawn()
        const second = yield* settled(gate, call)
        if (second.verdict.decision !== "ask") return denialOf(second)
        return yield* ask(gate, { invocation, call, scope, asker, verdict: second.verdict })
      })
    )
  })

interface Settled {
  readonly verdict: Rules.Verdict
  readonly by: "rules" | "grants"
}

const denialOf = ({ by, verdict }: Settled): Denial | undefined =>
  verdict.decision === "allow" ? undefined : by === "rules" ? Denial.ByRule({ verdict }) : Denial.ByGrant({ verdict })

/** The rules, then what was granted or approved before (P2). */
const settled = (gate: Gate, call: Rules.Facts): Effect.Effect<Settled> =>
  Effect.gen(function* () {
    const verdict = Rules.decide(gate.rules(), call)
    const grants = yield* gate.grants.current
    if (verdict.decision !== "ask" || grants.length + gate.preapproved.length === 0) return { verdict, by: "rules" }
    const active = grants.length === 0 ? [] : Grants.active(grants, call.tool, yield* listed(gate))
    const granted = Rules.decide([...active, ...gate.preapproved], call)
    return granted.decision === "ask" ? { verdict, by: "rules" } : { verdict: granted, by: "grants" }
  })

/** As the tools are declared now; where that cannot be told no allowance counts. */
const listed = ({ provider }: Gate): Effect.Effect<ReadonlyArray<Tool.Declaration>> =>
  Effect.orElseSucceed(provider.list, () => [])

interface Question {
  readonly invocation: Tool.Invocation
  readonly call: Rules.Facts
  readonly scope: CallScope
  readonly asker: Asker.Asker
  readonly verdict: Rules.Verdict
}

const ask = (gate: Gate, question: Question): Effect.Effect<Denial | undefined> =>
  Effect.gen(function* () {
    const { asker, call, invocation, scope } = question
    const catalogue = yield* listed(gate)
    const suggestion = Suggestion.make(call)
    const digest = digestOf(invocation)
    const request = requestOf(question, { digest, suggestion, origin: originOf(catalogue, call.tool) })
    const given = yield* Effect.result(
      answerOf(
        scope.asking(
          request,
          Effect.suspend(() => asker.ask(request))
        )
      )
    )
    // The answer to a question that nobody waits for any more allows nothing, and keeps nothing.
    if (yield* isWithdrawn(scope, invocation)) return Denial.Withdrawn()
    const read = Result.flatMap(given, (answer) => Answers.read(answer, { callId: invocation.callId, digest }))
    if (Result.isFailure(read)) return Denial.Unanswered({ why: read.failure })
    const { always, decision, message, rules } = read.success
    if (always) {
      const kept = yield* keep(gate, { question, catalogue, decision, rules, suggestion })
      if (kept !== undefined) return Denial.Unanswered({ why: kept })
    }
    return decision === "allow" ? undefined : Denial.ByPerson({ message })
  })

/** An asker that throws has not answered. */
const answerOf = (asking: Effect.Effect<Json.JsonObject>): Effect.Effect<Json.JsonObject, string> =>
  Effect.catchCause(asking, (cause) => {
    if (Cause.hasInterruptsOnly(cause)) return Effect.fail("the question was taken back")
    const squashed = Cause.squash(cause)
    return Effect.fail(squashed instanceof Error ? squashed.message : Json.render(squashed))
  })

const digestOf = (invocation: Tool.Invocation): string =>
  Canonical.textDigest(
    Operation.signature({ tool: invocation.name, arguments: Canonical.callArguments(invocation.arguments) })
  )

const originOf = (listed: ReadonlyArray<Tool.Declaration>, tool: string): string | undefined =>
  listed.find(({ name }) => name === tool)?.origin

interface Shown {
  readonly digest: string
  readonly origin: string | undefined
  readonly suggestion: Suggestion.Narrowed | undefined
}

const requestOf = (
  { call, invocation, verdict }: Question,
  { digest, origin, suggestion }: Shown
): Asker.Permission => ({
  kind: "permission",
  tool: call.tool,
  arguments: call.arguments,
  shown: Neutral.call(call.tool, invocation.arguments),
  callId: invocation.callId,
  digest,
  reason: verdict.reason,
  paths: call.paths.map((path) => (path === undefined ? null : Paths.render(path))),
  ...(origin === undefined ? {} : { origin }),
  ...(verdict.rule === undefined ? {} : { rule: verdict.rule }),
  ...(suggestion === undefined ? {} : { suggestion })
})

interface Kept {
  readonly question: Question
  readonly catalogue: ReadonlyArray<Tool.Declaration>
  readonly decision: "allow" | "deny"
  readonly rules: ReadonlyArray<Rules.Rule> | undefined
  readonly suggestion: Suggestion.Narrowed | undefined
}

/** Stores and records what holds from now on (P3); a text says why it cannot. */
const keep = (
  gate: Gate,
  { catalogue, decision, question, rules, suggestion }: Kept
): Effect.Effect<string | undefined> =>
  Effect.gen(function* () {
    const wanted = rules ?? (suggestion === undefined ? [] : [suggestion])
    const grants = wanted.map((rule) => Grants.bind(rule, decision, catalogue))
    const whole = grants.filter((grant) => grant !== undefined)
    if (whole.length < grants.length || whole.length === 0) {
      if (rules !== undefined) return "a rule of the answer is for no tool that is listed"
      // The person meant at least this call.
      const data = { message: "nothing narrow enough could be kept for good, so the answer is for this call alone" }
      yield* question.scope.log("warning", "settle.policy", { ...data, tool: question.call.tool })
      return undefined
    }
    // Together or not at all: what is in force is on its way to the record.
    yield* Effect.uninterruptible(Effect.andThen(gate.grants.add(whole), question.scope.grantsChanged))
    return undefined
  })
