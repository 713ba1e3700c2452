/** What goes out: the contents, the signatures, the schemas, the prefix. */
import type * as Json from "@settle/core/model/Json"
import * as Message from "@settle/core/model/Message"
import type { Declaration } from "@settle/core/model/Tool"
import type * as Port from "@settle/core/port/Backend"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Constrain from "../../src/gemini/Constrain.ts"
import * as Request from "../../src/gemini/Request.ts"
import * as Growth from "../Growth.ts"

const options: Request.Options = {
  model: "gemini-2.5-pro",
  maxTokens: undefined,
  safetySettings: undefined,
  params: {}
}

const Record = Schema.Record(Schema.String, Schema.Unknown)
const Content = Schema.Struct({ role: Schema.String, parts: Schema.Array(Record) })
const Body = Schema.StructWithRest(Schema.Struct({ contents: Schema.Array(Content) }), [Record])

const body = (
  messages: ReadonlyArray<Message.Message>,
  request: Partial<Port.Request> = {},
  more: Partial<Request.Options> = {}
): typeof Body.Type => {
  const prepared = Request.make({ ...options, ...more }).prepare({
    conversation: { messages, revision: 0 },
    tools: [],
    ...request
  })
  return Schema.decodeUnknownSync(Body)(JSON.parse(Growth.bodyOf(prepared)))
}

const call = (id: string, args = "{}", name = "read"): Message.ToolCall => ({ id, name, arguments: args })
const called = (name: string, args: object = {}, more: object = {}) => ({ functionCall: { name, args, ...more } })
const answered = (name: string, output: string, more: object = {}) => ({
  functionResponse: { name, response: { output }, ...more }
})

const filler = { role: "user", parts: [{ text: "(no message yet)" }] }

