import { assert, describe, it } from "@effect/vitest"
import * as Conversation from "@settle/core/model/Conversation"
import * as Message from "@settle/core/model/Message"
import * as Counter from "../src/Counter.ts"
import * as Script from "../src/Script.ts"

describe("Counter", () => {
  it("counts one token a character, in every part of a request", () => {
    const counter = Counter.make({ framing: 3 })
    const messages = [Message.user("ab😀"), Message.assistant("c", [Script.call("x", "read", "{}")])]
    assert.strictEqual(counter.countText("ab😀"), 3)
    assert.strictEqual(counter.countMessages(messages), 3 + 1 + 4 + 2)
    const tools = [{ name: "read", description: "r", parameters: { type: "object" } }]
    assert.strictEqual(counter.countTools(tools), 4 + 1 + '{"type":"object"}'.length)
    const parts = {
      conversation: Conversation.of(messages),
      head: Message.system("hh"),
      tail: Message.system("t"),
      tools
    }
    assert.strictEqual(counter.countRequest(parts), 10 + 2 + 1 + 22 + 3)
  })

  it("remembers bills and invalidations", () => {
    const counter = Counter.make()
    const report = { model: "m", promptTokens: 1, completionTokens: 2, messageCount: 1, prefixDigest: "d" }
    counter.recordUsage(report)
    counter.invalidate()
    assert.deepStrictEqual([counter.reports, counter.invalidations, counter.unit], [[report], 1, "characters"])
  })
})
