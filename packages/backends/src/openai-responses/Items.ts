/**
 * The output items of one response, put together from their events. Pure.
 *
 * L1. `output_index` ties the events of an item; its id does not: some servers send another one with each event. Where there is no
 *     index the id ties them, else the latest item of the kind.
 * L2. What an event says to be whole adds only what its pieces have not brought: a server may send pieces, the whole, or both.
 * L3. One thought that comes as a summary and in full is told once, as it came first.
 */
import * as Json from "@settle/core/model/Json"

export type Kind = "text" | "refusal" | "summary" | "thought" | "arguments" | "input"

export interface Item {
  readonly type: string
  /** Position in order of first appearance. */
  readonly position: number
  readonly index: number | undefined
  /** As last sent. */
  fields: Json.JsonObject
  /** Pieces by kind and place within the item. */
  readonly texts: Map<string, Array<string>>
  thinks: Kind | undefined
  /** Its end was not seen. */
  open: boolean
  /** Seen again in the whole response. */
  settled: boolean
}

/** What an event added. `replaces`: the whole contradicts the pieces, and is what counts. */
export interface Added {
  readonly item: Item
  readonly kind: Kind
  readonly text: string
  readonly replaces: boolean
}

/** A whole item, and what of it was new. */
export interface Closed {
  readonly item: Item
  readonly added: ReadonlyArray<Added>
}

const typeOf: Readonly<Record<Kind, string>> = {
  text: "message",
  refusal: "message",
  summary: "reasoning",
  thought: "reasoning",
  arguments: "function_call",
  input: "custom_tool_call"
}

export const isCall = (item: Item): boolean => item.type === "function_call" || item.type === "custom_tool_call"

export const text = (value: Json.Json | undefined): string => (typeof value === "string" ? value : "")

export const object = (value: Json.Json | undefined): Json.JsonObject => (Json.isObject(value) ? value : {})

export const objects = (value: Json.Json | undefined): ReadonlyArray<Json.JsonObject> =>
  Array.isArray(value) ? value.filter(Json.isObject) : []

const indexOf = (value: Json.Json | undefined): number | undefined =>
  typeof value === "number" && Number.isInteger(value) ? value : undefined

/** Nulls say nothing. */
const some = (fields: Json.JsonObject): Json.JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))

const argumentsOf = (value: Json.Json | undefined): string =>
  value === undefined || value === null ? "" : Json.render(value)

const isThought = (kind: Kind): boolean => kind === "summary" || kind === "thought"

/** The pieces of one kind of an item, in order of their place in it. */
export const parts = (item: Item, kind: Kind): ReadonlyArray<string> =>
  [...item.texts].flatMap(([key, pieces]) => (key.startsWith(`${kind} `) ? [pieces.join("")] : []))

export class Items {
  readonly #items: Array<Item> = []

  get all(): ReadonlyArray<Item> {
    return this.#items
  }

  /** An item begins; the same one again is no other. */
  begin(event: Json.JsonObject): Item {
    const fields = object(event["item"])
    const known = this.#known(indexOf(event["output_index"]), fields)
    if (known === undefined) return this.#start(indexOf(event["output_index"]), fields)
    known.fields = { ...known.fields, ...some(fields) }
    return known
  }

  /** An item is whole. */
  finish(event: Json.JsonObject): Closed {
    const fields = object(event["item"])
    const index = indexOf(event["output_index"])
    return this.#whole(this.#known(index, fields) ?? this.#ofType(index, fields) ?? this.#start(index, fields), fields)
  }

  /** An item of the whole response: one that is known by its id or is the next of its type, else a new one. */
  settle(fields: Json.JsonObject): Closed {
    const type = text(fields["type"])
    const waiting = this.#items.filter((item) => !item.settled && item.type === type)
    const item =
      waiting.find((one) => sameId(one.fields, fields)) ?? waiting[0] ?? this.#start(this.#items.length, fields)
    item.settled = true
    return this.#whole(item, fields)
  }

  /** A piece of an item. */
  add(kind: Kind, event: Json.JsonObject): ReadonlyArray<Added> {
    return this.#put(this.#find(kind, event), { kind, at: placeOf(event), text: text(event["delta"]) })
  }

