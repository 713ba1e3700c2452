/** Why a call was not handed over, and how the model is told. Pure. The text never claims that the tool ran (T8). */
import * as Data from "effect/Data"
import type * as Rules from "./Rules.ts"

export type Denial = Data.TaggedEnum<{
  /** A rule that was there before. */
  ByRule: { readonly verdict: Rules.Verdict }
  /** What a person denied for good, now or earlier. */
  ByGrant: { readonly verdict: Rules.Verdict }
  ByPerson: { readonly message: string | undefined }
  NobodyToAsk: { readonly verdict: Rules.Verdict }
  /** The run was cancelled, or gave the call up, before it was handed over. */
  Withdrawn: {}
  /** The question broke, or its answer was none; `why` says how. */
  Unanswered: { readonly why: string }
  Malformed: {}
}>
export const Denial = Data.taggedEnum<Denial>()

export const text = (tool: string, denial: Denial): string =>
  `Permission denied for ${JSON.stringify(tool)}; the call was not run. ${why(denial)}`

const why = (denial: Denial): string => {
  switch (denial._tag) {
    case "ByRule":
      return because(denial.verdict, "A rule denies it")
    case "ByGrant":
      return because(denial.verdict, "It was denied for good when somebody was asked before")
    case "ByPerson":
      return denial.message === undefined || denial.message.trim() === ""
        ? "The person who was asked said no."
        : `The person who was asked said no: ${denial.message}`
    case "NobodyToAsk":
      return `It needs somebody's permission (${asked(denial.verdict)}), and nobody is there to be asked.`
    case "Withdrawn":
      return "The run was cancelled, or gave it up, before it was handed over."
    case "Unanswered":
      return `Asking for permission brought no answer: ${denial.why}.`
    case "Malformed":
      return "Its arguments are not one JSON object, so that no rule can be read against them."
  }
}

const because = ({ reason, rule }: Rules.Verdict, what: string): string => {
  const unread = reason === "unevaluable-path" ? ", since a path, host or command in it could not be read" : ""
  return `${what}${unread}${rule?.note === undefined ? "." : `: ${rule.note}`}`
}

const asked = ({ reason, rule }: Rules.Verdict): string => {
  if (reason === "unevaluable-path") return "a path, host or command in it could not be read"
  return rule === undefined ? "no rule speaks about it" : (rule.note ?? "a rule says so")
}
