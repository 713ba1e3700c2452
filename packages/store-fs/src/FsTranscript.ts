/**
 * A transcript in a file: opened, mended where the last process was cut off, replayed as a stream, written by one writer.
 *
 * S1. A line `append` returned for is in the file, synced unless the store was asked only to flush (X-STORE-02).
 * S2. Before the first append the end of the file is sound: what was torn is moved to `<name>.torn-<n>` and reported, never lost and
 *     never glued to (X-STORE-03, J1). The cut is one truncate behind a synced copy: at no moment is the file anything but the old
 *     or the new one, and a long transcript is not copied.
 * S3. Nothing that is refused was touched: a folder, a device, a file that is no transcript, one that somebody else writes.
 * S4. What is appended is checked first: a line the replay would refuse is not written.
 * S5. The file is the memory: lines of this process are folded when somebody asks, from the file itself.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import type * as Json from "@settle/core/model/Json"
import * as Replay from "@settle/core/model/Replay"
import * as TranscriptLine from "@settle/core/model/TranscriptLine"
import * as Artifacts from "@settle/core/port/Artifacts"
import { IdGenerator } from "@settle/core/port/IdGenerator"
import type { TranscriptError } from "@settle/core/port/Transcript"
import { fail, Transcript, Unreadable, WriteFailed } from "@settle/core/port/Transcript"
import * as Draft from "./Draft.ts"
import * as Errno from "./Errno.ts"
import * as FsArtifacts from "./FsArtifacts.ts"
import * as Framing from "./Framing.ts"
import * as Location from "./Location.ts"
import * as Lock from "./Lock.ts"
import * as Mend from "./Mend.ts"
import * as OpenFile from "./OpenFile.ts"
import * as Reader from "./Reader.ts"
import * as Repair from "./Repair.ts"
import * as Writer from "./Writer.ts"

export interface Options {
  readonly path: string
  /** Default `fsync`. */
  readonly durability?: Writer.Durability
  /** Payload of the session-meta line of a new file. An existing one keeps its own. */
  readonly meta?: Json.JsonObject
  /** Takes no lock and changes nothing; every append fails. For a transcript that somebody else writes. */
  readonly readOnly?: boolean
  /** Longest line in bytes, read or written. Default 64 MiB. */
  readonly maxLineBytes?: number
  /** Takes the lock of an owner on another machine. Only for who knows that it is gone. */
  readonly takeOver?: boolean
}

export interface FsTranscript extends Transcript {
  readonly path: string
  /** What opening found and changed, in sentences for people; empty for a sound file. */
  readonly notices: ReadonlyArray<string>
  readonly counts: () => Writer.Counts
}

/** Opens or creates. The file, its lock and the pen are the scope's; closing it waits for the lines in flight. */
export const open = (options: Options): Effect.Effect<FsTranscript, TranscriptError, Scope.Scope> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      // A failed opening gives its lock back at once, not when the caller's scope closes.
      const scope = yield* Scope.fork(yield* Effect.scope)
      const opened = options.readOnly === true ? openForReading(options) : openForWriting(options)
      return yield* restore(Scope.provide(opened, scope)).pipe(
        Effect.onExit((exit) => (Exit.isSuccess(exit) ? Effect.void : Scope.close(scope, exit)))
      )
    })
  )

/** By name instead of by path: a session of a project, in the data directory. */
export interface SessionOptions extends Omit<Options, "path"> {
  /** A name, or a path as it is. */
  readonly session: string
  /** Default: the working directory. */
  readonly project?: string
  /** Default: see `Location`. */
  readonly home?: string
}

/** A transcript and the artifacts folder beside it. */
export const layer = (options: Options | SessionOptions): Layer.Layer<never, TranscriptError> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const file = "path" in options ? options.path : yield* fileOfSession(options)
      const transcript = yield* open({ ...options, path: file })
      const context = Context.make(Transcript, transcript)
      if (options.readOnly === true) return context
      return Context.add(context, Artifacts.Artifacts, FsArtifacts.make(Location.artifactsOf(transcript.path)))
    })
  )