describe("contents", () => {
  it("L-CTX-01 system text stands apart, results of one turn are one content, a head and a tail around them", () => {
    const sent = body(
      [
        Message.system("Be brief."),
        Message.user("Read both."),
        Message.assistant("Reading.", [call("a", '{"path":"a"}'), call("b", "{}", "list")]),
        Message.tool("a", "A"),
        Message.tool("b", "B"),
        Message.assistant("Done.")
      ],
      { head: Message.system("Now."), tail: Message.user("It is noon.") }
    )
    assert.deepStrictEqual(sent["systemInstruction"], { parts: [{ text: "Be brief." }, { text: "Now." }] })
    assert.deepStrictEqual(sent.contents, [
      { role: "user", parts: [{ text: "Read both." }] },
      { role: "model", parts: [{ text: "Reading." }, called("read", { path: "a" }), called("list")] },
      { role: "user", parts: [answered("read", "A"), answered("list", "B")] },
      { role: "model", parts: [{ text: "Done." }] },
      { role: "user", parts: [{ text: "It is noon." }] }
    ])
  })

  it("a conversation that no user began, or that says nothing, is given one that the provider takes", () => {
    assert.deepStrictEqual(body([Message.system("S")]).contents, [filler])
    assert.deepStrictEqual(body([Message.assistant("I begin.")]).contents[0], filler)
  })

  it("F8 F9 signatures and ids go back on exactly the parts they came with, and only with the turn as it was", () => {
    const parts = [
      { text: "Hm.", thoughtSignature: "c2lnMQ==" },
      { call: 0, id: "fc-1", thoughtSignature: "c2lnMg==" },
      { call: 1 }
    ]
    const turn: Message.Message = {
      ...Message.assistant("Hm.", [call("ours"), call("b")]),
      replay: { protocol: "gemini", data: { parts } }
    }
    const asked = Message.user("x")
    const sent = body([asked, turn, Message.tool("ours", "A"), Message.tool("b", "B")])
    assert.deepStrictEqual(sent.contents.slice(1), [
      {
        role: "model",
        parts: [
          { text: "Hm.", thoughtSignature: "c2lnMQ==" },
          { ...called("read", {}, { id: "fc-1" }), thoughtSignature: "c2lnMg==" },
          called("read")
        ]
      },
      { role: "user", parts: [answered("read", "A", { id: "fc-1" }), answered("read", "B")] }
    ])
    for (const changed of [
      { ...turn, content: "Other." },
      { ...turn, toolCalls: [call("ours")] }
    ]) {
      assert.notInclude(JSON.stringify(body([asked, changed]).contents), "c2ln")
    }
  })

  it("F9 a turn of another model is let pass where signatures are wanted, on its first call alone", () => {
    const messages = [Message.user("x"), Message.assistant("", [call("a"), call("b")])]
    const signatures = (model: string) =>
      body(messages, {}, { model }).contents[1]?.parts.map((part) => part["thoughtSignature"])
    assert.deepStrictEqual(signatures("gemini-2.5-pro"), [undefined, undefined])
    assert.deepStrictEqual(signatures("gemini-3.1-pro-preview"), ["skip_thought_signature_validator", undefined])
  })

  it("D13 D9 names that would be refused are mapped, and arguments are always an object", () => {
    for (const args of ["null", "[1]", '{"a":', '"text"', ""]) {
      const odd = call("a", args, "1 read/file!")
      const [, turn, answer] = body([Message.user("x"), Message.assistant("", [odd]), Message.tool("a", "y")]).contents
      assert.deepStrictEqual(turn?.parts, [called("_1_read_file_")])
      assert.deepStrictEqual(answer?.parts, [answered("_1_read_file_", "y")])
    }
  })

  it("X-SAFE-01 every string is well-formed", () => {
    const sent = JSON.stringify(
      body([
        Message.user("a\ud800"),
        Message.assistant("b\udc00", [call("i", '{"x":"\\ud800"}')]),
        Message.tool("i", "c\ud800")
      ]).contents
    )
    assert.isFalse(/\\ud[89a-f]/i.test(sent))
    assert.include(sent, "a\ufffd")
  })

  it("pictures and sounds go inline, in a user's content and beside a result", () => {
    const image = { _tag: "Image", mimeType: "image/png", data: "AAAA" } as const
    const sound = { _tag: "Audio", mimeType: "audio/wav", data: "BBBB" } as const
    const { contents } = body([
      { ...Message.user("Look"), parts: [image, sound] },
      Message.assistant("", [call("i")]),
      { ...Message.tool("i", "shot"), parts: [image] }
    ])
    const inline = (mimeType: string, data: string) => ({ inlineData: { mimeType, data } })
    assert.deepStrictEqual(contents[0]?.parts, [
      { text: "Look" },
      inline("image/png", "AAAA"),
      inline("audio/wav", "BBBB")
    ])
    assert.deepStrictEqual(contents[2]?.parts, [answered("read", "shot"), inline("image/png", "AAAA")])
  })
})

