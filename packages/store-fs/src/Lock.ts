/**
 * One writer for one file: a lock file beside it that names its owner (X-STORE-01).
 *
 * K1. A lock file appears whole or not at all: it is written under another name and linked.
 * K2. The lock of a dead owner is replaced by one taker only. Who may replace the lock with token t is who holds `<lock>.<t>`, made
 *     by the same link; a taker that died while holding that is replaced by the same rule.
 * K3. A taker looks again once it holds the right: a slow one, whose judgement was overtaken, changes nothing.
 * K4. A lock that cannot be judged from here is never taken over unasked.
 * K5. `lost` tells a former owner that its lock is gone: its file has no name any more.
 */
import * as fs from "node:fs"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { IdGenerator } from "@settle/core/port/IdGenerator"
import { Locked, WriteFailed } from "@settle/core/port/Transcript"
import * as Errno from "./Errno.ts"
import * as Owner from "./Owner.ts"

export interface Lock {
  readonly path: string
  readonly owner: Owner.Owner
  /** Why this lock is no longer held; undefined while it is. One system call, no waiting. */
  readonly lost: () => string | undefined
}

export interface Options {
  /** Takes the lock of an owner that cannot be judged from here. Only for who knows that it is gone. Default false. */
  readonly takeOver?: boolean
  /** Whether a lock that outlives a power failure must still name its owner: one sync more. Default true. */
  readonly isDurable?: boolean
}

/** The lock of a file is a file beside it. */
export const pathOf = (file: string): string => `${file}.lock`

/** The owner that a file's lock names, dead or alive; undefined when there is no lock. */
export const ownerOf = (file: string): Effect.Effect<Owner.Owner | undefined> =>
  Effect.sync(() => {
    const found = read(pathOf(file))
    return found._tag === "Owned" ? found.owner : undefined
  })

/** Held until the scope closes. Fails at once when somebody else writes. */
export const acquire = (file: string, options: Options = {}): Effect.Effect<Lock, Locked | WriteFailed, Scope.Scope> =>
  Effect.acquireRelease(open(pathOf(file), options), release).pipe(Effect.map((held) => held.lock))

interface Held {
  readonly fd: number
  readonly lock: Lock
}

const open = Effect.fnUntraced(function* (path: string, options: Options) {
  const ids = yield* IdGenerator
  const since = new Date(yield* Clock.currentTimeMillis).toISOString()
  const owner = Owner.self({ since, token: yield* ids.next })
  const answer = yield* Effect.sync(() =>
    take({ path, owner, force: options.takeOver === true, isDurable: options.isDurable !== false })
  )
  if (answer._tag === "Refused") return yield* Effect.fail(answer.reason)
  const held: Held = { fd: answer.fd, lock: { path, owner, lost: () => lost(answer.fd, path) } }
  return held
})

const lost = (fd: number, path: string): string | undefined => {
  if (fs.fstatSync(fd).nlink > 0) return undefined
  const current = read(path)
  return current._tag === "Owned"
    ? `process ${current.owner.pid} on ${current.owner.host} took its lock over on ${current.owner.since}`
    : `its lock ${path} was removed`
}

/** Only our own lock is removed: the name may belong to somebody else by now. */
const release = ({ fd, lock }: Held): Effect.Effect<void> =>
  Effect.ignore(
    Effect.try(() => {
      try {
        if (fs.fstatSync(fd).nlink > 0 && tokenAt(lock.path) === lock.owner.token) fs.unlinkSync(lock.path)
      } finally {
        fs.closeSync(fd)
      }
    })
  )

interface Taking {
  readonly path: string
  readonly owner: Owner.Owner
  readonly force: boolean
  readonly isDurable: boolean
}

type Answer =
  { readonly _tag: "Taken"; readonly fd: number } | { readonly _tag: "Refused"; readonly reason: Locked | WriteFailed }

const refused = (reason: Locked | WriteFailed): Answer => ({ _tag: "Refused", reason })

/** Each turn sees one state of the lock; another process may have changed it by the next. */
const maxTurns = 100

const take = (taking: Taking): Answer => {
  const temporary = `${taking.path}.new-${taking.owner.token}`
  try {
    writeOwner(temporary, taking)
    for (let turn = 0; turn < maxTurns; turn++) {
      const answer = oneTurn(taking, temporary)
      if (answer !== undefined) return answer
    }
    return refused(new WriteFailed({ detail: `its lock ${taking.path} kept changing hands; try again` }))
  } catch (cause) {
    return refused(new WriteFailed({ detail: `its lock ${taking.path} could not be made: ${Errno.describe(cause)}` }))
  } finally {
    fs.rmSync(temporary, { force: true })
  }
}

