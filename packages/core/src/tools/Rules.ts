/**
 * Rules of permission: which calls are allowed, denied, or a question to somebody. Pure and total.
 *
 * R1. A predicate answers yes, no or unknown. An allowance holds only where all of it is `yes`; a denial and a question hold on any
 *     `yes` or `unknown`. What cannot be read is never allowed.
 * R2. Of the rules that hold the strongest decides: deny, then ask, then allow. Where none holds, somebody is asked.
 * R3. Several predicates of a rule must all hold. A rule with none holds for every call of its tools.
 * R4. Nothing a tool says of itself takes part (X-IDEM-02).
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as Nearest from "../decide/Nearest.ts"
import * as Json from "../model/Json.ts"
import * as Pattern from "../model/Pattern.ts"
import * as Commands from "./Commands.ts"
import * as Hosts from "./Hosts.ts"
import * as Paths from "./Paths.ts"
import * as Ternary from "./Ternary.ts"

const optional = Schema.optionalKey
const words = optional(Schema.Array(Schema.String).check(Schema.isMinLength(1)))
const said = (fault: (text: string) => string | undefined) =>
  Schema.NonEmptyString.check(Schema.makeFilter((text: string) => fault(text) ?? undefined))

const folder = (text: string): string | undefined =>
  Paths.parse(text, []) === undefined
    ? `"${text}": a folder is a path with "/" and without ".."; a relative one begins at the root of the tool`
    : undefined

export const members = {
  /** A tool's name, or a prefix ending in `*`. */
  tool: said(Pattern.fault),
  decision: Schema.Literals(["allow", "deny", "ask"]),
  /** Folder that the paths of the call lie in; a relative one begins at the root of the tool. */
  under: optional(said(folder)),
  /** Host of the call's `url`, or `*.host`. */
  host: optional(said(Hosts.fault)),
  /** Basename of the program the call would start, or a prefix ending in `*`; with a slash, the program as it is written. */
  command: optional(said(Pattern.fault)),
  /** First arguments of that program. */
  args: words,
  /** One of these among its arguments. */
  argsAny: words,
  /** Name of a predicate that the host brings. */
  check: optional(Schema.NonEmptyString),
  /** Why, for whoever is asked or refused. */
  note: optional(Schema.String),
  severity: optional(Schema.Literal("danger"))
}

export const Rule = Schema.Struct(members)
export type Rule = typeof Rule.Type
export type Decision = Rule["decision"]

/** Rules are taken all or none: what is wrong with the first bad one, by its place. */
export class InvalidRules extends Schema.TaggedError<InvalidRules>()("InvalidRules", {
  /** `rules[2].under`. */
  path: Schema.String,
  problem: Schema.String
}) {
  override get message(): string {
    return `${this.path}: ${this.problem}`
  }
}

/** Reads rules that came as data, all or none. `name` is what the list is called in the error. */
export const decode = (given: unknown, name = "rules"): Result.Result<ReadonlyArray<Rule>, InvalidRules> =>
  decodeWith(given, { name, members: Object.keys(members), read: Schema.decodeUnknownResult(Rule, strict), needs })

const strict = { onExcessProperty: "error" } as const

export interface Reader<A> {
  readonly name: string
  readonly members: ReadonlyArray<string>
  readonly read: (value: unknown) => Result.Result<A, Schema.SchemaError>
  /** What the schema alone does not say. */
  readonly needs: (value: A) => string | undefined
}

export const decodeWith = <A>(given: unknown, reader: Reader<A>): Result.Result<ReadonlyArray<A>, InvalidRules> => {
  const { name } = reader
  if (!Array.isArray(given)) return invalid(name, "a list of rules belongs here")
  const rules: Array<A> = []
  for (const [index, value] of given.entries()) {
    const one = decodeOne(value, `${name}[${index}]`, reader)
    if (Result.isFailure(one)) return Result.fail(one.failure)
    rules.push(one.success)
  }
  return Result.succeed(rules)
}

