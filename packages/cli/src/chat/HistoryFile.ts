/** The history of the input line on disk: the user's, of all projects. What cannot be read or written is no reason to stop. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Sessions from "@settle/store-fs/Sessions"
import * as History from "./History.ts"

export interface HistoryFile {
  readonly history: History.History
  readonly append: (text: string) => Effect.Effect<void>
}

const name = "chat-history.jsonl"
/** For nobody else's eyes. */
const mode = 0o600

export const open = Effect.fn("HistoryFile.open")(function* () {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const home = yield* Sessions.home
  const file = path.join(home, name)
  const text = yield* Effect.orElseSucceed(fs.readFileString(file), () => "")
  const history = History.read(text)
  if (History.isOvergrown(text)) yield* Effect.ignore(rewrite(fs, file, history.entries.map(History.line).join("")))
  return {
    history,
    append: (entry) =>
      Effect.ignore(
        Effect.andThen(
          fs.makeDirectory(home, { recursive: true }),
          fs.writeFileString(file, History.line(entry), { flag: "a", mode })
        )
      )
  } satisfies HistoryFile
})

/** Another process may read it meanwhile: it sees the old file or the new one. */
const rewrite = (fs: FileSystem.FileSystem, file: string, text: string) =>
  Effect.andThen(fs.writeFileString(`${file}.new`, text, { mode }), fs.rename(`${file}.new`, file))
