/** Which transcript a command writes: a name or a path from the user, else a new name in the project's folder. */
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import * as Location from "@settle/store-fs/Location"
import * as Sessions from "@settle/store-fs/Sessions"
import * as Failure from "./Failure.ts"

export interface SessionFile {
  readonly name: string
  readonly path: string
}

/** Nothing is created here. */
export const choose = Effect.fn("SessionFile.choose")(function* (given: string | undefined, project: string) {
  const path = yield* Path.Path
  if (given !== undefined && Location.isPath(given)) {
    const file = path.resolve(given)
    return { name: Location.nameOf(file), path: file } satisfies SessionFile
  }
  const name = given ?? (yield* Sessions.newName)
  const problem = Location.nameProblem(name)
  if (problem !== undefined) {
    return yield* Failure.usage(
      `"${name}" cannot name a session: ${problem}. Give another name, or a path ending in .jsonl.`
    )
  }
  return { name, path: Sessions.fileOf({ home: yield* Sessions.home, project }, name) } satisfies SessionFile
})
