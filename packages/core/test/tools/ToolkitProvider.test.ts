import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Schema } from "effect"
import { Prompt, Tool as AiTool, Toolkit } from "effect/ai"
import * as Tool from "../../src/model/Tool.ts"
import * as CallScope from "../../src/port/CallScope.ts"
import * as Policy from "../../src/tools/Policy.ts"
import * as ToolkitProvider from "../../src/tools/ToolkitProvider.ts"
import { Script, Tools } from "@settle/testing"
import * as ToolProviderSuite from "@settle/testing/suites/ToolProviderSuite"
import * as Story from "../engine/Story.ts"

class NotThere extends Schema.TaggedError<NotThere>()("NotThere", { path: Schema.String }) {
  override get message(): string {
    return `there is no file ${this.path}`
  }
}

const Read = AiTool.make("read", {
  description: "Reads a file",
  parameters: Schema.Struct({ path: Schema.String, lines: Schema.optionalKey(Schema.Int) }),
  success: Schema.Struct({ text: Schema.String }),
  failure: NotThere
})
  .annotate(AiTool.Readonly, true)
  .annotate(AiTool.Destructive, false)
const Remove = AiTool.make("remove", { parameters: Schema.Struct({ path: Schema.String }) })
  .annotate(AiTool.Destructive, true)
  .setNeedsApproval(true)
const Put = AiTool.make("put", { success: Schema.String }).annotate(AiTool.Idempotent, true)
const Plain = AiTool.make("plain", { success: Schema.Unknown })
const Returned = AiTool.make("returned", { failure: Schema.String, failureMode: "return" })
const Odd = AiTool.make("odd").annotate(AiTool.Readonly, true).annotate(AiTool.Destructive, true)

const kit = Toolkit.make(Read, Remove, Put, Plain, Returned, Odd)
const cycle: { self?: unknown } = {}
cycle.self = cycle

const handlers = (plain: Effect.Effect<unknown, never> = Effect.succeed(cycle)) =>
  kit.toLayer({
    read: ({ path }) =>
      path === "gone" ? Effect.fail(new NotThere({ path })) : Effect.succeed({ text: `text of ${path}` }),
    remove: () => Effect.die(new Error("disk on fire")),
    put: (_, context) => Effect.as(context.preliminary("half"), "stored"),
    plain: () => plain,
    returned: () => Effect.fail("no way"),
    odd: () => Effect.void
  })
const provider = (plain?: Effect.Effect<unknown, never>) =>
  Effect.provide(ToolkitProvider.make(kit, { origin: "kit" }), handlers(plain))

const call = (name: string, args: unknown = {}, callId = name): Tool.Invocation => ({
  callId,
  operationId: `o-${callId}`,
  name,
  arguments: typeof args === "string" ? args : JSON.stringify(args)
})
const text = (answer: Tool.Answer | string | undefined) =>
  typeof answer === "object"
    ? answer._tag === "Answered"
      ? `${answer.isError ? "error: " : ""}${answer.content}`
      : `${answer._tag}: ${answer.message}`
    : answer

ToolProviderSuite.suite(
  "ToolkitProvider",
  Effect.map(provider(), (subject) => ({
    provider: subject,
    echo: {
      name: "read",
      arguments: (path: string) => JSON.stringify({ path }),
      answer: (path: string) => JSON.stringify({ text: `text of ${path}` })
    },
    failing: { name: "read", arguments: '{"path":"gone"}' }
  }))
)

