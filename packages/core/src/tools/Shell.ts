/**
 * A shell line taken apart into the words of the commands it would run. It expands nothing and runs nothing. Pure and total.
 *
 * S1. Every command of the line is there: behind `;`, `&`, `&&`, `|`, a line end, in a subshell, in `$(…)`, backticks and `<(…)`.
 * S2. A word that the shell would expand (a variable, a substitution, a glob, a brace, a home) is kept as not literal.
 * S3. What this reader does not read (a here-document, a function, a loop, an open quote) makes the line incomplete; what was read
 *     stays.
 */

export interface Word {
  readonly text: string
  /** The text is what the program gets. */
  readonly literal: boolean
  /** Some of it stood in quotes, so that it is no keyword. */
  readonly quoted: boolean
}

export interface Simple {
  readonly words: ReadonlyArray<Word>
  /** It writes to a file besides what its words say. */
  readonly writes: boolean
}

export interface Line {
  readonly commands: ReadonlyArray<Simple>
  readonly complete: boolean
}

export const word = (text: string): Word => ({ text, literal: true, quoted: true })

/** Nested deeper, or longer, is not read. */
const maxDepth = 16
const maxLength = 65_536

/** Reads a line. */
export const read = (text: string): Line => {
  if (text.length > maxLength) return { commands: [], complete: false }
  const state = newState(text, 0)
  script(state, "")
  return { commands: state.commands, complete: state.complete }
}

interface Draft {
  text: string
  literal: boolean
  quoted: boolean
}

interface State {
  readonly text: string
  readonly depth: number
  at: number
  complete: boolean
  readonly commands: Array<Simple>
}

interface Command {
  words: Array<Word>
  writes: boolean
  word: Draft | undefined
  /** The next word is where a redirection goes. */
  target: "none" | "in" | "out"
}

const newState = (text: string, depth: number): State => ({ text, depth, at: 0, complete: true, commands: [] })
const newCommand = (): Command => ({ words: [], writes: false, word: undefined, target: "none" })

/** Gives up on the rest: what stands there was not read. */
const giveUp = (state: State): void => {
  state.complete = false
  state.at = state.text.length
}

/** Commands up to the closing character, or to the end when there is none. */
const script = (state: State, until: "" | ")"): void => {
  if (state.depth > maxDepth) return giveUp(state)
  let command = newCommand()
  const end = (): void => {
    endWord(command)
    // A redirection without a command behind it, or of a whole group, belongs to no command that could tell of it.
    if (command.target !== "none" || (command.writes && command.words.length === 0)) state.complete = false
    if (command.words.length > 0) state.commands.push({ words: command.words, writes: command.writes })
    command = newCommand()
  }
  while (state.at < state.text.length) {
    const c = state.text.charAt(state.at)
    if (c === ")") {
      end()
      if (until === "") return giveUp(state)
      state.at++
      return
    }
    if (c === "\n" || c === ";" || c === "|" || (c === "&" && next(state) !== ">")) {
      if (c === ";" && next(state) === ";") state.complete = false
      state.at++
      end()
    } else step(state, command, c)
  }
  end()
  if (until !== "") state.complete = false
}

const next = (state: State): string => state.text.charAt(state.at + 1)

const step = (state: State, command: Command, c: string): void => {
  switch (c) {
    case " ":
    case "\t":
      state.at++
      return endWord(command)
    case "#":
      return command.word === undefined ? comment(state) : add(state, command, c)
    case "(":
      return group(state, command)
    case "&":
    case "<":
    case ">":
      return redirect(state, command, c)
    default:
      return part(state, command, c)
  }
}

const comment = (state: State): void => {
  const end = state.text.indexOf("\n", state.at)
  state.at = end < 0 ? state.text.length : end
}

/** Where a command may begin a parenthesis is a subshell; elsewhere a function, an array or a pattern. */
const group = (state: State, command: Command): void => {
  if (command.word !== undefined || command.words.length > 0) return giveUp(state)
  nested(state, state.at + 1)
}

/** Reads `…)` from there as a script of its own, into the same commands. */
const nested = (state: State, from: number): void => {
  const inner: State = { ...newState(state.text, state.depth + 1), at: from }
  script(inner, ")")
  absorb(state, inner)
  state.at = inner.at
}

const absorb = (state: State, inner: State): void => {
  state.commands.push(...inner.commands)
  if (!inner.complete) state.complete = false
}

const draft = (command: Command): Draft => (command.word ??= { text: "", literal: true, quoted: false })

