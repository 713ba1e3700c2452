/**
 * An agent against a provider that misbehaves, over real connections: each kind once, with a good answer behind it, and each kind for
 * ever. What the run says, how often it asked, and that nothing ran that must not.
 */
import * as Agent from "@settle/core/agent/Agent"
import * as Json from "@settle/core/model/Json"
import * as Tool from "@settle/core/model/Tool"
import { ToolProvider } from "@settle/core/port/ToolProvider"
import * as HostileKinds from "@settle/testing/servers/HostileKinds"
import * as HostileProvider from "@settle/testing/servers/HostileProvider"
import { Invariants, Recorder, Tools } from "@settle/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Http from "../src/Http.ts"
import * as OpenAiChat from "../src/openai-chat/Backend.ts"

/** `=text` completed with it, `!reason` failed for it, `!` failed as the attempts say. */
interface Expected {
  readonly once?: readonly [end: string, tries: number]
  readonly always?: readonly [end: string, tries: number]
  /** Calls that had an effect in the run of `once`; in the one of `always` none may. */
  readonly acted?: number
  /** Part of the error of `always`. */
  readonly says?: string
}

/** Refused for good: asked once. */
const aborts = (says = ""): Expected => ({ once: ["!", 1], always: ["!", 1], says })
/** Asked again within its two attempts. */
const retried = (says = ""): Expected => ({ once: ["=fine", 2], always: ["!", 2], says })
/** A window that refused: never sent twice. */
const doomed = (says = ""): Expected => ({ once: ["!", 1], always: ["!", 1], says })
/** An oddity that is none of our business. */
const taken = (text: string): Expected => ({ once: [`=${text}`, 1], always: [`=${text}`, 1] })
const ends = (reason: string, says = ""): Expected => ({ once: [`!${reason}`, 1], always: [`!${reason}`, 1], says })
/** The round's one extra send. */
const suspect = (reason: string): Expected => ({ once: ["=fine", 2], always: [`!${reason}`, 2] })
/** Calls that are made, and an answer to their results. */
const acts = (acted: number): Expected => ({ once: ["=fine", 2], acted })

