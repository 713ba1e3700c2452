/**
 * What every compactor must do, whatever it drops. A pass is judged together with the record of it: the lines the loop writes for
 * a pass must fold into the messages the pass answered.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Conversation from "@settle/core/model/Conversation"
import * as Message from "@settle/core/model/Message"
import * as Replay from "@settle/core/model/Replay"
import * as TranscriptLine from "@settle/core/model/TranscriptLine"
import type { Compactor, Pass } from "@settle/core/port/Compactor"
import * as Arbitraries from "../Arbitraries.ts"
import * as Counter from "../Counter.ts"

/** Registers the suite. `make` gives a compactor that counts one token a character; the clock is the real one. */
export const suite = (name: string, make: Effect.Effect<Compactor, unknown, Scope.Scope>): void => {
  describe(`${name} as a compactor`, () => {
    const property = (what: string, holds: (given: Given) => void) =>
      it.live.prop(
        what,
        { messages: Arbitraries.conversation, tokens },
        ({ messages, tokens }) =>
          Effect.scoped(
            Effect.gen(function* () {
              const compactor = yield* make
              const before = structuredClone(messages)
              const pass = yield* compactor.compact(messages, { tokens, counter: Counter.make() })
              assert.deepStrictEqual(messages, before, "what it was given is not changed")
              holds({ messages, pass, tokens })
            })
          ),
        { arbitrary: { runs: 60 } }
      )
    property("leaves a well-formed conversation", wellFormed)
    property("loses no sticky message", keepsSticky)
    property("never makes it larger, and says when it could not make it small enough", sizes)
    property("its record folds into its messages", folds)
    property("a pass that did nothing left everything as it was", idle)
  })
}

interface Given {
  readonly messages: ReadonlyArray<Message.Message>
  readonly pass: Pass
  readonly tokens: number
}

const tokens = Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 200 })))

const wellFormed = ({ pass }: Given): void => assert.isUndefined(Conversation.fault(pass.messages))

const keepsSticky = ({ messages, pass }: Given): void => {
  const digests = (all: ReadonlyArray<Message.Message>) => all.filter(Message.isSticky).map(Message.digest)
  assert.deepStrictEqual(digests(pass.messages), digests(messages))
}

const sizes = ({ messages, pass, tokens }: Given): void => {
  const { countMessages } = Counter.make()
  const [before, after] = [countMessages(messages), countMessages(pass.messages)]
  assert.deepStrictEqual([pass.tokensBefore, pass.tokensAfter], [before, after])
  assert.isAtMost(after, before)
  if (!pass.exhausted) assert.isAtMost(after, tokens)
}

/** The lines of a pass, as the loop writes them: elision first, then the compaction. */
const folds = ({ messages, pass }: Given): void => {
  const through = `m${pass.cutIndex}`
  const items = pass.elisions.map(({ index, stub }) => ({ id: `m${index}`, stub }))
  const compaction = { summary: pass.summary ?? "", replacesThroughId: through, fallback: pass.fallback }
  const lines = [
    ...messages.map((message, at) => TranscriptLine.encode({ type: "message", message, extras: {} }, `m${at}`, 0)),
    ...(items.length === 0 ? [] : [TranscriptLine.encode({ type: "elision", payload: { items } }, "e", 0)]),
    ...(pass.cutIndex < 0 ? [] : [TranscriptLine.encode({ type: "compaction", payload: compaction }, "c", 0)])
  ]
  const replay = Replay.fromLines(lines)
  assert.deepStrictEqual(replay.faults, [])
  assert.strictEqual(Conversation.digest(Replay.messages(replay)), Conversation.digest(pass.messages))
}

const idle = ({ messages, pass }: Given): void => {
  if (pass.cutIndex >= 0 || pass.elisions.length > 0) return
  assert.strictEqual(Conversation.digest(pass.messages), Conversation.digest(messages))
  assert.deepStrictEqual([pass.dropped, pass.fallback, pass.summary], [0, false, undefined])
}
