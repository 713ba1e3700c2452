/**
 * The grammar of each argument: what a path, a pattern, a content or an expression may be copied from in this turn.
 *
 * An argument with nothing to copy from has no program; its tool is then not offered to the model at all.
 */
import type { Argument, Known } from "./Catalogue.ts"
import * as Grammar from "./Grammar.ts"
import { isCut } from "./Prompt.ts"
import * as Turn from "./Turn.ts"
import * as Words from "./Words.ts"

type Programs = ReadonlyArray<Grammar.Program>

export interface Context {
  readonly turn: Turn.Turn
  readonly extensions: ReadonlyMap<string, string>
}

/** The programs of one argument of a tool. `path` is the one already written, where content depends on it. */
export const programs = (context: Context, tool: Known, argument: Argument, path?: string): Programs => {
  switch (argument) {
    case "path":
      return pathsOf(context.turn, !tool.folders)
    case "pattern":
      return pattern(context)
    case "content":
      return content(context.turn, path)
    case "expression":
      return expression(context.turn)
  }
}

const bareFileNames = /^(?:README|LICENSE|LICENCE|Makefile|Dockerfile|CHANGELOG|NOTICE|AUTHORS)$/
const hasDotOrSlash = /[^.].*[./]|^\.\w|[./]\w/
const folderWords =
  /\b(?:in|inside|under|from|into|within)\s+(?:the\s+|my\s+|our\s+)?(?:folder\s+|directory\s+)?(\S+)|(\S+)\s+(?:folder|directory|dir)\b/g

const withoutSlash = (word: string): string => word.replace(/\/+$/, "")

/**
 * A path is a word or a quoted text of the request, a path of an earlier call, or an entry of the last result. A file has a dot or a
 * slash, or stands in quotes, or is a known bare name, as soon as anything in sight has; `folder/file` joins two words.
 */
const pathsOf = (turn: Turn.Turn, file: boolean): Programs => {
  const quoted = new Set(Words.quotes(turn.user))
  const mine = [...quoted, ...Words.words(turn.user)].flatMap((word) => [word, withoutSlash(word)])
  const named = mine.filter((word) => hasDotOrSlash.test(word) || bareFileNames.test(word) || quoted.has(word))
  const listed = turn.last === undefined ? [] : Words.entries(turn.last)
  const strict = file && (named.length > 0 || listed.some((entry) => /[./]/.test(entry)))
  const fallback = file ? (/read ?me/i.test(turn.user) ? ["README.md"] : []) : ["."]
  const whole = [
    ...(strict ? named : mine),
    ...Turn.paths(turn).filter((path) => !file || path !== "."),
    ...listed.filter((entry) => !strict || /[./]/.test(entry)),
    ...fallback
  ].filter((word) => file || !Words.isCommon(word))
  const folders = [...turn.user.matchAll(folderWords)]
    .map(([, behind, before]) => withoutSlash(Words.bare(behind ?? before ?? "")))
    .filter((word) => !/\.\w+$/.test(word) && !Words.common.has(word))
  const inside = (file ? named : mine).filter((word) => !word.startsWith("/"))
  return [[Grammar.oneOf(whole)], [Grammar.oneOf(folders), Grammar.literal("/"), Grammar.oneOf(inside)]]
}

