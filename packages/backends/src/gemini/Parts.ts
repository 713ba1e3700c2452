/**
 * The parts of one reply, put together from the chunks they came in. Pure.
 *
 * L1. A signature stays on the part it came with: what has one is never joined with what has none.
 * L2. A call is open while the server says that it goes on; a part without a name, or an empty one, belongs to the open call.
 * L3. A part of a kind that nobody knows yet is kept as it came.
 */
import * as Json from "@settle/core/model/Json"
import { PartialArgs } from "./PartialArgs.ts"

export interface Said {
  readonly _tag: "Said"
  readonly thought: boolean
  text: string
  readonly signature: string | undefined
}

export interface Call {
  readonly _tag: "Call"
  /** Position among the calls of the reply. */
  readonly position: number
  readonly name: string
  readonly id: string | undefined
  signature: string | undefined
  readonly args: PartialArgs
  open: boolean
}

export interface Other {
  readonly _tag: "Other"
  readonly fields: Json.JsonObject
}

export type Part = Said | Call | Other

/** What a part added for people to see. */
export type Shown =
  | { readonly _tag: "Nothing" }
  | { readonly _tag: "Text" | "Thought"; readonly text: string }
  /** A call, the first time it is seen. */
  | { readonly _tag: "Begun"; readonly call: Call }

const nothing: Shown = { _tag: "Nothing" }

export const text = (value: Json.Json | undefined): string => (typeof value === "string" ? value : "")

const some = (value: Json.Json | undefined): string | undefined => text(value) || undefined

export class Parts {
  readonly #parts: Array<Part> = []
  #calls = 0
  /** Why the calls cannot be read. */
  fault: string | undefined

  get all(): ReadonlyArray<Part> {
    return this.#parts
  }

  get calls(): ReadonlyArray<Call> {
    return this.#parts.filter((part) => part._tag === "Call")
  }

  add(fields: Json.JsonObject): Shown {
    const signature = some(fields["thoughtSignature"]) ?? some(fields["thought_signature"])
    const call = fields["functionCall"]
    if (Json.isObject(call)) return this.#call(call, signature)
    if (typeof fields["text"] !== "string") {
      if (Object.keys(fields).length > 0) this.#parts.push({ _tag: "Other", fields })
      return nothing
    }
    return this.#say(fields["text"], fields["thought"] === true, signature)
  }

  #say(said: string, thought: boolean, signature: string | undefined): Shown {
    const last = this.#parts.at(-1)
    const joins = last?._tag === "Said" && last.thought === thought && last.signature === undefined
    if (joins && signature === undefined) last.text += said
    else if (said !== "" || signature !== undefined) this.#parts.push({ _tag: "Said", thought, text: said, signature })
    return said === "" ? nothing : { _tag: thought ? "Thought" : "Text", text: said }
  }

  #call(fields: Json.JsonObject, signature: string | undefined): Shown {
    const name = some(fields["name"])
    const id = some(fields["id"])
    const open = this.#parts.findLast((part) => part._tag === "Call" && part.open)
    const goesOn =
      open?._tag === "Call" && (name === undefined || (id !== undefined && open.id === id)) ? open : undefined
    if (goesOn !== undefined) {
      goesOn.signature ??= signature
      this.#fill(goesOn, fields)
      return nothing
    }
    if (name === undefined) {
      // an empty call that closes nothing says nothing
      if (Object.keys(fields).length > 0) this.fault ??= "a tool call came without a name"
      return nothing
    }
    if (open?._tag === "Call") this.fault ??= `the call of ${open.name} was never closed before the next one`
    const call: Call = {
      _tag: "Call",
      position: this.#calls++,
      name,
      id,
      signature,
      args: new PartialArgs(),
      open: true
    }
    this.#parts.push(call)
    this.#fill(call, fields)
    return { _tag: "Begun", call }
  }

  #fill(call: Call, fields: Json.JsonObject): void {
    const { args, partialArgs } = fields
    if (Json.isObject(args)) call.args.set(args)
    else if (args !== undefined && args !== null) this.fault ??= `the arguments of ${call.name} are no object`
    const patches: ReadonlyArray<Json.Json> = Array.isArray(partialArgs) ? partialArgs : []
    for (const patch of patches) if (Json.isObject(patch)) call.args.patch(patch)
    call.open = fields["willContinue"] === true
    if (call.args.fault !== undefined) this.fault ??= `the call of ${call.name} cannot be read: ${call.args.fault}`
  }
}

/** The arguments as JSON text; of a call that never ended without their end, so that nobody takes them for whole. */
export const argumentsOf = ({ args, open }: Call): string => {
  if (!open && args.isEmpty) return ""
  const whole = JSON.stringify(args.json)
  return open ? whole.slice(0, -1) : whole
}
