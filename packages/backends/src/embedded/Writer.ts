/**
 * Writes one JSON action token by token: what the model would write freely, held to a grammar.
 *
 * W1. `text` only grows, and whatever is appended was chosen by the model or was the only thing allowed.
 * W2. At `limit` tokens it stops where it is: `cut` is then set for good and the text is a prefix of an action.
 * W3. What the grammar forces is not asked for, and evaluated only where something still follows it.
 */
import type { Choose } from "./Choice.ts"
import * as Grammar from "./Grammar.ts"
import * as Session from "./Session.ts"
import * as Tokenizer from "./Tokenizer.ts"

export interface Writer {
  readonly session: Session.Session
  readonly choose: Choose
  /** Most tokens of the action, its end mark included. */
  readonly limit: number
  /** The action's JSON so far. */
  text: string
  /** Tokens of `text`, and of the end mark once it is whole. */
  tokens: number
  cut: boolean
}

export interface Field {
  readonly key: string
  readonly programs: ReadonlyArray<Grammar.Program>
  /** Another field follows. */
  readonly more: boolean
  /** Readers see the value as it is written. */
  readonly streamed: boolean
}

export const make = (session: Session.Session, choose: Choose, limit: number): Writer => ({
  session,
  choose,
  limit,
  text: "",
  tokens: 0,
  cut: false
})

/** Begins an action. The prompt was evaluated up to the name's opening quote. `shown` is the name that readers see. */
export function* open(self: Writer, name: { readonly token: number; readonly shown: string }): Session.Steps<void> {
  const { marks } = self.session.model
  put(self, '{"tool":"', 1)
  put(self, Grammar.escape(name.shown), 1)
  put(self, '","arguments":{', 1)
  yield* Session.feed(self.session, [name.token, marks.arguments])
}

/** Ends an action that has no arguments. */
export const close = (self: Writer): void => put(self, "}}", 2)

/** Writes one field and answers its value, as far as it came. */
export function* field(self: Writer, { key, more, programs, streamed }: Field): Session.Steps<string> {
  const { marks, tokenizer } = self.session.model
  const opening = [marks.quote, ...Tokenizer.encode(tokenizer, key), marks.colon]
  put(self, `"${key}":"`, opening.length)
  yield* Session.feed(self.session, opening)
  const stop = more ? marks.comma : marks.close
  const value: Value = { bytes: [], text: "" }
  let state = Grammar.start(programs)
  while (!self.cut) {
    const rest = Grammar.forced(state)
    const step = rest === undefined ? choose(self, state, stop) : force(self, rest)
    const piece = append(value, step.bytes)
    if (streamed && piece !== "") yield { _tag: "Text", text: piece }
    if (step.next === undefined) {
      if (more) yield* Session.feed(self.session, [...step.tokens, stop])
      break
    }
    state = step.next
    yield* Session.feed(self.session, step.tokens)
  }
  put(self, raw(value.bytes), 0)
  put(self, more ? '",' : '"}}', more ? 1 : 2)
  return value.text
}

/** What is appended, and the state after it; no state: the value ends here. */
interface Move {
  readonly bytes: ReadonlyArray<number>
  readonly tokens: ReadonlyArray<number>
  readonly next?: Grammar.State
}

const choose = (self: Writer, state: Grammar.State, stop: number): Move => {
  const { memory, model } = self.session
  const { bytes, control } = model.tokenizer
  const first = Grammar.nextBytes(state)
  const allowed = state.complete ? [stop] : []
  const after = new Map<number, Grammar.State>()
  for (const [token, spelled] of bytes.entries()) {
    if (token === stop || control.has(token) || !first.has(spelled[0] ?? -1)) continue
    const next = Grammar.advance(state, spelled)
    if (next === undefined) continue
    after.set(token, next)
    allowed.push(token)
  }
  const token = self.choose(memory.logits, allowed)
  const next = after.get(token)
  if (next === undefined || !spend(self, 1)) return { bytes: [], tokens: [] }
  return { bytes: [...(bytes[token] ?? [])], tokens: [token], next }
}

const utf8 = new TextEncoder()

const force = (self: Writer, rest: string): Move => {
  const { tokenizer } = self.session.model
  const tokens = Tokenizer.encode(tokenizer, rest)
  const left = self.limit - self.tokens
  if (spend(self, tokens.length)) return { bytes: [...utf8.encode(rest)], tokens }
  const kept = tokens.slice(0, Math.max(0, left))
  self.tokens += kept.length
  return { bytes: kept.flatMap((token) => [...(tokenizer.bytes[token] ?? [])]), tokens: kept }
}

/** Appends text of this many tokens, or nothing where they are more than are left. Text that was paid for costs nothing more. */
const put = (self: Writer, text: string, tokens: number): void => {
  if (tokens === 0 || spend(self, tokens)) self.text += text
}

const spend = (self: Writer, tokens: number): boolean => {
  if (self.cut || self.tokens + tokens > self.limit) self.cut = true
  else self.tokens += tokens
  return !self.cut
}

/** A field's value: its bytes inside a JSON string, and the text they stand for. */
interface Value {
  readonly bytes: Array<number>
  text: string
}

/** Adds bytes; answers the text that became readable by them. */
const append = (self: Value, bytes: ReadonlyArray<number>): string => {
  if (bytes.length === 0) return ""
  self.bytes.push(...bytes)
  const before = self.text.length
  self.text = JSON.parse(`"${raw(self.bytes)}"`)
  return self.text.slice(before)
}

const unfinishedEscape = /(?<!\\)(?:\\\\)*(\\(?:u[0-9a-fA-F]{0,3})?)$/

/** The bytes as text, without a character or an escape that is not whole yet. */
const raw = (bytes: ReadonlyArray<number>): string => {
  const text = new TextDecoder().decode(Uint8Array.from(bytes), { stream: true })
  const tail = unfinishedEscape.exec(text)?.[1]
  return tail === undefined ? text : text.slice(0, text.length - tail.length)
}
