/** Completions, then steers, as user turns at a round boundary, before anything reads the conversation (L-ROUND-02 … -05). */
import * as Effect from "effect/Effect"
import * as Wording from "../decide/Wording.ts"
import type { Deliverable } from "../model/Completion.ts"
import * as Json from "../model/Json.ts"
import * as Message from "../model/Message.ts"
import * as Background from "./Background.ts"
import * as Commit from "./Commit.ts"
import * as Live from "./Live.ts"
import * as Observation from "./Observation.ts"

export const completions = Effect.fnUntraced(function* (live: Live.Live) {
  for (const deliverable of yield* Background.drain(live)) yield* deliver(live, deliverable)
})

const deliver = Effect.fnUntraced(function* (live: Live.Live, deliverable: Deliverable) {
  const { body, extras, kind, operationId, tail } = deliverable
  const name = `background-${live.runId}-${deliverable.seq}`
  const observed = body === "" ? { content: "" } : yield* Observation.observe(live, name, body)
  const head = deliverable.head === "" ? Wording.injectedHead(kind, operationId) : deliverable.head
  const content = [head, observed.content, tail].filter((part) => part !== "").join("\n\n")
  const [messageId] = yield* Commit.messages(live, [
    {
      message: Message.user(content),
      extras: {
        ...extras,
        injected: kind,
        ...(operationId === undefined ? {} : { opId: operationId }),
        ...(observed.artifact === undefined ? {} : { artifact: observed.artifact })
      }
    }
  ])
  live.feed.emit({
    _tag: "BackgroundOpDelivered",
    opKind: kind,
    ...(operationId === undefined ? {} : { opId: operationId }),
    ...(messageId === undefined ? {} : { messageId }),
    round: live.state.round + 1
  })
})

/** What a park already took, then what the source has now. */
export const steers = Effect.fnUntraced(function* (live: Live.Live) {
  const carried = live.state.carriedSteers
  live.state.carriedSteers = []
  const texts = [...carried, ...(yield* pull(live))]
  yield* Commit.messages(
    live,
    texts.map((text) => ({ message: Message.user(text), extras: {} }))
  )
})

/** One destructive pull; a broken source costs a log and this pull's words (L-STEER-09, -10). */
export const pull = (live: Live.Live): Effect.Effect<ReadonlyArray<string>> =>
  live.steers.pull.pipe(
    Effect.map((taken) => taken.filter((entry) => isText(live, entry))),
    Effect.catchCause((cause) =>
      Effect.sync(() => {
        Live.log(live, "error", { message: "the steer source failed", error: Live.describe(cause) })
        return []
      })
    )
  )

const isText = (live: Live.Live, entry: unknown): entry is string => {
  if (typeof entry === "string") return true
  Live.log(live, "error", { message: "a steer that is not text was dropped", entry: Json.fromUnknown(entry) })
  return false
}
