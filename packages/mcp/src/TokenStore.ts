/**
 * Where logins of remote servers are kept: one file a server under the user's data directory, readable by nobody else.
 *
 * F1. A file is replaced whole; a torn or foreign one counts as absent, and the user logs in again.
 * F2. Nothing in it is ever told: not in a log, an error or a transcript (X-SAFE-05).
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Canonical from "@settle/core/model/Canonical"
import * as Json from "@settle/core/model/Json"
import * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

export interface TokenStore {
  /** What was kept for this server; `undefined` when there is nothing that can be read. */
  readonly read: (url: string) => Effect.Effect<Json.JsonObject | undefined>
  /** Answers whether it is kept; a login that cannot be kept still counts for this process. */
  readonly write: (url: string, value: Json.JsonObject) => Effect.Effect<boolean>
}

export const memory = (): TokenStore => {
  const kept = new Map<string, Json.JsonObject>()
  return {
    read: (url) => Effect.sync(() => kept.get(url)),
    write: (url, value) =>
      Effect.sync(() => {
        kept.set(url, value)
        return true
      })
  }
}

/** Under `folder`, which is made when it is first needed. */
export const files = (folder: Effect.Effect<string>): TokenStore => ({
  read: (url) =>
    Effect.map(folder, (at) => {
      const parsed = Json.parse(readText(fileOf(at, url)))
      return Json.isObject(parsed) && parsed["url"] === url ? parsed : undefined
    }),
  write: (url, value) => Effect.map(folder, (at) => replace(fileOf(at, url), JSON.stringify({ ...value, url })))
})

/** The data directory as everywhere: `SETTLE_HOME`, else `XDG_DATA_HOME/settle`, else `~/.local/share/settle`. */
const home: Effect.Effect<string> = Effect.gen(function* () {
  const own = yield* variable("SETTLE_HOME")
  const shared = yield* variable("XDG_DATA_HOME")
  const base = shared === undefined ? path.join(os.homedir(), ".local", "share") : path.resolve(shared)
  return path.join(own === undefined ? path.join(base, "settle") : path.resolve(own), "logins")
})

const variable = (name: string): Effect.Effect<string | undefined> =>
  Config.option(Config.String(name)).pipe(
    Effect.map((value) => Option.getOrUndefined(value)),
    Effect.map((value) => (value === "" ? undefined : value)),
    Effect.orElseSucceed(() => undefined)
  )

/** Default: files in the user's data directory. */
export const TokenStore: Context.Reference<TokenStore> = Context.Reference<TokenStore>("@settle/mcp/TokenStore", {
  defaultValue: () => files(home)
})

const fileOf = (folder: string, url: string): string =>
  path.join(folder, `${Canonical.textDigest(url).slice(0, 32)}.json`)

const readText = (file: string): string => {
  try {
    return fs.readFileSync(file, "utf8")
  } catch {
    return ""
  }
}

const replace = (file: string, text: string): boolean => {
  const fresh = `${file}.${process.pid}.new`
  try {
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
    fs.rmSync(fresh, { force: true })
    fs.writeFileSync(fresh, text, { mode: 0o600, flag: "wx" })
    fs.renameSync(fresh, file)
    return true
  } catch {
    return false
  }
}
