/** What every transcript store must do, whatever it writes to. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Message from "@settle/core/model/Message"
import * as Replay from "@settle/core/model/Replay"
import type * as TranscriptLine from "@settle/core/model/TranscriptLine"
import type { Transcript } from "@settle/core/port/Transcript"
import * as Arbitraries from "../Arbitraries.ts"
import * as History from "../History.ts"

/** One record, empty at first. Each `open` is a process of its own; its scope is the life of that process. */
export interface Place {
  readonly open: Effect.Effect<Transcript, unknown, Scope.Scope>
}

/** Registers the suite. `place` makes a fresh record for each test; the clock is the real one. */
export const suite = (name: string, place: Effect.Effect<Place, unknown, Scope.Scope>): void => {
  describe(`${name} as a transcript`, () => {
    order(place)
    histories(place)
    hostile(place)
  })
}

const line = (content: string): TranscriptLine.Draft => ({
  type: "message",
  message: Message.user(content),
  extras: {}
})
const contents = (replay: Replay.Replay) => Replay.messages(replay).map((message) => message.content)

const order = (place: Effect.Effect<Place, unknown, Scope.Scope>): void => {
  it.live("keeps lines in the order given, one id each (P1)", () =>
    Effect.gen(function* () {
      const transcript = yield* (yield* place).open
      const first = yield* transcript.append([line("a"), line("b")])
      const second = yield* transcript.append([line("c")])
      assert.strictEqual(new Set([...first, ...second]).size, 3)
      const replay = yield* transcript.replay
      assert.deepStrictEqual(contents(replay), ["a", "b", "c"])
      assert.deepStrictEqual(
        replay.entries.map((entry) => entry.id),
        [...first, ...second]
      )
      assert.strictEqual(replay.lines, 3)
      assert.isNotEmpty(transcript.place)
    })
  )

  it.live("appends nothing for nothing", () =>
    Effect.gen(function* () {
      const transcript = yield* (yield* place).open
      assert.deepStrictEqual(yield* transcript.append([]), [])
      assert.strictEqual((yield* transcript.replay).lines, 0)
    })
  )

  it.live("keeps the lines of one append together when many append at once (P1)", () =>
    Effect.gen(function* () {
      const transcript = yield* (yield* place).open
      const writers = Array.from({ length: 20 }, (_, n) =>
        transcript.append([line(`${n}`), line(`${n}`), line(`${n}`)])
      )
      yield* Effect.all(writers, { concurrency: "unbounded" })
      const all = contents(yield* transcript.replay)
      assert.strictEqual(all.length, 60)
      for (let at = 0; at < all.length; at += 3) assert.deepStrictEqual(all.slice(at + 1, at + 3), [all[at], all[at]])
    })
  )

  it.live("gives the next process what this one appended, and goes on behind it (P1)", () =>
    Effect.gen(function* () {
      const { open } = yield* place
      const write = (content: string) =>
        Effect.scoped(Effect.flatMap(open, (transcript) => transcript.append([line(content)])))
      const [a] = yield* write("a")
      yield* write("b")
      const replay = yield* Effect.scoped(Effect.flatMap(open, (transcript) => transcript.replay))
      assert.deepStrictEqual(contents(replay), ["a", "b"])
      assert.strictEqual(replay.entries[0]?.id, a)
      assert.deepStrictEqual(replay.faults, [])
    })
  )
}

const histories = (place: Effect.Effect<Place, unknown, Scope.Scope>): void => {
  it.live.prop(
    "gives back every history, at once and to the next process (R1)",
    { acts: Arbitraries.history },
    ({ acts }) =>
      Effect.scoped(
        Effect.gen(function* () {
          const { open } = yield* place
          const expected = yield* Effect.scoped(
            Effect.gen(function* () {
              const transcript = yield* open
              const played = yield* History.play(transcript, acts)
              agree(yield* transcript.replay, played)
              return played
            })
          )
          agree(yield* Effect.scoped(Effect.flatMap(open, (transcript) => transcript.replay)), expected)
        })
      ),
    { arbitrary: { runs: 40 } }
  )
}

/** A replay is what a history expects of it. */
export const agree = (replay: Replay.Replay, expected: History.Expected): void => {
  assert.deepStrictEqual(Replay.messages(replay), expected.messages)
  assert.deepStrictEqual(
    replay.entries.map((entry) => entry.id),
    expected.ids
  )
  assert.deepStrictEqual(replay.grants, expected.grants)
  assert.deepStrictEqual(
    replay.settled.map(({ callId, outcome }) => ({ callId, outcome })),
    expected.settled
  )
  assert.deepStrictEqual([replay.pending, replay.faults, replay.lines], [[], [], expected.lines])
}

const hostile = (place: Effect.Effect<Place, unknown, Scope.Scope>): void => {
  it.live("no character inside a text ends its line (X-STORE-04)", () =>
    Effect.gen(function* () {
      const { open } = yield* place
      const texts = ["a\nb", "a\r\nb", "a\u2028b\u2029c", "\u0000", "\u0085", '{"v":1}\n', "x".repeat(300_000)]
      yield* Effect.scoped(Effect.flatMap(open, (transcript) => transcript.append(texts.map(line))))
      const replay = yield* Effect.scoped(Effect.flatMap(open, (transcript) => transcript.replay))
      assert.deepStrictEqual(contents(replay), texts)
    })
  )

  it.live("X-SAFE-02 call ids named like properties of an object are ids like any other", () =>
    Effect.gen(function* () {
      const transcript = yield* (yield* place).open
      for (const callId of ["__proto__", "constructor", "toString"]) {
        const payload = { callId, tool: callId, arguments: "" }
        const [opId = ""] = yield* transcript.append([{ type: "tool-dispatched", payload }])
        yield* transcript.append([{ type: "tool-settled", payload: { opId, outcome: "completed" } }])
      }
      const { pending, settled } = yield* transcript.replay
      assert.deepStrictEqual(
        settled.map((operation) => operation.callId),
        ["__proto__", "constructor", "toString"]
      )
      assert.deepStrictEqual(pending, [])
    })
  )

  it.live("an operation that was handed over and not settled is pending for the next process (L-TOOL-05)", () =>
    Effect.gen(function* () {
      const { open } = yield* place
      const payload = {
        callId: "c",
        tool: "t",
        arguments: "{}",
        runId: "r",
        round: 2,
        idempotency: "idempotent"
      } as const
      const [opId] = yield* Effect.scoped(
        Effect.flatMap(open, (transcript) => transcript.append([{ type: "tool-dispatched", payload }]))
      )
      const replay = yield* Effect.scoped(Effect.flatMap(open, (transcript) => transcript.replay))
      const { dispatchedAt, ...pending } = replay.pending[0] ?? { dispatchedAt: "" }
      assert.deepStrictEqual(pending, { opId, ...payload })
      assert.isTrue(Number.isFinite(Date.parse(dispatchedAt)))
    })
  )
}
