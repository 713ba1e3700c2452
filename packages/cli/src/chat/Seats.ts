/**
 * What a conversation sits on: model, transcript, agent; and how it changes its place. One seat at a time.
 *
 * S1. A new session is created with its first turn: whoever only looks in leaves no file behind.
 * S2. What a change of place can be refused for is asked before the old place is given up.
 * S3. Open calls of a dead process are answered before anything else is said in their session; nothing is run again (L-TAIL-11).
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FileSystem from "effect/FileSystem"
import * as Scope from "effect/Scope"
import type * as Agent from "@settle/core/agent/Agent"
import * as Neutral from "@settle/core/decide/Neutral"
import * as Message from "@settle/core/model/Message"
import * as Replay from "@settle/core/model/Replay"
import { SteerSource } from "@settle/core/port/SteerSource"
import * as Doctor from "@settle/store-fs/Doctor"
import type { FsTranscript } from "@settle/store-fs/FsTranscript"
import * as Sessions from "@settle/store-fs/Sessions"
import type { Shared } from "../commands/Flags.ts"
import type { Config } from "../Config.ts"
import * as Failure from "../Failure.ts"
import * as Figures from "../Figures.ts"
import * as Models from "../Models.ts"
import * as OpenCalls from "../OpenCalls.ts"
import * as Plan from "../Plan.ts"
import * as SessionFile from "../SessionFile.ts"
import * as Wiring from "../Wiring.ts"
import type * as Dialogue from "./Dialogue.ts"

export interface Options {
  readonly input: Shared
  readonly config: Config
  readonly root: string
  readonly system: string | undefined
  readonly steers: SteerSource
  /** For what opening a session finds. */
  readonly say: (lines: ReadonlyArray<Dialogue.Line>) => Effect.Effect<void>
}

interface Opened {
  readonly scope: Scope.Closeable
  readonly agent: Agent.Agent["Service"]
  readonly transcript: FsTranscript | undefined
}

/** Where the conversation is now. */
interface Place {
  plan: Plan.Plan
  prepared: Wiring.Prepared
  session: SessionFile.SessionFile | undefined
  opened: Opened | undefined
  /** The conversation, where no transcript keeps it. */
  memory: ReadonlyArray<Message.Message>
}

interface At {
  readonly options: Options
  readonly place: Place
  /** Outlives every seat. */
  readonly scope: Scope.Scope
}

/** The models are there and the servers are up; a session that exists is opened, and says where it stands. */
export const make = Effect.fn("Seats.make")(function* (options: Options) {
  const { config, input, root } = options
  const plan = yield* Effect.fromResult(Plan.make(config, input))
  const prepared = yield* Wiring.prepare(plan, root, input.ask)
  const session = yield* first(options, plan)
  const place: Place = { plan, prepared, session, opened: undefined, memory: [] }
  const at: At = { options, place, scope: yield* Effect.scope }
  if (yield* isWritten(place)) yield* open(at)
  if (plan.isBuiltIn) yield* options.say([{ tone: "quiet", text: Wiring.builtInAnswers }])
  return {
    config,
    provider: () => place.prepared.servers?.provider,
    session: () => place.session,
    /** Whether the session has a file already. */
    isWritten: Effect.suspend(() => isWritten(place)),
    seat: (): Dialogue.Seat => seatOf(place),
    run: Effect.fnUntraced(function* (prompt: string) {
      const { agent, transcript } = yield* open(at)
      const { memory } = place
      return yield* agent.run(
        transcript !== undefined || memory.length === 0 ? prompt : [...memory, Message.user(prompt)]
      )
    }),
    /** The whole conversation after a run. */
    keep: (messages: ReadonlyArray<Message.Message>) => {
      place.memory = messages
    },
    toModel: (name: string) => toModel(at, name),
    toSession: (name: string | undefined) => toSession(at, name),
    rename: (name: string) => rename(at, name)
  }
})

const isThere = (file: SessionFile.SessionFile) =>
  Effect.flatMap(FileSystem.FileSystem, (fs) => Effect.orElseSucceed(fs.exists(file.path), () => false))

const isWritten = ({ session }: Place) => (session === undefined ? Effect.succeed(false) : isThere(session))

const close = (place: Place) =>
  Effect.suspend(() => {
    const before = place.opened
    place.opened = undefined
    return before === undefined ? Effect.void : Scope.close(before.scope, Exit.void)
  })

