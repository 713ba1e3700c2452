/**
 * `settle resume SESSION [PROMPT]`: goes on with a transcript, even one whose process was killed.
 *
 * U1. First it says what became of the open calls; then they are answered in the transcript, and nothing is run again (L-TAIL-11).
 * U2. A call that was running is outcome unknown: the model is told so, never that it failed (L-TOOL-05).
 */
import * as Effect from "effect/Effect"
import { Asker } from "@settle/core/port/Asker"
import * as Doctor from "@settle/store-fs/Doctor"
import type { FsTranscript } from "@settle/store-fs/FsTranscript"
import * as Location from "@settle/store-fs/Location"
import * as Sessions from "@settle/store-fs/Sessions"
import * as ConfigFile from "../ConfigFile.ts"
import * as Drive from "../Drive.ts"
import * as Failure from "../Failure.ts"
import * as OpenCalls from "../OpenCalls.ts"
import * as Out from "../Out.ts"
import * as Plan from "../Plan.ts"
import * as Prompt from "../Prompt.ts"
import * as Render from "../Render.ts"
import * as Wiring from "../Wiring.ts"
import type { Resuming } from "./Flags.ts"

export interface Input extends Resuming {
  readonly target: string
  readonly prompt?: string
}

/** What the model is told when the user says nothing. */
export const goOn = "Continue."

export const resume = Effect.fn("commands.Resume")(function* (input: Input) {
  const prompt = yield* Prompt.read(input.prompt ?? goOn)
  const { config, root } = yield* ConfigFile.load(input.config)
  const path = yield* Sessions.find(input.target, { project: root })
  const plan = yield* Effect.fromResult(Plan.make(config, input))
  const system = yield* Prompt.system(input.system)
  const session = { name: Location.nameOf(path), path }
  const prepared = yield* Wiring.prepare(plan, root, input.ask)
  const transcript = yield* Wiring.openTranscript({ plan, root }, session)
  yield* Effect.forEach(transcript.notices, Drive.say)
  yield* settleOpenCalls(transcript)
  const agent = yield* Wiring.assemble({ plan, root, system }, prepared, transcript)
  yield* Wiring.introduce(plan)
  const render = Render.make(yield* Out.Out)
  const started = yield* Effect.provideService(agent.run(prompt), Asker, yield* Wiring.asker(input.ask, render))
  return yield* Drive.drive(started, { output: input.output, render, session })
}, Effect.scoped)

/** Says, then answers. */
export const settleOpenCalls = Effect.fn("Resume.settleOpenCalls")(function* (transcript: FsTranscript) {
  const { stderr } = yield* Out.Out
  const report = Doctor.examine(yield* transcript.replay)
  if (report.beyondRepair.length > 0) {
    return yield* Failure.failed(
      `The session cannot be resumed: ${report.beyondRepair.join("; ")}. settle sessions fork makes a new session from an earlier line.`
    )
  }
  if (report.calls.length === 0) return
  yield* stderr.write(`${OpenCalls.headline(report.calls)}\n`)
  for (const { text, tone } of OpenCalls.lines(report.calls))
    yield* stderr.write(`${Render.toned(stderr, tone, text)}\n`)
  yield* Doctor.repair(transcript)
})
