import * as Conversation from "@settle/core/model/Conversation"
import type * as Json from "@settle/core/model/Json"
import * as Message from "@settle/core/model/Message"
import type { Declaration } from "@settle/core/model/Tool"
import type * as Backend from "@settle/core/port/Backend"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Dialect from "../../src/openai-chat/Dialect.ts"
import type * as Streaming from "../../src/Streaming.ts"
import * as Request from "../../src/openai-chat/Request.ts"

const options: Request.Options = {
  model: "m",
  dialect: Dialect.of("unknown.test"),
  maxTokens: undefined,
  params: {}
}

const encoder = (more: Partial<Request.Options> = {}) => new Request.Encoder({ ...options, ...more })

const request = (messages: ReadonlyArray<Message.Message>, more: Partial<Backend.Request> = {}): Backend.Request => ({
  conversation: Conversation.of(messages),
  tools: [],
  ...more
})

const textOf = (prepared: Streaming.Prepared) => Buffer.from(prepared.body).toString("utf8")
const bodyOf = (prepared: Streaming.Prepared): Record<string, Json.Json> => JSON.parse(textOf(prepared))
const sent = (messages: ReadonlyArray<Message.Message>, more: Partial<Request.Options> = {}) =>
  bodyOf(encoder(more).prepare(request(messages)))["messages"]

const tool: Declaration = { name: "echo", description: "Echo", parameters: { type: "object", properties: {} } }

