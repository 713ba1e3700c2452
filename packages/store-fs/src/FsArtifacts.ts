/**
 * Full results in a folder beside a transcript (L-ART).
 *
 * A1. The folder is made by the first write. Nothing is ever deleted or overwritten.
 * A2. A file has its name only once it is whole and synced.
 * A3. Names from outside are made safe; two operations whose safe names are equal get two files.
 */
import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Canonical from "@settle/core/model/Canonical"
import * as Artifacts from "@settle/core/port/Artifacts"
import * as Errno from "./Errno.ts"
import * as Location from "./Location.ts"
import { IdGenerator } from "@settle/core/port/IdGenerator"

/** The folder need not exist. */
export const make = (folder: string): Artifacts.Artifacts => ({
  store: Effect.fnUntraced(function* (operationId, content) {
    const unique = yield* (yield* IdGenerator).next
    const bytes = Buffer.from(content)
    const digest = Canonical.textDigest(content)
    const file = yield* Effect.tryPromise({
      try: () => put({ folder, stem: stemOf(operationId), bytes, digest, temporary: `.${unique}.part` }),
      catch: (cause) =>
        new Artifacts.ArtifactError({
          detail: `the full result could not be stored in ${folder}: ${Errno.describe(cause)}`
        })
    })
    return { file, digest, bytes: bytes.length, chars: codePoints(content) }
  }, Effect.uninterruptible)
})

/** Artifacts in one folder, on their own; `FsTranscript.layer` brings the folder of its transcript along. */
export const layer = (folder: string): Layer.Layer<never> => Layer.succeed(Artifacts.Artifacts, make(folder))

/** At most 200 characters, so that a long id still fits a file name. */
const stemOf = (operationId: string): string => {
  const safe = Location.sanitise(operationId).replace(/^\.+/, "_")
  if (safe !== "" && safe.length <= 200) return safe
  return `${safe.slice(0, 100)}-${Canonical.textDigest(operationId).slice(0, 16)}`
}

interface Put {
  readonly folder: string
  readonly stem: string
  readonly bytes: Buffer
  readonly digest: string
  readonly temporary: string
}

/** Answers the name under which exactly these bytes lie now. */
const put = async (request: Put): Promise<string> => {
  const { bytes, folder, stem, temporary } = request
  await fs.mkdir(folder, { recursive: true, mode: 0o700 })
  const part = path.join(folder, temporary)
  try {
    await writeSynced(part, bytes)
    for (let n = 1; ; n++) {
      const name = n === 1 ? `${stem}.txt` : `${stem}.${n}.txt`
      if ((await placed(part, path.join(folder, name))) || (await holds(path.join(folder, name), request))) return name
    }
  } finally {
    await fs.rm(part, { force: true })
  }
}

const writeSynced = async (file: string, bytes: Buffer): Promise<void> => {
  const handle = await fs.open(file, "wx", 0o600)
  try {
    await handle.writeFile(bytes)
    await handle.datasync()
  } finally {
    await handle.close()
  }
}

/** A link, not a rename: a rename would replace what stands there. */
const placed = async (part: string, file: string): Promise<boolean> => {
  try {
    await fs.link(part, file)
    return true
  } catch (cause) {
    const code = Errno.code(cause)
    if (code === "EEXIST") return false
    if (code !== "EPERM" && code !== "ENOTSUP" && code !== "EOPNOTSUPP" && code !== "ENOSYS") throw cause
    return fs.copyFile(part, file, fs.constants.COPYFILE_EXCL).then(
      () => true,
      (refusal) => (Errno.code(refusal) === "EEXIST" ? false : Promise.reject(refusal))
    )
  }
}

const holds = async (file: string, { bytes }: Put): Promise<boolean> => {
  const stats = await fs.stat(file)
  return stats.size === bytes.length && (await fs.readFile(file)).equals(bytes)
}

const codePoints = (text: string): number => {
  let count = text.length
  for (let i = 1; i < text.length; i++) {
    const low = text.charCodeAt(i)
    if (low < 0xdc00 || low > 0xdfff) continue
    const high = text.charCodeAt(i - 1)
    if (high >= 0xd800 && high <= 0xdbff) count--
  }
  return count
}
