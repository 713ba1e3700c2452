/** What goes out: the sides, the blocks, the marks, the prefix. */
import * as Message from "@settle/core/model/Message"
import type { Declaration } from "@settle/core/model/Tool"
import type * as Port from "@settle/core/port/Backend"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Request from "../../src/anthropic/Request.ts"

const options: Request.Options = {
  model: "claude",
  maxTokens: 1000,
  params: {},
  promptCache: true,
  replayThinking: "unchanged"
}

const read: Declaration = { name: "read", description: "Reads.", parameters: { type: "object", properties: {} } }

const text = (
  encoder: Request.Encoder,
  request: Partial<Port.Request> & { messages: ReadonlyArray<Message.Message> }
) => {
  const { messages, ...more } = request
  const prepared = encoder.prepare({ conversation: { messages, revision: 0 }, tools: [], ...more })
  return Buffer.from(prepared.body).toString("utf8")
}

const Block = Schema.StructWithRest(Schema.Struct({ type: Schema.String }), [
  Schema.Record(Schema.String, Schema.Unknown)
])
const Body = Schema.StructWithRest(
  Schema.Struct({
    messages: Schema.Array(Schema.Struct({ role: Schema.String, content: Schema.Array(Block) })),
    system: Schema.optionalKey(Schema.Array(Block)),
    tools: Schema.optionalKey(Schema.Array(Schema.Record(Schema.String, Schema.Unknown)))
  }),
  [Schema.Record(Schema.String, Schema.Unknown)]
)

const parse = (text: string): typeof Body.Type => Schema.decodeUnknownSync(Body)(JSON.parse(text))

const body = (request: Parameters<typeof text>[1], more: Partial<Request.Options> = {}) =>
  parse(text(Request.make({ ...options, ...more }), request))

const mark = ',"cache_control":{"type":"ephemeral"}'
const marks = (text: string): number => text.split(mark).length - 1

const call = (id: string, args = "{}", name = "read"): Message.ToolCall => ({ id, name, arguments: args })

const conversation: ReadonlyArray<Message.Message> = [
  Message.system("Be brief."),
  Message.user("Read both."),
  Message.assistant("Reading.", [call("a", '{"path":"a"}'), call("b", '{"path":"b"}')]),
  Message.tool("a", "A"),
  Message.tool("b", "B"),
  Message.user("and hurry"),
  Message.assistant("Done.")
]