const endWord = (command: Command): void => {
  const { target, word: ended } = command
  if (ended === undefined) return
  command.word = undefined
  command.target = "none"
  const literal = ended.literal || (!ended.quoted && ["[", "]", "{", "}"].includes(ended.text))
  if (target === "none") command.words.push({ text: ended.text, literal, quoted: ended.quoted })
  else if (target === "out" && !(literal && harmless.has(ended.text))) command.writes = true
}

/** Nothing is written there, or where output goes anyway. */
const harmless = new Set(["/dev/null", "/dev/stdout", "/dev/stderr"])

const redirect = (state: State, command: Command, c: string): void => {
  const found = /^(?:&>>?|<<<|<<|<\(|>\(|<>|>&|<&|>>|>\||>|<)/.exec(state.text.slice(state.at, state.at + 3))?.[0]
  if (found === undefined || found === "<<") return giveUp(state)
  if (found === "<(" || found === ">(") {
    opaque(command)
    return nested(state, state.at + 2)
  }
  // The digits right before a redirection are a descriptor.
  if (c !== "&" && command.word?.quoted === false && /^\d+$/.test(command.word.text)) command.word = undefined
  endWord(command)
  state.at += found.length
  const descriptor = found.endsWith("&")
    ? /^[ \t]*(?:\d+|-)(?=[\s;&|)<>]|$)/.exec(state.text.slice(state.at, state.at + 20))
    : null
  if (descriptor !== null) state.at += descriptor[0].length
  else command.target = found === "<" || found === "<<<" || found === "<&" ? "in" : "out"
}

const opaque = (command: Command): void => {
  draft(command).literal = false
}

const add = (state: State, command: Command, text: string): void => {
  draft(command).text += text
  state.at += text.length
}

/** One piece of a word. */
const part = (state: State, command: Command, c: string): void => {
  switch (c) {
    case "\\":
      return escape(state, command)
    case "'":
      return single(state, command)
    case '"':
      return double(state, command)
    case "$":
      return dollar(state, command, true)
    case "`":
      return backtick(state, command)
    case "~":
      if (command.word === undefined) opaque(command)
      return add(state, command, c)
    case "*":
    case "?":
    case "[":
    case "{":
    case "}":
      opaque(command)
      return add(state, command, c)
    default:
      if (/[\u0000-\u001f\u007f]/.test(c)) state.complete = false
      return add(state, command, c)
  }
}

const escape = (state: State, command: Command): void => {
  const escaped = next(state)
  if (escaped === "") return giveUp(state)
  state.at += 2
  if (escaped === "\n") return
  const into = draft(command)
  into.text += escaped
  into.quoted = true
}

const single = (state: State, command: Command): void => {
  const end = state.text.indexOf("'", state.at + 1)
  if (end < 0) return giveUp(state)
  const into = draft(command)
  into.text += state.text.slice(state.at + 1, end)
  into.quoted = true
  state.at = end + 1
}

const double = (state: State, command: Command): void => {
  draft(command).quoted = true
  state.at++
  while (state.at < state.text.length) {
    const c = state.text.charAt(state.at)
    if (c === '"') {
      state.at++
      return
    }
    if (c === "\\" && '$`"\\\n'.includes(next(state)) && next(state) !== "") escape(state, command)
    else if (c === "$") dollar(state, command, false)
    else if (c === "`") backtick(state, command)
    else add(state, command, c)
  }
  giveUp(state)
}

const dollar = (state: State, command: Command, bare: boolean): void => {
  const rest = state.text.slice(state.at + 1, state.at + 3)
  if (rest.startsWith("(")) {
    opaque(command)
    // Arithmetic may hold a substitution in its turn, and is not read.
    return rest === "((" ? giveUp(state) : nested(state, state.at + 2)
  }
  const name = /^\$(?:[A-Za-z_]\w*|[0-9@*#?$!-]|\{[#!]?(?:[A-Za-z_]\w*|[0-9@*#?$!-])\})/.exec(
    state.text.slice(state.at, state.at + 256)
  )?.[0]
  if (name !== undefined) {
    opaque(command)
    return add(state, command, name)
  }
  // `${…}` with an operator, and the quotes `$'…'`, hold more than a name.
  if (rest.startsWith("{") || rest.startsWith("[") || (bare && /^['"]/.test(rest))) {
    opaque(command)
    return giveUp(state)
  }
  add(state, command, "$")
}

const backtick = (state: State, command: Command): void => {
  opaque(command)
  const body = /^`((?:[^`\\]|\\[\s\S])*)`/.exec(state.text.slice(state.at))
  if (body === null) return giveUp(state)
  const inner = newState((body[1] ?? "").replace(/\\([`\\$])/g, "$1"), state.depth + 1)
  script(inner, "")
  absorb(state, inner)
  state.at += body[0].length
}
