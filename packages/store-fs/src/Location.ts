/**
 * Where sessions live: one folder a project under the user's data directory.
 *
 * D1. `SETTLE_HOME`, else `XDG_DATA_HOME/settle`, else `~/.local/share/settle`; a relative one counts from the working directory.
 * D2. Two projects never share a folder: its name ends in a digest of the project's real path.
 * D3. A session name is a plain file name; anything with a separator or the ending `.jsonl` is a path.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Canonical from "@settle/core/model/Canonical"

export const extension = ".jsonl"

/** The data directory. An empty variable counts as absent. */
export const home: Effect.Effect<string, Config.ConfigError> = Effect.gen(function* () {
  const own = yield* variable("SETTLE_HOME")
  if (own !== undefined) return path.resolve(own)
  const shared = yield* variable("XDG_DATA_HOME")
  return shared === undefined ? path.join(os.homedir(), ".local", "share", "settle") : path.resolve(shared, "settle")
})

const variable = (name: string) =>
  Config.option(Config.String(name)).pipe(
    Effect.map(Option.getOrUndefined),
    Effect.map((value) => (value === undefined || value === "" ? undefined : value))
  )

/** Folder of all projects. */
export const projects = (home: string): string => path.join(home, "sessions")

/** Folder of one project's sessions. */
export const folder = (home: string, project: string): string => {
  const real = realPath(path.resolve(project))
  const label = sanitise(path.basename(real)).slice(0, 40)
  return path.join(projects(home), `${label === "" ? "root" : label}-${Canonical.textDigest(real).slice(0, 12)}`)
}

const realPath = (given: string): string => {
  try {
    return fs.realpathSync(given)
  } catch {
    return given
  }
}

/** A file name that is safe everywhere: letters, digits, `_`, `.` and `-`. */
export const sanitise = (name: string): string => name.replace(/[^A-Za-z0-9_.-]/g, "_")

/** Why this cannot be a session's name; undefined when it can. */
export const nameProblem = (name: string): string | undefined => {
  if (name === "") return "a name cannot be empty"
  if (name !== sanitise(name)) return "a name may hold letters, digits, _, . and - only"
  if (name.startsWith(".") || name.startsWith("-")) return "a name may not start with . or -"
  return name.length > 100 ? "a name may have at most 100 characters" : undefined
}

export const isPath = (nameOrPath: string): boolean => /[/\\]/.test(nameOrPath) || nameOrPath.endsWith(extension)

export const fileOf = (folder: string, name: string): string => path.join(folder, `${name}${extension}`)

/** The name of a session by its file. */
export const nameOf = (file: string): string => path.basename(file, extension)

/** Full results of a transcript lie beside it: `<stem>.artifacts`. */
export const artifactsOf = (file: string): string => {
  const { dir, name } = path.parse(file)
  return path.join(dir, `${name}.artifacts`)
}
