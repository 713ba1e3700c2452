import * as ReplayServer from "@settle/testing/servers/ReplayServer"
import * as Conversation from "@settle/core/model/Conversation"
import * as Message from "@settle/core/model/Message"
import * as Port from "@settle/core/port/Backend"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, ConfigProvider, Effect, Exit, Fiber, Layer, Redacted, Stream } from "effect"
import { createServer } from "node:net"
import * as Chain from "../../src/Chain.ts"
import * as Http from "../../src/Http.ts"
import * as OpenAiChat from "../../src/openai-chat/Backend.ts"
import * as Recorded from "../Recorded.ts"

const ask = (text: string): Port.Request => ({ conversation: Conversation.of([Message.user(text)]), tools: [] })

const backendAt = (baseUrl: string, more: Partial<OpenAiChat.Options> = {}) =>
  OpenAiChat.make({ baseUrl, model: "m", ...more })

const serving = (...answers: readonly [ReplayServer.Answer, ...Array<ReplayServer.Answer>]) =>
  ReplayServer.make(ReplayServer.inTurn(...answers))

const scripted = (reply: ReplayServer.Reply): ReplayServer.Answer => ({ body: ReplayServer.events(reply) })

const collect = (backend: Port.Backend, request: Port.Request = ask("hi")) => Stream.runCollect(backend.stream(request))

const replyOf = (chunks: ReadonlyArray<Port.Chunk>): Port.Reply => {
  const last = chunks.at(-1)
  if (last?._tag !== "Finished") throw new Error("the last chunk is not Finished")
  return last.reply
}

/** How the n-th exchange ended for the server. */
const overOf = (server: ReplayServer.ReplayServer, index: number) =>
  Effect.andThen(
    server.arrived(index + 1),
    Effect.suspend(() => server.requests[index]?.over ?? Effect.never)
  )

const failing = (backend: Port.Backend, request: Port.Request = ask("hi")) => Effect.flip(collect(backend, request))

const reason = <T extends Port.Reason["_tag"]>(error: Port.BackendError, tag: T): Extract<Port.Reason, { _tag: T }> => {
  const given = error.reason
  if (given._tag !== tag) throw new Error(`expected ${tag}, got ${given._tag}: ${given.message}`)
  return given as Extract<Port.Reason, { _tag: T }>
}

// its own pool, gone with the test
const live = <A, E>(name: string, test: () => Effect.Effect<A, E, import("effect").Scope.Scope>) =>
  it.live(name, () => Effect.scoped(test()).pipe(Effect.provide(Http.layer())))

