/** The user's configuration folder, and what a platform error is called in a sentence. */
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

/** Holds the user's own `settle.json`: `XDG_CONFIG_HOME` or `APPDATA`, else `~/.config`. */
export const configFolder = Effect.gen(function* () {
  const path = yield* Path.Path
  const named = yield* variable(platform() === "win32" ? "APPDATA" : "XDG_CONFIG_HOME")
  return path.isAbsolute(named) ? path.join(named, "settle") : path.join(homedir(), ".config", "settle")
})

/** What a platform error means, without the names of modules: `permission denied`. */
export const problem = (error: PlatformError): string => {
  switch (error.reason._tag) {
    case "NotFound":
      return "there is no such file or folder"
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