describe("the rest of the body", () => {
  it("a schema, a cap and safety go where the protocol has them, and only when they are asked for", () => {
    const { contents: _, ...bare } = body([Message.user("x")])
    assert.deepStrictEqual(bare, {})
    const safetySettings = [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" }]
    const sent = body(
      [Message.user("x")],
      { maxTokens: 50, schema: { name: "a", schema: { type: "object", properties: { n: { type: "integer" } } } } },
      {
        maxTokens: 100,
        safetySettings,
        params: { generationConfig: { temperature: 0 }, contents: [], cachedContent: "c" }
      }
    )
    assert.deepStrictEqual(sent["generationConfig"], {
      temperature: 0,
      maxOutputTokens: 50,
      responseMimeType: "application/json",
      responseSchema: { type: "object", properties: { n: { type: "integer" } } }
    })
    assert.deepStrictEqual([sent["safetySettings"], sent["cachedContent"]], [safetySettings, "c"])
    assert.lengthOf(sent.contents, 1)
  })

  it("tools are declared with what the provider takes of their schemas; one that takes nothing has no parameters", () => {
    const tools: ReadonlyArray<Declaration> = [
      {
        name: "read",
        description: "Reads.",
        parameters: {
          $schema: "https://json-schema.org/draft/2020-12/schema",
          type: "object",
          properties: { path: { type: "string", minLength: 1 } },
          required: ["path"],
          additionalProperties: false
        }
      },
      { name: "look", parameters: { type: "object", properties: {} } }
    ]
    assert.deepStrictEqual(body([Message.user("x")], { tools })["tools"], [
      {
        functionDeclarations: [
          {
            name: "read",
            description: "Reads.",
            parameters: {
              type: "object",
              properties: { path: { type: "string", minLength: 1 } },
              required: ["path"]
            }
          },
          { name: "look" }
        ]
      }
    ])
  })
})

describe("schemas", () => {
  const cases: ReadonlyArray<readonly [string, Json.JsonObject, Json.JsonObject]> = [
    ["a null among types", { type: ["string", "null"] }, { type: "string", nullable: true }],
    [
      "several types",
      { type: ["string", "integer"], description: "d" },
      { anyOf: [{ type: "string" }, { type: "integer" }], description: "d" }
    ],
    ["a constant text", { const: "a" }, { type: "string", enum: ["a"] }],
    ["numbers to choose from", { type: "integer", enum: [1, 2] }, { type: "integer", description: "(one of 1, 2)" }],
    [
      "alternatives",
      { oneOf: [{ type: "string" }, { type: "boolean" }, { type: "null" }] },
      { anyOf: [{ type: "string" }, { type: "boolean" }], nullable: true }
    ],
    ["one alternative and null", { anyOf: [{ type: "string" }, { type: "null" }] }, { type: "string", nullable: true }],
    [
      "what is not enforced there",
      { type: "number", exclusiveMinimum: 0, multipleOf: 2, description: "Even." },
      { type: "number", description: "Even. (exclusiveMinimum: 0; multipleOf: 2)" }
    ],
    ["a format", { type: "string", format: "uri" }, { type: "string", description: '(format: "uri")' }],
    ["a known format", { type: "string", format: "date-time" }, { type: "string", format: "date-time" }],
    ["a pattern", { type: "string", pattern: "^a" }, { type: "string", description: '(pattern: "^a")' }],
    ["a list of anything", { type: "array" }, { type: "array", items: { type: "string" } }],
    [
      "a reference",
      {
        type: "object",
        properties: { a: { $ref: "#/$defs/A", description: "mine" }, enum: { type: "string" } },
        $defs: { A: { type: "string" } }
      },
      { type: "object", properties: { a: { type: "string", description: "mine" }, enum: { type: "string" } } }
    ],
    [
      "a reference to itself",
      {
        $ref: "#/$defs/Tree",
        $defs: { Tree: { type: "object", properties: { kids: { type: "array", items: { $ref: "#/$defs/Tree" } } } } }
      },
      {
        type: "object",
        properties: {
          kids: { type: "array", items: { type: "object", description: "(like #/$defs/Tree)" } }
        }
      }
    ],
    [
      "parts of one",
      {
        allOf: [
          { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
          { properties: { b: { type: "string" } }, required: ["b"] }
        ]
      },
      {
        type: "object",
        properties: { a: { type: "string" }, b: { type: "string" } },
        required: ["a", "b"]
      }
    ]
  ]
  for (const [name, given, expected] of cases) {
    it(`X-WIRE-04 ${name}`, () => {
      assert.deepStrictEqual(Constrain.schema(given), expected)
    })
  }
})

describe("bytes kept", () => {
  Growth.prefixes(
    () => Request.make(options),
    // what is said for a user who has said nothing yet is no part of the conversation
    (body) => (body.startsWith(`{"contents":[${JSON.stringify(filler)}]`) ? 0 : body.lastIndexOf("]}]"))
  )
})