describe("a request and its answer", () => {
  live("L-GEN-01 streams text, then one Finished, over a real connection", () =>
    Effect.gen(function* () {
      const server = yield* serving(
        scripted({ text: ["Hel", "lo ", "🙂"], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } })
      )
      const backend = yield* backendAt(server.baseUrl)
      const chunks = yield* collect(backend)
      const reply = replyOf(chunks)
      assert.strictEqual(reply.text, "Hello 🙂")
      assert.strictEqual(chunks.filter((chunk) => chunk._tag === "Finished").length, 1)
      assert.strictEqual(chunks.map((chunk) => (chunk._tag === "Text" ? chunk.text : "")).join(""), "Hello 🙂")
      assert.deepStrictEqual(reply.usage, { promptTokens: 3, completionTokens: 2, totalTokens: 5 })
      assert.strictEqual(server.requests[0]?.method, "POST")
      assert.strictEqual(server.requests[0]?.path, "/v1/chat/completions")
      assert.deepStrictEqual(JSON.parse(server.requests[0]?.body ?? ""), {
        model: "m",
        messages: [{ role: "user", content: "hi" }],
        stream: true
      })
    })
  )

  live("X-WIRE-01 a destroyed connection is a cut, after the text it brought", () =>
    Effect.gen(function* () {
      const body = ReplayServer.events({ text: ["partial"], usage: { prompt_tokens: 7 }, finish: null, done: false })
      const server = yield* serving({ body, ending: { _tag: "Destroyed" } })
      const backend = yield* backendAt(server.baseUrl)
      const seen: Array<Port.Chunk> = []
      const error = yield* backend.stream(ask("hi")).pipe(
        Stream.runForEach((chunk) => Effect.sync(() => seen.push(chunk))),
        Effect.flip
      )
      assert.deepStrictEqual(seen, [Port.Chunk.Text({ text: "partial" })])
      assert.strictEqual(reason(error, "BadResponse").problem, "cut")
      assert.match(
        error.message,
        /^the connection broke after 7 characters: 127\.0\.0\.1:\d+ closed the connection in the middle$/
      )
      assert.deepStrictEqual(error.usage, { promptTokens: 7 })
    })
  )

  live("S8 X-WIRE-01 a clean end without a finish reason is a cut too, with the usage that came", () =>
    Effect.gen(function* () {
      const body = ReplayServer.events({ text: ["partial"], usage: { prompt_tokens: 7 }, finish: null, done: false })
      const server = yield* serving({ body })
      const error = yield* failing(yield* backendAt(server.baseUrl))
      assert.strictEqual(error.message, "the stream ended after 7 characters, without a finish reason or [DONE]")
      assert.deepStrictEqual(error.usage, { promptTokens: 7 })
      assert.strictEqual(Port.errorClass(error), "response")
    })
  )

  live("S9 X-WIRE-02 an error object in a 200 stream is refused with the status it names", () =>
    Effect.gen(function* () {
      const body = `${ReplayServer.events({ text: ["a"], finish: null, done: false })}data: {"error":{"code":"rate_limit_exceeded","message":"slow down. Try again in 2s"}}\n\n`
      const server = yield* serving({ body, ending: { _tag: "Hanging" } })
      const error = yield* failing(yield* backendAt(server.baseUrl))
      const refused = reason(error, "Refused")
      assert.deepStrictEqual([refused.status, refused.inStream, refused.retryAfterMs], [429, true, 2000])
      assert.strictEqual(Port.errorClass(error), "http")
      assert.strictEqual(yield* overOf(server, 0), "aborted")
    })
  )

  live("L-FAIL-08 X-WIRE-06 a refusal carries status, code, words and wait", () =>
    Effect.gen(function* () {
      const server = yield* serving({
        status: 429,
        headers: { "content-type": "application/json", "retry-after": "7" },
        body: JSON.stringify({ error: { message: "slow", code: "rate_limit_exceeded" } })
      })
      const error = yield* failing(yield* backendAt(server.baseUrl))
      const refused = reason(error, "Refused")
      assert.deepStrictEqual(
        [refused.status, refused.code, refused.detail, refused.retryAfterMs, refused.inStream],
        [429, "rate_limit_exceeded", "slow", 7000, false]
      )
      assert.strictEqual(error.message, "HTTP 429 (rate_limit_exceeded): slow")
    })
  )

  live("L-FAIL-08 a redirect and a page are no answers", () =>
    Effect.gen(function* () {
      const server = yield* serving(
        { status: 302, headers: { location: "http://x.test/" }, body: "" },
        { headers: { "content-type": "text/html" }, body: "<html><title>Welcome</title></html>" }
      )
      const backend = yield* backendAt(server.baseUrl)
      assert.strictEqual(reason(yield* failing(backend), "Refused").status, 302)
      assert.include((yield* failing(backend)).message, 'an HTML page titled "Welcome". Check baseUrl')
    })
  )

  live("L-FAIL-08 an endless error body is not read to its end", () =>
    Effect.gen(function* () {
      const server = yield* serving({
        status: 500,
        body: "x".repeat(4 << 20),
        pieces: { _tag: "Every", bytes: 65_536 }
      })
      const refused = reason(yield* failing(yield* backendAt(server.baseUrl)), "Refused")
      assert.include(refused.detail, "(65536 characters)")
    })
  )

  live("an answer that was compressed unasked is refused in words", () =>
    Effect.gen(function* () {
      const server = yield* serving({ headers: { "content-encoding": "gzip" }, body: "\u001f\u008b" })
      const error = yield* failing(yield* backendAt(server.baseUrl))
      assert.match(error.message, /^127\.0\.0\.1:\d+ compressed its answer \(gzip\) although nobody asked for it$/)
    })
  )

  live("X-WIRE-04 a whole JSON body is accepted in place of a stream", () =>
    Effect.gen(function* () {
      const body = JSON.stringify({ choices: [{ message: { content: "whole" }, finish_reason: "stop" }] })
      const server = yield* serving({ headers: { "content-type": "application/json" }, body })
      assert.strictEqual(replyOf(yield* collect(yield* backendAt(server.baseUrl))).text, "whole")
    })
  )

  live("D2 D11 ids of calls are ours where the wire's are missing or taken", () =>
    Effect.gen(function* () {
      const calls = [
        { id: "call_0", name: "f", arguments: ["{}"] },
        { id: "", name: "g", arguments: ["{}"] }
      ]
      const server = yield* serving(scripted({ calls }))
      const backend = yield* backendAt(server.baseUrl)
      const first = replyOf(yield* collect(backend))
      assert.strictEqual(first.toolCalls[0]?.id, "call_0")
      assert.match(first.toolCalls[1]?.id ?? "", /^call_[0-9a-f]{24}$/)
      const messages = [
        Message.user("hi"),
        Message.assistant("", first.toolCalls),
        ...first.toolCalls.map((one) => Message.tool(one.id, "x"))
      ]
      const second = replyOf(yield* collect(backend, { conversation: Conversation.of(messages), tools: [] }))
      const ids = [...first.toolCalls, ...second.toolCalls].map((one) => one.id)
      assert.strictEqual(new Set(ids).size, 4)
    })
  )

  live("X-WIRE-05 asking for usage is a setting", () =>
    Effect.gen(function* () {
      const server = yield* serving(scripted({ text: ["a"] }))
      yield* collect(yield* backendAt(server.baseUrl))
      yield* collect(yield* backendAt(server.baseUrl, { includeUsage: true }))
      const asked = server.requests.map((one) => JSON.parse(one.body).stream_options)
      assert.deepStrictEqual(asked, [undefined, { include_usage: true }])
    })
  )

  live("connections serve round after round", () =>
    Effect.gen(function* () {
      const server = yield* serving(scripted({ text: ["a"] }))
      const backend = yield* backendAt(server.baseUrl)
      for (let n = 0; n < 5; n++) {
        yield* collect(backend)
        assert.strictEqual(yield* overOf(server, n), "finished")
      }
      // a round may begin before the last bytes of the one before it are in
      assert.isAtMost(server.connections(), 2)
    })
  )
})

