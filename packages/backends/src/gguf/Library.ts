/**
 * `node-llama-cpp`, where the user installed it: an optional peer, looked for beside this package and then in the working folder,
 * and loaded when the first model is.
 */
import * as Refusal from "@settle/core/model/Refusal"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { createRequire } from "node:module"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

export type Library = typeof import("node-llama-cpp")

export const install = "npm install node-llama-cpp@3"

const resolve = Option.liftThrowable((base: string) => createRequire(base).resolve("node-llama-cpp"))

/** Places to look from, in order. */
export const places = (): ReadonlyArray<string> => [import.meta.url, join(process.cwd(), "package.json")]

/** The file to load, or the refusal that says how to get it. */
export const find = (from: ReadonlyArray<string>): Effect.Effect<URL, Refusal.Refusal> => {
  for (const place of from) {
    const found = Option.getOrUndefined(resolve(place))
    if (found !== undefined) return Effect.succeed(pathToFileURL(found))
  }
  return Effect.fail(
    Refusal.refuse(
      new Refusal.InvalidSetting({
        setting: "protocol",
        problem: "gguf runs a model file with node-llama-cpp, and that is not installed",
        remedy: `Install it: ${install}`
      })
    )
  )
}

export const load = (file: URL): Promise<Library> => import(file.href)
