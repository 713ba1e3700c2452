/**
 * The sessions on disk: where they are, what they hold, and what can be done with them. No session is ever deleted here.
 *
 * E1. Looking never writes, takes no lock, and works while somebody else writes.
 * E2. `peek` never fails: a file that cannot be read is a session with a problem, not a hole in the list (J2).
 */
import * as fs from "node:fs"
import * as path from "node:path"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Conversation from "@settle/core/model/Conversation"
import * as Json from "@settle/core/model/Json"
import * as Replay from "@settle/core/model/Replay"
import { IdGenerator } from "@settle/core/port/IdGenerator"
import * as Errno from "./Errno.ts"
import * as Location from "./Location.ts"
import * as Lock from "./Lock.ts"
import * as Reader from "./Reader.ts"
import { Ambiguous, BadName, NotFound, SessionError, Taken, Unusable } from "./SessionError.ts"

export { fork } from "./Fork.ts"
export { markdown } from "./Export.ts"
export { search } from "./Search.ts"
export { SessionError } from "./SessionError.ts"

/** Which sessions. Without `project`, those of every project. */
export interface Scope {
  /** Default: see `Location`. */
  readonly home?: string
  readonly project?: string
}

export interface Peek {
  readonly path: string
  readonly name: string
  readonly bytes: number
  /** Milliseconds since the epoch, of the last write. */
  readonly updatedAt: number
  readonly meta: Json.JsonObject | undefined
  readonly lines: number
  readonly messages: number
  /** Start of the first user message, on one line. */
  readonly firstPrompt: string | undefined
  /** Calls without an answer, and operations without a settle line. */
  readonly openCalls: number
  readonly faults: ReadonlyArray<Replay.Fault>
  /** Why the file could not be read at all. */
  readonly problem: string | undefined
}

/** The data directory in force. */
export const home: Effect.Effect<string, SessionError> = Effect.mapError(
  Location.home,
  (cause) =>
    new SessionError({ operation: "home", reason: new Unusable({ path: "SETTLE_HOME", detail: cause.message }) })
)

const homeOf = (scope: Scope) => (scope.home === undefined ? home : Effect.succeed(scope.home))

/** The transcript files in scope, in no order. */
export const files = Effect.fnUntraced(function* (scope: Scope) {
  const root = yield* homeOf(scope)
  const folders =
    scope.project === undefined
      ? namesIn(Location.projects(root)).map((name) => path.join(Location.projects(root), name))
      : [Location.folder(root, scope.project)]
  return folders.flatMap((folder) =>
    namesIn(folder)
      .filter((name) => name.endsWith(Location.extension))
      .map((name) => path.join(folder, name))
  )
})

/** A folder that is missing or closed to us holds nothing. */
const namesIn = (folder: string): ReadonlyArray<string> => {
  try {
    return fs.readdirSync(folder).sort()
  } catch {
    return []
  }
}

/** Every session in scope, the last written first. */
export const list = Effect.fn("Sessions.list")(function* (scope: Scope) {
  const peeks = yield* Effect.forEach(yield* files(scope), peek)
  return peeks.sort((a, b) => b.updatedAt - a.updatedAt)
})

/** One look at a file, changing nothing. */
export const peek = (file: string): Effect.Effect<Peek> =>
  Effect.scoped(
    Effect.gen(function* () {
      const stats = yield* Reader.system(() => fs.statSync(file))
      const seen: Peek = { ...unknown(file), bytes: stats.size, updatedAt: stats.mtimeMs }
      if (!stats.isFile()) return { ...seen, problem: "it is not a file" }
      return yield* Effect.catch(look(file, seen), ({ cause }) =>
        Effect.succeed({ ...seen, problem: Errno.describe(cause) })
      )
    })
  ).pipe(Effect.catch(({ cause }) => Effect.succeed({ ...unknown(file), problem: Errno.describe(cause) })))

const unknown = (file: string): Peek => ({
  path: file,
  name: Location.nameOf(file),
  bytes: 0,
  updatedAt: 0,
  meta: undefined,
  lines: 0,
  messages: 0,
  firstPrompt: undefined,
  openCalls: 0,
  faults: [],
  problem: undefined
})

