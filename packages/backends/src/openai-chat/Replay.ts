/**
 * Reasoning as it came: its text for people, and what must go back with the turn (F8, F9). Pure.
 *
 * P1. The first name it comes under is its field of origin; the same thought under another name is not added again.
 * P2. Structured details are kept as sent, the pieces of one entry joined: some providers sign them.
 */
import * as Json from "@settle/core/model/Json"
import type { Replay } from "@settle/core/model/Message"
import type { Collected } from "../Calls.ts"
import type { ReasoningField, Thought } from "./Deltas.ts"
import * as Wire from "./Wire.ts"

const text = (value: Json.Json | undefined): string => (typeof value === "string" ? value : "")

/** Two pieces of one entry: same type, same index. */
const sameEntry = (a: Json.JsonObject, b: Json.JsonObject): boolean =>
  a["type"] === b["type"] &&
  a["index"] === b["index"] &&
  (a["id"] === b["id"] || b["id"] === undefined || b["id"] === null)

const joinable = (detail: Json.JsonObject): boolean =>
  typeof detail["text"] === "string" || typeof detail["summary"] === "string"

const join = (a: Json.JsonObject, b: Json.JsonObject): Json.JsonObject => ({
  ...a,
  ...Object.fromEntries(Object.entries(b).filter(([, value]) => value !== null)),
  ...(b["text"] === undefined ? {} : { text: text(a["text"]) + text(b["text"]) }),
  ...(b["summary"] === undefined ? {} : { summary: text(a["summary"]) + text(b["summary"]) })
})

export class Thoughts {
  #field: ReasoningField | undefined
  #parts: Array<string> = []
  #details: Array<Json.JsonObject> = []

  /** The text to add; empty when these thoughts are known already. */
  pick(thoughts: ReadonlyArray<Thought>): string {
    if (thoughts.length === 0) return ""
    const own = this.#field === undefined ? thoughts[0] : thoughts.find((thought) => thought.field === this.#field)
    if (own === undefined) return ""
    this.#field = own.field
    this.#parts.push(own.text)
    return own.text
  }

  keep(details: ReadonlyArray<Json.JsonObject>): void {
    for (const detail of details) {
      const last = this.#details.at(-1)
      if (last !== undefined && joinable(last) && joinable(detail) && sameEntry(last, detail)) {
        this.#details[this.#details.length - 1] = join(last, detail)
      } else this.#details.push(detail)
    }
  }

  get text(): string {
    return Json.wellFormed(this.#parts.join(""))
  }

  /** With what belongs to the calls of the turn: wire ids that were replaced, signatures. */
  replay({ aliases, extras }: Pick<Collected, "aliases" | "extras">): Replay | undefined {
    const kept = [this.#details, aliases, extras].some((list) => list.length > 0)
    if (this.#field === undefined && !kept) return undefined
    return {
      protocol: Wire.protocol,
      data: {
        ...(this.#field === undefined ? {} : { field: this.#field, text: this.text }),
        ...(this.#details.length === 0 ? {} : { details: this.#details.map((detail) => Json.fromUnknown(detail)) }),
        ...(extras.length === 0 ? {} : { callExtras: extras.map(([id, extra]) => [id, Json.fromUnknown(extra)]) }),
        ...(aliases.length === 0 ? {} : { callIds: aliases.map(([ours, wire]) => [ours, Json.wellFormed(wire)]) })
      }
    }
  }
}