describe("the sides", () => {
  it("L-CTX-01 system text stands apart, results come first in one user message, and a tail is the last word", () => {
    const tail = Message.user("It is noon.")
    const sent = body({ messages: conversation, tail }, { promptCache: false })
    assert.deepStrictEqual(sent.system, [{ type: "text", text: "Be brief." }])
    assert.deepStrictEqual(sent.messages, [
      { role: "user", content: [{ type: "text", text: "Read both." }] },
      {
        role: "assistant",
        content: [
          { type: "text", text: "Reading." },
          { type: "tool_use", id: "a", name: "read", input: { path: "a" } },
          { type: "tool_use", id: "b", name: "read", input: { path: "b" } }
        ]
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "a", content: "A" },
          { type: "tool_result", tool_use_id: "b", content: "B" },
          { type: "text", text: "and hurry" }
        ]
      },
      { role: "assistant", content: [{ type: "text", text: "Done." }] },
      { role: "user", content: [{ type: "text", text: "It is noon." }] }
    ])
  })

  it("L-CTX-01 a head stands before everything: as system text behind the stable one, or in the first user message", () => {
    const messages = [Message.system("Stable."), Message.user("Hi")]
    const system = body({ messages, head: Message.system("Now.") })
    assert.deepStrictEqual(system.system, [
      { type: "text", text: "Stable.", cache_control: { type: "ephemeral" } },
      { type: "text", text: "Now." }
    ])
    const said = body({ messages, head: Message.user("Now.") }, { promptCache: false })
    assert.deepStrictEqual(said.messages[0]?.content, [
      { type: "text", text: "Now." },
      { type: "text", text: "Hi" }
    ])
  })

  it("a conversation that no user began, or that says nothing, is given one that the provider takes", () => {
    const filler = { type: "text", text: "(no message yet)" }
    assert.deepStrictEqual(body({ messages: [Message.system("S")] }).messages, [{ role: "user", content: [filler] }])
    const begun = body({ messages: [Message.assistant("I begin."), Message.user("Go on")] }, { promptCache: false })
    assert.deepStrictEqual(begun.messages[0], { role: "user", content: [filler] })
    const blank = body(
      { messages: [Message.user("a"), Message.assistant(" \n"), Message.user("b")] },
      { promptCache: false }
    )
    assert.deepStrictEqual(blank.messages, [
      {
        role: "user",
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" }
        ]
      }
    ])
  })

  it("D2 D13 ids and names that would be refused are mapped, on both sides of a call alike", () => {
    const odd = call("fc|1/2", "{}", "read a file!")
    const { messages } = body({
      messages: [Message.user("x"), Message.assistant("", [odd]), Message.tool("fc|1/2", "y")]
    })
    const [use] = messages[1]?.content ?? []
    assert.match(String(use?.["id"]), /^call_[0-9a-f]{24}$/)
    assert.strictEqual(use?.["name"], "read_a_file_")
    assert.strictEqual(messages[2]?.content[0]?.["tool_use_id"], use?.["id"])
  })

  it("D9 what goes back as the input of a call is always an object", () => {
    for (const args of ["null", "[1]", '{"a":', '"text"', ""]) {
      const { messages } = body({ messages: [Message.user("x"), Message.assistant("", [call("a", args)])] })
      assert.deepStrictEqual(messages[1]?.content[0]?.["input"], {}, args)
    }
  })

  it("X-SAFE-01 every string is well-formed", () => {
    const sent = text(Request.make(options), {
      messages: [
        Message.user("a\ud800"),
        Message.assistant("b\udc00", [call("i", '{"x":"\\ud800"}')]),
        Message.tool("i", "c\ud800")
      ]
    })
    assert.isFalse(/\\ud[89a-f]/i.test(sent))
    assert.include(sent, "a\ufffd")
  })

  it("M13 pictures go where the protocol takes them, in a user's message and in a result", () => {
    const image = { _tag: "Image", mimeType: "image/png", data: "AAAA" } as const
    const other = { _tag: "Image", mimeType: "image/tiff", data: "BBBB" } as const
    const source = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } }
    const { messages } = body(
      {
        messages: [
          { ...Message.user("Look"), parts: [image, other] },
          Message.assistant("", [call("i")]),
          { ...Message.tool("i", "shot"), parts: [image] }
        ]
      },
      { promptCache: false }
    )
    const said = { type: "text", text: "Look\n[1 image left out: not shown to you]" }
    assert.deepStrictEqual(messages[0]?.content, [said, source])
    assert.deepStrictEqual(messages[2]?.content[0]?.["content"], [{ type: "text", text: "shot" }, source])
  })

  it("M13 a model that sees no pictures is told what was left out", () => {
    const image = { _tag: "Image", mimeType: "image/png", data: "AAAA" } as const
    const { messages } = body(
      {
        messages: [
          { ...Message.user("Look"), parts: [image, image] },
          Message.assistant("", [call("i")]),
          { ...Message.tool("i", "shot"), parts: [image] }
        ]
      },
      { promptCache: false, vision: false }
    )
    assert.deepStrictEqual(messages[0]?.content, [
      { type: "text", text: "Look\n[2 images left out: not shown to you]" }
    ])
    assert.strictEqual(messages[2]?.content[0]?.["content"], "shot\n[1 image left out: not shown to you]")
  })

  const Turn = Schema.Struct({ kind: Schema.Int, text: Schema.String, calls: Schema.Int })
  it.effect.prop(
    "the sides take turns, no block is blank, and every call is answered at once, for any conversation",
    { turns: Schema.Array(Turn) },
    ({ turns }) =>
      Effect.sync(() => {
        const messages = turns.flatMap(({ calls, kind, text }, n): ReadonlyArray<Message.Message> => {
          if (Math.abs(kind) % 3 === 0) return [Message.user(text)]
          if (Math.abs(kind) % 3 === 1) return [Message.assistant(text)]
          const ids = Array.from({ length: 1 + (Math.abs(calls) % 3) }, (_, i) => `c${n}.${i}`)
          const turn = Message.assistant(
            text,
            ids.map((id) => call(id))
          )
          return [turn, ...ids.map((id) => Message.tool(id, text))]
        })
        const sent = body({ messages })
        sent.messages.forEach((message, n) => {
          assert.strictEqual(message.role, n % 2 === 0 ? "user" : "assistant")
          assert.isAbove(message.content.length, 0)
          const uses = message.content.filter((block) => block.type === "tool_use").map((block) => block["id"])
          const next = sent.messages[n + 1]?.content ?? []
          assert.deepStrictEqual(
            next.slice(0, uses.length).map((block) => block["tool_use_id"]),
            uses
          )
          for (const block of message.content) {
            if (block.type === "text") assert.notStrictEqual(String(block["text"]).trim(), "")
          }
        })
      })
  )
})