describe("leaving", () => {
  live("S12 interrupting the reader aborts the request, before headers and in the middle", () =>
    Effect.gen(function* () {
      const hanging: ReplayServer.Answer = {
        body: ReplayServer.events({ text: ["a"], done: false, finish: null }),
        ending: { _tag: "Hanging" }
      }
      const server = yield* serving({ ...hanging, delay: { headers: 60_000 } }, hanging)
      const backend = yield* backendAt(server.baseUrl)

      const early = yield* Effect.forkChild(collect(backend))
      yield* server.arrived(1)
      yield* Fiber.interrupt(early)
      assert.strictEqual(yield* overOf(server, 0), "aborted")
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(early)))

      const first = yield* backend.stream(ask("hi")).pipe(Stream.take(1), Stream.runCollect)
      assert.deepStrictEqual(first, [Port.Chunk.Text({ text: "a" })])
      assert.strictEqual(yield* overOf(server, 1), "aborted")
    })
  )

  live("a timeout around the stream aborts it as well", () =>
    Effect.gen(function* () {
      const server = yield* serving({ body: ": hi\n\n", ending: { _tag: "Hanging" } })
      const exit = yield* collect(yield* backendAt(server.baseUrl)).pipe(Effect.timeout("1 second"), Effect.exit)
      assert.isTrue(Exit.isFailure(exit) && Cause.hasFails(exit.cause))
      assert.strictEqual(yield* overOf(server, 0), "aborted")
    })
  )

  live("a reader that does not read holds the server back", () =>
    Effect.gen(function* () {
      const body = ReplayServer.events({ text: Array.from({ length: 1000 }, () => "x".repeat(16_000)) })
      const server = yield* serving({ body, pieces: { _tag: "Every", bytes: 65_536 } })
      const backend = yield* backendAt(server.baseUrl)
      let text = 0
      yield* backend.stream(ask("hi")).pipe(
        Stream.runForEach((chunk) =>
          Effect.gen(function* () {
            if (chunk._tag !== "Text") return
            if (text === 0) {
              yield* Effect.sleep("500 millis")
              // 16 MB are waiting: what left the server is bounded by what the sockets and we hold
              assert.isBelow(server.requests[0]?.sent() ?? Infinity, 12 << 20)
            }
            text += chunk.text.length
          })
        )
      )
      assert.strictEqual(text, 16_000_000)
    })
  )
})

