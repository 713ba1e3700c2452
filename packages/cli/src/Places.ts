/** Folders of the user, and what a platform error is called in a sentence. */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import { homedir, platform } from "node:os"

const variable = (name: string) =>
  Config.String(name).pipe(
    Config.withDefault(""),
    Effect.orElseSucceed(() => "")
  )

/** `SETTLE_HOME` moves both; else the platform's own places. */
const folder = Effect.fnUntraced(function* (xdg: string, windows: string, below: ReadonlyArray<string>) {
  const path = yield* Path.Path
  const moved = yield* variable("SETTLE_HOME")
  if (moved !== "") return path.resolve(moved)
  const named = yield* variable(platform() === "win32" ? windows : xdg)
  return named !== "" && path.isAbsolute(named) ? path.join(named, "settle") : path.join(homedir(), ...below, "settle")
})

/** Holds the user's own `settle.json`. */
export const configFolder = folder("XDG_CONFIG_HOME", "APPDATA", [".config"])

/** Holds the sessions. */
export const dataFolder = folder("XDG_DATA_HOME", "LOCALAPPDATA", [".local", "share"])

/** What a platform error means, without the names of our modules: `permission denied`. */
export const problem = (error: PlatformError): string => {
  switch (error.reason._tag) {
    case "NotFound":
      return "it is not there"
    case "PermissionDenied":
      return "permission denied"
    case "AlreadyExists":
      return "it exists already"
    case "BadResource":
      return "it is a folder, or not a file at all"
    case "Busy":
      return "it is busy"
    default:
      return error.reason.description ?? error.message
  }
}
