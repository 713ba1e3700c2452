import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Tool from "@settle/core/model/Tool"
import * as Compactor from "@settle/core/standard/Compactor"
import * as MemoryArtifacts from "@settle/core/standard/MemoryArtifacts"
import * as MemoryTranscript from "@settle/core/standard/MemoryTranscript"
import * as Canonical from "@settle/core/model/Canonical"
import * as Json from "@settle/core/model/Json"
import * as Counter from "../src/Counter.ts"
import * as FaultyTranscript from "../src/FaultyTranscript.ts"
import * as Script from "../src/Script.ts"
import * as ArtifactsSuite from "../src/suites/ArtifactsSuite.ts"
import * as BackendSuite from "../src/suites/BackendSuite.ts"
import * as CompactorSuite from "../src/suites/CompactorSuite.ts"
import * as ToolProviderSuite from "../src/suites/ToolProviderSuite.ts"
import * as TranscriptSuite from "../src/suites/TranscriptSuite.ts"
import * as Tools from "../src/Tools.ts"

/** Memory that outlives a process: what was appended before is what the next one opens with. */
const memory = Effect.sync((): TranscriptSuite.Place => {
  let last: MemoryTranscript.MemoryTranscript | undefined
  return {
    open: Effect.gen(function* () {
      last = yield* MemoryTranscript.make(last === undefined ? {} : { lines: yield* last.lines })
      return last
    })
  }
})

TranscriptSuite.suite("MemoryTranscript", memory)

TranscriptSuite.suite(
  "FaultyTranscript without a fault",
  Effect.map(memory, ({ open }) => ({
    open: Effect.flatMap(open, (inner) => Effect.map(FaultyTranscript.make(inner), (faulty) => faulty.transcript))
  }))
)

ArtifactsSuite.suite(
  "MemoryArtifacts",
  Effect.map(MemoryArtifacts.make(), (artifacts) => ({
    artifacts,
    read: (file) => Effect.flatMap(artifacts.files, (files) => Effect.fromNullishOr(files.get(file)))
  }))
)

BackendSuite.suite("Script", (step) =>
  Effect.sync(() => {
    const script = Script.make([step])
    return { backend: script.backend, aborted: Effect.sync(() => script.cancels) }
  })
)

ToolProviderSuite.suite(
  "Tools",
  Effect.sync(() => ({
    provider: Tools.make([
      Tools.tool("echo", (invocation) => {
        const given = Json.parse(invocation.arguments)
        return Effect.succeed(Tool.answered(Json.isObject(given) ? String(given["text"]) : "no text"))
      }),
      Tools.tool("fail", Tools.error("it broke"))
    ]).provider,
    echo: { name: "echo", arguments: (text: string) => Canonical.json({ text }), answer: (text: string) => text },
    failing: { name: "fail", arguments: "{}" }
  }))
)

const shortSummary = Script.make([], { then: Script.say("They talked.") })

CompactorSuite.suite(
  "the standard compactor without summaries",
  Effect.fromResult(Compactor.make({ budget: 100, keepRecent: 2 }, { counter: Counter.make(), backend: undefined }))
)

CompactorSuite.suite(
  "the standard compactor",
  Effect.fromResult(
    Compactor.make(
      { budget: 5000, keepRecent: 2, ageObservations: true, ageMinChars: 4, ageReclaimMin: 1 },
      { counter: Counter.make(), backend: shortSummary.backend }
    )
  )
)

it("the standard compactor did ask for summaries in its suite", () => {
  assert.isAbove(shortSummary.requests.length, 10)
})