describe("silence", () => {
  live("L-FAIL-08 no headers in time", () =>
    Effect.gen(function* () {
      const server = yield* serving({ body: "", delay: { headers: 60_000 } })
      const error = yield* failing(yield* backendAt(server.baseUrl, { headersTimeout: "200 millis" }))
      assert.strictEqual(error.message, "no headers for 0.2 seconds")
      assert.strictEqual(Port.errorClass(error), "timeout")
      assert.strictEqual(yield* overOf(server, 0), "aborted")
    })
  )

  live("S11 S12 no bytes in time; comments are bytes", () =>
    Effect.gen(function* () {
      const comments = ": still here\n\n".repeat(8)
      const body = `${comments}${ReplayServer.events({ text: ["a"] })}`
      const size = ": still here\n\n".length
      const slow = { pieces: { _tag: "Every" as const, bytes: size }, delay: { pieces: 150 } }
      const server = yield* serving(
        { body: `${comments}data: {"usage":{"prompt_tokens":7}}\n\n`, ending: { _tag: "Hanging" } },
        { body, ...slow, pieces: { _tag: "At", offsets: Array.from({ length: 8 }, (_, n) => (n + 1) * size) } }
      )
      const backend = yield* backendAt(server.baseUrl, { idleBytesTimeout: "800 millis" })
      const error = yield* failing(backend)
      assert.strictEqual(error.message, "no bytes for 0.8 seconds")
      assert.deepStrictEqual(error.usage, { promptTokens: 7 })
      assert.strictEqual(Port.errorClass(error), "timeout")
      const chunks = yield* collect(backend)
      assert.strictEqual(replyOf(chunks).text, "a")
      assert.isAtLeast(chunks.filter((chunk) => chunk._tag === "Alive").length, 7)
    })
  )
})

/** A clock whose sleepers are woken by hand: a machine that slept an hour wakes each of them once. */
const sleepers = Effect.map(Clock.Clock, (clock) => {
  const sleeping: Array<() => void> = []
  const manual: Clock.Clock = {
    currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe(),
    currentTimeMillis: clock.currentTimeMillis,
    currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe(),
    currentTimeNanos: clock.currentTimeNanos,
    monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: clock.monotonicTimeNanos,
    sleep: () => Effect.callback((resume) => void sleeping.push(() => resume(Effect.void)))
  }
  const wake = Effect.gen(function* () {
    while (sleeping.length === 0) yield* Effect.sleep("5 millis")
    for (const one of sleeping.splice(0)) one()
  })
  return { manual, wake, sleeping }
})

describe("a machine that sleeps", () => {
  live("S12 one long sleep is one missed look, not silence; four looks without a byte are", () =>
    Effect.gen(function* () {
      const server = yield* serving({ body: ": hi\n\n", ending: { _tag: "Hanging" } })
      const backend = yield* backendAt(server.baseUrl)
      const { manual, wake } = yield* sleepers
      const attempt = yield* failing(backend).pipe(Effect.provideService(Clock.Clock, manual), Effect.forkChild)
      yield* server.arrived(1)
      // the first look may still see the comment arrive
      for (let looks = 0; looks < 4; looks++) {
        yield* wake
        yield* Effect.sleep("20 millis")
        if (looks < 3) assert.isUndefined(attempt.pollUnsafe())
      }
      if (attempt.pollUnsafe() === undefined) yield* wake
      assert.strictEqual((yield* Fiber.join(attempt)).message, "no bytes for 120 seconds")
    })
  )

  live("S12 the clock ends with its attempt", () =>
    Effect.gen(function* () {
      const answer: ReplayServer.Answer = { ...scripted({ text: ["a"] }), pieces: { _tag: "At", offsets: [10] } }
      const server = yield* serving({ ...answer, delay: { pieces: 30 } })
      const backend = yield* backendAt(server.baseUrl)
      const { manual, sleeping, wake } = yield* sleepers
      const chunks = yield* collect(backend).pipe(Effect.provideService(Clock.Clock, manual))
      assert.strictEqual(replyOf(chunks).text, "a")
      assert.lengthOf(sleeping, 1)
      yield* wake
      yield* Effect.sleep("20 millis")
      // a watchdog that had outlived its attempt would sleep again
      assert.lengthOf(sleeping, 0)
    })
  )
})

