/**
 * Fragments of tool calls, put together. Pure: one collector for one reply.
 *
 * C1. A fragment belongs to the call of its id, else of its index, else to the latest call; order is that of first appearance (D1).
 * C2. Nothing is finished before the reply is: a prefix that parses is not a call (D7).
 * C3. A name is taken once; the same again is ignored, another one makes the call malformed (D4).
 * C4. Arguments are never repaired. Only what means one thing is decoded: an object, nothing at all, one level of double encoding
 *     (D9). A call whose arguments are not whole is partial, or, when the model said that it was done, carries its text as a JSON
 *     string, which no tool accepts (D10).
 */
import * as Json from "@settle/core/model/Json"
import type { ToolCall } from "@settle/core/model/Message"
import type { Declaration } from "@settle/core/model/Tool"

export interface CallFragment {
  readonly index: number | undefined
  /** Empty ids and names count as absent (D2, D4). */
  readonly id: string | undefined
  readonly name: string | undefined
  /** Text as sent; an object is rendered; null and missing are empty. */
  readonly arguments: string
  /** What some providers want back with the call, unread: signatures. */
  readonly extra?: Json.JsonObject | undefined
}

interface Open {
  /** Position in order of first appearance. */
  readonly position: number
  readonly index: number | undefined
  id: string | undefined
  name: string | undefined
  parts: Array<string>
  otherName: string | undefined
  extra: Json.JsonObject | undefined
}

export interface Collected {
  readonly whole: ReadonlyArray<ToolCall>
  readonly partial: ReadonlyArray<ToolCall>
  readonly warnings: ReadonlyArray<string>
  /** The wire's id of each call that got one of ours. */
  readonly aliases: ReadonlyArray<readonly [ours: string, wire: string]>
  /** What must go back with a call, by its id. */
  readonly extras: ReadonlyArray<readonly [id: string, extra: Json.JsonObject]>
}

export interface Settling {
  /** Fragments are cumulative: each replaces the one before it (D6). */
  readonly cumulative: boolean
  /** The model said that the reply is finished, so broken arguments are its mistake and not a cut. */
  readonly finished: boolean
  readonly tools: ReadonlyArray<Declaration>
  /** Ids in use in the conversation. */
  readonly taken: ReadonlySet<string>
  /** Enough fresh ids: one for each call. */
  readonly fresh: ReadonlyArray<string>
}

/** More calls than any reply holds: a server that sends more is not believed. */
const mostCalls = 4096

const isObjectText = (text: string): boolean => Json.isObject(Json.parse(text))

const acceptable = /^[A-Za-z0-9_.:-]{1,64}$/

export class Calls {
  readonly #calls: Array<Open> = []

  get size(): number {
    return this.#calls.length
  }

  add(fragment: CallFragment): { readonly position: number; readonly name: string } {
    const call = this.#find(fragment) ?? this.#start(fragment)
    call.id ??= fragment.id
    call.extra ??= fragment.extra
    if (call.name === undefined) call.name = fragment.name
    else if (fragment.name !== undefined && fragment.name !== call.name) call.otherName ??= fragment.name
    if (fragment.arguments !== "") call.parts.push(fragment.arguments)
    return { position: call.position, name: call.name ?? "" }
  }

  /** The fast path: more arguments for the latest call of an index. */
  extend(index: number, text: string): { readonly position: number; readonly name: string } {
    return this.add({ index, id: undefined, name: undefined, arguments: text, extra: undefined })
  }

  /** The arguments of the call of an index as a whole, for what its pieces came to. */
  replace(index: number, text: string): void {
    const call = this.#calls.findLast((one) => one.index === index)
    if (call !== undefined) call.parts = text === "" ? [] : [text]
  }

  /** How many ids of ours the calls need: those whose own is missing, unusable or taken. */
  fresh(taken: ReadonlySet<string>): number {
    const own = new Set<string>()
    for (const { id } of this.#calls) {
      if (id === undefined || !acceptable.test(id) || taken.has(id) || own.has(id)) return this.#calls.length
      own.add(id)
    }
    return 0
  }

  /** Why the calls cannot be used at all. */
  get malformed(): string | undefined {
    if (this.#full) return `the reply holds more than ${mostCalls} tool calls`
    for (const call of this.#calls) {
      if (call.otherName !== undefined) return `one tool call carries two names, "${call.name}" and "${call.otherName}"`
      if (call.name === undefined) return "a tool call came without a name"
    }
    return undefined
  }

  /** No more calls are taken up. */
  get #full(): boolean {
    return this.#calls.length > mostCalls
  }

