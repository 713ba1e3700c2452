/**
 * JSON with comments and trailing commas. Pure.
 *
 * J1. A fault carries the line and column of the file, comments included.
 * J2. A key that stands twice in one object is a fault: one of the two would be lost without a word.
 */
import * as Result from "effect/Result"

export interface Fault {
  /** Both from 1. */
  readonly line: number
  readonly column: number
  readonly problem: string
}

export const parse = (source: string): Result.Result<unknown, Fault> => {
  const cursor: Cursor = { text: source, at: source.startsWith("\ufeff") ? 1 : 0, depth: 0 }
  const value = readValue(cursor)
  if (isWrong(value)) return Result.fail(located(source, value))
  const gap = skip(cursor)
  if (gap !== undefined) return Result.fail(located(source, gap))
  return cursor.at < source.length
    ? Result.fail(located(source, wrong(cursor, "there is more text after the value")))
    : Result.succeed(value.value)
}

interface Cursor {
  readonly text: string
  at: number
  depth: number
}
interface Wrong {
  readonly wrong: string
  readonly at: number
}
type Read<A> = { readonly value: A } | Wrong

const maxDepth = 64
const isWrong = (read: Read<unknown>): read is Wrong => "wrong" in read
const wrong = (cursor: Cursor, problem: string, at = cursor.at): Wrong => ({ wrong: problem, at })

const located = (text: string, fault: Wrong): Fault => {
  const before = text.slice(0, fault.at).split("\n")
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1, problem: fault.wrong }
}

const blank = /(?:[ \t\r\n]|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y
const string = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const word = /true|false|null/y

const take = (cursor: Cursor, pattern: RegExp): string | undefined => {
  pattern.lastIndex = cursor.at
  const found = pattern.exec(cursor.text)?.[0]
  cursor.at += found?.length ?? 0
  return found
}

/** Past blanks and comments; a comment that never ends is a fault. */
const skip = (cursor: Cursor): Wrong | undefined => {
  take(cursor, blank)
  return cursor.text.startsWith("/*", cursor.at) ? wrong(cursor, "a comment that never ends") : undefined
}

const seen = (cursor: Cursor): string => {
  const character = cursor.text.codePointAt(cursor.at)
  return character === undefined ? "the end of the file" : `'${String.fromCodePoint(character)}'`
}

const readValue = (cursor: Cursor): Read<unknown> => {
  const gap = skip(cursor)
  if (gap !== undefined) return gap
  const first = cursor.text[cursor.at]
  if (first === "{" || first === "[") return readNested(cursor, first)
  if (first === '"') return readString(cursor)
  const scalar = take(cursor, word) ?? take(cursor, number)
  if (scalar === undefined) return wrong(cursor, `a value was expected, not ${seen(cursor)}`)
  const value: unknown = JSON.parse(scalar)
  return { value }
}

const readString = (cursor: Cursor): Read<string> => {
  const start = cursor.at
  const found = take(cursor, string)
  return found === undefined
    ? wrong(cursor, "a text that does not end on its line, or with a wrong escape in it", start)
    : { value: String(JSON.parse(found)) }
}

const readNested = (cursor: Cursor, open: "{" | "["): Read<unknown> => {
  if (cursor.depth >= maxDepth) return wrong(cursor, `nested deeper than ${maxDepth}`)
  cursor.at++
  cursor.depth++
  const read = open === "{" ? readMembers(cursor) : readItems(cursor)
  cursor.depth--
  return read
}

const readItems = (cursor: Cursor): Read<ReadonlyArray<unknown>> => {
  const items: Array<unknown> = []
  while (true) {
    const closed = endsAt(cursor, "]")
    if (typeof closed !== "boolean") return closed
    if (closed) return { value: items }
    const item = readValue(cursor)
    if (isWrong(item)) return item
    items.push(item.value)
    const next = separator(cursor, "]")
    if (next !== undefined) return next
  }
}

const readMembers = (cursor: Cursor): Read<object> => {
  const members = new Map<string, unknown>()
  while (true) {
    const closed = endsAt(cursor, "}")
    if (typeof closed !== "boolean") return closed
    if (closed) return { value: Object.fromEntries(members) }
    const start = cursor.at
    if (cursor.text[start] !== '"') return wrong(cursor, `a key in double quotes was expected, not ${seen(cursor)}`)
    const key = readString(cursor)
    if (isWrong(key)) return key
    if (members.has(key.value)) return wrong(cursor, `the key "${key.value}" stands twice in one object`, start)
    const gap = skip(cursor)
    if (gap !== undefined) return gap
    if (cursor.text[cursor.at] !== ":") return wrong(cursor, `":" was expected, not ${seen(cursor)}`)
    cursor.at++
    const value = readValue(cursor)
    if (isWrong(value)) return value
    members.set(key.value, value.value)
    const next = separator(cursor, "}")
    if (next !== undefined) return next
  }
}

const endsAt = (cursor: Cursor, close: string): boolean | Wrong => {
  const gap = skip(cursor)
  if (gap !== undefined) return gap
  if (cursor.text[cursor.at] !== close) return false
  cursor.at++
  return true
}

const separator = (cursor: Cursor, close: string): Wrong | undefined => {
  const gap = skip(cursor)
  if (gap !== undefined) return gap
  if (cursor.text[cursor.at] === close) return undefined
  if (cursor.text[cursor.at] !== ",") return wrong(cursor, `"," or "${close}" was expected, not ${seen(cursor)}`)
  cursor.at++
  return undefined
}
