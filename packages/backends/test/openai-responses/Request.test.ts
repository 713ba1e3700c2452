/** What goes out: the items, what is kept and what stays behind, the prefix. */
import * as Message from "@settle/core/model/Message"
import type { Declaration } from "@settle/core/model/Tool"
import type * as Port from "@settle/core/port/Backend"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Request from "../../src/openai-responses/Request.ts"
import * as Growth from "../Growth.ts"

const options: Request.Options = { model: "gpt", maxTokens: undefined, encryptedReasoning: true, params: {} }

const Record = Schema.Record(Schema.String, Schema.Unknown)
const Body = Schema.StructWithRest(Schema.Struct({ input: Schema.Array(Record) }), [Record])

const body = (
  messages: ReadonlyArray<Message.Message>,
  request: Partial<Port.Request> = {},
  more: Partial<Request.Options> = {}
): typeof Body.Type => {
  const encoder = new Request.Encoder({ ...options, ...more })
  const prepared = encoder.prepare({ conversation: { messages, revision: 0 }, tools: [], ...request })
  return Schema.decodeUnknownSync(Body)(JSON.parse(Growth.bodyOf(prepared)))
}

const call = (id: string, args = "{}", name = "read"): Message.ToolCall => ({ id, name, arguments: args })
const read: Declaration = { name: "read", description: "Reads.", parameters: { type: "object", properties: {} } }

const said = (text: string) => ({ type: "message", role: "assistant", content: [{ type: "output_text", text }] })

describe("items", () => {
  it("L-CTX-01 each message is its items, and a head and a tail stand around them", () => {
    const sent = body(
      [
        Message.system("Be brief."),
        Message.user("Read both."),
        Message.assistant("Reading.", [call("a", '{"path": "a"}'), call("b")]),
        Message.tool("a", "A"),
        Message.tool("b", "B"),
        Message.assistant("")
      ],
      { head: Message.system("Now."), tail: Message.user("It is noon.") }
    )
    assert.deepStrictEqual(sent.input, [
      { role: "system", content: "Now." },
      { role: "system", content: "Be brief." },
      { role: "user", content: "Read both." },
      said("Reading."),
      { type: "function_call", call_id: "a", name: "read", arguments: '{"path":"a"}' },
      { type: "function_call", call_id: "b", name: "read", arguments: "{}" },
      { type: "function_call_output", call_id: "a", output: "A" },
      { type: "function_call_output", call_id: "b", output: "B" },
      { role: "user", content: "It is noon." }
    ])
  })

  it("F8 F9 reasoning goes back encrypted, in its place, and only with the turn as it was", () => {
    const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "c2VjcmV0" }
    const turn: Message.Message = {
      ...Message.assistant("Hm.", [call("a")]),
      replay: {
        protocol: "openai-responses",
        data: { items: [reasoning, { ...said("Hm."), phase: "x" }, { call: 0 }] }
      }
    }
    const asked = Message.user("x")
    const answer = Message.tool("a", "A")
    const callItem = { type: "function_call", call_id: "a", name: "read", arguments: "{}" }
    assert.deepStrictEqual(body([asked, turn, answer]).input.slice(1, 4), [
      reasoning,
      { ...said("Hm."), phase: "x" },
      callItem
    ])
    for (const changed of [
      { ...turn, content: "Other." },
      { ...turn, toolCalls: [call("a"), call("b")] },
      { ...turn, replay: { protocol: "gemini", data: { parts: [] } } }
    ]) {
      const sent = JSON.stringify(body([asked, changed]).input)
      assert.notInclude(sent, "c2VjcmV0")
      assert.include(sent, JSON.stringify(said(changed.content)))
    }
  })

  it("D9 a call of free text goes back as one, and so does its answer", () => {
    const custom = (text: string): Message.Message => ({
      ...Message.assistant("", [call("a", text), call("b", "{}")]),
      replay: { protocol: "openai-responses", data: { items: [{ call: 0, custom: true }, { call: 1 }] } }
    })
    const sent = body([Message.user("x"), custom('"two\\nlines"'), Message.tool("a", "A"), Message.tool("b", "B")])
    assert.deepStrictEqual(sent.input.slice(1), [
      { type: "custom_tool_call", call_id: "a", name: "read", input: "two\nlines" },
      { type: "function_call", call_id: "b", name: "read", arguments: "{}" },
      { type: "custom_tool_call_output", call_id: "a", output: "A" },
      { type: "function_call_output", call_id: "b", output: "B" }
    ])
  })

  it("D2 D13 ids and names that would be refused are mapped, on both sides of a call alike", () => {
    const odd = { ...call("fc|1/2"), name: "read a file!" }
    const [, use, output] = body([Message.user("x"), Message.assistant("", [odd]), Message.tool("fc|1/2", "y")]).input
    assert.match(String(use?.["call_id"]), /^call_[0-9a-f]{24}$/)
    assert.strictEqual(use?.["name"], "read_a_file_")
    assert.strictEqual(output?.["call_id"], use?.["call_id"])
  })

  it("D9 what goes back as arguments is always the text of an object", () => {
    for (const args of ["null", "[1]", '{"a":', '"text"', ""]) {
      const [, use] = body([Message.user("x"), Message.assistant("", [call("a", args)])]).input
      assert.strictEqual(use?.["arguments"], "{}", args)
    }
  })

  it("X-SAFE-01 every string is well-formed", () => {
    const sent = JSON.stringify(
      body([
        Message.user("a\ud800"),
        Message.assistant("b\udc00", [call("i", '{"x":"\\ud800"}')]),
        Message.tool("i", "c\ud800")
      ]).input
    )
    assert.isFalse(/\\ud[89a-f]/i.test(sent))
    assert.include(sent, "a\ufffd")
  })

  it("pictures go where the protocol takes them, in a user's message and in a result", () => {
    const image = { _tag: "Image", mimeType: "image/png", data: "AAAA" } as const
    const sound = { _tag: "Audio", mimeType: "audio/wav", data: "BBBB" } as const
    const { input } = body([
      { ...Message.user("Look"), parts: [image, sound] },
      Message.assistant("", [call("i")]),
      { ...Message.tool("i", "shot"), parts: [image] }
    ])
    const picture = { type: "input_image", image_url: "data:image/png;base64,AAAA" }
    assert.deepStrictEqual(input[0]?.["content"], [{ type: "input_text", text: "Look" }, picture])
    assert.deepStrictEqual(input[2]?.["output"], [{ type: "input_text", text: "shot" }, picture])
  })
})

