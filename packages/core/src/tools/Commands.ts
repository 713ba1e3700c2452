/**
 * The programs a call would start, read from its arguments: a shell line, or a list of words. Pure and total.
 *
 * C1. Programs that run another one are looked through: `env`, `sudo`, `nice`, `timeout`, `sh -c`, `eval`, `xargs`, `find -exec`. A
 *     denial sees both; an allowance sees through those that change nothing, and needs the others to be allowed as well.
 * C2. A program is told by its basename. One from an unusual folder, one that differs by case alone, one that the shell has yet to
 *     expand are `unknown`.
 * C3. An assignment in front, or a file it writes to, changes what a command does: it is never a certain match for an allowance.
 * C4. What cannot be read makes the whole incomplete, which no allowance passes and every denial counts as a match.
 */
import * as Json from "../model/Json.ts"
import * as Pattern from "../model/Pattern.ts"
import * as Shell from "./Shell.ts"
import * as Ternary from "./Ternary.ts"
import * as Wrappers from "./Wrappers.ts"

export interface Command {
  readonly program: Shell.Word
  readonly args: ReadonlyArray<Shell.Word>
  /** It only runs another command, which stands beside it. */
  readonly transparent: boolean
  readonly altered: boolean
}

export interface Commands {
  readonly commands: ReadonlyArray<Command>
  readonly complete: boolean
}

export interface Wanted {
  readonly command: string
  /** The first arguments. */
  readonly args?: ReadonlyArray<string>
  /** One of these among the arguments. */
  readonly argsAny?: ReadonlyArray<string>
}

export const defaults: ReadonlyArray<string> = ["command"]

/** The commands of a call. With `args` beside it a text is a program, else a shell line; a list is the words of one command. */
export const of = (args: Json.JsonObject, params: ReadonlyArray<string> = defaults): Commands => {
  const names = params.filter((name) => Object.hasOwn(args, name))
  if (names.length === 0) return { commands: [], complete: false }
  const parts = names.map((name) => fromValue(args[name], Object.hasOwn(args, "args") ? args["args"] : undefined))
  return { commands: parts.flatMap(({ commands }) => commands), complete: parts.every(({ complete }) => complete) }
}

const fromValue = (value: Json.Json | undefined, more: Json.Json | undefined): Commands => {
  if (isWords(value)) return fromWords(value)
  if (typeof value !== "string") return { commands: [], complete: false }
  if (more === undefined) return fromLine(value)
  if (isWords(more)) return fromWords([value, ...more])
  return { ...fromLine(value), complete: false }
}

const isWords = (value: Json.Json | undefined): value is ReadonlyArray<string> =>
  Array.isArray(value) && value.every((each) => typeof each === "string")

const fromWords = (words: ReadonlyArray<string>): Commands => {
  const into = newCollector(0)
  resolve(into, words.map(Shell.word), false)
  return into
}

export const fromLine = (text: string): Commands => lineInto(newCollector(0), text)

interface Collector {
  readonly commands: Array<Command>
  complete: boolean
  readonly depth: number
}

const newCollector = (depth: number): Collector => ({ commands: [], complete: true, depth })
const maxDepth = 16

const lineInto = (into: Collector, text: string, altered = false): Collector => {
  const line = Shell.read(text)
  if (!line.complete) into.complete = false
  for (const { words, writes } of line.commands) simple(into, words, writes || altered)
  return into
}

