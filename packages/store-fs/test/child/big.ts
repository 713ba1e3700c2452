/** Opens one transcript and says what it saw. */
import * as Effect from "effect/Effect"
import * as FsTranscript from "../../src/FsTranscript.ts"

const transcript = await Effect.runPromise(
  Effect.scoped(Effect.flatMap(FsTranscript.open({ path: process.argv[2] ?? "" }), (opened) => opened.replay))
)
console.log(
  JSON.stringify({
    entries: transcript.entries.length,
    faults: transcript.faults,
    last: transcript.entries.at(-1)?.message.content.slice(0, 20)
  })
)
