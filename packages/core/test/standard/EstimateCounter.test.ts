import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Calibration from "../../src/decide/Calibration.ts"
import * as Conversation from "../../src/model/Conversation.ts"
import * as Message from "../../src/model/Message.ts"
import { TokenCounter } from "../../src/port/TokenCounter.ts"
import * as EstimateCounter from "../../src/standard/EstimateCounter.ts"

const texts = (...contents: ReadonlyArray<string>) => contents.map(Message.user)
const tool = { name: "fs_read", description: "Reads a file", parameters: { type: "object" } }

const bill = (messages: ReadonlyArray<Message.Message>, promptTokens: number | undefined, model = "m") => ({
  model,
  promptTokens,
  completionTokens: 5,
  messageCount: messages.length,
  prefixDigest: Calibration.prefixDigest(messages)
})

describe("EstimateCounter", () => {
  it("L-PRE-01 estimates by classes of characters", () => {
    const cases: ReadonlyArray<readonly [string, number]> = [
      ["", 0],
      ["hello world", 2],
      ["internationalization", 4],
      ["HTTPServer", 2],
      ["12345", 2],
      ["a 7", 3],
      ["a\n\nb", 2.7],
      ["a   b", 2.6],
      ["(a)", 2.2],
      ["é", 0.35],
      ["漢字", 1.4],
      ["😀", 2]
    ]
    for (const [text, tokens] of cases) assert.closeTo(EstimateCounter.estimate(text), tokens, 1e-9, text)
  })

  it("L-PRE-01 sees encoded bytes in a text, and takes no path or sentence for them", () => {
    const encoded = "x9Kd72LmQpR4tVz8aBc1".repeat(20)
    assert.closeTo(EstimateCounter.estimate(`see ${encoded} there`), 2 + 0.67 * encoded.length, 1)
    const path = "packages/core/src/standard/EstimateCounter2/".repeat(6)
    assert.isBelow(EstimateCounter.estimate(path), 0.4 * path.length)
  })

  it.prop("L-PRE-01 is total and never negative", { text: Schema.String }, ({ text }) => {
    const tokens = EstimateCounter.estimate(text)
    assert.isTrue(Number.isFinite(tokens) && tokens >= 0)
    assert.isAtMost(tokens, 2 * text.length)
  })

  it("L-CAL-02 with nothing billed a conversation is the sum of its messages", () => {
    const counter = EstimateCounter.make()
    assert.strictEqual(counter.countMessages(texts("hello world", "hello world")), 2 * (8 + 2))
    assert.strictEqual(counter.countText("hello world"), 10)
    assert.strictEqual(counter.countMessages([]), 0)
    assert.strictEqual(EstimateCounter.make({ perMessage: 3 }).countText("hello world"), 5)
  })

  it("L-CAL-02 the billed prefix is the bill, and what was appended is estimated on top", () => {
    const counter = EstimateCounter.make()
    const messages = texts("one", "two", "three")
    counter.recordUsage(bill(messages, 1000))
    assert.strictEqual(counter.countMessages(messages), 1000)
    assert.strictEqual(counter.countMessages([...messages, Message.user("hello world")]), 1010)
    assert.strictEqual(counter.countMessages(texts("one", "two", "three")), 1000, "equal messages, other objects")
  })

  it("K6 L-CAL-02 a rewritten or shorter conversation forgets the bill for good", () => {
    const messages = texts("one", "two", "three")
    const rewritten = texts("one", "TWO", "three")
    for (const other of [rewritten, messages.slice(0, 2)]) {
      const counter = EstimateCounter.make()
      counter.recordUsage(bill(messages, 1000))
      assert.strictEqual(counter.countMessages(other), other.length * 9)
      assert.strictEqual(counter.countMessages(messages), 27, "the stale bill does not come back")
    }
  })

  it("L-CTX-08 a whole request adds tools and context, which a bill has already", () => {
    const counter = EstimateCounter.make()
    const messages = texts("one")
    const request = {
      conversation: Conversation.of(messages),
      head: Message.system("hello"),
      tail: Message.system("world"),
      tools: [tool]
    }
    const parts = 9 + 9 + 9 + counter.countTools([tool])
    assert.isAbove(counter.countTools([tool]), 8)
    assert.strictEqual(counter.countTools([]), 0)
    assert.strictEqual(counter.countRequest(request), parts)
    counter.recordUsage(bill(messages, 500))
    assert.strictEqual(counter.countRequest(request), 500)
    const grown = { ...request, conversation: Conversation.of([...messages, Message.user("hello world")]) }
    assert.strictEqual(counter.countRequest(grown), 510)
  })

  it("L-CAL-01 invalidate forgets, and so does a bill of another model", () => {
    const messages = texts("one")
    const counter = EstimateCounter.make()
    counter.recordUsage(bill(messages, 500))
    counter.invalidate()
    assert.strictEqual(counter.countMessages(messages), 9)
    counter.recordUsage(bill(messages, 500))
    counter.recordUsage(bill(messages, undefined, "other"))
    assert.strictEqual(counter.countMessages(messages), 9)
  })

  it("F5 L-CAL-03 a bill without a usable number changes nothing", () => {
    const messages = texts("one")
    const counter = EstimateCounter.make()
    counter.recordUsage(bill(messages, 500))
    for (const tokens of [undefined, -1, 0]) counter.recordUsage(bill(messages, tokens))
    counter.recordUsage({ ...bill(messages, 700), messageCount: -1 })
    assert.strictEqual(counter.countMessages(messages), 500)
  })

  it("L-CAL-02 counting a text neither uses nor forgets a bill", () => {
    const messages = texts("one")
    const counter = EstimateCounter.make()
    counter.recordUsage(bill(messages, 500))
    assert.strictEqual(counter.countText("one"), 9)
    assert.strictEqual(counter.countMessages(messages), 500)
  })

  it("L-PRE-01 calls, images and links are counted beside the text", () => {
    const counter = EstimateCounter.make({ perPart: 100 })
    const plain = counter.countMessages([Message.assistant("")])
    const call = { id: "c", name: "fs_read", arguments: '{"path":"a"}' }
    assert.isAbove(counter.countMessages([Message.assistant("", [call])]), plain + 5)
    const image: Message.Message = {
      ...Message.user(""),
      parts: [
        { _tag: "Image", mimeType: "image/png", data: "x".repeat(100_000) },
        { _tag: "ResourceLink", uri: "file:///a" }
      ]
    }
    assert.isBelow(counter.countMessages([image]), 120)
    assert.isAbove(counter.countMessages([image]), 108)
  })

  it("L-CAL-02 looks at each message once, however many rounds there are", () => {
    let reads = 0
    const watched: Message.Message = {
      role: "user",
      get content() {
        reads++
        return "watched"
      }
    }
    const counter = EstimateCounter.make()
    const messages: Array<Message.Message> = [watched]
    counter.countMessages(messages)
    counter.recordUsage(bill(messages, 100))
    counter.countMessages(messages)
    const after = reads
    for (let round = 0; round < 50; round++) {
      messages.push(Message.user(`round ${round}`))
      counter.countRequest({ conversation: Conversation.of(messages), tools: [] })
      counter.recordUsage(bill(messages, 100 + round))
    }
    assert.strictEqual(reads, after)
  })

  it.effect("L-GEN-07 is absent unless its layer is there", () =>
    Effect.gen(function* () {
      assert.isUndefined(yield* TokenCounter)
      const provided = yield* Effect.provide(
        Effect.map(TokenCounter, (counter) => counter?.unit),
        EstimateCounter.layer()
      )
      assert.strictEqual(provided, "estimate")
    })
  )
})
