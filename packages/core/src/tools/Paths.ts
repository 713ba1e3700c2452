/**
 * Where a call would work, read from its arguments. Lexical: no file system is asked, so links are not followed. Pure and total.
 *
 * P1. A path that a tool could take for another place than its text says is unreadable: `..`, NUL, a backslash, a home, a variable,
 *     a drive or a URL, a relative path without a root.
 * P2. A folder contains itself and what lies below it, by whole segments. Segments that differ in case or composition alone are
 *     `unknown`: whether they are one place is the file system's to say.
 * P3. Only arguments at the top are read, texts or lists of texts. Among the named arguments one that is missing counts as unreadable; of the default ones, those that are there count.
 */
import * as Json from "../model/Json.ts"
import * as Pattern from "../model/Pattern.ts"
import * as Ternary from "./Ternary.ts"

/** An absolute path as its segments; the root of the file system is empty. */
export type Path = ReadonlyArray<string>

/** Where relative paths of the tools begin whose names begin with `prefix`; the longest prefix counts, `""` is every tool. */
export interface Root {
  readonly prefix: string
  readonly path: string
}

/** Which arguments of a tool carry something; an empty list: none does. */
export interface Params {
  readonly tool: Pattern.Pattern
  readonly params: ReadonlyArray<string>
}

export const defaults: ReadonlyArray<string> = ["path", "paths", "from", "to", "source", "destination"]

/** The path of a text; `undefined` when it cannot be told (P1). */
export const parse = (text: unknown, root?: Path): Path | undefined => {
  if (typeof text !== "string" || text === "" || unreadable.test(text)) return undefined
  const segments = text.split("/").filter((segment) => segment !== "" && segment !== ".")
  if (segments.includes("..")) return undefined
  if (text.startsWith("/")) return segments
  return root === undefined ? undefined : [...root, ...segments]
}

/** NUL, a backslash; in front a home, a variable, a drive or a scheme. */
const unreadable = /[\u0000\\]|^[~$%]|^[A-Za-z][A-Za-z0-9+.-]*:/

/** The root of a tool; `undefined` when it has none. */
export const rootOf = (roots: ReadonlyArray<Root>, tool: string): Path | undefined => {
  const found = roots
    .filter(({ prefix }) => tool.startsWith(prefix))
    .reduce<Root | undefined>(
      (best, each) => (best === undefined || each.prefix.length > best.prefix.length ? each : best),
      undefined
    )
  return found === undefined ? undefined : parse(found.path)
}

/** Names of the arguments that count for a tool; the first pattern that matches decides. */
export const paramsOf = (given: ReadonlyArray<Params>, tool: string): ReadonlyArray<string> | undefined =>
  given.find((one) => Pattern.matches(one.tool, tool))?.params

export interface Where {
  readonly arguments: Json.JsonObject
  readonly root: Path | undefined
  /** `undefined`: the default ones. */
  readonly params: ReadonlyArray<string> | undefined
}

/** Every place of a call, `undefined` for one that cannot be told. An argument may be a list of paths. */
export const located = ({ arguments: args, params, root }: Where): ReadonlyArray<Path | undefined> => {
  const names = params ?? defaults.filter((name) => Object.hasOwn(args, name))
  return names.flatMap((name) => {
    const value = Object.hasOwn(args, name) ? args[name] : undefined
    return Array.isArray(value) ? value.map((each) => parse(each, root)) : [parse(value, root)]
  })
}

/** Does the folder contain the path (P2)? */
export const contains = (folder: Path, path: Path | undefined): Ternary.Ternary => {
  if (path === undefined) return "unknown"
  if (path.length < folder.length) return "no"
  return Ternary.every(folder.map((segment, index) => Ternary.equal(segment, path[index] ?? "")))
}

/** The deepest folder that all of them lie in; of one path, the folder it lies in. */
export const common = (paths: ReadonlyArray<Path>): Path | undefined => {
  const [first, ...rest] = paths.map((path) => path.slice(0, -1))
  return first === undefined ? undefined : rest.reduce(shared, first)
}

const shared = (a: Path, b: Path): Path => {
  const differs = a.findIndex((segment, index) => segment !== b[index])
  return differs < 0 ? a : a.slice(0, differs)
}

export const render = (path: Path): string => `/${path.join("/")}`