describe("the cache", () => {
  it("P12 the body of a round begins with the bytes of the round before it; only the marks move", () => {
    const encoder = Request.make(options)
    const tail = Message.user("now")
    const messages: Array<Message.Message> = conversation.slice(0, 1)
    const bare = (text: string) => text.replaceAll(mark, "")
    /** Up to the end of the last message's blocks. */
    const stable = (text: string) => bare(text).slice(0, bare(text).indexOf(']}],"'))
    let before = ""
    for (const message of conversation.slice(1)) {
      messages.push(message)
      const sent = text(encoder, { messages })
      assert.isTrue(stable(sent).startsWith(before), `${before}\n${stable(sent)}`)
      before = stable(sent)
      const withTail = text(encoder, { messages, tail })
      assert.isTrue(bare(withTail).startsWith(before), `${before}\n${withTail}`)
      assert.strictEqual(withTail, text(Request.make(options), { messages: [...messages], tail }))
    }
    assert.include(before, "Done.")
  })

  it("P12 marks stand behind the stable parts, four at most, and never on what is only true now", () => {
    const messages = conversation.slice(0, 6)
    const sent = text(Request.make(options), { messages, tools: [read], tail: Message.user("now") })
    assert.strictEqual(marks(sent), 3)
    const parsed = parse(sent)
    const marked = parsed.messages.flatMap((m) => m.content.filter((block) => block["cache_control"] !== undefined))
    assert.deepStrictEqual(
      marked.map((block) => block["text"]),
      ["Read both.", "and hurry"]
    )
    assert.deepStrictEqual(parsed.system?.[0]?.["cache_control"], { type: "ephemeral" })
    assert.strictEqual(parsed.messages.at(-1)?.content.at(-1)?.["text"], "now")
    const toolsOnly = parse(text(Request.make(options), { messages: messages.slice(1), tools: [read] }))
    assert.deepStrictEqual(toolsOnly.tools?.[0]?.["cache_control"], { type: "ephemeral" })
    assert.strictEqual(marks(text(Request.make({ ...options, promptCache: false }), { messages, tools: [read] })), 0)
  })

  it("a conversation that was rewritten is written anew", () => {
    const encoder = Request.make(options)
    const first = Message.user("one")
    text(encoder, { messages: [first, Message.assistant("two")] })
    const rewritten = [first, Message.assistant("other"), Message.user("three")]
    assert.strictEqual(text(encoder, { messages: rewritten }), text(Request.make(options), { messages: rewritten }))
  })
})

describe("thinking", () => {
  const question = Message.user("Think.")
  const encoder = Request.make(options)
  const prefix = encoder.prepare({ conversation: { messages: [question], revision: 0 }, tools: [] }).kept ?? null
  const thinking = { type: "thinking", thinking: "Hm.", signature: "c2ln" }
  const answer: Message.Message = {
    ...Message.assistant("Yes.", [call("a")]),
    replay: {
      protocol: "anthropic-messages",
      data: { prefix, blocks: [thinking, { type: "text", text: "Yes." }, { type: "tool_use", call: 0 }] }
    }
  }
  const use = { type: "tool_use", id: "a", name: "read", input: {} }
  const words = { type: "text", text: "Yes." }
  const plain = [words, use]
  const sent = (messages: ReadonlyArray<Message.Message>, more: Partial<Request.Options> = {}) =>
    body({ messages }, more).messages.find((message) => message.role === "assistant")?.content

  it("F8 F9 goes back once, as it came and before the turn's own blocks", () => {
    assert.deepStrictEqual(sent([question, answer, Message.tool("a", "x")]), [thinking, ...plain])
  })

  it("F8 stays away when what it followed was changed, unless told otherwise", () => {
    const changed = [Message.user("Think harder."), answer]
    assert.deepStrictEqual(sent(changed), plain)
    assert.deepStrictEqual(sent(changed, { replayThinking: "always" }), [thinking, ...plain])
    assert.deepStrictEqual(sent([question, answer], { replayThinking: "never" }), plain)
  })

  it("F9 a turn that was changed since, or that another protocol wrote, is sent plainly", () => {
    assert.deepStrictEqual(sent([question, { ...answer, content: "No." }]), [{ type: "text", text: "No." }, use])
    assert.deepStrictEqual(sent([question, { ...answer, toolCalls: [] }]), [words])
    const other = { protocol: "openai-chat", data: { field: "reasoning", text: "Hm." } }
    assert.deepStrictEqual(sent([question, { ...answer, replay: other }]), plain)
    assert.deepStrictEqual(sent([question, { ...answer, replay: { protocol: "anthropic-messages", data: 7 } }]), plain)
  })
})

