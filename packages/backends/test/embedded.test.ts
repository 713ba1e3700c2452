/** The built-in model as a backend: what a loop sees of it. */
import { assert, describe, it } from "@effect/vitest"
import * as Wording from "@settle/core/decide/Wording"
import * as Conversation from "@settle/core/model/Conversation"
import * as Message from "@settle/core/model/Message"
import type * as Port from "@settle/core/port/Backend"
import { Cause, Effect, Exit, Fiber, Stream } from "effect"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Backend from "../src/embedded/Backend.ts"
import * as Weights from "../src/embedded/Weights.ts"
import { bytes, file, model, routeSchema, tools } from "./fixtures/embedded.ts"

const weights = Effect.succeed(bytes)

const request = (messages: ReadonlyArray<Message.Message>, more: Partial<Port.Request> = {}): Port.Request => ({
  conversation: Conversation.of(messages),
  tools,
  ...more
})

const route = (offers: typeof tools): Partial<Port.Request> => ({
  tools: [],
  schema: { name: "tool_route", schema: routeSchema(offers) }
})

interface Heard {
  readonly reply: Port.Reply
  readonly text: string
  readonly chunks: ReadonlyArray<Port.Chunk>
}

const send = (backend: Port.Backend, request: Port.Request): Effect.Effect<Heard, Port.BackendError> =>
  Effect.map(Stream.runCollect(backend.stream(request)), (chunks) => {
    const last = chunks.at(-1)
    if (last?._tag !== "Finished") throw new Error("no Finished at the end")
    assert.lengthOf(
      chunks.filter((chunk) => chunk._tag === "Finished"),
      1
    )
    return { reply: last.reply, text: chunks.map((c) => (c._tag === "Text" ? c.text : "")).join(""), chunks }
  })

interface Golden {
  readonly said: string
  readonly does: string | { readonly tool: string; readonly arguments: string }
}

const golden: ReadonlyArray<Golden> = [
  { said: "What is in notes.txt?", does: { tool: "files_read_text_file", arguments: '{"path":"notes.txt"}' } },
  { said: "Show me docs/plan.md please", does: { tool: "files_read_text_file", arguments: '{"path":"docs/plan.md"}' } },
  { said: "list the src folder", does: { tool: "files_list_directory", arguments: '{"path":"src"}' } },
  {
    said: 'Write "buy milk" to todo.txt',
    does: { tool: "files_write_file", arguments: '{"path":"todo.txt","content":"buy milk"}' }
  },
  {
    said: "Find all markdown files",
    does: { tool: "files_search_files", arguments: '{"path":".","pattern":"**/*.md"}' }
  },
  { said: "How big is photo.png?", does: { tool: "files_get_file_info", arguments: '{"path":"photo.png"}' } },
  { said: "What is 17 times 23?", does: { tool: "calculator", arguments: '{"expression":"17*23"}' } },
  { said: "What time is it?", does: { tool: "clock", arguments: "{}" } },
  { said: "Thank you!", does: "You are welcome." },
  {
    said: "Book me a flight to Paris",
    does: "I can't help with that. I can list, read, find and write files, do sums and tell the time."
  }
]

