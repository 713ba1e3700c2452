import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Json from "@settle/core/model/Json"
import * as Content from "../src/Content.ts"

const answered = (result: Json.JsonObject) => {
  const answer = Content.answer(result)
  if (answer._tag !== "Answered") throw new Error(answer._tag)
  return answer
}
const text = (value: string) => ({ type: "text", text: value })

describe("results", () => {
  it("M13 a picture, a text, a link, a sound and an embedded file leave their trace in order, and go along as parts", () => {
    const answer = answered({
      content: [
        { type: "image", mimeType: "image/png", data: "aGVsbG8=" },
        text("two lines\nof text"),
        { type: "resource_link", uri: "file:///a.txt", name: "a.txt", mimeType: "text/plain", description: "the file" },
        { type: "audio", mimeType: "audio/mpeg", data: "aGk=" },
        { type: "resource", resource: { uri: "file:///b.md", text: "# b" } },
        { type: "resource", resource: { uri: "file:///c.jpg", mimeType: "image/jpeg", blob: "aGVsbG8=" } },
        { type: "resource", resource: { uri: "file:///d.bin", blob: "AAAA" } }
      ]
    })
    assert.strictEqual(
      answer.content,
      [
        "[image image/png, 5 bytes]",
        "two lines\nof text",
        "[resource link a.txt, file:///a.txt, text/plain] the file",
        "[audio audio/mpeg, 2 bytes]",
        "[resource file:///b.md]\n# b",
        "[resource file:///c.jpg, image/jpeg, 5 bytes]",
        "[resource file:///d.bin, of unknown type, 3 bytes]"
      ].join("\n")
    )
    assert.deepStrictEqual(answer.parts, [
      { _tag: "Image", mimeType: "image/png", data: "aGVsbG8=" },
      { _tag: "ResourceLink", uri: "file:///a.txt", name: "a.txt", mimeType: "text/plain" },
      { _tag: "Audio", mimeType: "audio/mpeg", data: "aGk=" },
      { _tag: "Image", mimeType: "image/jpeg", data: "aGVsbG8=" }
    ])
    assert.isFalse(answer.isError)
  })
  it("M13 unknown and broken blocks are shown as JSON", () => {
    const content = [
      { type: "hologram", size: 3 },
      { type: "text" },
      7,
      null,
      "bare",
      { type: "image" },
      { type: "resource" }
    ]
    assert.strictEqual(
      answered({ content }).content,
      '{"type":"hologram","size":3}\n{"type":"text"}\n7\nnull\nbare\n[image without data]\n{"type":"resource"}'
    )
  })
  it("M6 an error shows its text and its structured content, whatever the output schema says", () => {
    const answer = answered({ content: [text("it broke")], structuredContent: { code: 7 }, isError: true })
    assert.strictEqual(answer.content, 'it broke\n{"code":7}')
    assert.isTrue(answer.isError)
    assert.deepStrictEqual(answer.structuredContent, { code: 7 })
  })
  it("M6 an error that is told only inside the structured content is an error", () => {
    assert.isTrue(answered({ content: [text("x")], structuredContent: { isError: true } }).isError)
    assert.isFalse(answered({ content: [text("x")], structuredContent: { isError: true }, isError: false }).isError)
  })
  it("M6 structured content that the text repeats is told once, alone it is the text", () => {
    assert.strictEqual(
      answered({ content: [text('{ "b": 1, "a": [2] }')], structuredContent: { a: [2], b: 1 } }).content,
      '{ "b": 1, "a": [2] }'
    )
    assert.strictEqual(
      answered({ content: [text("the file")], structuredContent: { content: "the file" } }).content,
      "the file"
    )
    assert.strictEqual(answered({ content: [], structuredContent: { a: 1 } }).content, '{"a":1}')
    assert.strictEqual(
      answered({ content: [text("found 3")], structuredContent: { ids: [1, 2, 3] } }).content,
      'found 3\n{"ids":[1,2,3]}'
    )
  })
  it("M6 a result in a foreign shape is shown whole, an empty one is empty", () => {
    assert.strictEqual(answered({ toolResult: 42 }).content, '{"toolResult":42}')
    assert.strictEqual(answered({ value: "bare" }).content, '{"value":"bare"}')
    assert.strictEqual(answered({}).content, "")
  })
  it("X-SAFE-01 lone surrogates become replacement characters", () => {
    const answer = answered({ content: [text("a\ud800b")], structuredContent: { s: "\udfff" } })
    assert.isTrue(answer.content.isWellFormed())
    assert.isTrue(JSON.stringify(answer.structuredContent).isWellFormed())
  })
  it.effect.prop(
    "M6 M13 any result at all becomes an answer in well-formed text",
    { content: Schema.Json, structuredContent: Schema.Json, isError: Schema.Json },
    (result) =>
      Effect.sync(() => {
        assert.isTrue(answered(result).content.isWellFormed())
      }),
    { arbitrary: { runs: 200 } }
  )
})