describe("no server", () => {
  live("L-FAIL-08 a refused connection names the place and what to do", () =>
    Effect.gen(function* () {
      const port = yield* closedPort
      const error = yield* failing(yield* backendAt(`http://127.0.0.1:${port}/v1?key=hidden`))
      assert.strictEqual(
        error.message,
        `no connection: 127.0.0.1:${port} refused the connection. Is the server running there? Check baseUrl`
      )
      assert.strictEqual(Port.errorClass(error), "connection")
    })
  )

  live("L-FAIL-08 a host without an address, and a server that speaks no HTTP", () =>
    Effect.gen(function* () {
      const nowhere = yield* failing(yield* backendAt("http://no-such-host.invalid/v1"))
      assert.match(nowhere.message, /^no connection: .*no-such-host\.invalid:80/)
      assert.strictEqual(Port.errorClass(nowhere), "connection")
      const port = yield* rawServer("SSH-2.0-x\r\n")
      const other = yield* failing(yield* backendAt(`http://127.0.0.1:${port}/v1`))
      assert.match(other.message, /does not answer in HTTP/)
      const silent = yield* rawServer("")
      const closed = yield* failing(yield* backendAt(`http://127.0.0.1:${silent}/v1`))
      assert.strictEqual(closed.message, `no connection: 127.0.0.1:${silent} closed the connection before it answered`)
    })
  )
})

/** A port nobody listens on. */
const closedPort = Effect.callback<number>((resume) => {
  const server = createServer()
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    server.close(() => resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0)))
  })
})

/** Answers every connection with these bytes and closes it. */
const rawServer = (bytes: string) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly port: number; readonly close: () => void }>((resume) => {
      const server = createServer((socket) => {
        socket.on("error", () => undefined)
        socket.once("data", () => socket.end(bytes))
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        resume(Effect.succeed({ port, close: () => server.close() }))
      })
    }),
    ({ close }) => Effect.sync(close)
  ).pipe(Effect.map(({ port }) => port))

describe("settings", () => {
  const refusal = (options: OpenAiChat.Options) =>
    Effect.map(Effect.flip(OpenAiChat.make(options)), (error) => error.message)
  const local = { baseUrl: "http://127.0.0.1:1/v1", model: "m" }

  it.effect("L-GEN-09 what cannot work is refused with what to do", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* refusal({ ...local, baseUrl: "localhost:8080" }),
        'baseUrl: it is not an http or https address. Write it like "http://127.0.0.1:8080/v1"'
      )
      assert.strictEqual(
        yield* refusal({ ...local, baseUrl: "http://u:p@h/v1" }),
        "baseUrl: it holds credentials. Give the key as apiKey, or a header of its own"
      )
      assert.strictEqual(
        yield* refusal({ baseUrl: "https://api.openai.com/v1", model: "m" }),
        "apiKey: there is no API key, and api.openai.com answers nobody without one. Set apiKey"
      )
      assert.strictEqual(
        yield* refusal({ ...local, model: " " }),
        "model: it is empty. Name the model as the server knows it"
      )
      assert.strictEqual(
        yield* refusal({ ...local, maxTokens: 0 }),
        "maxTokens: 0 is not a whole number above zero. Leave it out for no cap"
      )
      assert.include(
        yield* refusal({ ...local, idleBytesTimeout: 0 }),
        "idleBytesTimeout: 0 is not a duration above zero"
      )
      assert.include(yield* refusal({ ...local, headers: { "bad name": "x" } }), '"bad name" is no header name')
    })
  )

  it.effect("X-SAFE-05 a key that cannot be sent is refused without showing it", () =>
    Effect.gen(function* () {
      const said = yield* refusal({ ...local, apiKey: Redacted.make("sk-one\nsk-two") })
      assert.strictEqual(
        said,
        "apiKey: the API key holds characters that cannot be sent. Copy it again, without line breaks"
      )
    })
  )

  it.effect("L-GEN-01 the environment makes a chain, and says which variable is missing", () =>
    Effect.gen(function* () {
      const chain = (env: Record<string, string>) =>
        Effect.map(Port.Backends, ({ chain }) => chain.map((one) => one.model)).pipe(
          Effect.provide(
            OpenAiChat.layerConfig.pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(env))))
          )
        )
      assert.deepStrictEqual(yield* chain({ OPENAI_MODEL: "a", OPENAI_API_KEY: "k" }), ["a"])
      assert.deepStrictEqual(yield* chain({ OPENAI_MODEL: "b", OPENAI_BASE_URL: "http://127.0.0.1:1/v1" }), ["b"])
      const noKey = yield* Effect.flip(chain({ OPENAI_MODEL: "a" }))
      assert.include(
        noKey.message,
        "OPENAI_API_KEY: there is no API key, and api.openai.com answers nobody without one"
      )
      assert.include((yield* Effect.flip(chain({}))).message, "OPENAI_MODEL")
    })
  )

  it.effect("L-GEN-01 several backends are one chain, in order", () =>
    Effect.gen(function* () {
      const layer = Chain.layer([OpenAiChat.make(local), OpenAiChat.make({ ...local, model: "n", maxTokens: 5 })])
      const { chain } = yield* Effect.provide(Port.Backends, layer)
      assert.deepStrictEqual(
        chain.map((one) => [one.model, one.maxTokens, one.canConstrain]),
        [
          ["m", undefined, true],
          ["n", 5, true]
        ]
      )
      const again = yield* Effect.provide(Port.Backends, Chain.of(...chain))
      assert.deepStrictEqual(again.chain, chain)
    })
  )
})

