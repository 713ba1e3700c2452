/** `settle run [PROMPT]`: one run. */
import * as Effect from "effect/Effect"
import { Asker } from "@settle/core/port/Asker"
import * as Conversation from "@settle/core/model/Conversation"
import * as Replay from "@settle/core/model/Replay"
import type { FsTranscript } from "@settle/store-fs/FsTranscript"
import * as ConfigFile from "../ConfigFile.ts"
import * as Drive from "../Drive.ts"
import * as Failure from "../Failure.ts"
import * as Out from "../Out.ts"
import * as Plan from "../Plan.ts"
import * as Prompt from "../Prompt.ts"
import * as Render from "../Render.ts"
import * as SessionFile from "../SessionFile.ts"
import * as Wiring from "../Wiring.ts"
import type { Shared } from "./Flags.ts"

export interface Input extends Shared {
  readonly prompt?: string
}

export const run = Effect.fn("commands.Run")(function* (input: Input) {
  const prompt = yield* Prompt.read(input.prompt)
  const { config, root } = yield* ConfigFile.load(input.config)
  const plan = yield* Effect.fromResult(Plan.make(config, input))
  const system = yield* Prompt.system(input.system)
  const session = yield* sessionOf(input, plan, root)
  const prepared = yield* Wiring.prepare(plan, root, input.ask)
  const transcript = session === undefined ? undefined : yield* Wiring.openTranscript({ plan, root }, session)
  if (session !== undefined && transcript !== undefined) yield* continuable(session, transcript)
  const agent = yield* Wiring.assemble({ plan, root, system }, prepared, transcript)
  yield* Wiring.introduce(plan)
  const render = Render.make(yield* Out.Out)
  const started = yield* Effect.provideService(agent.run(prompt), Asker, yield* Wiring.asker(input.ask, render))
  return yield* Drive.drive(started, { output: input.output, render, session })
}, Effect.scoped)

/** A routed run keeps no transcript: its actions could not be told from answers afterwards. */
const sessionOf = Effect.fnUntraced(function* (input: Input, plan: Plan.Plan, root: string) {
  if (input.noSession) return undefined
  if (plan.settings.toolRouting === "schema" && input.session === undefined) {
    yield* Drive.say("No transcript is written with --tool-routing schema.")
    return undefined
  }
  return yield* SessionFile.choose(input.session, root)
})

/** A session with open calls is for `resume`, which says what became of them. */
const continuable = Effect.fnUntraced(function* (session: SessionFile.SessionFile, transcript: FsTranscript) {
  yield* Effect.forEach(transcript.notices, Drive.say)
  const replay = yield* transcript.replay
  if (replay.pending.length > 0 || Conversation.openCalls(Replay.messages(replay)).length > 0) {
    return yield* Failure.usage(
      `The last process of session ${session.name} ended in the middle of tool calls. Go on with settle resume ${session.name}, which says what became of them.`
    )
  }
})
