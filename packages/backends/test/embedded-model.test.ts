/** The built-in model by its parts: file, tokens, loops, grammar, rules. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import * as Catalogue from "../src/embedded/Catalogue.ts"
import * as Gguf from "../src/embedded/Gguf.ts"
import * as Grammar from "../src/embedded/Grammar.ts"
import * as Kernel from "../src/embedded/Kernel.ts"
import * as Model from "../src/embedded/Model.ts"
import * as Prompt from "../src/embedded/Prompt.ts"
import * as Router from "../src/embedded/Router.ts"
import * as Session from "../src/embedded/Session.ts"
import * as Tokenizer from "../src/embedded/Tokenizer.ts"
import { bytes, drive, model, tools } from "./fixtures/embedded.ts"

const failure = (result: Result.Result<unknown, Gguf.GgufError>): Gguf.GgufError => {
  if (Result.isSuccess(result)) throw new Error("it was read")
  return result.failure
}

const ask = (session: Session.Session, question: Router.Question) => drive(Router.next(session, question))
const user = (text: string): Prompt.Message => ({ role: "user", text })

describe("the model file", () => {
  it("a file that is no GGUF, of another version or without this model's own keys says which", () => {
    assert.strictEqual(
      failure(Gguf.read(new TextEncoder().encode("not a model file, but long enough"))).message,
      "The model file cannot be used, it is not a GGUF file: it does not begin with GGUF."
    )
    const version2 = bytes.slice()
    version2[4] = 2
    assert.include(failure(Gguf.read(version2)).message, "it is not supported: version 2; only version 3 is.")
    const name = new TextEncoder().encode("settle.answers")
    const at = Buffer.from(bytes).indexOf(name)
    const other = bytes.slice()
    other[at] = "S".charCodeAt(0)
    const error = failure(Model.read(other))
    assert.strictEqual(error.reason._tag, "Missing")
    assert.strictEqual(error.message, "The model file cannot be used, it lacks the text settle.answers.")
  })

  it("a file that was cut anywhere is a typed error that says what did not fit", () => {
    for (let length = 0; length < bytes.length; length += length < 300 ? 1 : 4999) {
      const error = failure(Gguf.read(bytes.subarray(0, length)))
      assert.isTrue(error.reason._tag === "Truncated" || error.reason._tag === "NotGguf", `${length} bytes`)
    }
    const { reason } = failure(Gguf.read(bytes.subarray(0, bytes.length - 1)))
    assert.isTrue(reason._tag === "Truncated" && reason.needed === bytes.length && reason.size === bytes.length - 1)
  })

  it.effect.prop(
    "a file with damaged bytes is read or refused, and nothing is thrown",
    { damage: Schema.Array(Schema.Struct({ at: Schema.Int, value: Schema.Int })) },
    ({ damage }) =>
      Effect.sync(() => {
        const directory = 30_000
        const broken = bytes.slice()
        for (const { at, value } of damage) broken[Math.abs(at * 7919) % directory] = value
        const read = Gguf.read(broken)
        if (Result.isFailure(read)) assert.include(read.failure.message, "The model file cannot be used")
        else assert.isAbove(read.success.tensors.size, 0)
      }),
    { arbitrary: { runs: 100 } }
  )
})

describe("tokens", () => {
  it.effect.prop(
    "any text survives being encoded and decoded",
    { text: Schema.String, tail: Schema.String },
    ({ tail, text }) =>
      Effect.sync(() => {
        for (const given of [text, `{"tool":"${text}"}}`, `read ${text} and files_read_text_file${tail}`]) {
          const tokens = Tokenizer.encode(model.tokenizer, given)
          assert.strictEqual(Tokenizer.decode(model.tokenizer, tokens), given.toWellFormed())
        }
      })
  )

  it("a run of 200,000 letters is counted without merging it as one", () => {
    const count = Tokenizer.count(model.tokenizer, "a".repeat(200_000))
    assert.strictEqual(count, Math.round((Tokenizer.count(model.tokenizer, "a".repeat(1024)) * 200_000) / 1024))
  })
})

describe("the loops", () => {
  it.effect.prop(
    "two positions at once give bit for bit what one after the other does",
    { seed: Schema.Int },
    ({ seed }) =>
      Effect.sync(() => {
        const columns = 1 + (Math.abs(seed) % 37)
        const rows = 1 + (Math.abs(seed * 31) % 23)
        let state = seed | 1
        const next = () => (state = Math.imul(state, 1103515245) + 12345) / 2 ** 31
        const weights = Float32Array.from({ length: columns * rows }, next)
        const x = Float32Array.from({ length: columns * 2 }, next)
        const both = new Float32Array(rows * 2)
        const apart = new Float32Array(rows * 2)
        Kernel.two(both, 0, x, { weights, columns, rows })
        Kernel.one(apart, 0, x.subarray(0, columns), { weights, columns, rows })
        Kernel.one(apart, rows, x.subarray(columns), { weights, columns, rows })
        assert.deepStrictEqual(both, apart)
        assert.isTrue(apart.some((value) => value !== 0) || columns * rows === 0)
      })
  )
})

describe("the grammar", () => {
  const accepts = (programs: ReadonlyArray<Grammar.Program>, text: string): boolean =>
    Grammar.advance(Grammar.start(programs), new TextEncoder().encode(Grammar.escape(text)))?.complete === true

  it("a span begins at a word and ends at one", () => {
    const programs = [[[Grammar.spans('put "hello there" in a.txt')]]]
    for (const span of ["hello there", "put", "a.txt", '"hello there" in']) assert.isTrue(accepts(programs, span), span)
    for (const span of ["ello", "hello th", " put", ""]) assert.isFalse(accepts(programs, span), span)
  })

  it("what is forced needs no choice, and a choice forces nothing", () => {
    assert.strictEqual(Grammar.forced(Grammar.start([[Grammar.literal("say "), Grammar.literal("no")]])), "say no")
    assert.isUndefined(Grammar.forced(Grammar.start([[Grammar.oneOf(["a", "b"])]])))
    assert.isFalse(Grammar.isPossible([[Grammar.literal("x"), Grammar.oneOf(["", ""])]]))
  })

  it.effect.prop(
    "from every state that was reached some whole value can be reached",
    { text: Schema.String, picks: Schema.Array(Schema.Int) },
    ({ picks, text }) =>
      Effect.sync(() => {
        let state = Grammar.start([[[Grammar.spans(`a ${text}`)], Grammar.literal("!")]])
        for (let i = 0; i < 2000; i++) {
          const bytes = [...Grammar.nextBytes(state)]
          if (bytes.length === 0) return assert.isTrue(state.complete)
          const byte = bytes[Math.abs(picks[i % Math.max(1, picks.length)] ?? i) % bytes.length] ?? 0
          const next = Grammar.advance(state, Uint8Array.of(byte))
          assert.isDefined(next)
          if (next !== undefined) state = next
        }
      })
  )
})

describe("clipping", () => {
  it("cuts between characters, and shows that it did", () => {
    assert.strictEqual(Prompt.clip("ab", 2), "ab")
    assert.strictEqual(Prompt.clip("abc", 2), "ab[...]")
    assert.strictEqual(Prompt.clip("a🚀b", 3), "a[...]")
  })

  it("a turn of any length gives a prompt that leaves room for the reply", () => {
    const steps = Array.from({ length: 300 }, (_, i): ReadonlyArray<Prompt.Message> => [
      { role: "action", text: `{"tool":"files_read_text_file","arguments":{"path":"notes/file${i}.txt"}}` },
      { role: "result", text: "世".repeat(100) }
    ]).flat()
    const messages = [user("read all of them"), ...steps]
    const prompt = Router.prompt(model, { messages, tools })
    assert.isAtMost(prompt.length, model.llama.context - Prompt.replyRoom)
    assert.isAbove(prompt.length, 800)
    const { action } = ask(Session.make(model), { messages, tools })
    assert.deepStrictEqual([action.tool, action.because], [undefined, "step-limit"])
  })

  it("while the request itself is cut, nothing is written", () => {
    const { action } = ask(Session.make(model), { messages: [user(`write "${"x ".repeat(400)}" to a.txt`)], tools })
    assert.notStrictEqual(action.tool, "files_write_file")
  })
})

describe("the next action", () => {
  it("does not depend on what the session held before", () => {
    const shared = Session.make(model)
    const turns = ["list src", "What is in notes.txt?", "what is 17 times 23", "What is in notes.txt?", "Hello"]
    for (const text of turns) {
      const question = { messages: [user(text)], tools }
      const fresh = ask(Session.make(model), question)
      const again = ask(shared, question)
      assert.deepStrictEqual({ ...again.action, heldTokens: 0 }, { ...fresh.action, heldTokens: 0 }, text)
      assert.strictEqual(again.text, fresh.text)
    }
    assert.isAbove(ask(shared, { messages: [user("Hello")], tools }).action.heldTokens, 3)
  })

  it("is the same for a seed, and some seed draws another one", () => {
    const draw = (seed: number) =>
      ask(Session.make(model), { messages: [user("Hi there")], tools, sampling: { temperature: 3, seed } }).action.json
    assert.strictEqual(draw(7), draw(7))
    assert.isAbove(new Set([1, 2, 3, 4, 5, 6].map(draw)).size, 1)
  })

  it("is never repeated within a turn", () => {
    const session = Session.make(model)
    const messages: Array<Prompt.Message> = [user("What is in notes.txt?")]
    const first = ask(session, { messages, tools }).action
    assert.strictEqual(first.tool, "files_read_text_file")
    const seen = new Set<string>()
    for (let i = 0; i < 4; i++) {
      const { action } = ask(session, { messages, tools })
      if (action.tool === undefined) return assert.isAtLeast(i, 1)
      assert.isFalse(seen.has(action.json))
      seen.add(action.json)
      messages.push({ role: "action", text: action.json }, { role: "result", text: "x" })
    }
  })

  it("is not a tool whose parameters the model could not fill", () => {
    const odd = (parameters: Catalogue.Offer["parameters"]) => [{ name: "read_text_file", parameters }]
    const text = { type: "string" }
    for (const parameters of [
      { type: "object", properties: { path: { type: "number" } }, required: ["path"] },
      { type: "object", properties: { path: text, encoding: text }, required: ["path", "encoding"] },
      { type: "object", properties: { file: text } },
      { type: "object" }
    ]) {
      const { action } = ask(Session.make(model), { messages: [user("read notes.txt")], tools: odd(parameters) })
      assert.deepStrictEqual([action.tool, action.because], [undefined, "not-offered"])
    }
    const prefixed = [
      { name: "srv__read_text_file", parameters: { properties: { path: text, head: { type: "number" } } } }
    ]
    const { action } = ask(Session.make(model), { messages: [user("read notes.txt")], tools: prefixed })
    assert.strictEqual(action.json, '{"tool":"srv__read_text_file","arguments":{"path":"notes.txt"}}')
  })

  it("X-SAFE-02 a catalogue whose properties are names of Object's own is only data", () => {
    const parameters: Catalogue.Offer["parameters"] = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"string"}},"required":["constructor"]}'
    )
    const { action } = ask(Session.make(model), {
      messages: [user("read notes.txt")],
      tools: [
        { name: "constructor", parameters },
        { name: "clock", parameters: { properties: {} } }
      ]
    })
    assert.strictEqual(action.tool, undefined)
  })

  // prettier-ignore
  const pieces = [
    "read ", "notes.txt", "\n", '"', "'", "\\", '{"tool":"', '"}}', "<|end|>", "", "\u2581", "人工", "🚀", "\ud800",
    " 17*23 ", "(((", "../..", "write ", "to ", "find ", "[FILE] ", "x".repeat(700), "\u0000", "%", "10 plus ", "the ",
    "What is in ", "list the folder src", "Tool result for clock (call route-1):\n", "No matches found", "[...]"
  ]

  it.effect.prop(
    "L-ROUTE-12 is an offered tool with all its arguments or an answer with text, for any catalogue and conversation",
    {
      words: Schema.Array(Schema.Int),
      keep: Schema.Int,
      results: Schema.Array(Schema.Array(Schema.Int)),
      seed: Schema.Int
    },
    ({ keep, results, seed, words }) =>
      Effect.sync(() => {
        const text = (picks: ReadonlyArray<number>) => picks.map((i) => pieces[Math.abs(i) % pieces.length]).join("")
        const offers = tools
          .filter((_, i) => ((keep >> i) & 1) === 0)
          .map((tool, i) =>
            ((keep >> (8 + i)) & 1) === 0 ? tool : { ...tool, name: tool.name.replace("files_", "x__") }
          )
          .concat(keep % 3 === 0 ? [{ name: "weather", parameters: { properties: { city: { type: "string" } } } }] : [])
        const session = Session.make(model)
        const messages: Array<Prompt.Message> = [user(text(words))]
        for (const result of [...results.slice(0, 4), undefined]) {
          const sampling = { temperature: 1.2, seed }
          const question = { messages, tools: offers, ...(seed % 2 === 0 ? { sampling } : {}) }
          const { action, text: streamed } = ask(session, question)
          const offer = offers.find(({ name }) => name === action.tool)
          const json: unknown = JSON.parse(action.json)
          if (action.tool === undefined) {
            assert.isAbove(action.answer.length, 0)
            assert.strictEqual(streamed, action.answer)
            assert.deepStrictEqual(json, { tool: "answer", arguments: { text: action.answer } })
          } else {
            assert.isDefined(offer)
            const required = offer?.parameters["required"]
            assert.deepStrictEqual([...action.arguments.keys()], Array.isArray(required) ? required : [])
            assert.isTrue([...action.arguments.values()].every((value) => value !== ""))
            assert.deepStrictEqual(json, { tool: action.tool, arguments: Object.fromEntries(action.arguments) })
            assert.isBelow(messages.filter(({ role }) => role === "result").length, model.limits.steps)
          }
          assert.isFalse(action.cut)
          if (result !== undefined)
            messages.push({ role: "action", text: action.json }, { role: "result", text: text(result) })
        }
      }),
    { arbitrary: { runs: 30 }, timeout: 120_000 }
  )

  it("F3 is a prefix of itself under a token limit, and no longer than that", () => {
    const session = Session.make(model)
    for (const text of ['write "hello there" to notes/plan.txt', "Hello", "what time is it"]) {
      const question = { messages: [user(text)], tools }
      const whole = ask(session, question).action
      for (let maxTokens = 1; maxTokens <= whole.actionTokens; maxTokens++) {
        const { action, text: streamed } = ask(session, { ...question, maxTokens })
        assert.strictEqual(action.cut, maxTokens < whole.actionTokens, `${text} in ${maxTokens}`)
        assert.isAtMost(action.actionTokens, maxTokens)
        assert.isTrue(whole.json.startsWith(action.json), action.json)
        assert.isTrue(whole.answer.startsWith(streamed), streamed)
      }
    }
  })
})