const skipped = new Set(["if", "then", "elif", "else", "while", "until", "do", "!", "{", "}", "fi", "done", "esac"])
const unread = new Set(["for", "case", "select", "function", "coproc", "[["])
const assignment = /^[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=/

/** Keywords and assignments in front of a command. */
const simple = (into: Collector, words: ReadonlyArray<Shell.Word>, altered: boolean): void => {
  let at = 0
  for (; at < words.length; at++) {
    const word = words[at]
    if (word === undefined || word.quoted || !skipped.has(word.text)) break
  }
  const first = words[at]
  if (first !== undefined && !first.quoted && unread.has(first.text)) into.complete = false
  const from = words.findIndex((word, index) => index >= at && !assignment.test(word.text))
  if (from < 0) {
    // What is assigned alone stays for the commands behind it; what a group writes belongs to none of them.
    if (at < words.length || altered) into.complete = false
    return
  }
  resolve(into, words.slice(from), altered || from > at)
}

/** The command and, where it only runs another one, that one as well. */
const resolve = (into: Collector, words: ReadonlyArray<Shell.Word>, altered: boolean): void => {
  const [program, ...args] = words
  if (program === undefined || program.text === "") {
    into.complete = false
    return
  }
  const inner = into.commands.length > 256 ? Wrappers.unreadable : Wrappers.look(basename(program.text), args)
  const transparent = inner._tag !== "None" && inner.transparent && program.literal && isUsual(program.text)
  into.commands.push({ program, args, transparent, altered })
  switch (inner._tag) {
    case "None":
      return
    case "Unreadable":
      into.complete = false
      return
    case "Words":
      for (const each of inner.commands) resolve(into, each, altered || inner.altered)
      return
    case "Line": {
      const below = newCollector(into.depth + 1)
      if (below.depth > maxDepth) below.complete = false
      else lineInto(below, inner.text, altered)
      into.commands.push(...below.commands)
      if (!below.complete) into.complete = false
    }
  }
}

const usual = new Set([
  "/bin",
  "/sbin",
  "/usr/bin",
  "/usr/sbin",
  "/usr/local/bin",
  "/usr/local/sbin",
  "/opt/homebrew/bin"
])

/** Found by name, or in a folder of the system. */
const isUsual = (program: string): boolean => {
  const slash = program.lastIndexOf("/")
  return slash < 0 || usual.has(program.slice(0, slash))
}

export const basename = (program: string): string => program.slice(program.lastIndexOf("/") + 1)

/** For a denial: the best match among all of them. */
export const some = ({ commands, complete }: Commands, wanted: Wanted): Ternary.Ternary =>
  Ternary.some([
    ...commands.map((command) => matches(command, wanted)),
    ...(complete && commands.length > 0 ? [] : ["unknown" as const])
  ])

/** For an allowance: the worst match among those that do something of their own. */
export const every = ({ commands, complete }: Commands, wanted: Wanted): Ternary.Ternary => {
  const own = commands.filter(({ transparent }) => !transparent)
  return Ternary.every([
    ...own.map((command) => Ternary.every([matches(command, wanted), command.altered ? "unknown" : "yes"])),
    ...(complete && own.length > 0 ? [] : ["unknown" as const])
  ])
}

const matches = ({ args, program }: Command, wanted: Wanted): Ternary.Ternary =>
  Ternary.every([
    isProgram(program, wanted.command),
    ...(wanted.args ?? []).map((text, index) => isWord(args[index], text)),
    ...(wanted.argsAny === undefined ? [] : [holds(args, wanted.argsAny)])
  ])

/** A pattern with a slash names the program as it is written; one without, its basename. */
const isProgram = (program: Shell.Word, pattern: string): Ternary.Ternary => {
  if (!program.literal) return "unknown"
  if (pattern.includes("/")) return Ternary.equal(program.text, pattern)
  const name = basename(program.text)
  if (Pattern.matches(pattern, name)) return isUsual(program.text) ? "yes" : "unknown"
  const bare = Ternary.fold(name).replace(/\.exe$/, "")
  return Pattern.matches(Ternary.fold(pattern), bare) ? "unknown" : "no"
}

const isWord = (word: Shell.Word | undefined, text: string): Ternary.Ternary =>
  word === undefined ? "no" : word.literal ? Ternary.equal(word.text, text) : "unknown"

const holds = (args: ReadonlyArray<Shell.Word>, any: ReadonlyArray<string>): Ternary.Ternary =>
  Ternary.some(args.flatMap((word) => any.map((text) => isWord(word, text))))
