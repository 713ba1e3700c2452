/**
 * The deltas of one stream differ in one string each. A template is the text before and after that string, learned from an event
 * that was parsed in full: an event that fits it says the same thing with another string, and needs no parse.
 *
 * T1. A match gives exactly what a full parse would. Learning proves it once: with another string put in, the full parse must
 *     find that string in the same place, and nothing else.
 * T2. What is taken must be the inside of one closed JSON string; anything else is no match.
 * T3. Streams whose events differ elsewhere too stop being learned from, so that they cost one parse an event and not two.
 */
import * as Json from "@settle/core/model/Json"
import * as Deltas from "./Deltas.ts"

export type Kind = "text" | "thought" | "arguments"

export interface Match {
  readonly kind: Kind
  readonly text: string
  /** Of an argument fragment. */
  readonly index: number
  /** Of a thought. */
  readonly field: Deltas.ReasoningField
}

interface Learned {
  readonly before: string
  readonly after: string
  readonly kind: Kind
  readonly index: number
  readonly field: Deltas.ReasoningField
}

/** What an event says when it says one thing only. */
const single = (delta: Deltas.Delta): Match | undefined => {
  const [thought, otherThought] = delta.thoughts
  const [call, otherCall] = delta.calls
  const bare =
    delta.known &&
    delta.finish === undefined &&
    delta.usage === undefined &&
    delta.error === undefined &&
    delta.refusal === "" &&
    delta.details.length === 0 &&
    otherThought === undefined &&
    otherCall === undefined
  if (!bare) return undefined
  if (delta.text !== "" && thought === undefined && call === undefined) {
    return { kind: "text", text: delta.text, index: 0, field: "content" }
  }
  if (thought !== undefined && thought.field !== "content" && delta.text === "" && call === undefined) {
    return { kind: "thought", text: thought.text, index: 0, field: thought.field }
  }
  const continues = call?.id === undefined && call?.name === undefined && call?.extra === undefined
  if (call?.index !== undefined && continues && call.arguments !== "") {
    return delta.text === "" && thought === undefined
      ? { kind: "arguments", text: call.arguments, index: call.index, field: "content" }
      : undefined
  }
  return undefined
}

const keys = {
  text: /"content"\s*:\s*/g,
  thought: /"(?:reasoning_content|reasoning)"\s*:\s*/g,
  arguments: /"arguments"\s*:\s*/g
}

const string = /"(?:[^"\\]|\\.)*"/y

const probe = "~probe~"

const proves = (candidate: Learned): boolean => {
  const parsed = Json.parse(`${candidate.before}${probe}${candidate.after}`)
  const found = parsed === undefined ? undefined : single(Deltas.fromEvent(parsed))
  return (
    found !== undefined &&
    found.kind === candidate.kind &&
    found.text === probe &&
    found.index === candidate.index &&
    found.field === candidate.field
  )
}

/** The template of an event that was parsed into this delta, when it has one. */
const learn = (data: string, said: Match): Learned | undefined => {
  for (const key of data.matchAll(keys[said.kind])) {
    string.lastIndex = key.index + key[0].length
    const quoted = string.exec(data)?.[0]
    if (quoted === undefined || Json.parse(quoted) !== said.text) continue
    const from = key.index + key[0].length + 1
    const learned: Learned = {
      before: data.slice(0, from),
      after: data.slice(from + quoted.length - 2),
      kind: said.kind,
      index: said.index,
      field: said.field
    }
    if (proves(learned)) return learned
  }
  return undefined
}

// eslint-disable-next-line no-control-regex
const needsParse = /["\\\u0000-\u001f]/

/** The inside of a JSON string; `undefined` when it is more, or less, than that. */
const unescape = (inside: string): string | undefined => {
  if (!needsParse.test(inside)) return inside
  if (!inside.includes("\\")) return undefined
  const parsed = Json.parse(`"${inside}"`)
  return typeof parsed === "string" ? parsed : undefined
}

const longestPause = 256

export class Templates {
  #learned: Array<Learned> = []
  /** Events to let pass before the next attempt to learn; doubles with every template that never matched. */
  #pause = 0
  #nextPause = 1

  match(data: string): Match | undefined {
    for (const learned of this.#learned) {
      const { before, after } = learned
      if (data.length < before.length + after.length || !data.startsWith(before) || !data.endsWith(after)) continue
      const text = unescape(data.slice(before.length, data.length - after.length))
      // an empty string says nothing, and saying nothing has rules of its own
      if (text === undefined || text === "") continue
      this.#nextPause = 1
      return { kind: learned.kind, text, index: learned.index, field: learned.field }
    }
    return undefined
  }

  /** Told of every event that was parsed in full. */
  parsed(data: string, delta: Deltas.Delta): void {
    if (this.#pause > 0) {
      this.#pause -= 1
      return
    }
    const said = single(delta)
    if (said === undefined) return
    const learned = learn(data, said)
    this.#pause = this.#nextPause
    this.#nextPause = Math.min(longestPause, this.#nextPause * 2)
    if (learned === undefined) return
    this.#learned = [
      learned,
      ...this.#learned.filter((known) => known.kind !== learned.kind || known.index !== learned.index)
    ].slice(0, 4)
  }
}
