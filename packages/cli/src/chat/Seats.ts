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

/** The models are there and the servers are up; a session that exists is opened, and says where it stands. */
export const make = Effect.fn("Seats.make")(function* (options: Options) {
  const { config, input, root, system } = options
  const outer = yield* Effect.scope
  let plan = yield* Effect.fromResult(Plan.make(config, input))
  let { chain, servers } = yield* Wiring.prepare(plan, root)
  let session = yield* first(options, plan)
  let opened: Opened | undefined
  let memory: ReadonlyArray<Message.Message> = []

  const close = Effect.suspend(() => {
    const before = opened
    opened = undefined
    return before === undefined ? Effect.void : Scope.close(before.scope, Exit.void)
  })
  const open = Effect.fnUntraced(function* () {
    if (opened !== undefined) return opened
    const scope = yield* Scope.fork(outer)
    const parts = Effect.gen(function* () {
      const transcript = session === undefined ? undefined : yield* Wiring.openTranscript({ plan, root }, session)
      if (transcript !== undefined) yield* options.say(yield* arrived(transcript))
      const assembled = Wiring.assemble({ plan, root, system }, { chain, servers }, transcript)
      return { transcript, agent: yield* Effect.provideService(assembled, SteerSource, options.steers) }
    })
    const made = yield* Scope.provide(parts, scope).pipe(
      Effect.onExit((exit) => (Exit.isSuccess(exit) ? Effect.void : Scope.close(scope, exit)))
    )
    opened = { scope, ...made }
    return opened
  })
  const isThere = (file: SessionFile.SessionFile) =>
    Effect.flatMap(FileSystem.FileSystem, (fs) => Effect.orElseSucceed(fs.exists(file.path), () => false))
  const enter = Effect.fnUntraced(function* (next: SessionFile.SessionFile) {
    yield* close
    session = next
    memory = []
    if (yield* isThere(next)) yield* open()
  })
  const named = (name: string | undefined) => SessionFile.choose(name, root)

  if (session !== undefined && (yield* isThere(session))) yield* open()
  return {
    plan: () => plan,
    config,
    provider: () => servers?.provider,
    session: () => session,
    /** Whether the session has a file already. */
    isWritten: Effect.suspend(() => (session === undefined ? Effect.succeed(false) : isThere(session))),
    seat: (): Dialogue.Seat => seatOf(plan, session),
    run: Effect.fnUntraced(function* (prompt: string) {
      const { agent, transcript } = yield* open()
      return yield* agent.run(
        transcript !== undefined || memory.length === 0 ? prompt : [...memory, Message.user(prompt)]
      )
    }),
    /** Without a transcript the conversation is kept here. */
    keep: (messages: ReadonlyArray<Message.Message>) => {
      memory = messages
    },
    toModel: Effect.fnUntraced(function* (name: string) {
      const next = yield* Effect.fromResult(Plan.make(config, { ...input, model: [name] }))
      const nextChain = yield* Models.chain(next.chain)
      yield* close
      plan = next
      chain = nextChain
    }),
    toSession: Effect.fnUntraced(function* (name: string | undefined) {
      if (session === undefined) return yield* Failure.usage("This conversation is kept in no session (--no-session).")
      const next = yield* named(name)
      if (next.path === session.path) return yield* Failure.usage(`You are in session ${next.name} already.`)
      const from = session
      yield* Effect.catch(enter(next), (error) => Effect.andThen(Effect.ignore(enter(from)), Effect.fail(error)))
    }),
    rename: Effect.fnUntraced(function* (name: string) {
      if (session === undefined) return yield* Failure.usage("There is no session to rename (--no-session).")
      const next = yield* named(name)
      if (yield* isThere(next)) return yield* Failure.usage(`There is a session ${next.name} already.`)
      const from = session
      yield* close
      if (yield* isThere(from)) yield* Sessions.rename(from.path, next.name)
      session = next
    })
  }
})

export type Seats = Effect.Success<ReturnType<typeof make>>

/** A routed run keeps no transcript: its actions could not be told from answers afterwards. */
const first = Effect.fnUntraced(function* ({ input, root }: Options, plan: Plan.Plan) {
  const isUnkept = input.noSession || (plan.settings.toolRouting === "schema" && input.session === undefined)
  return isUnkept ? undefined : yield* SessionFile.choose(input.session, root)
})

const seatOf = (plan: Plan.Plan, session: SessionFile.SessionFile | undefined): Dialogue.Seat => ({
  model: plan.chain.map((link) => link.name).join(" → "),
  session: session?.name,
  window: plan.compaction?.window
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
