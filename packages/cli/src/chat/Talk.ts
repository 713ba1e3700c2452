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
import * as FiberHandle from "effect/FiberHandle"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import { none as nobody } from "@settle/core/port/Asker"
import type { SteerSource } from "@settle/core/port/SteerSource"
import * as Mailbox from "@settle/core/standard/Mailbox"
import * as Out from "../Out.ts"
import * as Stop from "../Stop.ts"
import * as Approval from "./Approval.ts"
import * as Canvas from "./Canvas.ts"
import * as Commands from "./Commands.ts"
import { type Action, Input, make as begin } from "./Dialogue.ts"
import type { HistoryFile } from "./HistoryFile.ts"
import * as Keys from "./Keys.ts"
import * as Machine from "./Machine.ts"
import type { Seats } from "./Seats.ts"
import * as Slash from "./Slash.ts"
import * as Terminal from "./Terminal.ts"
import * as Worker from "./Worker.ts"

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
  const canvas = Canvas.make(stdout)
  // However the loop ends, nothing of the frame stays behind for what is printed next.
  yield* Effect.addFinalizer(() => canvas.erase)
  const approval = Approval.make({ offer, now, device: stdout })
  const { seats } = options
  const worker = Worker.make({ seats, offer, asker: options.mayAsk ? approval.asker : nobody })
  const hands: Hands = { options, worker, canvas, approval, terminal, offer }
  yield* listen({ terminal, offer, now })

  let dialogue = begin(options.seats.seat(), options.history.history, now())
  yield* Effect.forkScoped(
    Effect.repeat(
      Effect.sync(() => dialogue.phase !== "idle" && offer(Input.Ticked({ at: now() }))),
      Schedule.spaced("1 second")
    )
  )

  /** What an action brings about at once comes before everything that waits. */
  const settle = Effect.fnUntraced(function* (input: Input): Effect.fn.Return<Left | undefined, never, Needs> {
    const [next, actions] = Machine.step(dialogue, input)
    dialogue = next
    for (const action of actions) {
      if (action._tag === "Leave") return action.how
      for (const follows of yield* obey(hands, action)) {
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
      if (left === "at-once") yield* worker.outcome
      return left
    }
    yield* canvas.draw(dialogue)
    yield* Effect.sleep(frameTime)
  }
}, Effect.scoped)

type Needs =
  | Effect.Services<ReturnType<typeof Commands.look>>
  | Effect.Services<ReturnType<typeof Commands.move>>
  | Effect.Services<ReturnType<Seats["run"]>>

interface Hands {
  readonly options: Options
  readonly worker: Worker.Worker
  readonly canvas: Canvas.Canvas
  readonly approval: Approval.Approval
  readonly terminal: Terminal.Terminal
  readonly offer: (input: Input) => void
}

/** Does what is wanted; answers what comes of it at once. */
const obey = Effect.fnUntraced(function* (
  hands: Hands,
  action: Action
): Effect.fn.Return<ReadonlyArray<Input>, never, Needs> {
  const { approval, canvas, options, terminal, worker } = hands
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
    case "Command":
      return yield* command(hands, action.command)
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

/** What only looks is done beside the run; a move is over before anything else happens. */
const command = Effect.fnUntraced(function* ({ canvas, offer, options }: Hands, given: Slash.Command) {
  if (!Slash.moves.has(given.name)) {
    yield* Effect.forkScoped(Effect.map(Commands.look(given, options), (lines) => offer(Input.Said({ lines }))))
    return []
  }
  const { isNew, lines } = yield* Commands.move(given, options)
  if (given.name === "clear" && isNew) yield* canvas.clear
  return [Input.Said({ lines }), Input.Seated({ seat: options.seats.seat(), isNew })]
})

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
