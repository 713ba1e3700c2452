/**
 * A new session that begins as a copy of another up to one line (J13).
 *
 * F1. The parent is only read. The child has one header, which points back: `parent: {path, line, id}`.
 * F2. The child has its name once it is whole and synced; nothing is ever written over.
 * F3. Lines that could not be read stay behind and are counted; the artifacts of the copied part are linked, not moved.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as EffectScope from "effect/Scope"
import * as Json from "@settle/core/model/Json"
import * as Replay from "@settle/core/model/Replay"
import * as TranscriptLine from "@settle/core/model/TranscriptLine"
import { IdGenerator } from "@settle/core/port/IdGenerator"
import * as Doctor from "./Doctor.ts"
import * as Errno from "./Errno.ts"
import * as Location from "./Location.ts"
import * as OpenFile from "./OpenFile.ts"
import * as Reader from "./Reader.ts"
import { NoLine, SessionError, Taken, Unusable } from "./SessionError.ts"

export interface Request {
  /** The parent's file. */
  readonly from: string
  /** The child's file. */
  readonly to: string
  /** The last line to keep: its number (1-based) or its id. Default: all of them. */
  readonly at?: number | string
  /** Added to the parent's meta in the child's header. */
  readonly meta?: Json.JsonObject
}

export interface Forked {
  readonly path: string
  /** Lines copied, the header not counted. */
  readonly copied: number
  /** Faults of the copied part: those lines stayed behind. */
  readonly faults: ReadonlyArray<Replay.Fault>
  /** What the cut leaves open in the child. */
  readonly open: ReadonlyArray<Doctor.OpenCall>
}

export const fork = Effect.fn("Sessions.fork")(function* (request: Request) {
  return yield* Effect.scoped(write(request)).pipe(
    Effect.catchTag("SystemError", ({ cause }) =>
      refuse(new Unusable({ path: request.to, detail: Errno.describe(cause) }))
    )
  )
})

const refuse = (reason: SessionError["reason"]) => Effect.fail(new SessionError({ operation: "fork", reason }))

const write = Effect.fnUntraced(function* (request: Request) {
  const { from, to } = request
  const source = yield* unusable(from, Reader.open(from))
  const until = yield* unusable(
    from,
    Reader.system(() => fs.fstatSync(source).size)
  )
  const temporary = `${to}.part-${yield* (yield* IdGenerator).next}`
  yield* Reader.system(() => fs.mkdirSync(path.dirname(to), { recursive: true, mode: 0o700 }))
  const fd = yield* create(temporary)
  const first = collect(request.at)
  yield* unusable(from, Reader.read({ fd: source, until }, first.sink))
  const found = first.result()
  if (request.at !== undefined && found.last === undefined) {
    return yield* refuse(new NoLine({ path: from, wanted: String(request.at), lines: found.lines }))
  }
  const parent = { path: path.resolve(from), line: found.last?.line ?? 0, id: found.last?.id ?? "" }
  const meta: TranscriptLine.Draft = {
    type: "session-meta",
    payload: { ...found.replay.meta, ...request.meta, parent }
  }
  const id = yield* (yield* IdGenerator).next
  const at = yield* Clock.currentTimeMillis
  yield* Reader.system(() => writeWhole(fd, `${TranscriptLine.encode(meta, id, at)}\n`))
  const copy = copier(fd, found.last?.line ?? Number.POSITIVE_INFINITY)
  yield* unusable(from, Reader.read({ fd: source, until }, copy.sink))
  yield* Reader.system(() => (copy.flush(), fs.fsyncSync(fd)))
  yield* Effect.catch(
    Reader.system(() => fs.linkSync(temporary, to)),
    (error): Effect.Effect<never, SessionError | Reader.SystemError> =>
      Errno.code(error.cause) === "EEXIST" ? refuse(new Taken({ path: to })) : Effect.fail(error)
  )
  yield* OpenFile.syncFolder(to)
  yield* linkArtifacts(from, to)
  const forked: Forked = {
    path: to,
    copied: copy.count(),
    faults: found.replay.faults,
    open: Doctor.examine(found.replay).calls
  }
  return forked
})

/** What goes wrong with the parent, told of the parent. */
const unusable = <A, R>(file: string, effect: Effect.Effect<A, Reader.SystemError, R>) =>
  Effect.catch(effect, ({ cause }) => refuse(new Unusable({ path: file, detail: Errno.describe(cause) })))

/** Gone again with the scope: what has the child's name is a second link to it. */
const create = (temporary: string): Effect.Effect<number, Reader.SystemError, EffectScope.Scope> =>
  Effect.acquireRelease(
    Reader.system(() => fs.openSync(temporary, "wx", 0o600)),
    (fd) =>
      Effect.ignore(
        Reader.system(() => {
          fs.closeSync(fd)
          fs.rmSync(temporary, { force: true })
        })
      )
  )

interface Found {
  readonly replay: Replay.Replay
  readonly last: { readonly line: number; readonly id: string } | undefined
  readonly lines: number
}

/** The first pass: what the kept part says, and where it ends. */
const collect = (at: Request["at"]) => {
  const fold = Replay.make()
  let last: Found["last"]
  let lines = 0
  const isBehind = (number: number) =>
    typeof at === "number" ? number > at : typeof at === "string" && last?.id === at && number > last.line
  return {
    sink: {
      line: (value: Json.Json, number: number) => {
        lines = number
        if (isBehind(number)) return
        fold.add(value, number)
        const id = Json.isObject(value) ? value["id"] : undefined
        if (typeof id === "string") last = { line: number, id }
      },
      fault: (number: number, problem: string) => {
        lines = number
        if (!isBehind(number)) fold.fault(number, problem)
      }
    },
    result: (): Found => {
      const isFound = at === undefined || (typeof at === "string" ? last?.id === at : at >= 1 && at <= lines)
      return { replay: fold.result(), last: isFound ? last : undefined, lines }
    }
  }
}

/** The second pass: the text of the kept records, as it was. */
const copier = (fd: number, until: number) => {
  let text = ""
  let count = 0
  const flush = () => {
    writeWhole(fd, text)
    text = ""
  }
  return {
    flush,
    count: () => count,
    sink: {
      line: (value: Json.Json, number: number, line: string) => {
        if (number > until || (Json.isObject(value) && value["type"] === "session-meta")) return
        text += line.endsWith("\r") ? `${line.slice(0, -1)}\n` : `${line}\n`
        count++
        if (text.length > Reader.blockBytes) flush()
      },
      fault: () => undefined
    }
  }
}

const writeWhole = (fd: number, text: string): void => {
  const bytes = Buffer.from(text)
  for (let done = 0; done < bytes.length;) done += fs.writeSync(fd, bytes, done)
}

const linkArtifacts = (from: string, to: string): Effect.Effect<void, Reader.SystemError> =>
  Reader.system(() => {
    const source = Location.artifactsOf(from)
    if (!fs.existsSync(source)) return
    const target = Location.artifactsOf(to)
    fs.mkdirSync(target, { recursive: true, mode: 0o700 })
    for (const name of fs.readdirSync(source).filter((name) => !name.startsWith("."))) {
      const [there, here] = [path.join(source, name), path.join(target, name)]
      if (fs.existsSync(here)) continue
      try {
        fs.linkSync(there, here)
      } catch {
        fs.copyFileSync(there, here, fs.constants.COPYFILE_EXCL)
      }
    }
  })
