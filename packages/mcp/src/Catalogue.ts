/**
 * What a server lists, as declarations that every backend accepts. Pure and total.
 *
 * K1. A published name matches [A-Za-z0-9_-]+ and leaves room for the server's prefix within 64 characters. It depends on the
 *     tool's own name and on nothing else: not on the order, the other tools, or the run (M11).
 * K2. Two tools never share a published name. Where they would, the one whose name was legal keeps it and the other is refused,
 *     loudly: it is listed in `refused`.
 * K3. The server's own name is kept for the wire.
 * K4. Annotations become an idempotency class and nothing else; where they contradict each other the worse one counts (X-IDEM-01, -02).
 */
import * as Canonical from "@settle/core/model/Canonical"
import * as Json from "@settle/core/model/Json"
import type * as Tool from "@settle/core/model/Tool"
import * as Parameters from "./Parameters.ts"

export interface Entry {
  readonly declaration: Tool.Declaration
  /** The server's name for it. */
  readonly original: string
  readonly keys: ReadonlyMap<string, string>
  readonly hasOutputSchema: boolean
  /** What the server says about running it as a task. */
  readonly taskSupport: "forbidden" | "optional" | "required"
}

export interface Refused {
  readonly name: string
  readonly why: string
}

export interface Catalogue {
  readonly declarations: ReadonlyArray<Tool.Declaration>
  /** By published name. */
  readonly entries: ReadonlyMap<string, Entry>
  readonly refused: ReadonlyArray<Refused>
  /** Equal for equal catalogues. */
  readonly digest: string
}

export interface Options {
  readonly server: string
  /** Characters of the prefix that is put in front of every name. */
  readonly prefixLength: number
}

export const maxName = 64
const maxDescription = 4_096
const legal = /^[A-Za-z0-9_-]+$/
const illegal = /[^A-Za-z0-9_-]+/g

export const none: Catalogue = { declarations: [], entries: new Map(), refused: [], digest: Canonical.digest([]) }

export const make = (tools: ReadonlyArray<unknown>, options: Options): Catalogue => {
  const refused: Array<Refused> = []
  const candidates: Array<{ readonly tool: Json.JsonObject; readonly original: string; readonly name: string }> = []
  const seen = new Set<string>()
  for (const tool of tools) {
    const original = Json.isObject(tool) ? tool["name"] : undefined
    if (!Json.isObject(tool) || typeof original !== "string" || original === "") {
      refused.push({ name: shownName(tool), why: "it has no name" })
    } else if (seen.has(original)) {
      refused.push({ name: original, why: "the server lists two tools of this name; the first one counts" })
    } else {
      seen.add(original)
      candidates.push({ tool, original, name: publishedName(original, maxName - options.prefixLength) })
    }
  }
  const owners = new Map<string, string>()
  // whoever is legal as it stands comes first, then the rest in an order that does not depend on the list (K2)
  for (const { name, original } of [...candidates].sort(byClaim)) {
    const owner = owners.get(name)
    if (owner === undefined) owners.set(name, original)
    else refused.push({ name: original, why: `its name would become \`${name}\`, which is that of \`${owner}\`` })
  }
  const kept = candidates.filter(({ name, original }) => owners.get(name) === original)
  const entries = new Map(kept.map(({ tool, original, name }) => [name, entry(tool, original, name, options.server)]))
  const declarations = [...entries.values()].map((each) => each.declaration)
  return {
    declarations,
    entries,
    refused,
    digest: Canonical.digest([declarations, [...entries.values()].map(wireFacts)])
  }
}

const wireFacts = (each: Entry): Json.Json => [each.original, [...each.keys], each.hasOutputSchema, each.taskSupport]

interface Claim {
  readonly name: string
  readonly original: string
}

const byClaim = (a: Claim, b: Claim): number => {
  const rank = Number(a.name !== a.original) - Number(b.name !== b.original)
  return rank !== 0 ? rank : a.original < b.original ? -1 : a.original > b.original ? 1 : 0
}

/** The name a tool goes by, within `room` characters (K1). */
export const publishedName = (original: string, room: number): string =>
  legal.test(original) && original.length <= room ? original : Parameters.alias(original, room, illegal)

/** The prefix of a server: its name where that is legal and short, an alias otherwise. */
export const prefix = (server: string): string =>
  legal.test(server) && server.length <= maxPrefix ? server : Parameters.alias(server, maxPrefix, illegal)

/** So that a tool's name keeps at least half of the room. */
const maxPrefix = 31

const shownName = (tool: unknown): string => Json.render(tool).slice(0, 80)

const entry = (tool: Json.JsonObject, original: string, name: string, server: string): Entry => {
  const parameters = Parameters.repair(tool["inputSchema"])
  const annotations = Json.isObject(tool["annotations"]) ? tool["annotations"] : {}
  const description = describe(tool, annotations)
  const execution = Json.isObject(tool["execution"]) ? tool["execution"] : {}
  const idempotency = idempotencyOf(annotations)
  return {
    declaration: {
      name,
      ...(description === undefined ? {} : { description }),
      parameters: parameters.schema,
      ...(idempotency === undefined ? {} : { idempotency }),
      // the protocol has a word for it, so an interrupted call ends on the server too (X-CANC-02)
      interruption: "interrupt",
      origin: server
    },
    original,
    keys: parameters.keys,
    hasOutputSchema: Json.isObject(tool["outputSchema"]),
    taskSupport:
      execution["taskSupport"] === "required" || execution["taskSupport"] === "optional"
        ? execution["taskSupport"]
        : "forbidden"
  }
}

const describe = (tool: Json.JsonObject, annotations: Json.JsonObject): string | undefined => {
  const texts = [tool["description"], tool["title"], annotations["title"]]
  const text = texts.find((each): each is string => typeof each === "string" && each.trim() !== "")
  return text === undefined ? undefined : Parameters.bounded(text, maxDescription)
}

/** `undefined` where the author said nothing of use: the class is then unknown, or a configured rule's (X-IDEM-01). */
export const idempotencyOf = (annotations: Json.JsonObject): Tool.Idempotency | undefined => {
  const readOnly = annotations["readOnlyHint"] === true
  const destructive = annotations["destructiveHint"] === true
  if (readOnly) return destructive ? "destructive" : "read-only"
  if (annotations["idempotentHint"] === true) return "idempotent"
  return destructive ? "destructive" : undefined
}