const decodeOne = <A>(value: unknown, at: string, reader: Reader<A>): Result.Result<A, InvalidRules> => {
  if (!Json.isObject(value)) return invalid(at, "a rule is an object")
  const known = reader.members
  const stranger = Object.keys(value).find((key) => !known.includes(key))
  if (stranger !== undefined) {
    return invalid(`${at}.${stranger}`, `a rule has no such member.${Nearest.hint(stranger, known)}`.trim())
  }
  const read = reader.read(value)
  if (Result.isFailure(read)) {
    const issue = SchemaIssue.makeFormatterStandardSchemaV1()(read.failure.issue).issues[0]
    const path = (issue?.path ?? []).map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`))
    return invalid(`${at}${path.join("")}`, issue?.message ?? read.failure.message)
  }
  const missing = reader.needs(read.success)
  return missing === undefined ? Result.succeed(read.success) : invalid(at, missing)
}

const invalid = (path: string, problem: string) => Result.fail(new InvalidRules({ path, problem }))

/** Arguments of a program without the program would narrow nothing. */
export const needs = (rule: Pick<Rule, "command" | "args" | "argsAny">): string | undefined =>
  rule.command === undefined && (rule.args !== undefined || rule.argsAny !== undefined)
    ? `"args" and "argsAny" need "command"`
    : undefined

export interface Call {
  readonly tool: string
  readonly arguments: Json.JsonObject
}

/** What rules are read against; all of it optional. */
export interface Ground {
  /** Where relative paths of tools begin. */
  readonly roots?: ReadonlyArray<Paths.Root>
  /** Which arguments are paths; default `path`, `paths`, `from`, `to`, `source`, `destination`. */
  readonly pathParams?: ReadonlyArray<Paths.Params>
  /** Which arguments are commands; default `command`. */
  readonly commandParams?: ReadonlyArray<Paths.Params>
  /** Predicates by name; one that throws or is not there answers `unknown`. */
  readonly checks?: ReadonlyMap<string, (call: Call) => Ternary.Ternary>
}

/** What was read of one call. */
export interface Facts extends Call {
  readonly ground: Ground
  readonly root: Paths.Path | undefined
  readonly paths: ReadonlyArray<Paths.Path | undefined>
  readonly commands: Commands.Commands
}

export const facts = (call: Call, ground: Ground): Facts => {
  const root = Paths.rootOf(ground.roots ?? [], call.tool)
  const params = Paths.paramsOf(ground.pathParams ?? [], call.tool)
  return {
    tool: call.tool,
    arguments: call.arguments,
    ground,
    root,
    paths: Paths.located({ arguments: call.arguments, root, params }),
    commands: Commands.of(call.arguments, Paths.paramsOf(ground.commandParams ?? [], call.tool))
  }
}

/** - `unevaluable-path`: a place, a host or a command of the call could not be read, and that decided. */
export type Reason = "rule" | "no-match" | "unevaluable-path"

export interface Verdict {
  readonly decision: Decision
  readonly reason: Reason
  /** The most specific of the rules that decided. */
  readonly rule?: Rule
}

const strength: ReadonlyArray<Decision> = ["deny", "ask", "allow"]

/** The decision of some rules about a call (R2). */
export const decide = (rules: ReadonlyArray<Rule>, call: Facts): Verdict => {
  const judged = rules
    .filter((rule) => Pattern.matches(rule.tool, call.tool))
    .map((rule) => ({ rule, holds: holds(rule, call) }))
  const firing = judged.filter(
    ({ holds, rule }) => holds === "yes" || (holds === "unknown" && rule.decision !== "allow")
  )
  for (const decision of strength) {
    const [first, ...rest] = firing.filter(({ rule }) => rule.decision === decision)
    if (first === undefined) continue
    const best = rest.reduce((a, b) => (isMoreSpecific(b.rule, a.rule) ? b : a), first)
    return { decision, rule: best.rule, reason: best.holds === "yes" ? "rule" : "unevaluable-path" }
  }
  return { decision: "ask", reason: judged.some(({ holds }) => holds === "unknown") ? "unevaluable-path" : "no-match" }
}

/** The rules that may speak about a tool, strongest and most specific first. */
export const about = (rules: ReadonlyArray<Rule>, tool: string): ReadonlyArray<Rule> =>
  rules
    .filter((rule) => Pattern.matches(rule.tool, tool))
    .toSorted((a, b) => strength.indexOf(a.decision) - strength.indexOf(b.decision) || compare(b, a))

/** No call of the tool can pass: the model need not hear of it. */
export const isHidden = (rules: ReadonlyArray<Rule>, tool: string): boolean =>
  rules.some((rule) => rule.decision === "deny" && isBare(rule) && Pattern.matches(rule.tool, tool))

const isBare = ({ check, command, host, under }: Rule): boolean =>
  under === undefined && host === undefined && command === undefined && check === undefined

/** Does the rule hold for the call? For an allowance all must be so, else any (R1). */
const holds = (rule: Rule, call: Facts): Ternary.Ternary => {
  const all = rule.decision === "allow"
  return Ternary.every([
    ...(rule.under === undefined ? [] : [isUnder(rule.under, call, all)]),
    ...(rule.host === undefined ? [] : [Hosts.matches(rule.host, call.arguments)]),
    ...(rule.command === undefined ? [] : [starts({ ...rule, command: rule.command }, call, all)]),
    ...(rule.check === undefined ? [] : [checked(rule.check, call)])
  ])
}

const isUnder = (under: string, { paths, root }: Facts, all: boolean): Ternary.Ternary => {
  const folder = Paths.parse(under, root)
  if (folder === undefined || paths.length === 0) return "unknown"
  const items = paths.map((path) => Paths.contains(folder, path))
  return all ? Ternary.every(items) : Ternary.some(items)
}

const starts = (wanted: Commands.Wanted, { commands }: Facts, all: boolean): Ternary.Ternary =>
  all ? Commands.every(commands, wanted) : Commands.some(commands, wanted)

const checked = (name: string, call: Facts): Ternary.Ternary => {
  try {
    const answer = call.ground.checks?.get(name)?.({ tool: call.tool, arguments: call.arguments })
    return answer === "yes" || answer === "no" ? answer : "unknown"
  } catch {
    return "unknown"
  }
}

const isMoreSpecific = (a: Rule, b: Rule): boolean => compare(a, b) > 0

const compare = (a: Rule, b: Rule): number => {
  const [left, right] = [specificity(a), specificity(b)]
  const at = left.findIndex((value, index) => value !== right[index])
  return at < 0 ? 0 : (left[at] ?? 0) - (right[at] ?? 0)
}

const specificity = (rule: Rule): ReadonlyArray<number> => [
  rule.tool.endsWith("*") ? 0 : 1,
  rule.tool.length,
  rule.command === undefined ? 0 : rule.command.endsWith("*") ? 1 : 2,
  rule.args?.length ?? 0,
  rule.argsAny === undefined ? 0 : 1,
  rule.check === undefined ? 0 : 1,
  rule.under === undefined ? 0 : 1 + (Paths.parse(rule.under, [])?.length ?? 0),
  rule.host === undefined ? 0 : rule.host.startsWith("*.") ? 1 : 2,
  rule.host?.length ?? 0
]
