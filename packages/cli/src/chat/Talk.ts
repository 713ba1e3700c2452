/**
 * The loop of a conversation at a terminal: takes what happens in the order it happened, steps the machine, does what it wants done,
 * and paints.
 *
 * L1. One fiber owns the state and the screen; keys, events of the run, questions and signals are inputs of one queue.
 * L2. A run is started, steered and cancelled here and nowhere else; the next one starts when the last one is drained.
 * L3. The screen is painted once for all that came together.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberHandle from "effect/FiberHandle"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import type * as Run from "@settle/core/engine/Run"
import * as Exit from "effect/Exit"
import { Asker, none as nobody } from "@settle/core/port/Asker"
import type { SteerSource } from "@settle/core/port/SteerSource"
import * as Mailbox from "@settle/core/standard/Mailbox"
import * as Failure from "../Failure.ts"
import * as Out from "../Out.ts"
import * as Stop from "../Stop.ts"
import * as Approval from "./Approval.ts"
import * as Commands from "./Commands.ts"
import { type Action, type Dialogue, Input, type Line, make as begin } from "./Dialogue.ts"
import type { HistoryFile } from "./HistoryFile.ts"
import * as Keys from "./Keys.ts"
import * as Machine from "./Machine.ts"
import * as Paint from "./Paint.ts"
import type { Seats } from "./Seats.ts"
import * as Terminal from "./Terminal.ts"
import * as View from "./View.ts"

/** How long an escape may be the beginning of a sequence. */
const escapeWait = "40 millis"
/** Between two updates of the screen. */
const frameTime = "15 millis"

/** What goes in from all sides; made before the seats, which need the steers. */
export interface Inbox {
  readonly inputs: Queue.Queue<Input>
  readonly mailbox: Mailbox.Mailbox
  /** Of the mailbox, and tells what a run took. */
  readonly steers: SteerSource
}

export const inbox: Effect.Effect<Inbox> = Effect.gen(function* () {
  const inputs = yield* Queue.unbounded<Input>()
  const mailbox = yield* Mailbox.make
  const pull = Effect.tap(mailbox.source.pull, ({ length }) =>
    Effect.sync(() => Queue.offerUnsafe(inputs, Input.Pulled({ count: length })))
  )
  return { inputs, mailbox, steers: { ...mailbox.source, pull } }
})

export interface Options {
  readonly inbox: Inbox
  readonly seats: Seats
  readonly history: HistoryFile
  /** `--config`. */
  readonly file: string | undefined
  readonly mayAsk: boolean
}

/** How the person left. */
export type Left = Extract<Action, { readonly _tag: "Leave" }>["how"]

export const talk = Effect.fn("Talk.talk")(function* (options: Options) {
  const { inputs } = options.inbox
  const clock = yield* Clock.Clock
  const { stdout } = yield* Out.Out
  const now = () => clock.currentTimeMillisUnsafe()
  const offer = (input: Input) => void Queue.offerUnsafe(inputs, input)
  const terminal = yield* Terminal.open
  const canvas = canvasOf(stdout)
  const approval = Approval.make({ offer, now, device: stdout })
  const worker = workerOf(options, { offer, asker: options.mayAsk ? approval.asker : nobody })
  yield* listen({ terminal, offer, now })

  let dialogue = begin(options.seats.seat(), options.history.history, now())
  yield* Effect.forkScoped(
    Effect.repeat(
      Effect.sync(() => dialogue.phase !== "idle" && offer(Input.Ticked({ at: now() }))),
      Schedule.spaced("1 second")
    )
  )

  const obey = Effect.fnUntraced(function* (action: Action): Effect.fn.Return<ReadonlyArray<Input>, never, Needs> {
    switch (action._tag) {
      case "Print":
        canvas.print(action.lines)
        return []
      case "Start":
        return yield* worker.start(action.prompt)
      case "Steer":
        yield* options.inbox.mailbox.offer(action.text)
        return []
      case "TakeBack": {
        const texts = yield* Effect.orDie(options.inbox.mailbox.source.pull)
        return [Input.TakenBack({ to: action.to, texts: texts.filter((text) => typeof text === "string") })]
      }
      case "Cancel":
        yield* worker.cancel
        return []
      case "Answer":
        approval.answer(action.text)
        return []
      case "Command": {
        const { command } = action
        if (!isMove(command.name)) {
          yield* Effect.forkScoped(Effect.map(Commands.look(command, options), (lines) => offer(Input.Said({ lines }))))
          return []
        }
        const { isNew, lines } = yield* Commands.move(command, options)
        if (command.name === "clear" && isNew) yield* canvas.clear
        return [Input.Said({ lines }), Input.Seated({ seat: options.seats.seat(), isNew })]
      }
      case "Remember":
        yield* options.history.append(action.text)
        return []
      case "Suspend":
        yield* canvas.erase
        yield* terminal.suspend
        return []
      case "Redraw":
        yield* canvas.clear
        return []
      case "Leave":
        return []
    }
  })

  /** What an action brings about at once comes before everything that waits. */
  const settle = Effect.fnUntraced(function* (input: Input): Effect.fn.Return<Left | undefined, never, Needs> {
    const [next, actions] = Machine.step(dialogue, input)
    dialogue = next
    for (const action of actions) {
      if (action._tag === "Leave") return action.how
      for (const follows of yield* obey(action)) {
        const left = yield* settle(follows)
        if (left !== undefined) return left
      }
    }
    return undefined
  })

  canvas.print([{ tone: "quiet", text: "/help says what can be done here." }])
  while (true) {
    yield* canvas.draw(dialogue)
    for (const input of yield* Queue.takeAll(inputs)) {
      const left = yield* settle(input)
      if (left === undefined) continue
      yield* canvas.erase
      if (left === "at-once") yield* worker.outcome
      return left
    }
    yield* canvas.draw(dialogue)
    yield* Effect.sleep(frameTime)
  }
}, Effect.scoped)