describe("the body", () => {
  it("X-WIRE-05 usage is asked for only where it was set or the host is known to take it", () => {
    const asked = (dialect: Dialect.Dialect) =>
      "stream_options" in bodyOf(encoder({ dialect }).prepare(request([Message.user("a")])))
    assert.isFalse(asked(Dialect.of("127.0.0.1")))
    assert.isFalse(asked(Dialect.of("example.test")))
    assert.isFalse(asked(Dialect.of("notapi.openai.com.evil.test")))
    assert.isTrue(asked(Dialect.of("api.openai.com")))
    assert.isTrue(asked(Dialect.of("openrouter.ai")))
    assert.isTrue(asked({ ...Dialect.of("127.0.0.1"), includeUsage: true }))
    const body = bodyOf(encoder({ dialect: Dialect.of("api.openai.com") }).prepare(request([])))
    assert.deepStrictEqual(body["stream_options"], { include_usage: true })
  })

  it("all members, in their places", () => {
    const prepared = encoder({
      maxTokens: 100,
      params: { temperature: 0, stop: ["x"], model: "other", messages: [] }
    }).prepare(
      request([Message.system("s"), Message.user("u")], {
        head: Message.system("h"),
        tail: Message.system("t"),
        tools: [tool],
        schema: { name: "route", schema: { type: "object" } },
        maxTokens: 40
      })
    )
    assert.deepStrictEqual(bodyOf(prepared), {
      model: "m",
      messages: [
        { role: "system", content: "h" },
        { role: "system", content: "s" },
        { role: "user", content: "u" },
        { role: "system", content: "t" }
      ],
      tools: [
        {
          type: "function",
          function: { name: "echo", description: "Echo", parameters: { type: "object", properties: {} } }
        }
      ],
      stream: true,
      max_tokens: 40,
      response_format: {
        type: "json_schema",
        json_schema: { name: "route", schema: { type: "object" }, strict: false }
      },
      temperature: 0,
      stop: ["x"]
    })
  })

  it("a request may lower the cap and never raise it; OpenAI has its own name for it", () => {
    const cap = (own: number | undefined, asked: number | undefined, host = "h.test") => {
      const body = bodyOf(
        encoder({ maxTokens: own, dialect: Dialect.of(host) }).prepare(
          request([], asked === undefined ? {} : { maxTokens: asked })
        )
      )
      return body["max_tokens"] ?? body["max_completion_tokens"]
    }
    assert.deepStrictEqual(
      [cap(10, 20), cap(20, 10), cap(10, undefined), cap(undefined, 5), cap(undefined, undefined)],
      [10, 10, 10, 5, undefined]
    )
    assert.strictEqual(cap(7, undefined, "api.openai.com"), 7)
  })

  it("calls, results, and content that is null only beside calls", () => {
    assert.deepStrictEqual(
      sent([
        Message.assistant("", [{ id: "a", name: "f", arguments: '{"x":1}' }]),
        Message.tool("a", "done"),
        Message.assistant("")
      ]),
      [
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: '{"x":1}' } }]
        },
        { role: "tool", tool_call_id: "a", content: "done" },
        { role: "assistant", content: "" }
      ]
    )
  })

  it("images and sounds of a user's message are parts", () => {
    const message: Message.Message = {
      role: "user",
      content: "look",
      parts: [
        { _tag: "Image", mimeType: "image/png", data: "AA==" },
        { _tag: "Audio", mimeType: "audio/wav", data: "BB==" },
        { _tag: "ResourceLink", uri: "file:///x" }
      ]
    }
    assert.deepStrictEqual(sent([message]), [
      {
        role: "user",
        content: [
          { type: "text", text: "look" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } },
          { type: "input_audio", input_audio: { data: "BB==", format: "wav" } }
        ]
      }
    ])
  })

  const image = { _tag: "Image", mimeType: "image/png", data: "AA==" } as const
  const shots = [
    Message.assistant("", [
      { id: "a", name: "shoot", arguments: "{}" },
      { id: "b", name: "shoot", arguments: "{}" }
    ]),
    { ...Message.tool("a", "first"), parts: [image] },
    Message.tool("b", "second")
  ]
  const seeing: Dialect.Dialect = { ...Dialect.of("unknown.test"), vision: true }

  it("M13 a model that sees gets the pictures of results behind all results of the turn, in every later body too", () => {
    const pictures = {
      role: "user",
      content: [
        { type: "text", text: "From the result of call a:" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } }
      ]
    }
    const encode = encoder({ dialect: seeing })
    const messages: Array<Message.Message> = [Message.user("go"), ...shots]
    const conversation = Conversation.of(messages)
    const first = bodyOf(encode.prepare({ conversation, tools: [], tail: Message.user("now") }))
    const roles = (body: typeof first) =>
      Array.isArray(body["messages"]) ? body["messages"].map((one: Json.JsonObject) => one["role"]) : []
    assert.deepStrictEqual(roles(first), ["user", "assistant", "tool", "tool", "user", "user"])
    assert.deepStrictEqual(Array.isArray(first["messages"]) ? first["messages"][4] : undefined, pictures)
    messages.push(Message.assistant("seen"), Message.user("thanks"))
    const second = bodyOf(encode.prepare({ conversation, tools: [], head: Message.system("now") }))
    assert.deepStrictEqual(roles(second), ["system", "user", "assistant", "tool", "tool", "user", "assistant", "user"])
    assert.deepStrictEqual(Array.isArray(second["messages"]) ? second["messages"][5] : undefined, pictures)
    assert.deepStrictEqual(
      sent(messages, { dialect: seeing }),
      bodyOf(encode.prepare({ conversation, tools: [] }))["messages"]
    )
  })

  it("M13 pictures stay in the prefix: a body begins with the one before it", () => {
    const encode = encoder({ dialect: seeing })
    const messages: Array<Message.Message> = [Message.user("go"), ...shots]
    const conversation = Conversation.of(messages)
    const first = textOf(encode.prepare({ conversation, tools: [] }))
    messages.push(Message.assistant("seen"))
    const second = textOf(encode.prepare({ conversation, tools: [] }))
    const end = first.lastIndexOf("]")
    assert.isTrue(second.startsWith(first.slice(0, end)))
  })

  it("M13 where it is not known that a model sees, the text of a result says what was left out", () => {
    const [, , first] = Array.from(JSON.parse(JSON.stringify(sent([Message.user("go"), ...shots]))))
    assert.deepStrictEqual(first, {
      role: "tool",
      tool_call_id: "a",
      content: "first\n[1 image left out: not shown to you]"
    })
  })

  it("M13 a model that is known not to see gets no picture of a user either", () => {
    const dialect: Dialect.Dialect = { ...Dialect.of("unknown.test"), vision: false }
    const audio = { _tag: "Audio", mimeType: "audio/wav", data: "BB==" } as const
    assert.deepStrictEqual(sent([{ ...Message.user("look"), parts: [image, image] }], { dialect }), [
      { role: "user", content: "look\n[2 images left out: not shown to you]" }
    ])
    assert.deepStrictEqual(sent([{ ...Message.user("look"), parts: [image, audio] }], { dialect }), [
      {
        role: "user",
        content: [
          { type: "text", text: "look\n[1 image left out: not shown to you]" },
          { type: "input_audio", input_audio: { data: "BB==", format: "wav" } }
        ]
      }
    ])
  })

  it("X-SAFE-01 every string is well-formed Unicode", () => {
    const lone = "a\ud83db"
    const prepared = encoder({ model: lone, params: { stop: [lone] } }).prepare(
      request(
        [
          Message.system(lone),
          Message.user(lone),
          Message.assistant(lone, [{ id: lone, name: lone, arguments: `{"x":"\\ud83d"}` }]),
          Message.assistant("", [{ id: "b", name: "f", arguments: `{"x":"${lone}"}` }]),
          Message.tool(lone, lone)
        ],
        { tools: [{ name: "f", description: lone, parameters: { [lone]: lone } }], tail: Message.user(lone) }
      )
    )
    const walk = (value: Json.Json): boolean =>
      typeof value === "string"
        ? value.isWellFormed() && (!value.startsWith("{") || walk(JSON.parse(value)))
        : typeof value !== "object" ||
          value === null ||
          Object.entries(value).every(([key, one]) => key.isWellFormed() && walk(one))
    assert.isTrue(walk(bodyOf(prepared)))
  })

  it("D9 D10 what is sent back as arguments is always the text of an object", () => {
    for (const [given, back] of [
      ['{"x":1}', '{"x":1}'],
      ['{"x": 1.0, "y":12345678901234567890}', '{"x": 1.0, "y":12345678901234567890}'],
      ["", "{}"],
      ["null", "{}"],
      ["[1]", "{}"],
      ['{"a":1', "{}"],
      ['"{}"', "{}"]
    ] as const) {
      const [message] = sent([Message.assistant("", [{ id: "a", name: "f", arguments: given }])]) as [
        { tool_calls: [{ function: { arguments: string } }] }
      ]
      assert.strictEqual(message.tool_calls[0].function.arguments, back)
    }
  })

  it("D2 an id that the provider would refuse is mapped, in the call and in its answer alike", () => {
    const ids = (id: string, host: string) => {
      const [turn, answer] = sent(
        [Message.assistant("", [{ id, name: "f", arguments: "{}" }]), Message.tool(id, "x")],
        {
          dialect: Dialect.of(host)
        }
      ) as [{ tool_calls: [{ id: string }] }, { tool_call_id: string }]
      assert.strictEqual(turn.tool_calls[0].id, answer.tool_call_id)
      return answer.tool_call_id
    }
    assert.strictEqual(ids("functions.f:0", "127.0.0.1"), "functions.f:0")
    assert.match(ids("a|b/c", "127.0.0.1"), /^[a-f0-9]{24}$/)
    assert.match(ids("x".repeat(60), "api.openai.com"), /^[a-f0-9]{24}$/)
    assert.match(ids("call_1", "api.mistral.ai"), /^[a-z0-9]{9}$/)
    assert.notStrictEqual(ids("call_1", "api.mistral.ai"), ids("call_2", "api.mistral.ai"))
  })

  it("D13 a tool name that the provider would refuse is made safe on replay", () => {
    const [message] = sent([Message.assistant("", [{ id: "a", name: "no such tool", arguments: "{}" }])]) as [
      { tool_calls: [{ function: { name: string } }] }
    ]
    assert.strictEqual(message.tool_calls[0].function.name, "no_such_tool")
  })

  it("F9 what signs a call goes back with it, only where the provider insists", () => {
    const extra = { google: { thought_signature: "sig" } }
    const calls = ["a", "b"].map((id) => ({ id, name: "f", arguments: "{}" }))
    const turn: Message.Message = {
      ...Message.assistant("", calls),
      replay: { protocol: "openai-chat", data: { callExtras: [["b", extra]] } }
    }
    const extras = (host: string) => {
      const [message] = sent([turn], { dialect: Dialect.of(host) }) as [
        { tool_calls: ReadonlyArray<{ extra_content?: unknown }> }
      ]
      return message.tool_calls.map((one) => one.extra_content)
    }
    assert.deepStrictEqual(extras("generativelanguage.googleapis.com"), [undefined, extra])
    assert.deepStrictEqual(extras("api.mistral.ai"), [undefined, undefined])
  })

  it("F8 reasoning goes back only where the provider wants it, under its name, and empty where it insists", () => {
    const calls = [{ id: "a", name: "f", arguments: "{}" }]
    const data = { field: "reasoning", text: "hm", details: [{ type: "reasoning.encrypted", data: "zz" }] }
    const thought: Message.Message = { ...Message.assistant("", calls), replay: { protocol: "openai-chat", data } }
    const foreign: Message.Message = { ...Message.assistant("", calls), replay: { protocol: "anthropic", data } }
    const talk: Message.Message = { ...Message.assistant("hi"), replay: { protocol: "openai-chat", data } }
    const back = (message: Message.Message, replayReasoning: Dialect.ReplayReasoning) => {
      const [first] = sent([message], { dialect: { ...options.dialect, replayReasoning } }) as [
        Record<string, Json.Json>
      ]
      return Object.fromEntries(Object.entries(first).filter(([key]) => key.startsWith("reasoning")))
    }
    const insist: Dialect.ReplayReasoning = { when: "calls", field: "reasoning_content", insist: true }
    assert.deepStrictEqual(back(thought, { when: "never" }), {})
    assert.deepStrictEqual(back(thought, insist), { reasoning_content: "hm" })
    assert.deepStrictEqual(back(thought, { when: "calls" }), { reasoning_details: data.details })
    assert.deepStrictEqual(back(foreign, { when: "calls" }), {})
    assert.deepStrictEqual(back(foreign, insist), { reasoning_content: "" })
    assert.deepStrictEqual(back(talk, { when: "calls" }), {})
    assert.deepStrictEqual(back(talk, { when: "always", field: "reasoning" }), { reasoning: "hm" })
  })
})