  /** A part of an item is whole. */
  complete(kind: Kind, event: Json.JsonObject): ReadonlyArray<Added> {
    const item = this.#find(kind, event)
    if (kind === "arguments" || kind === "input") item.open = false
    const full = event["text"] ?? event["refusal"] ?? event["arguments"] ?? event["input"]
    return this.#rest(item, { kind, at: placeOf(event), text: argumentsOf(full) })
  }

  #start(index: number | undefined, fields: Json.JsonObject): Item {
    const item: Item = {
      type: text(fields["type"]),
      position: this.#items.length,
      index,
      fields,
      texts: new Map(),
      thinks: undefined,
      open: true,
      settled: false
    }
    this.#items.push(item)
    return item
  }

  #known(index: number | undefined, fields: Json.JsonObject): Item | undefined {
    return this.#items.findLast((item) => item.index === index && sameId(item.fields, fields))
  }

  #ofType(index: number | undefined, fields: Json.JsonObject): Item | undefined {
    if (index === undefined) return undefined
    return this.#items.findLast((item) => item.index === index && item.open && item.type === fields["type"])
  }

  #find(kind: Kind, event: Json.JsonObject): Item {
    const index = indexOf(event["output_index"])
    const id = text(event["item_id"])
    const type = typeOf[kind]
    const found =
      index !== undefined
        ? (this.#items.findLast((item) => item.index === index && item.type === type) ??
          this.#items.findLast((item) => item.index === index && item.type === ""))
        : (this.#items.findLast((item) => id !== "" && item.fields["id"] === id) ??
          this.#items.findLast((item) => item.type === type))
    return found ?? this.#start(index, { type, ...(id === "" ? {} : { id }) })
  }

  #whole(item: Item, fields: Json.JsonObject): Closed {
    item.fields = { ...item.fields, ...some(fields) }
    item.open = false
    return { item, added: this.#missing(item, fields) }
  }

  /** What a whole item says beyond its pieces. */
  #missing(item: Item, fields: Json.JsonObject): ReadonlyArray<Added> {
    const rest = (kind: Kind, at: number, full: Json.Json | undefined) =>
      this.#rest(item, { kind, at, text: argumentsOf(full) })
    switch (item.type) {
      case "message":
        return objects(fields["content"]).flatMap((part, at) =>
          part["type"] === "refusal" ? rest("refusal", at, part["refusal"]) : rest("text", at, part["text"])
        )
      case "reasoning":
        return [
          ...objects(fields["summary"]).flatMap((part, at) => rest("summary", at, part["text"])),
          ...objects(fields["content"]).flatMap((part, at) => rest("thought", at, part["text"]))
        ]
      case "function_call":
        return rest("arguments", 0, fields["arguments"])
      case "custom_tool_call":
        return rest("input", 0, fields["input"])
      default:
        return []
    }
  }

  #rest(item: Item, { at, kind, text: full }: Piece): ReadonlyArray<Added> {
    const seen = item.texts.get(keyOf(kind, at))?.join("") ?? ""
    if (full.startsWith(seen)) return this.#put(item, { kind, at, text: full.slice(seen.length) })
    if (full === "") return []
    item.texts.set(keyOf(kind, at), [full])
    return [{ item, kind, text: full, replaces: true }]
  }

  #put(item: Item, { at, kind, text: piece }: Piece): ReadonlyArray<Added> {
    if (piece === "") return []
    const key = keyOf(kind, at)
    const known = item.texts.get(key)
    if (known === undefined) item.texts.set(key, [piece])
    else known.push(piece)
    if (isThought(kind)) item.thinks ??= kind
    return isThought(kind) && item.thinks !== kind ? [] : [{ item, kind, text: piece, replaces: false }]
  }
}

interface Piece {
  readonly kind: Kind
  readonly at: number
  readonly text: string
}

const keyOf = (kind: Kind, at: number): string => `${kind} ${at}`

const placeOf = (event: Json.JsonObject): number =>
  indexOf(event["content_index"]) ?? indexOf(event["summary_index"]) ?? 0

/** One call is one whatever its id says; an item without any id is told by its type. */
const sameId = (a: Json.JsonObject, b: Json.JsonObject): boolean => {
  if (a["type"] !== b["type"]) return false
  const key = text(b["call_id"]) === "" || text(a["call_id"]) === "" ? "id" : "call_id"
  return text(a[key]) !== "" && a[key] === b[key]
}