describe("ToolkitProvider", () => {
  it.effect("X-IDEM-01 declarations carry a schema, and annotations become a class; who says nothing has none", () =>
    Effect.gen(function* () {
      const list = yield* (yield* provider()).list
      assert.deepStrictEqual(
        list.map(({ idempotency, name, origin, parameters }) => [name, idempotency, origin, parameters["type"]]),
        [
          ["read", "read-only", "kit", "object"],
          ["remove", "destructive", "kit", "object"],
          ["put", "idempotent", "kit", "object"],
          ["plain", undefined, "kit", "object"],
          ["returned", undefined, "kit", "object"],
          ["odd", "destructive", "kit", "object"]
        ]
      )
      assert.strictEqual(list[0]?.description, "Reads a file")
      assert.deepStrictEqual(list[0]?.parameters["required"], ["path"])
      assert.isFalse("idempotency" in (list[3] ?? {}))
    })
  )

  it.effect("X-SAFE-01 whatever a handler returns, fails with or throws is an answer of its call", () =>
    Effect.gen(function* () {
      const answers = yield* (yield* provider()).execute([
        call("read", { path: "a" }),
        call("read", { path: "gone" }),
        call("remove", { path: "a" }),
        call("plain"),
        call("returned"),
        call("odd"),
        call("put", "")
      ])
      assert.deepStrictEqual(answers.map(text), [
        '{"text":"text of a"}',
        "error: read failed: there is no file gone",
        "error: remove failed: disk on fire",
        '{"self":"[cycle]"}',
        "error: no way",
        "[no result]",
        "stored"
      ])
      assert.deepStrictEqual(
        answers[0],
        Tool.Answer.Answered({
          content: '{"text":"text of a"}',
          isError: false,
          structuredContent: { text: "text of a" }
        })
      )
    })
  )

  it.effect("L-TOOL-09 arguments that do not fit are answered with their names, and no handler is called", () =>
    Effect.gen(function* () {
      const answers = yield* (yield* provider()).execute([
        call("read", { lines: "x" }),
        call("read", "[1]"),
        call("read", '{"path":'),
        call("__proto__")
      ])
      assert.deepStrictEqual(answers.map(text), [
        'error: The arguments of read do not fit, and it was not called: Missing key at ["path"]; Expected number at ["lines"]',
        "error: The arguments of read must be one JSON object.",
        "error: The arguments of read must be one JSON object.",
        'error: There is no tool "__proto__". The tools are: read, remove, put, plain, returned, odd.'
      ])
    })
  )

  it.effect("L-SHIM-08 a preliminary result is progress of its call", () =>
    Effect.gen(function* () {
      const notes: Array<CallScope.Progress> = []
      const scope = {
        ...CallScope.none,
        progress: (note: CallScope.Progress) => Effect.sync(() => void notes.push(note))
      }
      const answers = yield* Effect.provideService(
        (yield* provider()).execute([call("put", {}, "c1")]),
        CallScope.CallScope,
        scope
      )
      assert.deepStrictEqual(answers.map(text), ["stored"])
      assert.deepStrictEqual(notes, [{ callId: "c1", progress: 1, message: "half" }])
    })
  )

  it.effect("X-CANC-04 a handler that was interrupted leaves its call unknown, and its neighbours alone", () =>
    Effect.gen(function* () {
      const answers = yield* (yield* provider(Effect.interrupt)).execute([call("plain"), call("read", { path: "a" })])
      assert.deepStrictEqual(answers.map(text), ["Lost: plain was interrupted", '{"text":"text of a"}'])
    })
  )

  it.effect("X-CANC-02 interrupting the batch ends its handlers", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const ended = yield* Deferred.make<void>()
      const plain = Effect.onInterrupt(Effect.andThen(Deferred.succeed(begun, undefined), Effect.never), () =>
        Deferred.succeed(ended, undefined)
      )
      const batch = yield* Effect.forkChild((yield* provider(plain)).execute([call("plain")]))
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(batch)
      yield* Deferred.await(ended)
    })
  )

  it.effect("handlers and what tools depend on come from where the provider was made", () =>
    Effect.gen(function* () {
      class Name extends Context.Service<Name, string>()("test/Name") {}
      const needy = Toolkit.make(AiTool.make("who", { success: Schema.String, dependencies: [Name] }))
      const made = yield* ToolkitProvider.make(needy).pipe(
        Effect.provide(needy.toLayer({ who: () => Effect.map(Name, (name) => `it is ${name}`) })),
        Effect.provideService(Name, "Ada")
      )
      assert.deepStrictEqual((yield* made.execute([call("who")])).map(text), ["it is Ada"])
    })
  )

  it.effect("what a tool shows the model is its text, and files are parts beside it", () =>
    Effect.gen(function* () {
      const shot = Toolkit.make(
        AiTool.make("shot", {
          success: Schema.String,
          toModelOutput: (value: string) => [
            Prompt.textPart({ text: `seen ${value}` }),
            Prompt.filePart({ mediaType: "image/png", fileName: "s.png", data: new Uint8Array([1, 2, 3]) }),
            Prompt.filePart({ mediaType: "text/plain", data: new URL("https://a.com/x") })
          ]
        })
      )
      const made = yield* Effect.provide(ToolkitProvider.make(shot), shot.toLayer({ shot: () => Effect.succeed("it") }))
      assert.deepStrictEqual(yield* made.execute([call("shot")]), [
        Tool.Answer.Answered({
          content: "seen it\n[image/png s.png]\n[text/plain]",
          isError: false,
          parts: [
            { _tag: "Image", mimeType: "image/png", data: "AQID" },
            { _tag: "ResourceLink", uri: "https://a.com/x", mimeType: "text/plain" }
          ]
        })
      ])
    })
  )

  it.effect("c8 a tool that wants approval is asked about, whatever else allows it", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(ToolkitProvider.rules(kit, "kit_"), [
        { tool: "kit_remove", decision: "ask", note: "the tool asks for approval" }
      ])
      const policy = yield* Policy.make({
        provider: yield* provider(),
        rules: [{ tool: "*", decision: "allow" }, ...ToolkitProvider.rules(kit)]
      })
      const answers = (yield* policy.execute([call("remove", { path: "a" }), call("put")])).map(text)
      assert.match(String(answers[0]), /^error: Permission denied for "remove"/)
      assert.strictEqual(answers[1], "stored")
    })
  )

  it.effect("X-IDEM-01 in a run the class words the operation, and a configured rule overrules it", () =>
    Effect.gen(function* () {
      const made = yield* provider()
      const told = yield* Story.tell({
        script: [Script.callTools(Script.call("1", "read", { path: "a" }), Script.call("2", "put")), Script.say("ok")],
        tools: Tools.make([]),
        provider: made,
        transcript: true,
        settings: { idempotencyRules: [{ tool: "put", idempotency: "destructive" }] }
      })
      const lines = (yield* told.transcript?.lines ?? Effect.succeed([])).map((line) => JSON.parse(line))
      assert.deepStrictEqual(
        lines
          .filter(({ type }) => type === "tool-dispatched")
          .map(({ payload }) => [payload.tool, payload.idempotency]),
        [
          ["read", "read-only"],
          ["put", "destructive"]
        ]
      )
    })
  )
})