describe("the settings", () => {
  const messages = [Message.user("Hi")]

  it("L-ROUTE-07 the cap is always sent, and a request lowers it", () => {
    assert.strictEqual(body({ messages })["max_tokens"], 1000)
    assert.strictEqual(body({ messages, maxTokens: 512 })["max_tokens"], 512)
    assert.strictEqual(body({ messages, maxTokens: 5000 })["max_tokens"], 1000)
  })

  it("parameters are added and overrule nothing of the protocol's; a thinking budget must fit under the cap", () => {
    const params = {
      temperature: 0.5,
      max_tokens: 9,
      messages: [],
      stream: false,
      thinking: { type: "enabled", budget_tokens: 600 }
    }
    const sent = body({ messages }, { params })
    assert.deepStrictEqual(
      [sent["temperature"], sent["max_tokens"], sent["stream"], sent.messages.length, sent["thinking"]],
      [0.5, 1000, true, 1, params.thinking]
    )
    assert.isUndefined(body({ messages, maxTokens: 512 }, { params })["thinking"])
  })

  it("L-ROUTE-02 a schema goes as the output format, closed and without what the provider does not enforce", () => {
    const schema = {
      anyOf: [
        {
          type: "object",
          properties: {
            tool: { const: "wait" },
            arguments: {
              type: "object",
              properties: {
                pattern: { type: "string", minLength: 2, description: "Glob." },
                n: { type: "integer", minimum: 1 }
              }
            }
          },
          required: ["tool", "arguments"]
        }
      ]
    }
    const sent = body(
      { messages, schema: { name: "tool_route", schema } },
      { params: { output_config: { effort: "low" } } }
    )
    assert.deepStrictEqual(sent["output_config"], {
      effort: "low",
      format: {
        type: "json_schema",
        schema: {
          anyOf: [
            {
              type: "object",
              properties: {
                tool: { const: "wait" },
                arguments: {
                  type: "object",
                  properties: {
                    pattern: { type: "string", description: "Glob. (minLength: 2)" },
                    n: { type: "integer", description: "(minimum: 1)" }
                  },
                  additionalProperties: false
                }
              },
              required: ["tool", "arguments"],
              additionalProperties: false
            }
          ]
        }
      }
    })
  })

  it("L-GEN-03 calls of earlier rounds are declared where nothing is offered any more, and none may be chosen", () => {
    const past = [...messages, Message.assistant("", [call("a"), call("b", "{}", "write it")]), Message.tool("a", "x")]
    const closed = body({ messages: past }, { promptCache: false, params: { tool_choice: { type: "any" } } })
    assert.deepStrictEqual(closed.tools, [
      { name: "read", input_schema: { type: "object" } },
      { name: "write_it", input_schema: { type: "object" } }
    ])
    assert.deepStrictEqual(closed["tool_choice"], { type: "none" })
    const open = body({ messages: past, tools: [read] }, { params: { tool_choice: { type: "any" } } })
    assert.deepStrictEqual([open.tools?.length, open["tool_choice"]], [1, { type: "any" }])
    assert.isUndefined(body({ messages }, { params: { tool_choice: { type: "any" } } })["tool_choice"])
  })

  it("L-GEN-03 without tools none are declared; with some, each with an object schema", () => {
    assert.isUndefined(body({ messages }).tools)
    const odd: Declaration = { name: "odd", parameters: {} }
    assert.deepStrictEqual(body({ messages, tools: [read, odd] }, { promptCache: false }).tools, [
      { name: "read", description: "Reads.", input_schema: { type: "object", properties: {} } },
      { name: "odd", input_schema: { type: "object" } }
    ])
  })
})