  #start(fragment: CallFragment): Open {
    const call: Open = {
      position: this.#calls.length,
      index: fragment.index,
      id: undefined,
      name: undefined,
      parts: [],
      otherName: undefined,
      extra: undefined
    }
    this.#calls.push(call)
    return call
  }

  #find(fragment: CallFragment): Open | undefined {
    const { id, index, name } = fragment
    const latest = this.#calls.at(-1)
    if (this.#full) return latest
    const indexed = index === undefined ? undefined : this.#calls.findLast((call) => call.index === index)
    if (id !== undefined) {
      const same = this.#calls.findLast((call) => call.id === id)
      // one id on two indexes: two calls of a server that does not number its ids
      if (same !== undefined)
        return index !== undefined && same.index !== undefined && same.index !== index ? indexed : same
      // an id that comes late joins the call that has none, unless it is plainly another call
      const candidate = index === undefined ? undefined : indexed
      return candidate?.id === undefined &&
        candidate !== undefined &&
        (name === undefined || candidate.name === undefined)
        ? candidate
        : undefined
    }
    if (index !== undefined) return indexed
    if (latest === undefined || name === undefined || latest.name === undefined) return latest
    // neither id nor index, but a name: another call when the latest one is whole or has another name
    return latest.name !== name || isObjectText(latest.parts.join("")) ? undefined : latest
  }

  settle(how: Settling): Collected {
    const whole: Array<ToolCall> = []
    const partial: Array<ToolCall> = []
    const warnings: Array<string> = []
    const aliases: Array<readonly [string, string]> = []
    const extras: Array<readonly [string, Json.JsonObject]> = []
    const used = new Set<string>()
    for (const call of this.#calls) {
      const wire = call.id
      const keeps = wire !== undefined && acceptable.test(wire) && !how.taken.has(wire) && !used.has(wire)
      const id = keeps ? wire : (how.fresh[call.position] ?? `call_${call.position}`)
      if (!keeps && wire !== undefined) aliases.push([id, wire])
      if (call.extra !== undefined) extras.push([id, call.extra])
      used.add(id)
      const name = Json.wellFormed(call.name ?? "")
      const settled = argumentsOf(call, name, how)
      if (settled.warning !== undefined) warnings.push(settled.warning)
      const made: ToolCall = { id, name, arguments: Json.wellFormed(settled.text) }
      if (settled.whole) whole.push(made)
      else partial.push(made)
    }
    return { whole, partial, warnings, aliases, extras }
  }
}

interface Arguments {
  readonly text: string
  readonly whole: boolean
  readonly warning?: string
}

/** Does the tool take a call without arguments? An unknown tool is answered for anyway. */
const takesNothing = (name: string, tools: ReadonlyArray<Declaration>): boolean => {
  const required = tools.find((tool) => tool.name === name)?.parameters["required"]
  return !Array.isArray(required) || required.length === 0
}

/** Every fragment begins with the one before it, and the last one alone is whole. */
const looksCumulative = (parts: ReadonlyArray<string>): boolean =>
  parts.length > 1 &&
  isObjectText(parts.at(-1) ?? "") &&
  parts.every((part, at) => at === 0 || part.startsWith(parts[at - 1] ?? ""))

const argumentsOf = (call: Open, name: string, how: Settling): Arguments => {
  const text = how.cumulative ? (call.parts.at(-1) ?? "") : call.parts.join("")
  const blank = text.trim()
  if (blank === "" || blank === "null") {
    return takesNothing(name, how.tools) ? { text: "{}", whole: true } : { text: "null", whole: true }
  }
  const parsed = Json.parse(text)
  if (typeof parsed === "string" && isObjectText(parsed)) {
    return { text: parsed, whole: true, warning: `the arguments of ${name} were encoded twice` }
  }
  if (parsed !== undefined) return { text, whole: true }
  if (looksCumulative(call.parts)) {
    const warning = `the arguments of ${name} look cumulative: set cumulativeArguments for this backend`
    return { text, whole: false, warning }
  }
  if (!how.finished) return { text, whole: false }
  return { text: JSON.stringify(text), whole: true, warning: `the arguments of ${name} are not JSON` }
}
