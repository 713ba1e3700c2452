/** The words of the user: from the argument, or from stdin when it is a pipe or a file. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import * as Failure from "./Failure.ts"
import * as Places from "./Places.ts"

const empty = 'The prompt is empty. Give it as an argument (settle run "What changed here?") or pipe it in.'

/** Refuses an empty one before anything is opened. */
export const read = Effect.fn("Prompt.read")(function* (argument: string | undefined) {
  const text = argument ?? (yield* piped)
  return text.trim() === "" ? yield* Failure.usage(empty) : text
})

const piped = Effect.gen(function* () {
  const stdio = yield* Stdio.Stdio
  if (yield* stdio.stdinIsTerminal) return ""
  const text = yield* Effect.catch(stdio.stdin.pipe(Stream.decodeText(), Stream.mkString), (error) =>
    Failure.usage(`The prompt could not be read from stdin: ${Places.problem(error)}. Give it as an argument.`)
  )
  return text.replace(/\r?\n$/, "")
})

/** The text of `--system`. */
export const system = Effect.fn("Prompt.system")(function* (file: string | undefined) {
  if (file === undefined) return undefined
  const fs = yield* FileSystem.FileSystem
  return yield* Effect.catch(fs.readFileString(file), (error) =>
    Failure.usage(
      `The system prompt ${file} could not be read: ${Places.problem(error)}. Check the path after --system.`
    )
  )
})
