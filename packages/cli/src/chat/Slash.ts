/**
 * `/` commands: a line as a command, or what is wrong with it. Pure.
 *
 * S1. A line that begins with a path (`/usr/bin/…`) is words, and so is one that begins with `//`, without its first slash.
 * S2. A command that is not known is never sent to the model: the nearest known one is named.
 */
import * as Data from "effect/Data"
import * as Nearest from "@settle/core/decide/Nearest"
import * as Neutral from "@settle/core/decide/Neutral"

export type Slash = Data.TaggedEnum<{
  Words: { readonly text: string }
  Wrong: { readonly detail: string }
  Command: { readonly command: Command }
}>
export const Slash = Data.taggedEnum<Slash>()

export type Command =
  | { readonly name: Bare }
  | { readonly name: "model" | "session" | "rename"; readonly to: string }
  | { readonly name: "fork" | "export"; readonly to: string | undefined }

type Bare = "help" | "tools" | "models" | "sessions" | "doctor" | "cost" | "clear" | "quit"
export type Name = Command["name"]

interface Entry {
  readonly name: Name
  /** `needs`: a word must follow; `may`: one may. */
  readonly takes: "nothing" | "may" | "needs"
  readonly word: string
  readonly about: string
}

export const entries: ReadonlyArray<Entry> = [
  { name: "help", takes: "nothing", word: "", about: "these lines" },
  { name: "tools", takes: "nothing", word: "", about: "the tools as the model sees them" },
  { name: "models", takes: "nothing", word: "", about: "the configured models" },
  { name: "model", takes: "needs", word: "NAME", about: "go on with another model" },
  { name: "sessions", takes: "nothing", word: "", about: "the sessions of this project" },
  { name: "session", takes: "needs", word: "NAME", about: "go on in another session, or begin it" },
  { name: "fork", takes: "may", word: "[NAME]", about: "go on in a copy of this session" },
  { name: "rename", takes: "needs", word: "NAME", about: "another name for this session" },
  { name: "export", takes: "may", word: "[FILE]", about: "write the conversation as Markdown, or as HTML (.html)" },
  { name: "doctor", takes: "nothing", word: "", about: "whether the transcript of this session is sound" },
  { name: "cost", takes: "nothing", word: "", about: "what was spent, and how full the window is" },
  { name: "clear", takes: "nothing", word: "", about: "begin a new session on an empty screen" },
  { name: "quit", takes: "nothing", word: "", about: "leave; the session stays" }
]

/** Commands that change the place of the conversation: only between runs. */
export const moves: ReadonlySet<Name> = new Set(["model", "session", "fork", "rename", "clear"])

const names: ReadonlyArray<string> = entries.map(({ name }) => name)

export const parse = (line: string): Slash => {
  const text = line.trim()
  if (!text.startsWith("/") || text.includes("\n")) return Slash.Words({ text: line })
  if (text.startsWith("//")) return Slash.Words({ text: text.slice(1) })
  const [, word = "", argument = ""] = /^\/(\S*)\s*(.*)$/.exec(text) ?? []
  if (word.includes("/")) return Slash.Words({ text: line })
  const entry = entries.find(({ name }) => name === word.toLowerCase())
  if (entry === undefined) return Slash.Wrong({ detail: unknown(word) })
  return commandOf(entry, argument)
}

const unknown = (word: string): string => {
  const near = Nearest.nearest(word, names)
  return near === undefined
    ? `There is no command /${Neutral.bounded(word, 40)}. /help lists them; a line that begins with // is sent as words.`
    : `There is no command /${Neutral.bounded(word, 40)}. Did you mean /${near}?`
}

const commandOf = (entry: Entry, argument: string): Slash => {
  const { name, takes, word } = entry
  if (takes === "nothing" && argument !== "") return Slash.Wrong({ detail: `/${name} takes nothing behind it.` })
  if (takes === "needs" && argument === "") return Slash.Wrong({ detail: `Say which: /${name} ${word}.` })
  switch (name) {
    case "model":
    case "session":
    case "rename":
      return Slash.Command({ command: { name, to: argument } })
    case "fork":
    case "export":
      return Slash.Command({ command: { name, to: argument === "" ? undefined : argument } })
    default:
      return Slash.Command({ command: { name } })
  }
}

/** What a Tab makes of the beginning of a command: all that its candidates share. */
export const complete = (text: string): string | undefined => {
  const word = /^\/([a-z]*)$/.exec(text)?.[1]
  if (word === undefined) return undefined
  const found = names.filter((name) => name.startsWith(word))
  const [only] = found
  if (only === undefined) return undefined
  if (found.length === 1) return `/${only}${entries.find(({ name }) => name === only)?.takes === "nothing" ? "" : " "}`
  let shared = only
  for (const name of found) while (!name.startsWith(shared)) shared = shared.slice(0, -1)
  return shared === word ? undefined : `/${shared}`
}

/** The lines of `/help`. */
export const help: ReadonlyArray<string> = [
  ...entries.map(({ about, name, word }) => `  ${`/${name} ${word}`.trimEnd().padEnd(18)} ${about}`),
  "",
  "  Enter sends; while a run works it steers it, and Tab keeps the line for the next turn.",
  "  Alt-Enter, Ctrl-J or a \\ before Enter begins a new line. Up and down walk through what was typed.",
  "  Esc or Ctrl-C cancels the run. Ctrl-C twice or Ctrl-D leaves."
]