const expected: Readonly<Record<HostileKinds.Kind, Expected>> = {
  "400 json": aborts("HTTP 400 (invalid_request_error): bad request"),
  "400 text": aborts("HTTP 400: bad request"),
  "401 json": aborts("HTTP 401 (invalid_api_key): invalid key"),
  "402 json": aborts("HTTP 402: no credit"),
  "403 html": aborts('an HTML page titled "Forbidden"'),
  "404 html": aborts('an HTML page titled "Not Found"'),
  "404 empty": aborts("HTTP 404: the body is empty"),
  "400 overflow by code": doomed("context_length_exceeded"),
  "400 overflow by text": doomed("maximum context length is 8192"),
  "400 overflow in a string": doomed("maximum context length is 8192"),
  "400 overflow wrapped": doomed("maximum context length is 8192"),
  "400 that is a string too long": aborts("string too long"),
  "400 that is an output limit": aborts("output tokens"),
  "413 json": doomed("HTTP 413"),
  "429 json": retried("HTTP 429: slow down"),
  "429 retry at once": retried(),
  "429 retry in an hour": {
    once: ["!", 1],
    always: ["!", 1],
    says: "it asks to wait 3600 s, longer than the longest wait"
  },
  "429 retry at a date that is past": retried(),
  "429 retry at a date far away": { once: ["!", 1], always: ["!", 1], says: "longer than the longest wait" },
  "429 retry in milliseconds": retried(),
  "429 retry at nonsense": retried(),
  "429 that sounds like a window": retried("tokens per min"),
  "500 json": retried("HTTP 500: internal"),
  "500 empty": retried("HTTP 500: the body is empty"),
  "500 huge": retried("HTTP 500: xxx"),
  "500 cut in its body": retried("HTTP 500"),
  "502 html": retried('an HTML page titled "Bad Gateway"'),
  "503 retry in an hour": { once: ["!", 1], always: ["!", 1], says: "it asks to wait 3600 s" },
  "504 text": retried("upstream timed out"),
  "529 overloaded": retried("Overloaded"),
  "408 json": retried("HTTP 408"),
  "409 json": retried("HTTP 409"),
  "422 list": retried("field required"),
  "301 elsewhere": retried("HTTP 301"),
  "307 to itself": retried("HTTP 307"),
  "204 nothing": retried(),
  "200 empty": retried(),
  "200 html": retried("HTML"),
  "200 garbage": retried(),
  "200 json error": retried("internal"),
  "200 json answer": taken("whole"),

  refused: { always: ["!", 0], says: "no connection" },
  "reset at connect": retried("no connection"),
  "reset before headers": retried("no connection"),
  "reset in headers": retried("no connection"),
  "closed before headers": retried("no connection"),
  "silent before headers": retried("no headers for 0.7 seconds"),
  "headers byte by byte": retried("no headers for 0.7 seconds"),
  "no HTTP at all": retried(),

  "reset in the body": retried("the connection broke after 8 characters"),
  "closed in the body": retried("the connection broke after 8 characters"),
  "ended in the text": retried("without a finish reason or [DONE]"),
  "ended in an event": retried(),
  "ended in a character": retried(),
  "ended in arguments": retried(),
  "reset in arguments": retried(),
  "ended after a whole call": retried(),
  "no [DONE]": taken("half an answer"),
  "[DONE] without a finish": taken("half an answer"),
  "[DONE] in a call": retried("incomplete arguments of a call to write"),
  // Only a clean end or [DONE] vouches for what came before.
  "hangs after the finish": retried("no bytes for 0.7 seconds"),
  "error object first": retried("error in the stream, as HTTP 500"),
  "error object after text": retried("error in the stream, as HTTP 500 (server_error): boom"),
  "error object after a whole call": retried("boom"),
  "error 429 in the stream": retried("error in the stream, as HTTP 429"),
  "error 401 in the stream": aborts("error in the stream, as HTTP 401"),
  "overflow in the stream": doomed("maximum context length"),
  "error as a string": retried("boom"),
  "error event": retried("boom"),
  "malformed JSON": taken("half an "),
  "an event that is no object": taken("half an answer"),
  "a giant line": retried(),
  "a giant reply": retried(),
  "comments only": retried("no content for 2 seconds"),
  "a silent body": retried("no bytes for 0.7 seconds"),
  "a silent body from the start": retried("no bytes for 0.7 seconds"),
  "slow and steady": taken("slow and steady"),
  "a gzip claim": retried("compressed its answer (gzip)"),
  "gzip that nobody asked for": retried("compressed its answer (gzip)"),
  "a byte order mark": taken("answer"),
  "carriage returns": taken("answer"),
  "bytes that are no UTF-8": taken("a\ufffd\ufffdb"),
  "the wrong content type": taken("answer"),

  "an empty reply": suspect("empty-completion"),
  "a blank reply": suspect("empty-completion"),
  "reasoning only": ends("empty-completion", "reasoning and nothing else"),
  "a length without usage": suspect("unexplained-length"),
  "a length at the cap": ends("completion-truncated", "cut off at max_tokens"),
  "a length below the cap": suspect("unexplained-length"),
  "an empty length": suspect("empty-completion"),
  "a clipped call": ends("completion-truncated", "cut off at max_tokens"),
  "a clipped answer": ends("completion-truncated", "cut off at max_tokens"),
  // The model said that it was done: a mistake of its own, which the tool refuses and it may correct.
  "half a call under stop": acts(0),
  "half a call under tool_calls": acts(0),
  "a call under length": suspect("unexplained-length"),
  "a filtered call": retried("filtered"),
  "a call that ended in error": retried("error"),
  "tool_calls without a call": suspect("empty-completion"),

  "duplicated ids": acts(2),
  "no ids": acts(2),
  "indexes with gaps": acts(2),
  "no indexes": acts(2),
  "one index for two calls": acts(2),
  "interleaved arguments": acts(2),
  "empty arguments": acts(1),
  "calls under stop": acts(1),
  "a tool that nobody offered": acts(0),
  "a tool named __proto__": acts(0),
  "a second choice": taken("answer")
}

const settings = {
  maxRetries: 2,
  backoffCap: "10 millis",
  roundTripTimeout: "3 seconds",
  contentTimeout: "2 seconds"
} as const