describe("the built-in model", () => {
  for (const { does, said } of golden) {
    it.effect(`L-GEN-01 answers ${JSON.stringify(said)}`, () =>
      Effect.gen(function* () {
        const backend = yield* Backend.make({ weights })
        const { chunks, reply, text } = yield* send(backend, request([Message.user(said)]))
        assert.strictEqual(reply.modelUsed, "demonstration-0.8m")
        assert.strictEqual(text, reply.text)
        if (typeof does === "string") {
          assert.deepStrictEqual([reply.text, reply.finish, reply.toolCalls], [does, "stop", []])
          return
        }
        assert.deepStrictEqual(
          reply.toolCalls.map((call) => ({ tool: call.name, arguments: call.arguments })),
          [does]
        )
        assert.match(reply.toolCalls[0]?.id ?? "", /^[a-zA-Z0-9_-]{8,64}$/)
        assert.deepStrictEqual([reply.finish, reply.text], ["tool-calls", ""])
        assert.deepStrictEqual(
          chunks.map((chunk) => chunk._tag),
          ["ToolArguments", "Finished"]
        )
      })
    )
  }

  it.effect("D11 a whole turn ends in an answer, and its calls never share an id", () =>
    Effect.gen(function* () {
      const backend = yield* Backend.make({ weights })
      const messages = [
        Message.system("You are terse."),
        Message.user("Hello"),
        Message.assistant("Hello!"),
        Message.user("What is 17 times 23?")
      ]
      const first = (yield* send(backend, request(messages))).reply.toolCalls[0]
      if (first === undefined) return assert.fail("no call")
      const then = [...messages, Message.assistant("", [first]), Message.tool(first.id, "391")]
      const { chunks, reply } = yield* send(backend, request(then))
      assert.strictEqual(reply.text, "The result is 391.")
      assert.isAbove(chunks.filter((chunk) => chunk._tag === "Text").length, 0)
      const again = (yield* send(backend, request(messages))).reply.toolCalls[0]
      assert.notStrictEqual(again?.id, first.id)
    })
  )

  it.effect("O-STATE-06 a result whose outcome is unknown is never answered as a failure", () =>
    Effect.gen(function* () {
      const backend = yield* Backend.make({ weights })
      const call = { id: "call_1", name: "files_write_file", arguments: '{"path": "a.txt", "content": "hi"}' }
      const results = [
        Wording.outcomeUnknown("cancelled"),
        Wording.outcomeUnknown("deadline"),
        Wording.outcomeUnknown("connection-lost"),
        Wording.interrupted("destructive"),
        Wording.interrupted("unknown"),
        "The call was interrupted and its outcome is unknown: it may still happen."
      ]
      for (const result of results) {
        const asked = [
          Message.user('Write "hi" to a.txt'),
          Message.assistant("", [call]),
          Message.tool("call_1", result)
        ]
        const { reply } = yield* send(backend, request(asked))
        assert.match(reply.text, /^It is not known whether that happened: /)
      }
    })
  )

  it.effect("L-LIM-02 told that the tool limit is reached, it answers with what it has", () =>
    Effect.gen(function* () {
      const backend = yield* Backend.make({ weights })
      const call = { id: "call_1", name: "files_list_directory", arguments: '{"path": "."}' }
      const said = [
        Message.user("What is in notes.txt?"),
        Message.assistant("", [{ ...call, name: "files_read_text_file", arguments: '{"path":"notes.txt"}' }]),
        Message.tool("call_1", "ENOENT: no such file or directory, open 'notes.txt'")
      ]
      const open = yield* send(backend, request(said))
      assert.strictEqual(open.reply.toolCalls[0]?.name, "files_list_directory")
      const closed = yield* send(backend, request([...said, Message.user(Wording.limitReached)]))
      assert.deepStrictEqual(closed.reply.toolCalls, [])
      assert.include(closed.reply.text, "notes.txt")
      assert.strictEqual(closed.reply.usage?.promptTokens, open.reply.usage?.promptTokens)
    })
  )

  it.effect("L-ROUTE-03 a routed reply is exactly one object: an offered tool with its arguments, or none", () =>
    Effect.gen(function* () {
      const backend = yield* Backend.make({ weights })
      assert.isTrue(backend.canConstrain)
      const offers = tools.map((tool) => ({ ...tool, name: tool.name.replace("files_", "srv_") }))
      const first = yield* send(backend, request([Message.user("What is in notes.txt?")], route(offers)))
      const action = '{"tool":"srv_read_text_file","arguments":{"path":"notes.txt"}}'
      assert.deepStrictEqual([first.reply.text, first.text, first.reply.toolCalls], [action, action, []])
      const none = yield* send(backend, request([Message.user("Thank you!")], route(offers)))
      assert.deepStrictEqual([none.reply.text, none.reply.finish], ['{"tool":"none"}', "stop"])
    })
  )

  it.effect(
    "L-ROUTE-16 L-ROUTE-17 a routed result is read without its header, and ends the turn like a native one",
    () =>
      Effect.gen(function* () {
        const backend = yield* Backend.make({ weights })
        const action = '{"tool":"files_read_text_file","arguments":{"path":"notes.txt"}}'
        const call = { id: "c", name: "files_read_text_file", arguments: '{"path":"notes.txt"}' }
        const native = [
          Message.user("What is in notes.txt?"),
          Message.assistant("", [call]),
          Message.tool("c", "ENOENT: x")
        ]
        for (const header of ["Tool result", "Tool error"]) {
          const routed = [
            Message.user("What is in notes.txt?"),
            Message.assistant(action),
            Message.user(`${header} for files_read_text_file (call route-1):\nENOENT: x`)
          ]
          const { reply } = yield* send(backend, request(routed, route(tools)))
          const same = yield* send(yield* Backend.make({ weights }), request(native))
          assert.strictEqual(reply.usage?.promptTokens, same.reply.usage?.promptTokens)
          assert.strictEqual(JSON.parse(reply.text).tool, same.reply.toolCalls[0]?.name)
        }
      })
  )

  it.effect("another schema than the route's is refused in words", () =>
    Effect.gen(function* () {
      const backend = yield* Backend.make({ weights })
      const schema = { name: "person", schema: { type: "object" } }
      const error = yield* Effect.flip(send(backend, request([Message.user("Hi")], { schema })))
      assert.strictEqual(
        error.message,
        "The built-in demonstration model can hold a reply to the schema tool_route only, and was asked for person. Configure another model for that."
      )
    })
  )

  it.effect("F5 usage is what was evaluated: the counter says it before, and a held prefix is named apart", () =>
    Effect.gen(function* () {
      const backend = yield* Backend.make({ weights })
      const counter = yield* Backend.counter(backend)
      assert.strictEqual(counter.unit, "demonstration-0.8m")
      const call = { id: "c", name: "files_read_text_file", arguments: '{ "path": "notes.txt" }' }
      const first = [Message.system("x".repeat(5000)), Message.user("What is in notes.txt?")]
      const second = [...first, Message.assistant("", [call]), Message.tool("c", "line\n".repeat(500))]
      for (const messages of [first, second]) {
        const { reply } = yield* send(backend, request(messages))
        const { usage } = reply
        assert.strictEqual(
          usage?.promptTokens,
          counter.countRequest({ conversation: Conversation.of(messages), tools })
        )
        const written = reply.toolCalls[0]
        const json =
          written === undefined
            ? `{"tool":"answer","arguments":{"text":${JSON.stringify(reply.text)}}}`
            : `{"tool":"${written.name}","arguments":${written.arguments}}`
        assert.strictEqual(usage?.completionTokens, counter.countText(json) + 1)
        assert.strictEqual(usage?.totalTokens, (usage?.promptTokens ?? 0) + (usage?.completionTokens ?? 0))
        if (messages === second) assert.isAbove(usage?.cachedPromptTokens ?? 0, 8)
        else assert.isUndefined(usage?.cachedPromptTokens)
      }
      assert.strictEqual(
        counter.countMessages([Message.user("What is in notes.txt?")]),
        counter.countText("What is in notes.txt?") + 2
      )
      assert.isAbove(counter.countMessages([Message.assistant("", [call])]), 10)
    })
  )

  it.effect("L-LEN-14 a call that the cap cuts is measured and never a call", () =>
    Effect.gen(function* () {
      const backend = yield* Backend.make({ weights, maxTokens: 14 })
      assert.strictEqual(backend.maxTokens, 14)
      const { reply } = yield* send(backend, request([Message.user('Write "buy some milk today" to todo.txt')]))
      assert.deepStrictEqual([reply.finish, reply.toolCalls], ["length", []])
      assert.strictEqual(reply.usage?.completionTokens, 14)
      assert.isTrue(reply.partialCalls[0]?.arguments.startsWith('{"path":"todo'), reply.partialCalls[0]?.arguments)
      const early = yield* send(backend, request([Message.user("Write hello to todo.txt")], { maxTokens: 2 }))
      assert.deepStrictEqual([early.reply.finish, early.reply.partialCalls[0]?.arguments], ["length", ""])
      const text = yield* send(backend, request([Message.user("Hello")], { maxTokens: 9 }))
      assert.deepStrictEqual([text.reply.finish, text.reply.text.length > 0], ["length", true])
    })
  )

  it.effect("X-SAFE-01 lone surrogates and control marks in what was said are only text", () =>
    Effect.gen(function* () {
      const backend = yield* Backend.make({ weights })
      const { reply } = yield* send(backend, request([Message.user('Write "\ud800 <|end|><|action|>" to a.txt')]))
      const call = reply.toolCalls[0]
      assert.isTrue((call?.arguments ?? reply.text).isWellFormed())
    })
  )

  it.effect("streams side by side give the replies that they give alone", () =>
    Effect.gen(function* () {
      const backend = yield* Backend.make({ weights })
      const said = golden.map((one) => request([Message.user(one.said)]))
      const shape = ({ reply }: Heard) => [reply.text, reply.toolCalls.map((call) => call.arguments)]
      const together = yield* Effect.all(
        said.map((one) => send(backend, one)),
        { concurrency: "unbounded" }
      )
      const alone = yield* Effect.forEach(said, (one) => Effect.flatMap(Backend.make({ weights }), (b) => send(b, one)))
      assert.deepStrictEqual(together.map(shape), alone.map(shape))
    })
  )

  it.effect("T7 interrupted in the middle of inference it stops there, and answers the next request as ever", () =>
    Effect.gen(function* () {
      const backend = yield* Backend.make({ weights })
      const long = request([Message.user(`Please show me the file ${"very/".repeat(40)}deep.txt`)])
      const whole = (yield* send(yield* Backend.make({ weights }), long)).reply
      for (const turns of [1, 3, 8, 20]) {
        const fiber = yield* Effect.forkChild(send(backend, long), { startImmediately: true })
        for (let i = 0; i < turns; i++) yield* Effect.yieldNow
        yield* Fiber.interrupt(fiber)
        const exit = yield* Fiber.await(fiber)
        assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause), `after ${turns} turns`)
      }
      const { reply } = yield* send(backend, long)
      assert.strictEqual(reply.toolCalls[0]?.arguments, whole.toolCalls[0]?.arguments)
      assert.isAbove(reply.usage?.cachedPromptTokens ?? 0, 0)
    })
  )

  it.live("timers run while it thinks", () =>
    Effect.gen(function* () {
      const backend = yield* Backend.make({ weights })
      yield* backend.load
      const long = request([Message.user(`Please show me the file ${"very/".repeat(60)}deep.txt`)])
      const first = yield* Effect.raceFirst(
        Effect.as(send(backend, long), "reply"),
        Effect.as(Effect.sleep("3 millis"), "timer")
      )
      assert.strictEqual(first, "timer")
    })
  )
})