const fileOfSession = Effect.fnUntraced(function* (options: SessionOptions) {
  const { session } = options
  if (Location.isPath(session)) return session
  const problem = Location.nameProblem(session)
  if (problem !== undefined) return yield* fail("open", session, new Unreadable({ detail: problem }))
  const home =
    options.home ??
    (yield* Effect.catch(Location.home, (cause) => fail("open", session, new Unreadable({ detail: cause.message }))))
  return Location.fileOf(Location.folder(home, options.project ?? process.cwd()), session)
})

const openForReading = Effect.fnUntraced(function* (options: Options) {
  const file = path.resolve(options.path)
  const fd = yield* OpenFile.open({ given: file, file, flags: fs.constants.O_RDONLY })
  const loaded = yield* load(file, fd, options)
  const { tail } = loaded.end
  if (tail?.torn !== undefined) loaded.fold.fault(tail.number, `the last line is incomplete: ${tail.torn}`)
  const plan = Repair.plan(loaded)
  if (plan._tag === "Refuse") return yield* fail("open", file, new Unreadable({ detail: plan.detail }))
  const replay = loaded.fold.result()
  const transcript: FsTranscript = {
    place: file,
    path: file,
    notices: [],
    counts: () => ({ writes: 0, syncs: 0 }),
    replay: Effect.succeed(replay),
    append: () => fail("append", file, new WriteFailed({ detail: "it was opened read-only" }))
  }
  return transcript
})

const openForWriting = Effect.fnUntraced(function* (options: Options) {
  const given = path.resolve(options.path)
  const durability = options.durability ?? "fsync"
  const file = yield* OpenFile.prepare(given)
  const isDurable = durability === "fsync"
  const held = Lock.acquire(file, { takeOver: options.takeOver === true, isDurable })
  const lock = yield* Effect.catch(held, (reason) => fail("open", given, reason))
  const { O_APPEND, O_CREAT, O_RDWR } = fs.constants
  const fd = yield* OpenFile.open({ given, file, flags: O_RDWR | O_CREAT | O_APPEND })
  const loaded = yield* load(given, fd, options)
  const plan = Repair.plan(loaded)
  if (plan._tag === "Refuse") return yield* fail("open", given, new Unreadable({ detail: plan.detail }))
  const mended = yield* Effect.catch(Mend.mend({ fd, file, plan, end: loaded.end, isDurable }), ({ cause }) =>
    fail("open", given, new WriteFailed({ detail: `its end could not be mended: ${Errno.describe(cause)}` }))
  )
  for (const fault of mended.faults) loaded.fold.fault(fault.line, fault.problem)
  const writer = yield* Effect.acquireRelease(
    Effect.sync(() => Writer.make({ fd, path: file, lock, durability, size: mended.size })),
    (pen) => pen.close
  )
  const transcript = make({ given, file, fd, options, writer, fold: loaded.fold, mended })
  if (plan.header !== "none") {
    const meta = options.meta ?? {}
    yield* transcript.append([
      { type: "session-meta", payload: plan.header === "new" ? meta : { ...meta, rebuilt: true } }
    ])
  }
  return transcript
})

interface Loaded extends Repair.Facts {
  readonly fold: Replay.Fold
}

const load = Effect.fnUntraced(function* (given: string, fd: number, options: Options) {
  const fold = Replay.make()
  const until = yield* unreadable(
    given,
    "open",
    Reader.system(() => fs.fstatSync(fd).size)
  )
  const end = yield* unreadable(given, "open", Reader.read({ fd, until }, sinkOf(fold), limits(options)))
  const { faults, lines, meta } = fold.result()
  const loaded: Loaded = { fold, end, records: lines, hasMeta: meta !== undefined, faults }
  return loaded
})

