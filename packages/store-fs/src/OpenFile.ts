/** Getting hold of a regular file, and true words when it is something else. Nothing is changed but the folders that are missing. */
import * as fs from "node:fs"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { TranscriptError } from "@settle/core/port/Transcript"
import { fail, Unreadable, WriteFailed } from "@settle/core/port/Transcript"
import * as Errno from "./Errno.ts"
import * as Reader from "./Reader.ts"

/** The real path, so that two names of one file share one lock. Makes missing folders, for the user alone. */
export const prepare = (given: string): Effect.Effect<string, TranscriptError> =>
  Reader.system(() => {
    const folder = path.dirname(given)
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
    if (fs.lstatSync(given, { throwIfNoEntry: false })?.isSymbolicLink() === true) return fs.realpathSync(given)
    return path.join(fs.realpathSync(folder), path.basename(given))
  }).pipe(
    Effect.catch(({ cause }) => fail("open", given, new WriteFailed({ detail: Errno.describe(cause) }))),
    Effect.tap((file) => regular(given, file))
  )

export interface Request {
  /** As the user wrote it. */
  readonly given: string
  readonly file: string
  readonly flags: number
}

/** Closed with the scope. A new file is readable by its user alone. */
export const open = (request: Request): Effect.Effect<number, TranscriptError, Scope.Scope> => {
  const { file, flags, given } = request
  const opened = Reader.system(() => fs.openSync(file, flags | fs.constants.O_NONBLOCK, 0o600)).pipe(
    Effect.catch(({ cause }) => fail("open", given, new Unreadable({ detail: Errno.describe(cause) })))
  )
  return Effect.andThen(
    regular(given, file),
    Effect.acquireRelease(opened, (fd) => Effect.ignore(Reader.system(() => fs.closeSync(fd))))
  )
}

const regular = (given: string, file: string): Effect.Effect<void, TranscriptError> =>
  Reader.system(() => fs.statSync(file, { throwIfNoEntry: false })).pipe(
    Effect.catch(({ cause }) => fail("open", given, new Unreadable({ detail: Errno.describe(cause) }))),
    Effect.flatMap((found) =>
      found === undefined || found.isFile()
        ? Effect.void
        : fail("open", given, new Unreadable({ detail: `it is ${kind(found)}, not a file` }))
    )
  )

const kind = (stats: fs.Stats): string => {
  if (stats.isDirectory()) return "a folder"
  if (stats.isFIFO()) return "a named pipe"
  return stats.isSocket() ? "a socket" : "a device"
}

/** A new name is durable once its folder is; systems that cannot sync a folder are let off. */
export const syncFolder = (file: string): Effect.Effect<void, Reader.SystemError> =>
  Reader.system(() => {
    const fd = fs.openSync(path.dirname(file), fs.constants.O_RDONLY)
    try {
      fs.fsyncSync(fd)
    } catch (cause) {
      const code = Errno.code(cause)
      if (code !== "EINVAL" && code !== "EPERM" && code !== "ENOTSUP" && code !== "EISDIR") throw cause
    } finally {
      fs.closeSync(fd)
    }
  })