describe("secrets", () => {
  const key = "sk-hush-0123456789"
  const header = "hdr-hush-9876543210"

  live("X-SAFE-05 the key goes out as a bearer token and comes back in no error", () =>
    Effect.gen(function* () {
      const echo = `you sent ${key} and ${header}`
      const inStream = `data: {"error":{"message":"${echo}","code":"${key}"}}\n\n`
      const server = yield* serving(
        { status: 401, body: JSON.stringify({ error: { message: echo, code: key } }) },
        { status: 500, body: echo },
        { body: inStream },
        { body: `event: error\ndata: ${echo}\n\n` }
      )
      const backend = yield* backendAt(server.baseUrl, {
        apiKey: Redacted.make(key),
        headers: { "x-team": Redacted.make(header), "x-plain": "seen" }
      })
      for (let n = 0; n < 4; n++) {
        const error = yield* failing(backend)
        const said = `${error.message} ${JSON.stringify(error)} ${String(error)} ${Cause.pretty(Cause.fail(error))}`
        assert.notInclude(said, "hush")
        assert.include(said, "[secret]")
      }
      assert.strictEqual(server.requests[0]?.headers.authorization, `Bearer ${key}`)
      assert.strictEqual(server.requests[0]?.headers["x-team"], header)
      assert.strictEqual(server.requests[0]?.headers["x-plain"], "seen")
      assert.notInclude(JSON.stringify(backend), "hush")
    })
  )
})

describe.skipIf(Recorded.folder === undefined)("recorded streams over HTTP", () => {
  live("X-WIRE-04 every recorded stream streams its text over a connection, whole and in pieces", () =>
    Effect.gen(function* () {
      const files = Recorded.files("openai-chat").filter(
        (file) => file.outcome === "complete" && file.body.length < 30_000
      )
      assert.isAbove(files.length, 25)
      for (const file of files) {
        const answer: ReplayServer.Answer = { headers: file.http.headers, body: file.body }
        const pieces = file.body.length < 2500 ? 1 : 113
        const server = yield* serving(answer, { ...answer, pieces: { _tag: "Every", bytes: pieces } })
        const backend = yield* backendAt(server.baseUrl)
        const whole = replyOf(yield* collect(backend))
        assert.strictEqual(whole.finishReason, file.expected.finish_reason ?? undefined, file.file)
        assert.deepStrictEqual(replyOf(yield* collect(backend)), whole, file.file)
      }
    })
  )
})