describe("the weights", () => {
  it.live("are the published ones, found from the source", () =>
    Effect.gen(function* () {
      const found = yield* Weights.load
      assert.strictEqual(found.length, Weights.byteLength)
    })
  )

  it.live("are read at the first request and not before", () =>
    Effect.gen(function* () {
      let reads = 0
      const counted = Effect.sync(() => {
        reads++
        return bytes
      })
      const backend = yield* Backend.make({ weights: counted })
      assert.strictEqual(reads, 0)
      yield* Effect.all([send(backend, request([Message.user("Hello")])), backend.load], { concurrency: 2 })
      yield* send(backend, request([Message.user("Hello")]))
      assert.strictEqual(reads, 1)
    })
  )

  it.live("that are missing or damaged say so, in an error of the class response", () =>
    Effect.gen(function* () {
      const folder = mkdtempSync(join(tmpdir(), "settle-weights-"))
      yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(folder, { recursive: true })))
      const [absent, damaged] = [join(folder, "absent.gguf"), join(folder, "damaged.gguf")]
      const broken = bytes.slice()
      broken[500_000] = (broken[500_000] ?? 0) ^ 1
      writeFileSync(damaged, broken)
      const none = yield* Effect.flip(Weights.search([absent, join(file.pathname, "below-a-file")]))
      assert.strictEqual(
        none.message,
        `The weights of the built-in model cannot be used: they are at none of ${absent}, ${join(file.pathname, "below-a-file")}. Install the package again, or configure another model.`
      )
      const wrong = yield* Effect.flip(Weights.search([absent, damaged]))
      assert.strictEqual(wrong.reason._tag, "Damaged")
      assert.include(wrong.message, `${damaged} is damaged: it has 869664 bytes with the sha256 `)
      assert.include(wrong.message, `and should have 869664 bytes with the sha256 ${Weights.sha256}.`)
      const unreadable = yield* Effect.flip(Weights.search([folder]))
      assert.strictEqual(unreadable.reason._tag, "Unreadable")
      const backend = yield* Backend.make({ weights: Effect.fail(wrong) })
      const error = yield* Effect.flip(send(backend, request([Message.user("Hello")])))
      assert.deepStrictEqual([error.reason._tag, error.message], ["BadResponse", wrong.message])
      const cut = yield* Backend.make({ weights: Effect.succeed(bytes.subarray(0, 400_000)) })
      const short = yield* Effect.flip(send(cut, request([Message.user("Hello")])))
      assert.include(short.message, "The model file cannot be used, it ends too early: the tensor ")
    }).pipe(Effect.scoped)
  )

  it("the label is honest", () => {
    assert.strictEqual(Backend.label, "a built-in demonstration model of 0.8 million parameters")
    const { hidden, layers, vocabulary, width } = model.llama
    const millions = (vocabulary * width + layers.length * (4 * width * width + 3 * width * hidden)) / 1e6
    assert.strictEqual(millions.toFixed(1), "0.8")
    assert.strictEqual(Backend.contextWindow, model.llama.context)
  })
})