const run = Effect.fnUntraced(function* (kind: HostileKinds.Kind, times: number | undefined) {
  const server = yield* HostileProvider.make(HostileKinds.kinds[kind], {
    seed: kind.length,
    then: HostileKinds.well("fine"),
    ...(times === undefined ? {} : { times })
  })
  let acted = 0
  const act: Tools.Act = (invocation) =>
    Effect.sync(() => {
      if (!Json.isObject(Json.parse(invocation.arguments))) return Tool.failed("the arguments are no object")
      acted++
      return Tool.answered("written")
    })
  const tools = Tools.make([Tools.tool("write", act, { idempotency: "destructive" })])
  const backend = OpenAiChat.layer({
    baseUrl: server.baseUrl,
    model: "hostile",
    maxTokens: 64,
    includeUsage: true,
    headersTimeout: "700 millis",
    idleBytesTimeout: "700 millis",
    maxEventSize: 64 * 1024,
    maxReplySize: 128 * 1024
  })
  const layer = Agent.layer(settings).pipe(
    Layer.provide(Layer.mergeAll(backend, Layer.succeed(ToolProvider, tools.provider))),
    Layer.provide(Http.layer())
  )
  return yield* Effect.gen(function* () {
    const agent = yield* Agent.Agent
    const running = yield* agent.run("go")
    const { events } = yield* Recorder.collect(running.events)
    const outcome = yield* running.outcome
    Invariants.assertHold({ outcome, events, replay: undefined, ran: tools.ran })
    const end = outcome.outcome === "completed" ? `=${outcome.final}` : `!${outcome.reason ?? ""}`
    return {
      end: [end, server.tries()] as const,
      error: outcome.error ?? "",
      acted,
      bodies: server.bodies
    }
  }).pipe(Effect.provide(layer))
})

const kinds = Object.keys(expected) as ReadonlyArray<HostileKinds.Kind>

describe("a hostile provider", () => {
  it("X-WIRE-01 X-WIRE-02 X-WIRE-03 X-WIRE-06 every kind has its expectation", () => {
    assert.isAtLeast(kinds.length, 60)
    assert.sameMembers([...kinds], Object.keys(HostileKinds.kinds))
  })

  it.live.each(kinds)("X-WIRE-01 X-WIRE-02 L-FAIL-08 %s", (kind) =>
    Effect.gen(function* () {
      const want = expected[kind]
      const [once, always] = yield* Effect.all(
        [
          want.once === undefined ? Effect.succeed(undefined) : run(kind, 1),
          want.always === undefined ? Effect.succeed(undefined) : run(kind, undefined)
        ],
        { concurrency: 2 }
      )
      assert.deepStrictEqual([once?.end, always?.end], [want.once, want.always], `${once?.error} | ${always?.error}`)
      assert.deepStrictEqual([once?.acted ?? 0, always?.acted ?? 0], [want.acted ?? 0, 0])
      assert.include(always?.error ?? "", want.says ?? "")
    }).pipe(Effect.scoped)
  )

  it.live.each([
    { includeUsage: undefined, asked: undefined },
    { includeUsage: true, asked: { include_usage: true } }
  ])(
    "L-CLIP-07 X-WIRE-05 an unknown server is asked for usage only when it is said to take it: $includeUsage",
    (given) =>
      Effect.gen(function* () {
        const server = yield* HostileProvider.make(HostileKinds.kinds["200 json answer"])
        const backend = OpenAiChat.layer({ baseUrl: server.baseUrl, model: "m", includeUsage: given.includeUsage })
        const layer = Agent.layer(settings).pipe(Layer.provide(backend), Layer.provide(Http.layer()))
        const run = Effect.flatMap(Agent.Agent, (agent) =>
          Effect.flatMap(agent.run("go"), (running) => running.outcome)
        )
        assert.strictEqual((yield* Effect.provide(run, layer)).final, "whole")
        const body = Json.parse(server.bodies[0] ?? "")
        assert.deepStrictEqual(Json.isObject(body) ? body["stream_options"] : body, given.asked)
      }).pipe(Effect.scoped)
  )
})