const limits = (options: Options): Framing.Options =>
  options.maxLineBytes === undefined ? {} : { maxLineBytes: options.maxLineBytes }

const sinkOf = (fold: Replay.Fold): Framing.Sink => ({ line: fold.add, fault: fold.fault })

const unreadable = <A>(place: string, operation: "open" | "read", effect: Effect.Effect<A, Reader.SystemError>) =>
  Effect.catch(effect, ({ cause }) => fail(operation, place, new Unreadable({ detail: Errno.describe(cause) })))

interface Parts {
  readonly given: string
  readonly file: string
  readonly fd: number
  readonly options: Options
  readonly writer: Writer.Writer
  readonly fold: Replay.Fold
  readonly mended: Mend.Mended
}

interface State extends Parts {
  /** How much of the file is in the fold. */
  readonly folded: { bytes: number; lines: number }
  /** One catch-up at a time. */
  readonly folding: Semaphore.Semaphore
  /** Operations handed over and not settled. */
  readonly open: Set<string>
}

const make = (parts: Parts): FsTranscript => {
  const { fold, given, mended, writer } = parts
  const state: State = {
    ...parts,
    folded: { bytes: mended.size, lines: mended.lines },
    folding: Semaphore.makeUnsafe(1),
    open: new Set(fold.result().pending.map((operation) => operation.opId))
  }
  return {
    place: given,
    path: given,
    notices: mended.notices,
    counts: writer.counts,
    replay: Effect.map(catchUp(state), () => fold.result()),
    append: (drafts) => append(state, drafts)
  }
}

/** Folds what was written since the last look. */
const catchUp = (state: State): Effect.Effect<void, TranscriptError> =>
  state.folding.withPermits(1)(
    Effect.uninterruptible(
      Effect.gen(function* () {
        const until = state.writer.size()
        if (until === state.folded.bytes) return
        const range = { fd: state.fd, from: state.folded.bytes, until }
        const options = { ...limits(state.options), linesBefore: state.folded.lines }
        const end = yield* unreadable(state.given, "read", Reader.read(range, sinkOf(state.fold), options))
        state.folded.bytes = until
        state.folded.lines = end.lines
      })
    )
  )

const append = Effect.fnUntraced(function* (state: State, drafts: ReadonlyArray<TranscriptLine.Draft>) {
  if (drafts.length === 0) return []
  const ids = yield* IdGenerator
  const at = (yield* Clock.Clock).currentTimeMillisUnsafe()
  if (drafts.some(Draft.namesMessages)) yield* catchUp(state)
  const problem = Draft.check(drafts, { isOpen: (id) => state.open.has(id), hasMessage: hasMessage(state) })
  if (problem !== undefined) return yield* fail("append", state.given, new WriteFailed({ detail: problem }))
  const stamped: Array<string> = []
  for (let i = 0; i < drafts.length; i++) stamped.push(yield* ids.next)
  const text = Draft.encode(drafts, stamped, {
    at,
    maxLineBytes: state.options.maxLineBytes ?? Framing.defaultMaxLineBytes
  })
  if (typeof text !== "string") return yield* fail("append", state.given, new WriteFailed({ detail: text.problem }))
  const settles = Draft.settles(drafts)
  for (const id of settles) state.open.delete(id)
  return yield* state.writer.append(text, at).pipe(
    Effect.matchEffect({
      onFailure: (reason) => {
        for (const id of settles) state.open.add(id)
        return fail("append", state.given, reason)
      },
      onSuccess: () => {
        drafts.forEach((draft, i) => draft.type === "tool-dispatched" && state.open.add(stamped[i] ?? ""))
        return Effect.succeed<ReadonlyArray<string>>(stamped)
      }
    })
  )
}, Effect.uninterruptible)

const hasMessage = (state: State): ((id: string) => boolean) => {
  let known: ReadonlySet<string> | undefined
  return (id) => (known ??= new Set(state.fold.result().entries.map((entry) => entry.id))).has(id)
}