describe("the rest of the body", () => {
  it("F8 nothing is stored, and the reasoning is asked for as it can be sent back", () => {
    const { input: _, ...rest } = body([Message.user("x")], { tools: [read] })
    assert.deepStrictEqual(rest, {
      model: "gpt",
      tools: [
        {
          type: "function",
          name: "read",
          description: "Reads.",
          parameters: { type: "object", properties: {} },
          strict: false
        }
      ],
      stream: true,
      store: false,
      include: ["reasoning.encrypted_content"]
    })
    const plain = body([Message.user("x")], {}, { encryptedReasoning: false, params: { include: ["a"], store: true } })
    assert.deepStrictEqual([plain["include"], plain["store"]], [["a"], false])
  })

  it("a schema, a cap and further members go where the protocol has them; what it sets itself stays", () => {
    const schema = { name: "an answer", schema: { type: "object" } }
    const sent = body(
      [Message.user("x")],
      { schema, maxTokens: 50 },
      { maxTokens: 100, params: { text: { verbosity: "low" }, model: "other", reasoning: { effort: "low" } } }
    )
    assert.deepStrictEqual(sent["text"], {
      verbosity: "low",
      format: { type: "json_schema", name: "an_answer", schema: { type: "object" }, strict: false }
    })
    assert.deepStrictEqual(
      [sent["max_output_tokens"], sent["model"], sent["reasoning"]],
      [50, "gpt", { effort: "low" }]
    )
  })
})

describe("bytes kept", () => {
  Growth.prefixes(
    () => new Request.Encoder(options),
    (body) => body.indexOf('],"stream"')
  )
})