/** Undefined when the lock changed meanwhile and has to be looked at again. */
const oneTurn = (taking: Taking, temporary: string): Answer | undefined => {
  const { force, owner, path } = taking
  if (place(temporary, path)) return taken(path, owner)
  const current = read(path)
  if (current._tag === "Absent") return undefined
  if (current._tag === "Unreadable") {
    if (!force) return refused(new WriteFailed({ detail: unreadable(path) }))
    fs.renameSync(temporary, path)
    return taken(path, owner)
  }
  const life = Owner.life(current.owner, owner)
  if (life === "alive") return refused(locked(current.owner))
  if (life === "elsewhere" && !force) return refused(locked(current.owner, elsewhere(path)))
  return succeedDead(taking, current.owner, temporary)
}

/** The lock as it lies there, held open; undefined when it is no longer ours. */
const taken = (path: string, owner: Owner.Owner): Answer | undefined => {
  const fd = fs.openSync(path, "r")
  if (Owner.decode(fs.readFileSync(fd, "utf8"))?.token === owner.token) return { _tag: "Taken", fd }
  fs.closeSync(fd)
  return undefined
}

/** Replaces the lock of a dead owner (K2, K3). */
const succeedDead = (taking: Taking, dead: Owner.Owner, temporary: string): Answer | undefined => {
  const rights: Array<string> = []
  let heir = dead
  for (;;) {
    const right = `${taking.path}.${heir.token}`
    rights.push(right)
    if (place(temporary, right)) break
    const current = read(right)
    if (current._tag !== "Owned") return undefined
    if (Owner.life(current.owner, taking.owner) !== "dead") return refused(locked(current.owner))
    heir = current.owner
  }
  try {
    if (tokenAt(taking.path) !== dead.token) return undefined
    fs.renameSync(temporary, taking.path)
    return taken(taking.path, taking.owner)
  } finally {
    for (const right of rights.reverse()) fs.rmSync(right, { force: true })
  }
}

/** False when the name is taken. */
const place = (temporary: string, path: string): boolean => {
  try {
    fs.linkSync(temporary, path)
    return true
  } catch (cause) {
    const code = Errno.code(cause)
    if (code === "EEXIST") return false
    if (code !== "EPERM" && code !== "ENOTSUP" && code !== "EOPNOTSUPP" && code !== "ENOSYS") throw cause
    return placeByCopy(temporary, path)
  }
}

/** For file systems without links. A crash in between leaves an empty lock, which is reported and not taken over. */
const placeByCopy = (temporary: string, path: string): boolean => {
  try {
    fs.copyFileSync(temporary, path, fs.constants.COPYFILE_EXCL)
    return true
  } catch (cause) {
    if (Errno.code(cause) === "EEXIST") return false
    throw cause
  }
}

const writeOwner = (path: string, { isDurable, owner }: Taking): void => {
  const fd = fs.openSync(path, "wx", 0o600)
  try {
    fs.writeSync(fd, Owner.encode(owner))
    if (isDurable) fs.fdatasyncSync(fd)
  } finally {
    fs.closeSync(fd)
  }
}

type Found =
  | { readonly _tag: "Absent" }
  | { readonly _tag: "Unreadable" }
  | { readonly _tag: "Owned"; readonly owner: Owner.Owner }

const read = (path: string): Found => {
  try {
    const owner = Owner.decode(fs.readFileSync(path, "utf8"))
    return owner === undefined ? { _tag: "Unreadable" } : { _tag: "Owned", owner }
  } catch (cause) {
    return Errno.code(cause) === "ENOENT" ? { _tag: "Absent" } : { _tag: "Unreadable" }
  }
}

const tokenAt = (path: string): string | undefined => {
  const found = read(path)
  return found._tag === "Owned" ? found.owner.token : undefined
}

const locked = (owner: Owner.Owner, advice?: string): Locked =>
  new Locked({ pid: owner.pid, host: owner.host, since: owner.since, ...(advice === undefined ? {} : { advice }) })

const elsewhere = (path: string): string =>
  `whether that process still lives cannot be seen from here: make sure that it has ended, then remove ${path}`

const unreadable = (path: string): string =>
  `its lock ${path} names no owner: make sure that no process has the transcript open, then remove it`