const look = Effect.fnUntraced(function* (file: string, seen: Peek) {
  const fd = yield* Reader.open(file)
  const fold = Replay.make()
  let firstPrompt: string | undefined
  const line = (value: Json.Json, number: number) => {
    firstPrompt ??= promptOf(value)
    fold.add(value, number)
  }
  const end = yield* Reader.read({ fd, until: seen.bytes }, { line, fault: fold.fault })
  if (end.tail?.torn !== undefined) fold.fault(end.tail.number, `the last line is incomplete: ${end.tail.torn}`)
  const replay = fold.result()
  const answered = new Set(replay.pending.map((operation) => operation.callId))
  const unasked = Conversation.openCalls(Replay.messages(replay)).filter((call) => !answered.has(call.id))
  return {
    ...seen,
    meta: replay.meta,
    lines: end.lines,
    messages: replay.entries.length,
    firstPrompt,
    openCalls: replay.pending.length + unasked.length,
    faults: replay.faults,
    problem: replay.lines === 0 && seen.bytes > 0 ? "no line of it is a record of a transcript" : undefined
  }
})

const promptOf = (value: Json.Json): string | undefined => {
  if (!Json.isObject(value) || value["type"] !== "message" || !Json.isObject(value["payload"])) return undefined
  const { content, injected, role } = value["payload"]
  if (role !== "user" || injected !== undefined || typeof content !== "string") return undefined
  const line = [...content.slice(0, 400).toWellFormed().replace(/\s+/g, " ").trim()]
  return line.length > 120 ? `${line.slice(0, 120).join("")}…` : line.join("")
}

/** The file of a session: a path as it is, a name in the project first and then anywhere. */
export const find = Effect.fn("Sessions.find")(function* (nameOrPath: string, scope: Scope) {
  if (Location.isPath(nameOrPath)) {
    const file = path.resolve(nameOrPath)
    if (fs.existsSync(file)) return file
    return yield* refuse("find", new NotFound({ wanted: file, known: [] }))
  }
  const root = yield* homeOf(scope)
  const own = scope.project === undefined ? undefined : fileOf({ home: root, project: scope.project }, nameOrPath)
  if (own !== undefined && fs.existsSync(own)) return own
  const everywhere = yield* files({ home: root })
  const named = everywhere.filter((file) => Location.nameOf(file) === nameOrPath)
  const [only, ...others] = named
  if (only !== undefined && others.length === 0) return only
  if (only !== undefined) return yield* refuse("find", new Ambiguous({ wanted: nameOrPath, paths: named }))
  const known = (yield* files({ ...scope, home: root })).map(Location.nameOf).slice(-10)
  return yield* refuse("find", new NotFound({ wanted: nameOrPath, known }))
})

const refuse = (operation: SessionError["operation"], reason: SessionError["reason"]) =>
  Effect.fail(new SessionError({ operation, reason }))

/** Where a session of that name is or would be. */
export const fileOf = (scope: { readonly home: string; readonly project: string }, name: string): string =>
  Location.fileOf(Location.folder(scope.home, scope.project), name)

/** A name nobody has used: UTC time to the second and four random digits. */
export const newName: Effect.Effect<string> = Effect.gen(function* () {
  const at = new Date(yield* Clock.currentTimeMillis).toISOString()
  const id = yield* (yield* IdGenerator).next
  return `${at.slice(0, 10)}-${at.slice(11, 19).replaceAll(":", "")}-${Location.sanitise(id).slice(0, 4)}`
})

/** Gives a session another name; its artifacts move along. Refused while somebody writes to it. */
export const rename = Effect.fn("Sessions.rename")(function* (file: string, name: string) {
  const problem = Location.nameProblem(name)
  if (problem !== undefined) return yield* refuse("rename", new BadName({ name, problem }))
  const target = path.join(path.dirname(file), `${name}${path.extname(file)}`)
  if (target === file) return file
  return yield* Effect.scoped(
    Effect.gen(function* () {
      // Both names are held, so neither a writer nor another rename can step in between the look and the move.
      for (const held of [file, target]) yield* lock(held)
      if (!fs.existsSync(file)) return yield* refuse("rename", new NotFound({ wanted: file, known: [] }))
      if (fs.existsSync(target)) return yield* refuse("rename", new Taken({ path: target }))
      yield* move(file, target)
      const artifacts = Location.artifactsOf(file)
      if (fs.existsSync(artifacts)) yield* move(artifacts, Location.artifactsOf(target))
      return target
    })
  )
})

const lock = (file: string) =>
  Effect.catch(Lock.acquire(file), (cause) => refuse("rename", new Unusable({ path: file, detail: cause.message })))

const move = (from: string, to: string) =>
  Effect.catch(
    Reader.system(() => fs.renameSync(from, to)),
    ({ cause }) => refuse("rename", new Unusable({ path: from, detail: Errno.describe(cause) }))
  )
