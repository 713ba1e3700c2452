import { Effect } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import * as ArtifactsSuite from "@settle/testing/suites/ArtifactsSuite"
import * as TranscriptSuite from "@settle/testing/suites/TranscriptSuite"
import * as FsArtifacts from "../src/FsArtifacts.ts"
import * as FsTranscript from "../src/FsTranscript.ts"
import type { Durability } from "../src/Writer.ts"
import * as Scratch from "./Scratch.ts"

/** The suite counts the lines that were appended; the header is this store's own. */
const withoutHeader = (transcript: FsTranscript.FsTranscript): FsTranscript.FsTranscript => ({
  ...transcript,
  replay: Effect.map(transcript.replay, (replay) => ({ ...replay, lines: replay.lines - 1 }))
})

const place = (durability: Durability) =>
  Effect.map(Scratch.file(), (file) => ({
    open: Effect.map(FsTranscript.open({ path: file, durability }), withoutHeader)
  }))

TranscriptSuite.suite("FsTranscript (fsync)", place("fsync"))
TranscriptSuite.suite("FsTranscript (flush)", place("flush"))

ArtifactsSuite.suite(
  "FsArtifacts",
  Effect.map(Scratch.folder, (created) => {
    const folder = path.join(created, "a.artifacts")
    return {
      artifacts: FsArtifacts.make(folder),
      read: (file: string) => Effect.sync(() => fs.readFileSync(path.join(folder, file), "utf8"))
    }
  })
)
