/**
 * Where the configuration comes from: `--config`, else the nearest `settle.json` upwards from the working directory, else the one in
 * the user's configuration folder, else nothing at all.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Config from "./Config.ts"
import * as ConfigError from "./ConfigError.ts"
import * as Places from "./Places.ts"

export const name = "settle.json"

export interface Loaded {
  readonly config: Config.Config
  /** `undefined` when there is no file. */
  readonly path: string | undefined
  /** What relative paths in it are relative to: its own folder, for the user's file the working directory. */
  readonly root: string
}

const refuse = (reason: ConfigError.Reason) => Effect.fail(ConfigError.make(reason))

export const load = Effect.fn("ConfigFile.load")(function* (given: string | undefined) {
  const path = yield* Path.Path
  const cwd = path.resolve(".")
  if (given !== undefined) return yield* read(path.resolve(given), path.dirname(path.resolve(given)))
  const project = yield* nearest(cwd)
  if (project !== undefined) return yield* read(project, path.dirname(project))
  const user = path.join(yield* Places.configFolder, name)
  return (yield* isThere(user)) ? yield* read(user, cwd) : { config: Config.empty, path: undefined, root: cwd }
})

/** The folder of the project that the working directory belongs to; its file is not read. */
export const root = Effect.gen(function* () {
  const path = yield* Path.Path
  const cwd = path.resolve(".")
  const project = yield* nearest(cwd)
  return project === undefined ? cwd : path.dirname(project)
})

const isThere = (file: string) =>
  Effect.flatMap(FileSystem.FileSystem, (fs) => Effect.orElseSucceed(fs.exists(file), () => false))

const nearest = Effect.fnUntraced(function* (from: string) {
  const path = yield* Path.Path
  let folder = from
  while (true) {
    const candidate = path.join(folder, name)
    if (yield* isThere(candidate)) return candidate
    const above = path.dirname(folder)
    if (above === folder) return undefined
    folder = above
  }
})

const read = Effect.fnUntraced(function* (file: string, root: string) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* Effect.catch(fs.readFileString(file), (error) =>
    refuse(
      error.reason._tag === "NotFound"
        ? new ConfigError.Missing({ path: file })
        : new ConfigError.Unreadable({ path: file, detail: Places.problem(error) })
    )
  )
  const config = yield* Effect.mapError(Effect.fromResult(Config.parse(text)), (faults) =>
    ConfigError.make(new ConfigError.Invalid({ path: file, faults }))
  )
  return { config, path: file, root } satisfies Loaded
})
