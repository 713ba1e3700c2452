import { assert, describe, it } from "@effect/vitest"
import * as Conversation from "../../src/model/Conversation.ts"
import * as Message from "../../src/model/Message.ts"
import * as Arbitraries from "@settle/testing/Arbitraries"

const call = (id: string, args = "{}"): Message.ToolCall => ({ id, name: "read", arguments: args })
const asks = (...ids: ReadonlyArray<string>) =>
  Message.assistant(
    "",
    ids.map((id) => call(id))
  )
const user = Message.user("hi")

describe("Conversation.fault", () => {
  it.prop(
    "L-LIM-04 finds nothing in a conversation whose calls are answered",
    { messages: Arbitraries.conversation },
    ({ messages }) => {
      assert.isUndefined(Conversation.fault(messages))
      assert.isTrue(Conversation.isWellFormed(messages))
    }
  )

  it.prop(
    "L-LIM-04 finds the loss of any one answer, and of any one question",
    { messages: Arbitraries.conversation },
    ({ messages }) => {
      for (const [index, message] of messages.entries()) {
        const rest = messages.filter((_, at) => at !== index)
        if (message.role === "tool") assert.strictEqual(Conversation.fault(rest)?._tag, "UnansweredCall")
        if (Message.callsOf(message).length > 0) assert.strictEqual(Conversation.fault(rest)?._tag, "OrphanResult")
      }
    }
  )

  it("L-LIM-04 names the place and the call", () => {
    assert.deepStrictEqual(Conversation.fault([user, asks("a", "b"), Message.tool("a", "ok")]), {
      _tag: "UnansweredCall",
      index: 1,
      callId: "b"
    })
    assert.deepStrictEqual(Conversation.fault([user, asks("a"), user, Message.tool("a", "late")]), {
      _tag: "UnansweredCall",
      index: 1,
      callId: "a"
    })
    assert.deepStrictEqual(Conversation.fault([user, Message.tool("a", "ok")]), {
      _tag: "OrphanResult",
      index: 1,
      callId: "a"
    })
    assert.deepStrictEqual(Conversation.fault([asks("a"), Message.tool("a", "ok"), Message.tool("a", "again")]), {
      _tag: "OrphanResult",
      index: 2,
      callId: "a"
    })
  })

  it("X-SAFE-02 call ids named like properties of an object", () => {
    assert.isUndefined(Conversation.fault([asks("__proto__"), Message.tool("__proto__", "ok")]))
    assert.strictEqual(Conversation.fault([asks("a"), Message.tool("constructor", "ok")])?._tag, "OrphanResult")
  })

  it("answers may come in any order, within their turn", () => {
    assert.isUndefined(Conversation.fault([asks("a", "b"), Message.tool("b", "2"), Message.tool("a", "1")]))
  })
})

describe("Conversation.openCalls", () => {
  it("L-TAIL-01 an answered tail has none", () => {
    assert.deepStrictEqual(Conversation.openCalls([user, asks("a"), Message.tool("a", "ok")]), [])
    assert.deepStrictEqual(Conversation.openCalls([]), [])
    assert.deepStrictEqual(Conversation.openCalls([user]), [])
  })

  it("names what the last turn still waits for, in the turn's order", () => {
    const open = Conversation.openCalls([user, asks("a", "b", "c"), Message.tool("b", "ok")])
    assert.deepStrictEqual(
      open.map((one) => one.id),
      ["a", "c"]
    )
  })
})

describe("digests", () => {
  it("L-SEED-01 a message's digest is over role, content, calls, call id, sticky, sysprompt and depth", () => {
    const base = Message.user("hi")
    const others: ReadonlyArray<Message.Message> = [
      Message.system("hi"),
      Message.user("ho"),
      { ...base, sticky: true },
      { ...base, sysprompt: true },
      { ...base, depth: 0 },
      { ...base, toolCallId: "a" },
      { ...base, toolCalls: [call("a")] }
    ]
    const digests = [base, ...others].map(Message.digest)
    assert.strictEqual(new Set(digests).size, digests.length)
  })

  it("L-SEED-01 what a transcript may add or lose makes no other message", () => {
    const one = Message.assistant("x", [call("a", '{"b":1,"a":2}')])
    const two: Message.Message = {
      role: "assistant",
      content: "x",
      toolCalls: [call("a", ' {"a":2, "b":1}')],
      sticky: false,
      replay: { protocol: "p", data: 1 },
      parts: []
    }
    assert.strictEqual(Message.digest(one), Message.digest(two))
  })

  it("a list's digest is over the messages in order, and the empty list has one", () => {
    const [a, b] = [Message.user("a"), Message.user("b")]
    const digests = [[], [a], [a, b], [b, a]].map(Conversation.digest)
    assert.strictEqual(new Set(digests).size, 4)
    assert.match(Conversation.digest([]), /^[0-9a-f]{64}$/)
  })
})

describe("Message", () => {
  it("an assistant without calls has no list of them", () => {
    assert.deepStrictEqual(Message.assistant("x"), { role: "assistant", content: "x" })
    assert.deepStrictEqual(Message.callsOf(Message.assistant("x")), [])
  })

  it("is sticky by any of three marks", () => {
    assert.isTrue(
      [{ sticky: true }, { sysprompt: true }, { depth: 0 }].every((mark) => Message.isSticky({ ...user, ...mark }))
    )
    assert.isFalse(Message.isSticky({ ...user, sticky: false }))
  })
})
