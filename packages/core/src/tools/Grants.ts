/**
 * What a person allowed or denied for good. Kept as plain rules, so that a transcript can hold the whole list (model/Grant).
 *
 * G1. A list is taken whole or not at all; what is wrong with it is said.
 * G2. An allowance is bound to what was known when it was given: the tools it was for, each with its server and the digest of its
 *     declaration. A tool that moved or changed has lost it (X-SAFE-04), and so has one that came later.
 * G3. A denial is bound to nothing: what was denied stays denied whatever the server says of itself now.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Canonical from "../model/Canonical.ts"
import * as Pattern from "../model/Pattern.ts"
import type { Declaration } from "../model/Tool.ts"
import * as Rules from "./Rules.ts"

const Binding = Schema.Struct({
  tool: Schema.NonEmptyString,
  /** Absent for a tool that names no server. */
  origin: Schema.optionalKey(Schema.String),
  /** Of the whole declaration. */
  digest: Schema.NonEmptyString
})

export const Grant = Schema.Struct({
  ...Rules.members,
  decision: Schema.Literals(["allow", "deny"]),
  bound: Schema.optionalKey(Schema.Array(Binding).check(Schema.isMinLength(1)))
})
export type Grant = typeof Grant.Type

const reader: Rules.Reader<Grant> = {
  name: "grants",
  members: Object.keys(Grant.fields),
  read: Schema.decodeUnknownResult(Grant, { onExcessProperty: "error" }),
  needs: (grant) =>
    grant.decision === "allow" && grant.bound === undefined
      ? `an allowance names the tools it was given for, under "bound"`
      : Rules.needs(grant)
}

/** Reads a snapshot, all or none (G1). */
export const decode = (given: unknown): Result.Result<ReadonlyArray<Grant>, Rules.InvalidRules> =>
  Rules.decodeWith(given, reader)

/** Digest of everything a server says about a tool; which server says it stands beside it. */
export const digestOf = ({ origin: _origin, ...said }: Declaration): string => Canonical.digest(said)

/** A rule as a grant for the tools that are listed now; an allowance that is for none of them is no grant. */
export const bind = (
  rule: Omit<Rules.Rule, "decision">,
  decision: Grant["decision"],
  listed: ReadonlyArray<Declaration>
): Grant | undefined => {
  if (decision === "deny") return { ...rule, decision }
  const bound = listed
    .filter(({ name }) => Pattern.matches(rule.tool, name))
    .map((declaration) => ({
      tool: declaration.name,
      ...(declaration.origin === undefined ? {} : { origin: declaration.origin }),
      digest: digestOf(declaration)
    }))
  return bound.length === 0 ? undefined : { ...rule, decision, bound }
}

/** The grants that count for a tool as it is declared now (G2, G3). */
export const active = (
  grants: ReadonlyArray<Grant>,
  tool: string,
  listed: ReadonlyArray<Declaration>
): ReadonlyArray<Grant> => {
  const declaration = listed.find(({ name }) => name === tool)
  const digest = declaration === undefined ? undefined : digestOf(declaration)
  return grants.filter(
    ({ bound, decision }) =>
      decision === "deny" ||
      bound?.some((to) => to.tool === tool && to.origin === declaration?.origin && to.digest === digest) === true
  )
}

/** A list that several policies may share; read anew for every decision. */
export interface Grants {
  readonly current: Effect.Effect<ReadonlyArray<Grant>>
  /** One that is there already is not added again. */
  readonly add: (grants: ReadonlyArray<Grant>) => Effect.Effect<void>
  /**
   * Takes grants back and answers how many. The record of a live run learns of it with the next call, or at once by the run's
   * `callScope.grantsChanged`.
   */
  readonly revoke: (which: (grant: Grant) => boolean) => Effect.Effect<number>
  /** A whole list in the place of this one. */
  readonly replace: (snapshot: unknown) => Effect.Effect<void, Rules.InvalidRules>
}

/** `restored`: the last snapshot of a transcript. */
export const make = (restored: unknown = []): Effect.Effect<Grants, Rules.InvalidRules> =>
  Effect.gen(function* () {
    let list = yield* Effect.fromResult(decode(restored))
    return {
      current: Effect.sync(() => list),
      add: (grants) =>
        Effect.sync(() => {
          const known = new Set(list.map(Canonical.json))
          list = [...list, ...grants.filter((grant) => !known.has(Canonical.json(grant)))]
        }),
      revoke: (which) =>
        Effect.sync(() => {
          const before = list.length
          list = list.filter((grant) => !which(grant))
          return before - list.length
        }),
      replace: (snapshot) =>
        Effect.map(
          Effect.suspend(() => Effect.fromResult(decode(snapshot))),
          (next) => {
            list = next
          }
        )
    }
  })