describe("bytes kept", () => {
  const grow = (rounds: number): ReadonlyArray<ReadonlyArray<Message.Message>> => {
    const messages: Array<Message.Message> = [Message.system("s"), Message.user("ü🙂")]
    return Array.from({ length: rounds }, (_, n) => {
      messages.push(
        Message.assistant("", [{ id: `c${n}`, name: "f", arguments: "{}" }]),
        Message.tool(`c${n}`, "x".repeat(n * 50))
      )
      return [...messages]
    })
  }

  it("a body begins with the bytes of the one before it, up to the end of its messages", () => {
    const made = encoder()
    let before = ""
    for (const messages of grow(20)) {
      const prepared = made.prepare(request(messages, { tools: [tool] }))
      const body = textOf(prepared)
      prepared.release?.()
      assert.isTrue(body.startsWith(before))
      assert.deepStrictEqual(JSON.parse(body), bodyOf(encoder().prepare(request(messages, { tools: [tool] }))))
      before = body.slice(0, body.indexOf('],"tools"'))
    }
  })

  it("the same holds for one array that grows, and for two bodies under way at once", () => {
    const made = encoder()
    const messages: Array<Message.Message> = [Message.user("a")]
    const conversation: Conversation.Conversation = { messages, revision: 0 }
    const held: Array<readonly [Streaming.Prepared, string]> = []
    for (let n = 0; n < 30; n++) {
      messages.push(Message.user("more ".repeat(n)))
      const prepared = made.prepare({ conversation, tools: [] })
      held.push([prepared, textOf(encoder().prepare(request([...messages])))])
      if (n % 3 === 0) prepared.release?.()
    }
    // what was handed out and not released is what it was
    for (const [n, [prepared, text]] of held.entries()) {
      if (n % 3 !== 0) assert.strictEqual(textOf(prepared), text)
    }
  })

  it("a rewritten conversation, a new revision and a fork begin anew", () => {
    const made = encoder()
    const [first, a, b] = [Message.user("1"), Message.user("2"), Message.user("3")]
    const check = (messages: ReadonlyArray<Message.Message>, revision: number) => {
      const prepared = made.prepare({ conversation: { messages, revision }, tools: [] })
      prepared.release?.()
      assert.deepStrictEqual(
        bodyOf(prepared)["messages"],
        messages.map((one) => ({ role: "user", content: one.content }))
      )
    }
    check([first, a, b], 0)
    check([first, b], 0)
    check([first, b, a], 0)
    check([first, a], 1)
    check([], 1)
    check([b], 1)
  })

  it("D11 the ids of a conversation are known, old and new", () => {
    const made = encoder()
    const rounds = grow(3)
    for (const messages of rounds) made.prepare(request(messages)).release?.()
    const last = rounds.at(-1) ?? []
    assert.deepStrictEqual([...made.prepare(request(last)).callIds], ["c0", "c1", "c2"])
  })

  const Role = Schema.Literals(["system", "user", "assistant"])

  it.effect.prop(
    "any way of growing gives the body that a fresh encoder writes",
    {
      texts: Schema.Array(Schema.Struct({ role: Role, content: Schema.String })),
      cuts: Schema.Array(Schema.Literals([0, 1, 2, 5]))
    },
    ({ cuts, texts }) =>
      Effect.sync(() => {
        const made = encoder()
        const messages: ReadonlyArray<Message.Message> = texts
        for (let length = 0, n = 0; length <= messages.length; n++) {
          const part = request(messages.slice(0, length))
          const prepared = made.prepare(part)
          assert.strictEqual(textOf(prepared), textOf(encoder().prepare(part)))
          if (n % 2 === 0) prepared.release?.()
          length += (cuts[n % Math.max(1, cuts.length)] ?? 1) || 1
        }
      }),
    { arbitrary: { runs: 100 } }
  )
})
