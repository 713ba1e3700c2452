/** What a schema issue means for the person who wrote the file: a path, a sentence, the nearest known word (K2). Pure. */
import * as SchemaIssue from "effect/SchemaIssue"
import * as Nearest from "@settle/core/decide/Nearest"

/** One fault: where it stands (`models.main.baseUrl`, empty for the whole file) and what is wrong there. */
export interface Fault {
  readonly path: string
  readonly problem: string
}

/** What the faults are explained from. */
export interface About {
  /** What the file holds. */
  readonly value: unknown
  /** The published JSON schema: it knows every key of every place. */
  readonly published: unknown
  readonly protocols: ReadonlyArray<string>
  /** Keys of the two kinds of server, by the key that tells them apart. */
  readonly kinds: { readonly command: ReadonlyArray<string>; readonly url: ReadonlyArray<string> }
}

const tagged = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (leaf) =>
    leaf._tag === "UnexpectedKey"
      ? "unexpected-key"
      : leaf._tag === "MissingKey"
        ? "missing-key"
        : SchemaIssue.defaultLeafHook(leaf)
})

interface Found {
  readonly path: ReadonlyArray<PropertyKey>
  readonly message: string
}

/** Mistyped keys first. */
export const explain = (issue: SchemaIssue.Issue, about: About): ReadonlyArray<Fault> => {
  const found: ReadonlyArray<Found> = tagged(issue).issues.map(({ message, path = [] }) => ({
    path: path.map((key) => (typeof key === "object" ? key.key : key)),
    message
  }))
  // A mistyped key is also a missing one; the mistyped one is the news.
  const ordered = found
    .filter((one) => isNews(one, about))
    .sort((a, b) => Number(b.message === "unexpected-key") - Number(a.message === "unexpected-key"))
  const faults = ordered.map(({ message, path }) => ({ path: shown(path), problem: problemAt(path, message, about) }))
  const once = new Map(faults.map((fault) => [`${fault.path}\u0000${fault.problem}`, fault]))
  return [...once.values()]
}

/** The two kinds of server are told apart by what is there; what the other kind would say about it is no news. */
const isNews = ({ message, path }: Found, { kinds, value: root }: About): boolean => {
  const server = path[0] === "mcpServers" && path.length === 3 ? valueAt(root, path.slice(0, 2)) : undefined
  if (!isRecord(server)) return true
  const [hasCommand, hasUrl] = [Object.hasOwn(server, "command"), Object.hasOwn(server, "url")]
  if (hasCommand && hasUrl) return path[2] === "url" && message === "unexpected-key"
  if (message === "missing-key")
    return hasCommand || hasUrl ? Object.hasOwn(server, String(path[2])) : path[2] === "command"
  const own = hasUrl ? kinds.url : kinds.command
  return !(hasCommand || hasUrl) || message !== "unexpected-key" || !own.includes(String(path[2]))
}

const shown = (path: ReadonlyArray<PropertyKey>): string =>
  path
    .map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`))
    .join("")
    .replace(/^\./, "")

const problemAt = (path: ReadonlyArray<PropertyKey>, message: string, about: About): string => {
  const found = valueAt(about.value, path)
  const parent = valueAt(about.value, path.slice(0, -1))
  const last = String(path.at(-1) ?? "")
  const server = path[0] === "mcpServers" && path.length === 3 ? parent : undefined
  if (isRecord(server) && Object.hasOwn(server, "command") && Object.hasOwn(server, "url")) {
    return `a server has either a "command" or a "url", not both`
  }
  if (message === "unexpected-key") {
    const known = keysAt(about.published, path.slice(0, -1), parent)
    return `this key is not known.${Nearest.hint(last, known)} Known here: ${known.join(", ")}`
  }
  if (message === "missing-key") {
    return isRecord(server) && last === "command" ? `a server has either a "command" or a "url"` : "this key is missing"
  }
  const protocol = isRecord(found) ? found["protocol"] : undefined
  if (path[0] === "models" && path.length > 1 && isRecord(found)) {
    const said =
      protocol === undefined ? "it names no protocol" : `"${String(protocol)}" is not a protocol this version speaks`
    return `${said}.${typeof protocol === "string" ? Nearest.hint(protocol, about.protocols) : ""} Known: ${about.protocols.join(", ")}`
  }
  if (!message.startsWith("Expected")) return message
  const word = /^Expected "/.test(message) && typeof found === "string" ? Nearest.hint(found, literals(message)) : ""
  return `${lowerFirst(message)}, not ${preview(found)}.${word}`
}

const literals = (message: string): ReadonlyArray<string> =>
  [...message.matchAll(/"([^"]+)"/g)].map((match) => match[1] ?? "")
const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1)
const preview = (value: unknown): string => {
  const text = JSON.stringify(value) ?? "nothing"
  return text.length > 60 ? `${text.slice(0, 57)}…` : text
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const valueAt = (root: unknown, path: ReadonlyArray<PropertyKey>): unknown =>
  path.reduce<unknown>(
    (value, key) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined,
    root
  )

/** Keys the published schema knows at a path; among alternatives, those of the protocol or of the kind of server that is meant. */
const keysAt = (published: unknown, path: ReadonlyArray<PropertyKey>, value: unknown): ReadonlyArray<string> => {
  const nodes = path.reduce<ReadonlyArray<unknown>>((at, key) => at.flatMap((node) => below(node, key)), [published])
  const objects = nodes.flatMap(alternatives).filter((node) => isRecord(node) && isRecord(node["properties"]))
  const meant = objects.filter((node) => fits(node, value))
  return [...new Set((meant.length > 0 ? meant : objects).flatMap((node) => Object.keys(propertiesOf(node))))].filter(
    (key) => key !== "$schema"
  )
}

const alternatives = (node: unknown): ReadonlyArray<unknown> =>
  isRecord(node) && Array.isArray(node["anyOf"]) ? node["anyOf"].flatMap(alternatives) : [node]

const propertiesOf = (node: unknown): Record<string, unknown> => {
  const properties = isRecord(node) ? node["properties"] : undefined
  return isRecord(properties) ? properties : {}
}

const below = (node: unknown, key: PropertyKey): ReadonlyArray<unknown> =>
  alternatives(node).flatMap((one) => {
    if (!isRecord(one)) return []
    if (typeof key === "number") return one["items"] === undefined ? [] : [one["items"]]
    const properties = propertiesOf(one)
    if (Object.hasOwn(properties, key)) return [properties[String(key)]]
    return isRecord(one["additionalProperties"]) ? [one["additionalProperties"]] : []
  })

/** Whether an alternative is the one a value means: same protocol, or one of its required keys is there. */
const fits = (node: unknown, value: unknown): boolean => {
  if (!isRecord(value)) return false
  const protocol = propertiesOf(node)["protocol"]
  if (isRecord(protocol)) return Array.isArray(protocol["enum"]) && protocol["enum"].includes(value["protocol"])
  const required = isRecord(node) ? node["required"] : undefined
  return Array.isArray(required) && required.some((key) => Object.hasOwn(value, String(key)))
}
