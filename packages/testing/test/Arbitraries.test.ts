import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Conversation from "@settle/core/model/Conversation"
import * as Arbitraries from "../src/Arbitraries.ts"
import * as Script from "../src/Script.ts"

describe("Arbitraries", () => {
  it.effect.prop("conversations are well formed", { messages: Arbitraries.conversation }, ({ messages }) =>
    Effect.sync(() => assert.isUndefined(Conversation.fault(messages)))
  )

  it.effect("conversations hold calls, and histories every act", () =>
    Effect.gen(function* () {
      const conversations = yield* Arbitrary.sampleEffect(Arbitraries.conversation, { count: 50, seed: 1 })
      assert.isTrue(conversations.flat().some((message) => message.role === "tool"))
      const acts = (yield* Arbitrary.sampleEffect(Arbitraries.history, { count: 50, seed: 1 })).flat()
      assert.deepStrictEqual([...new Set(acts.map((act) => act._tag))].sort(), [
        "Call",
        "Compact",
        "Context",
        "Custom",
        "Elide",
        "Grants",
        "Say"
      ])
    })
  )

  it.effect.prop(
    "scripts are played to their last word, whatever fails before it",
    { steps: Arbitraries.script(["read", "__proto__"]) },
    ({ steps }) =>
      Effect.gen(function* () {
        const script = Script.make(steps.map((step) => ({ ...step, delay: 0 })))
        for (const _ of steps) {
          yield* Effect.ignore(Stream.runDrain(script.backend.stream({ conversation: Conversation.of([]), tools: [] })))
        }
        assert.strictEqual(script.left, 0)
        assert.strictEqual(steps.at(-1)?.content, "That is all.")
      })
  )

  it.effect.prop("a batch has its own id for each call", { batch: Arbitraries.batch }, ({ batch }) =>
    Effect.sync(() => assert.strictEqual(new Set(batch.map((one) => one.callId)).size, batch.length))
  )
})