const moves: ReadonlySet<string> = new Set(["model", "session", "fork", "rename", "clear"])
const isMove = (name: string): boolean => moves.has(name)

type Needs =
  | Effect.Services<ReturnType<typeof Commands.look>>
  | Effect.Services<ReturnType<typeof Commands.move>>
  | Effect.Services<ReturnType<Seats["run"]>>

interface Canvas {
  readonly print: (lines: ReadonlyArray<Line>) => void
  readonly draw: (dialogue: Dialogue) => Effect.Effect<void>
  readonly erase: Effect.Effect<void>
  readonly clear: Effect.Effect<void>
}

/** What is on the screen, and what waits to be printed above it. */
const canvasOf = (stdout: Out.Device): Canvas => {
  let drawn = Paint.nothing
  let columns = stdout.size().columns
  let standing: ReadonlyArray<Line> = []
  const { hasColor } = stdout
  const wipe = (sequence: () => string) =>
    Effect.suspend(() => {
      const printed = standing.map((line) => `${Paint.toned(line, hasColor)}\r\n`).join("")
      const text = `${sequence()}${printed}`
      standing = []
      drawn = Paint.nothing
      return stdout.write(text)
    })
  return {
    print: (lines) => {
      standing = [...standing, ...lines]
    },
    draw: (dialogue) =>
      Effect.suspend(() => {
        const size = stdout.size()
        const before = size.columns === columns ? "" : Paint.resized(drawn, size.columns)
        if (before !== "") drawn = Paint.nothing
        columns = size.columns
        const [next, text] = Paint.paint(drawn, { frame: View.frame(dialogue, size), standing, hasColor })
        drawn = next
        standing = []
        return stdout.write(before + text)
      }),
    erase: wipe(() => Paint.erased(drawn)),
    clear: wipe(() => "\u001b[H\u001b[2J")
  }
}

interface Listening {
  readonly terminal: Terminal.Terminal
  readonly offer: (input: Input) => void
  readonly now: () => number
}

/** Keys, the size of the window, the end of the terminal, and signals. */
const listen = Effect.fnUntraced(function* ({ now, offer, terminal }: Listening) {
  const stop = yield* Stop.Stop
  const { gone } = yield* Out.Out
  const pausing = yield* FiberHandle.makeRuntime<never>()
  let keys = Keys.empty
  const taken = ([next, found]: readonly [Keys.Keys, ReadonlyArray<Keys.Key>]) => {
    keys = next
    for (const key of found) offer(Input.Typed({ key, at: now() }))
  }
  yield* terminal.onInput((text) => {
    taken(Keys.feed(keys, text))
    const pause = Effect.andThen(
      Effect.sleep(escapeWait),
      Effect.sync(() => taken(Keys.flush(keys)))
    )
    pausing(Keys.isWaiting(keys) ? pause : Effect.void)
  })
  yield* terminal.onResize(() => offer(Input.Ticked({ at: now() })))
  yield* terminal.onEnd(() => offer(Input.Stopped()))
  yield* stop.claim
  yield* Effect.forkScoped(
    Effect.andThen(
      Effect.raceFirst(stop.requested, gone),
      Effect.sync(() => offer(Input.Stopped()))
    )
  )
})

interface Working {
  readonly offer: (input: Input) => void
  readonly asker: Asker
}

/** The run that works, if one does. */
const workerOf = ({ seats }: Options, { asker, offer }: Working) => {
  let run: Run.Run | undefined
  const follow = Effect.fnUntraced(function* (live: Run.Run) {
    yield* Stream.runForEach(live.events, (event) => Effect.sync(() => offer(Input.Happened({ event }))))
    const outcome = yield* live.outcome
    const result = yield* Effect.exit(live.result)
    seats.keep(outcome.messages)
    offer(Input.Ended({ outcome, failure: Exit.isFailure(result) ? Failure.ofCause(result.cause, false).text : "" }))
    yield* live.drained
    run = undefined
    offer(Input.Drained())
  })
  return {
    /** Nothing to say when the run began. */
    start: Effect.fnUntraced(function* (prompt: string) {
      const started = yield* Effect.exit(Effect.provideService(seats.run(prompt), Asker, asker))
      if (Exit.isFailure(started)) {
        return [Input.Refused({ prompt, detail: Failure.ofCause(started.cause, false).text })]
      }
      run = started.value
      yield* Effect.forkScoped(follow(started.value))
      return []
    }),
    cancel: Effect.suspend(() => run?.cancel ?? Effect.void),
    /** The record of the run is whole, or did not become so in time. */
    outcome: Effect.suspend(() =>
      run === undefined ? Effect.void : Effect.ignore(Effect.timeout(run.outcome, "1 second"))
    )
  }
}
