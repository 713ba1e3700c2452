/** Bodies of a conversation that grows: each begins with the bytes of the one before it. */
import * as Message from "@settle/core/model/Message"
import type * as Port from "@settle/core/port/Backend"
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import type * as Streaming from "../src/Streaming.ts"

export interface Encoder {
  readonly prepare: (request: Port.Request) => Streaming.Prepared
}

export const bodyOf = (prepared: Streaming.Prepared): string => Buffer.from(prepared.body).toString("utf8")

const Turn = Schema.Struct({ kind: Schema.Int, text: Schema.String, calls: Schema.Int })

const call = (id: string): Message.ToolCall => ({ id, name: "read", arguments: "{}" })

const messagesOf = (turns: ReadonlyArray<typeof Turn.Type>): ReadonlyArray<Message.Message> =>
  turns.flatMap(({ calls, kind, text }, n): ReadonlyArray<Message.Message> => {
    if (Math.abs(kind) % 4 === 0) return [Message.user(text)]
    if (Math.abs(kind) % 4 === 1) return [Message.assistant(text)]
    if (Math.abs(kind) % 4 === 2) return [Message.system(text)]
    const ids = Array.from({ length: 1 + (Math.abs(calls) % 3) }, (_, i) => `c${n}.${i}`)
    return [Message.assistant(text, ids.map(call)), ...ids.map((id) => Message.tool(id, text))]
  })

/** Registers the property; `upTo`: how much of a body the next one must begin with. */
export const prefixes = (make: () => Encoder, upTo: (body: string) => number): void => {
  it.effect.prop(
    "X-WIRE-04 a body begins with the bytes of the round before it, and is what a fresh encoder writes",
    { turns: Schema.Array(Turn) },
    ({ turns }) =>
      Effect.sync(() => {
        const made = make()
        const all = messagesOf(turns)
        let before = ""
        // rounds end where no call is open, as they do in a loop
        for (let length = 1; length <= all.length; length++) {
          if (all[length]?.role === "tool") continue
          const request = { conversation: { messages: all.slice(0, length), revision: 0 }, tools: [] }
          const prepared = made.prepare(request)
          const body = bodyOf(prepared)
          assert.isTrue(body.startsWith(before), `${body} does not begin with ${before}`)
          assert.strictEqual(body, bodyOf(make().prepare(request)))
          before = body.slice(0, upTo(body))
          prepared.release?.()
        }
      }),
    { arbitrary: { runs: 100 } }
  )

  it("X-WIRE-04 a rewritten conversation, a new revision and a fork begin anew", () => {
    const made = make()
    const [first, a, b] = [Message.user("1"), Message.user("2"), Message.user("3")]
    const rounds = [[first, a, b], [first, b], [first, b, a], [first, a], [], [b]]
    for (const [n, messages] of rounds.entries()) {
      const request = { conversation: { messages, revision: n < 3 ? 0 : 1 }, tools: [] }
      const prepared = made.prepare(request)
      assert.strictEqual(bodyOf(prepared), bodyOf(make().prepare(request)))
      prepared.release?.()
    }
  })

  it("D11 the ids of a conversation are known, old and new", () => {
    const made = make()
    const messages = messagesOf([
      { kind: 3, text: "x", calls: 1 },
      { kind: 3, text: "y", calls: 0 }
    ])
    const ids = (length: number) => {
      const prepared = made.prepare({ conversation: { messages: messages.slice(0, length), revision: 0 }, tools: [] })
      prepared.release?.()
      return [...prepared.callIds]
    }
    assert.deepStrictEqual(ids(3), ["c0.0", "c0.1"])
    assert.deepStrictEqual(ids(5), ["c0.0", "c0.1", "c1.0"])
  })
}
