import * as Json from "@settle/core/model/Json"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Deltas from "../../src/openai-chat/Deltas.ts"
import * as Template from "../../src/openai-chat/Template.ts"
import * as Recorded from "../Recorded.ts"

/** What an event says that has only one thing to say. */
const says = (delta: Deltas.Delta): ReadonlyArray<unknown> => [
  delta.text,
  delta.thoughts.map((thought) => [thought.field, thought.text]),
  delta.calls.map((call) => [call.index, call.id, call.name, call.arguments]),
  delta.finish,
  delta.usage,
  delta.error,
  delta.refusal
]

const matched = (match: Template.Match): ReadonlyArray<unknown> => [
  match.kind === "text" ? match.text : "",
  match.kind === "thought" ? [[match.field, match.text]] : [],
  match.kind === "arguments" ? [[match.index, undefined, undefined, match.text]] : [],
  undefined,
  undefined,
  undefined,
  ""
]

/** Feeds a stream; every match must be what a full parse finds. Answers how many there were. */
const agree = (events: ReadonlyArray<string>): number => {
  const templates = new Template.Templates()
  let matches = 0
  for (const data of events) {
    const parsed = Json.parse(data)
    const full = parsed === undefined ? undefined : Deltas.fromEvent(parsed)
    const match = templates.match(data)
    if (match !== undefined) {
      matches += 1
      assert.deepStrictEqual(full && says(full), matched(match), data)
    } else if (full !== undefined) templates.parsed(data, full)
  }
  return matches
}

const envelope = (delta: unknown) =>
  JSON.stringify({ id: "c", model: "m", choices: [{ index: 0, delta, finish_reason: null }] })

const hostile = [
  'x","role":"user',
  'x"}}],"choices":[{"index":0,"delta":{"content":"y',
  "\\",
  '\\"',
  "\\u0041",
  "~probe~",
  "\u0000\t\n",
  "🙂",
  "\ud83d",
  "",
  '"'
]

describe("templates", () => {
  it("like deltas are matched after one was parsed", () => {
    const events = Array.from({ length: 100 }, (_, n) => envelope({ content: ` token ${n} "q" \\ é\n` }))
    assert.strictEqual(agree(events), 99)
    const thoughts = Array.from({ length: 100 }, (_, n) => envelope({ reasoning_content: `t${n}` }))
    assert.strictEqual(agree(thoughts), 99)
    const args = Array.from({ length: 100 }, (_, n) =>
      envelope({ tool_calls: [{ index: 2, function: { arguments: `{"a":${n}` } }] })
    )
    assert.strictEqual(agree(args), 99)
  })

  it("a string that would break out of its place is no match", () => {
    const before = '{"choices":[{"index":0,"delta":{"content":"'
    const after = '"},"finish_reason":null}]}'
    const events = [`${before}a${after}`, ...hostile.map((text) => `${before}${text}${after}`)]
    agree([...events, ...events])
  })

  it("the same key elsewhere in the event is not taken for the text", () => {
    const events = ["a", "b", "c"].flatMap((text) => [
      JSON.stringify({ content: "z", choices: [{ index: 0, delta: { content: text } }] }),
      JSON.stringify({
        choices: [
          { index: 1, delta: { content: text } },
          { index: 0, delta: { content: "q" } }
        ]
      }),
      JSON.stringify({ choices: [{ index: 0, delta: { content: text }, message: { content: text } }] })
    ])
    agree([...events, ...events])
  })

  it("an event that also ends, bills or fails is always parsed", () => {
    const events = ["a", "b", "c"].flatMap((text) => [
      JSON.stringify({ choices: [{ index: 0, delta: { content: text }, finish_reason: "stop" }] }),
      JSON.stringify({ choices: [{ index: 0, delta: { content: text } }], usage: { prompt_tokens: 1 } }),
      JSON.stringify({ choices: [{ index: 0, delta: { content: text } }], error: { message: "x" } })
    ])
    assert.strictEqual(agree([...events, ...events]), 0)
  })

  it("a stream whose events differ elsewhere is soon no longer learned from", () => {
    const events = Array.from({ length: 1000 }, (_, n) =>
      JSON.stringify({ id: n, choices: [{ index: 0, delta: { content: "a" } }] })
    )
    assert.strictEqual(agree(events), 0)
  })

  const Text = Schema.Union([Schema.String, Schema.Literals(hostile)])
  const Kind = Schema.Literals(["content", "reasoning", "reasoning_content", "arguments", "both", "other"])

  const eventOf = ({ kind, text }: { readonly kind: typeof Kind.Type; readonly text: string }): string => {
    switch (kind) {
      case "arguments":
        return envelope({ tool_calls: [{ index: text.length % 2, function: { arguments: text } }] })
      case "both":
        return envelope({ content: text, reasoning: text })
      case "other":
        return envelope({ role: "assistant", content: null, refusal: text })
      default:
        return envelope({ [kind]: text })
    }
  }

  it.effect.prop(
    "any stream: a match is exactly what the full parse finds",
    { events: Schema.Array(Schema.Struct({ kind: Kind, text: Text })), spaced: Schema.Boolean },
    ({ events, spaced }) =>
      Effect.sync(() => {
        const lines = events.map(eventOf).map((line) => (spaced ? line.replaceAll('":', '" : ') : line))
        agree([...lines, ...lines])
      }),
    { arbitrary: { runs: 300 } }
  )

  it.skipIf(Recorded.folder === undefined)(
    "X-WIRE-04 every recorded stream is read the same with and without templates",
    () => {
      let matches = 0
      for (const file of Recorded.files("openai-chat")) {
        const lines = file.body.toString("utf8").split(/\r?\n/)
        matches += agree(lines.filter((line) => line.startsWith("data: ")).map((line) => line.slice(6)))
      }
      assert.isAbove(matches, 1500)
    }
  )
})
