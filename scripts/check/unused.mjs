/**
 * Exports that nobody uses: no other file, no test, no example, and not the file itself.
 *
 * U1. The doors (`src/index.ts`) are no users: what is only handed out may still be dead.
 * U2. A namespace counts by its members, in values and in types; one that is passed on whole counts as used whole.
 */
import { basename, dirname, join } from "node:path/posix"
import { files, parse, place, walk } from "./lib.mjs"

const isDoor = (path) => /^packages\/[^/]+\/src\/index\.ts$/.test(path)

/** The file an import leads to; undefined for what is not ours. */
const resolve = (from, source) => {
  if (source.startsWith(".")) return join(dirname(from), source)
  const own = /^@settle\/([^/]+)(?:\/(.+))?$/.exec(source)
  return own === null ? undefined : `packages/${own[1]}/src/${own[2] ?? "index"}.ts`
}

const declared = (node) => {
  if (node.type === "VariableDeclaration")
    return node.declarations.flatMap((one) => (one.id.type === "Identifier" ? [one.id] : []))
  return node.id === null || node.id === undefined ? [] : [node.id]
}

/** Names this file exports by itself, with the node that names each first. */
const exportsOf = (program) => {
  const found = new Map()
  for (const node of program.body) {
    if (node.type !== "ExportNamedDeclaration") continue
    const ids = node.declaration === null ? node.specifiers.map((one) => one.exported) : declared(node.declaration)
    for (const id of ids) if (!found.has(id.name)) found.set(id.name, id)
  }
  return found
}

/** `export * as Name from "./File.ts"` of a door, and what it hands on by name. */
const doorOf = (path, program) => {
  const namespaces = new Map()
  for (const node of program.body) {
    if (node.type === "ExportAllDeclaration" && node.exported !== null)
      namespaces.set(node.exported.name, resolve(path, node.source.value))
  }
  return namespaces
}

class Uses {
  #byFile = new Map()
  add(path, name) {
    const names = this.#byFile.get(path) ?? new Set()
    this.#byFile.set(path, names.add(name))
  }
  has(path, name) {
    const names = this.#byFile.get(path)
    return names !== undefined && (names.has(name) || names.has("*"))
  }
}

/** What one file takes from others: named imports at once, namespaces by local name for the walk that follows. */
const importsOf = (path, program, doors, uses) => {
  const namespaces = new Map()
  for (const node of program.body) {
    const source = node.source?.value
    const target = source === undefined ? undefined : resolve(path, source)
    if (target === undefined) continue
    if (node.type === "ExportAllDeclaration") uses.add(target, "*")
    for (const one of node.specifiers ?? []) {
      const name = one.imported?.name ?? (node.type === "ExportNamedDeclaration" ? one.local.name : undefined)
      const behind = doors.get(target)?.get(name)
      if (one.type === "ImportNamespaceSpecifier") namespaces.set(one.local.name, target)
      else if (behind !== undefined) namespaces.set(one.local.name, behind)
      else if (name !== undefined) uses.add(target, name)
    }
  }
  return namespaces
}

/** The names taken from a namespace at this identifier: `*` when it is used whole, none where it is only a name. */
const taken = (node, parents) => {
  const parent = parents.at(-1)
  switch (parent.type) {
    case "MemberExpression":
      if (parent.object !== node) return parent.computed ? ["*"] : []
      return [parent.computed ? "*" : parent.property.name]
    case "TSQualifiedName":
      return parent.left === node ? [parent.right.name] : []
    case "VariableDeclarator":
      if (parent.id.type !== "ObjectPattern") return ["*"]
      return parent.id.properties.map((one) => (one.type === "Property" ? one.key.name : "*"))
    default:
      return isKey(node, parent) || parent.type.startsWith("Import") ? [] : ["*"]
  }
}

const isKey = (node, parent) =>
  (parent.type === "Property" || parent.type.endsWith("Signature")) && parent.key === node && !parent.shorthand

/** Inside its own file a name is used when it stands anywhere but where it is declared or handed out. */
const isReference = (node, parents) => {
  const parent = parents.at(-1)
  if (parent.id === node || parent.type === "ExportSpecifier") return false
  if (parent.type === "MemberExpression" && parent.property === node && !parent.computed) return false
  return !isKey(node, parent)
}

export const check = () => {
  const uses = new Uses()
  const parsed = files("packages/*/{src,test}/**/*.ts", "{examples,bench}/**/*.ts").map(parse)
  const doors = new Map(
    parsed.filter(({ path }) => isDoor(path)).map(({ path, program }) => [path, doorOf(path, program)])
  )
  for (const { path, program } of parsed) {
    if (isDoor(path)) continue
    const namespaces = importsOf(path, program, doors, uses)
    const own = exportsOf(program)
    walk(program, (node, parents) => {
      if (node.type === "ImportExpression" && typeof node.source.value === "string") {
        const target = resolve(path, node.source.value)
        if (target !== undefined) uses.add(target, "*")
      }
      if (node.type !== "Identifier" || parents.length === 0) return
      const target = namespaces.get(node.name)
      if (target !== undefined) for (const name of taken(node, parents)) uses.add(target, name)
      if (own.has(node.name) && isReference(node, parents)) uses.add(path, node.name)
    })
  }
  return parsed
    .filter(({ path }) => /\/src\//.test(path) && !isDoor(path) && basename(path) !== "main.ts")
    .flatMap((file) =>
      [...exportsOf(file.program)]
        .filter(([name]) => !uses.has(file.path, name))
        .map(([name, id]) => `${place(file, id)} ${name} is exported and nobody uses it`)
    )
}