const spokenEnding =
  /(?:^|[\s"'`(])\*?\.([A-Za-z0-9]{1,5})\b|\b([A-Za-z0-9]{1,5})\s+(?:files?|scripts?|documents?|sources?)\b/g

// A glob that holds one to three neighbouring words of the request, or an ending that it speaks of.
const pattern = ({ extensions, turn }: Context): Programs => {
  const words = Words.words(turn.user)
  const runs = words
    .flatMap((_, i) => [1, 2, 3].map((length) => words.slice(i, i + length)))
    .filter((run) => !Words.isCommon(run[0] ?? "") && !Words.isCommon(run.at(-1) ?? ""))
  const quoted = Words.quotes(turn.user).map((quote) => quote.trim().split(/\s+/))
  const kinds = [...extensions].filter((pair) => pair.some((word) => new RegExp(`\\b${word}\\b`, "i").test(turn.user)))
  const said = [...turn.user.matchAll(spokenEnding)].map(([, dotted, before]) => dotted ?? before ?? "")
  const endings = [...kinds.map(([, ending]) => ending), ...said.filter((word) => !Words.isCommon(word))]
  return [
    [Grammar.literal("**/*"), Grammar.oneOf([...runs, ...quoted].map((run) => run.join("*"))), Grammar.literal("*")],
    [Grammar.literal("**/*."), Grammar.oneOf(endings)]
  ]
}

const leadIn = /(?:[\s"'`(]*\b(?:to|in|into|inside|as|under|at|the|a|new|file|called|named))*[\s"'`(]*$/i

/** What stands in quotes, if anything but the path does; else a span beside the path. Or the whole last result. */
const content = (turn: Turn.Turn, path?: string): Programs => {
  const quoted = Words.quotes(turn.user).filter((quote) => quote !== path)
  const at = path === undefined ? -1 : turn.user.indexOf(path)
  const pieces =
    path === undefined || at < 0
      ? [turn.user]
      : [turn.user.slice(0, at).replace(leadIn, ""), turn.user.slice(at + path.length)]
  const beside = pieces.filter((piece) => /[\p{L}\p{N}]/u.test(piece)).map(Grammar.spans)
  const own = quoted.length > 0 ? Grammar.oneOf(quoted) : beside.length > 0 ? beside : [Grammar.spans(turn.user)]
  const last = turn.last ?? ""
  const result = isCut(last) ? "" : last.trim()
  return result === "" ? [[own]] : [[own], [Grammar.literal(result)]]
}

const operators: ReadonlyArray<readonly [operator: string, said: RegExp]> = [
  ["+", /\+|\b(?:plus|and|add(?:ed)?|sum|total|tot)\b/i],
  ["-", /-|\b(?:minus|less|subtract|take|difference|from)\b/i],
  ["*", /[*×]|\dx\d|\d x \d|\b(?:times|multipl\w*|product|squared?|cubed?|twice|double|triple)\b/i],
  ["/", /\/|\b(?:divided?|over|quotient|half|halve|third|quarter|by)\b/i]
]

/** Formulas as written, or two or three of the request's numbers joined by the operators that it speaks of. */
const expression = (turn: Turn.Turn): Programs => {
  const text = turn.user.replace(/(?<=\d),(?=\d{3}\b)/g, "")
  const formulas = [...text.matchAll(/[(\d.][\d\s.+\-*/^%()x×X]*[\d)]/g)]
    .map(([formula]) => formula.replace(/\s+/g, "").replace(/[x×X]/g, "*"))
    .filter((formula) => /\d[+\-*/^%]/.test(formula))
  const numbers = numbersOf(turn, text)
  const said = operators.filter(([, words]) => words.test(turn.user)).map(([operator]) => operator)
  const operator = Grammar.oneOf(said.length > 0 ? said : operators.map(([operator]) => operator))
  const number = Grammar.oneOf(numbers)
  const others = (taken: string) => Grammar.oneOf(numbers.length === 1 ? numbers : numbers.filter((n) => n !== taken))
  const pairs = numbers.map((first): Grammar.Program => [Grammar.literal(first), operator, others(first)])
  const averages = numbers.map((first): Grammar.Program => [
    Grammar.literal(`(${first}`),
    Grammar.literal("+"),
    others(first),
    Grammar.literal(")/2")
  ])
  const percents = numbers
    .filter((n) => new RegExp(`\\b${n.replace(".", "\\.")}\\s*(?:%|percent)`, "i").test(text))
    .map((n): Grammar.Program => [Grammar.literal(`${n}/100*`), Grammar.oneOf(numbers.filter((other) => other !== n))])
  const saying = (words: RegExp, programs: Programs): Programs => (words.test(turn.user) ? programs : [])
  return [
    [Grammar.oneOf(formulas)],
    ...pairs,
    [number, operator, number, operator, number],
    ...saying(/\b(?:squared?|cubed?)\b/i, [[number, Grammar.literal("*"), number]]),
    ...percents,
    ...saying(/\b(?:half|halve|third|quarter|twice|double|triple)\b/i, [
      [number, Grammar.oneOf(["*2", "*3", "/2", "/3", "/4"])]
    ]),
    ...saying(/\b(?:average|mean)\b/i, averages)
  ]
}

/** Digits, number words, and a last result that is a number. */
const numbersOf = (turn: Turn.Turn, text: string): ReadonlyArray<string> => {
  const digits = [...text.matchAll(/\d+(?:\.\d+)?/g)].map(([number]) => number)
  const spoken = (text.toLowerCase().match(/[a-z]+/g) ?? []).flatMap((word) => Words.numbers.get(word) ?? [])
  const last = turn.last?.trim() ?? ""
  return [...new Set([...digits, ...spoken, ...(/^-?\d+(\.\d+)?$/.test(last) ? [last] : [])])]
}