/** The agent of the place, made when it is first needed. A failed opening leaves nothing open. */
const open = Effect.fnUntraced(function* ({ options, place, scope: outer }: At) {
  if (place.opened !== undefined) return place.opened
  const { plan, prepared, session } = place
  const { root, say, steers, system } = options
  const scope = yield* Scope.fork(outer)
  const parts = Effect.gen(function* () {
    const transcript = session === undefined ? undefined : yield* Wiring.openTranscript({ plan, root }, session)
    if (transcript !== undefined) yield* say(yield* arrived(transcript))
    const assembled = Wiring.assemble({ plan, root, system }, prepared, transcript)
    return { transcript, agent: yield* Effect.provideService(assembled, SteerSource, steers) }
  })
  const made = yield* Scope.provide(parts, scope).pipe(
    Effect.onExit((exit) => (Exit.isSuccess(exit) ? Effect.void : Scope.close(scope, exit)))
  )
  place.opened = { scope, ...made }
  return place.opened
})

const toModel = Effect.fnUntraced(function* ({ options: { config, input, root }, place }: At, name: string) {
  const plan = yield* Effect.fromResult(Plan.make(config, { ...input, model: [name] }))
  const chain = yield* Models.chain(plan.chain, root)
  yield* close(place)
  place.plan = plan
  place.prepared = { ...place.prepared, chain }
})

const enter = Effect.fnUntraced(function* (at: At, next: SessionFile.SessionFile) {
  yield* close(at.place)
  at.place.session = next
  if (yield* isThere(next)) yield* open(at)
})

/** Without a name a new session. One that cannot be opened is not entered. */
const toSession = Effect.fnUntraced(function* (at: At, name: string | undefined) {
  const from = at.place.session
  if (from === undefined) return yield* Failure.usage("This conversation is kept in no session (--no-session).")
  const next = yield* SessionFile.choose(name, at.options.root)
  if (next.path === from.path) return yield* Failure.usage(`You are in session ${next.name} already.`)
  yield* Effect.catch(enter(at, next), (error) => Effect.andThen(Effect.ignore(enter(at, from)), Effect.fail(error)))
})

/** The file moves while nobody writes it; the next turn opens it again. */
const rename = Effect.fnUntraced(function* ({ options, place }: At, name: string) {
  const from = place.session
  if (from === undefined) return yield* Failure.usage("There is no session to rename (--no-session).")
  const next = yield* SessionFile.choose(name, options.root)
  if (yield* isThere(next)) return yield* Failure.usage(`There is a session ${next.name} already.`)
  yield* close(place)
  place.session = (yield* isThere(from)) ? { name, path: yield* Sessions.rename(from.path, name) } : next
})

export type Seats = Effect.Success<ReturnType<typeof make>>

/** A routed run keeps no transcript: its actions could not be told from answers afterwards. */
const first = Effect.fnUntraced(function* ({ input, root }: Options, plan: Plan.Plan) {
  const isUnkept = input.noSession || (plan.settings.toolRouting === "schema" && input.session === undefined)
  return isUnkept ? undefined : yield* SessionFile.choose(input.session, root)
})

const seatOf = ({ plan, session }: Place): Dialogue.Seat => ({
  model: plan.chain.map((link) => link.name).join(" → "),
  session: session?.name,
  window: plan.window
})

/** Where a session stands that is entered: what was mended, what its open calls are, the last words. */
const arrived = Effect.fnUntraced(function* (transcript: FsTranscript) {
  const replay = yield* transcript.replay
  const report = Doctor.examine(replay)
  if (report.beyondRepair.length > 0) {
    return yield* Failure.failed(
      `The session cannot go on: ${report.beyondRepair.join("; ")}. settle sessions fork makes a new session from an earlier line.`
    )
  }
  const { calls } = report
  if (calls.length > 0) yield* Doctor.repair(transcript)
  return [
    ...recap(Replay.messages(replay)),
    ...transcript.notices.map((text): Dialogue.Line => ({ tone: "quiet", text: Neutral.line(text) })),
    ...(calls.length === 0 ? [] : [{ tone: "plain", text: OpenCalls.headline(calls) } as const]),
    ...OpenCalls.lines(calls)
  ]
})

const recapLines = 12

const recap = (messages: ReadonlyArray<Message.Message>): ReadonlyArray<Dialogue.Line> => {
  const spoken = messages.filter(({ content, role }) => content !== "" && (role === "user" || role === "assistant"))
  if (spoken.length === 0) return []
  const from = spoken.findLastIndex(({ role }) => role === "user")
  const last = spoken.slice(Math.max(0, from)).flatMap((message) =>
    Neutral.block(message.content.trimEnd())
      .split("\n")
      .map((text, index): Dialogue.Line => {
        const isUser = message.role === "user"
        return { tone: isUser ? "strong" : "plain", text: isUser ? `${index === 0 ? "›" : " "} ${text}` : text }
      })
  )
  const headline = `${Figures.plural(messages.length, "message")} so far; the last ones:`
  const cut: ReadonlyArray<Dialogue.Line> =
    last.length > recapLines ? [...last.slice(0, recapLines), { tone: "quiet", text: "…" }] : last
  return [{ tone: "quiet", text: headline }, ...cut, { tone: "plain", text: "" }]
}
