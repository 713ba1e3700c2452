/** Programs whose arguments are another command: what they would run. Pure and total; an option it does not know is unreadable. */
import * as Data from "effect/Data"
import type * as Shell from "./Shell.ts"

export type Inner = Data.TaggedEnum<{
  None: {}
  /** `transparent`: it adds nothing of its own to what it runs. */
  Unreadable: { readonly transparent: boolean }
  Words: {
    readonly transparent: boolean
    readonly altered: boolean
    readonly commands: ReadonlyArray<ReadonlyArray<Shell.Word>>
  }
  Line: { readonly transparent: boolean; readonly text: string }
}>
export const Inner = Data.taggedEnum<Inner>()

export const unreadable = Inner.Unreadable({ transparent: false })

interface Wrapper {
  readonly transparent: boolean
  /** Letters of options without a value, and with one. */
  readonly flags: string
  readonly values: string
  readonly longFlags?: ReadonlyArray<string>
  readonly longValues?: ReadonlyArray<string>
  /** Words between the options and the command. */
  readonly before?: number
  /** Options that make it run nothing. */
  readonly asks?: string
  readonly assigns?: boolean
  /** It puts words of its own behind the command. */
  readonly appends?: boolean
}

const plain: Wrapper = { transparent: true, flags: "", values: "" }
const asRoot: Wrapper = {
  transparent: false,
  flags: "nEHSkbABP",
  values: "ugprtTUDC",
  longFlags: ["non-interactive", "preserve-env", "set-home", "stdin", "background", "askpass"],
  longValues: ["user", "group", "prompt", "chdir", "preserve-env", "host"],
  assigns: true
}

const wrappers: ReadonlyMap<string, Wrapper> = new Map<string, Wrapper>([
  [
    "env",
    {
      ...plain,
      flags: "i0v",
      values: "uC",
      longFlags: ["ignore-environment", "null", "debug"],
      longValues: ["unset", "chdir"],
      assigns: true
    }
  ],
  ["nice", { ...plain, flags: "0123456789", values: "n", longValues: ["adjustment"] }],
  ["ionice", { ...plain, flags: "t", values: "cn", longFlags: ["ignore"], longValues: ["class", "classdata"] }],
  ["nohup", plain],
  [
    "timeout",
    {
      ...plain,
      flags: "vfp",
      values: "ks",
      longFlags: ["foreground", "preserve-status", "verbose"],
      longValues: ["kill-after", "signal"],
      before: 1
    }
  ],
  ["time", { ...plain, flags: "pv" }],
  ["stdbuf", { ...plain, values: "ioe", longValues: ["input", "output", "error"] }],
  ["setsid", { ...plain, flags: "cfw", longFlags: ["ctty", "fork", "wait"] }],
  ["command", { ...plain, flags: "p", asks: "vV" }],
  ["builtin", plain],
  ["exec", { ...plain, flags: "cl", values: "a" }],
  ["busybox", plain],
  ["toybox", plain],
  ["sudo", asRoot],
  ["doas", { transparent: false, flags: "nL", values: "uC" }],
  ["chroot", { transparent: false, flags: "", values: "", longValues: ["userspec", "groups"], before: 1 }],
  ["xargs", { transparent: true, flags: "0rtpx", values: "nPLIdEsa", longFlags: ["null"], appends: true }]
])

const shells = new Set(["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish"])
/** They run what stands in their arguments in ways that are not read here. */
const unread = new Set([
  "su",
  "watch",
  "script",
  "parallel",
  "unshare",
  "nsenter",
  "flock",
  "strace",
  "trap",
  "alias",
  "ssh"
])

/** What the program of that name would run with these arguments. */
export const look = (name: string, args: ReadonlyArray<Shell.Word>): Inner => {
  if (shells.has(name)) return ofShell(args)
  if (unread.has(name)) return unreadable
  if (name === "eval") return ofEval(args)
  if (name === "find") return ofFind(args)
  const wrapper = wrappers.get(name)
  return wrapper === undefined ? Inner.None() : ofWrapper(wrapper, args)
}

const ofWrapper = (wrapper: Wrapper, args: ReadonlyArray<Shell.Word>): Inner => {
  const { transparent } = wrapper
  let at = 0
  while (at < args.length) {
    const word = args[at]
    if (word === undefined || !word.text.startsWith("-") || word.text === "-") break
    const took = word.literal ? options(wrapper, word.text) : undefined
    if (took === "asks") return Inner.None()
    if (took === undefined) return Inner.Unreadable({ transparent })
    at += took
    if (word.text === "--") break
  }
  const from = wrapper.assigns === true ? args.findIndex((word, index) => index >= at && !/^\w+=/.test(word.text)) : at
  const inner = from < 0 ? [] : args.slice(from + (wrapper.before ?? 0))
  const first = args[at]
  if (first !== undefined && !first.literal) return Inner.Unreadable({ transparent })
  if (inner.length === 0) return from >= 0 && from < args.length ? Inner.Unreadable({ transparent }) : Inner.None()
  const more = wrapper.appends === true ? [{ text: "", literal: false, quoted: false }] : []
  return Inner.Words({ transparent, altered: from > at, commands: [[...inner, ...more]] })
}

/** How many words an option takes, itself included. */
const options = (wrapper: Wrapper, text: string): number | "asks" | undefined => {
  if (text === "--") return 1
  if (text.startsWith("--")) {
    const [name = "", value] = text.slice(2).split("=", 2)
    if (value !== undefined) return wrapper.longValues?.includes(name) === true ? 1 : undefined
    if (wrapper.longFlags?.includes(name) === true) return 1
    return wrapper.longValues?.includes(name) === true ? 2 : undefined
  }
  for (let at = 1; at < text.length; at++) {
    const letter = text.charAt(at)
    if (wrapper.asks?.includes(letter) === true) return "asks"
    if (wrapper.values.includes(letter)) return at === text.length - 1 ? 2 : 1
    if (!wrapper.flags.includes(letter)) return undefined
  }
  return 1
}

/** `sh -c line`; a script file or its input are not read, and the shell stands for them. */
const ofShell = (args: ReadonlyArray<Shell.Word>): Inner => {
  let isLine = false
  let at = 0
  for (; at < args.length; at++) {
    const word = args[at]
    if (word === undefined || !/^[-+]./.test(word.text)) break
    if (!word.literal || word.text.startsWith("--")) return unreadable
    if (word.text.startsWith("-") && word.text.includes("c")) isLine = true
    // The option takes the next word.
    if (/[oO]$/.test(word.text)) at++
  }
  const line = args[at]
  if (!isLine) return Inner.None()
  return line?.literal === true ? Inner.Line({ transparent: true, text: line.text }) : unreadable
}

const ofEval = (args: ReadonlyArray<Shell.Word>): Inner =>
  args.every(({ literal }) => literal)
    ? Inner.Line({ transparent: true, text: args.map(({ text }) => text).join(" ") })
    : unreadable

const finders = new Set(["-exec", "-execdir", "-ok", "-okdir"])

/** The commands behind `-exec`, each up to `;` or `+`. */
const ofFind = (args: ReadonlyArray<Shell.Word>): Inner => {
  const commands = args.flatMap((word, index) => {
    if (!finders.has(word.text)) return []
    const rest = args.slice(index + 1)
    const end = rest.findIndex(({ text }) => text === ";" || text === "+")
    return [rest.slice(0, end < 0 ? rest.length : end)]
  })
  return commands.length === 0 ? Inner.None() : Inner.Words({ transparent: false, altered: false, commands })
}
