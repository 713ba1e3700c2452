import * as Conversation from "@settle/core/model/Conversation"
import * as Message from "@settle/core/model/Message"
import type * as Port from "@settle/core/port/Backend"
import type * as Script from "@settle/testing/Script"
import * as ReplayServer from "@settle/testing/servers/ReplayServer"
import * as BackendSuite from "@settle/testing/suites/BackendSuite"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Duration, Effect, Exit, Fiber, Latch, Layer, Scope, Stream } from "effect"
import * as Backend from "@settle/core/port/Backend"
import * as Http from "../src/Http.ts"
import * as KoboldCpp from "../src/KoboldCpp.ts"
import * as Answers from "./openai-chat/Answers.ts"

const request: Port.Request = { conversation: Conversation.of([Message.user("hi")]), tools: [] }

const abortPath = "/api/extra/abort"

/** Chats are answered by the step, aborts with `taken`. */
const serving = (chat: ReplayServer.Answer, taken: ReplayServer.Answer = { body: "{}" }) =>
  ReplayServer.make((seen) => (seen.path === abortPath ? taken : chat))

const hanging: ReplayServer.Answer = {
  body: ReplayServer.events({ text: ["Hel"], finish: null, done: false }),
  ending: { _tag: "Hanging" }
}

const aborts = (server: ReplayServer.ReplayServer) => server.requests.filter(({ path }) => path === abortPath)

const keyOf = (seen: ReplayServer.Seen | undefined): unknown => JSON.parse(seen?.body ?? "{}").genkey

const live = <A, E>(name: string, test: () => Effect.Effect<A, E, Scope.Scope>) =>
  it.live(name, () => Effect.scoped(test()).pipe(Effect.provide(Http.layer())))

/** Reads until the first text, then leaves. */
const leaveAfterText = (backend: Port.Backend) =>
  Effect.gen(function* () {
    const spoke = yield* Latch.make()
    const reader = yield* Effect.forkChild(Stream.runForEach(backend.stream(request), () => spoke.open))
    yield* spoke.await
    yield* Fiber.interrupt(reader)
  })

describe("what a KoboldCpp server is told", () => {
  live("B2 an interrupted reply is aborted by its own key, after its connection is closed", () =>
    Effect.gen(function* () {
      const server = yield* serving(hanging)
      const backend = yield* KoboldCpp.make({ baseUrl: server.baseUrl })
      yield* leaveAfterText(backend)
      yield* server.arrived(2)
      const [chat, abort] = server.requests
      assert.strictEqual(abort?.path, abortPath)
      assert.strictEqual(abort?.method, "POST")
      assert.match(String(keyOf(chat)), /^settle-.{36}$/)
      assert.deepStrictEqual(JSON.parse(abort?.body ?? ""), { genkey: keyOf(chat) })
      assert.strictEqual(yield* chat?.over ?? Effect.never, "aborted")
    })
  )

  live("B2 leaving early is an abort too, and two replies have two keys", () =>
    Effect.gen(function* () {
      const server = yield* serving(hanging)
      const backend = yield* KoboldCpp.make({ baseUrl: server.baseUrl })
      yield* leaveAfterText(backend)
      yield* server.arrived(2)
      yield* Stream.runDrain(Stream.take(backend.stream(request), 1))
      yield* server.arrived(4)
      const [first, , second] = server.requests
      assert.notStrictEqual(keyOf(first), keyOf(second))
      assert.deepStrictEqual(aborts(server).map(keyOf), [keyOf(first), keyOf(second)])
    })
  )

  live("B1 a finished reply, a refusal and a refused connection are never aborted", () =>
    Effect.gen(function* () {
      const server = yield* ReplayServer.make(
        ReplayServer.inTurn(
          { body: ReplayServer.events({ text: ["whole"] }) },
          { status: 503, body: '{"detail":"busy"}' }
        )
      )
      const scope = yield* Scope.make()
      const backend = yield* Scope.provide(KoboldCpp.make({ baseUrl: server.baseUrl }), scope)
      const nobody = yield* Scope.provide(KoboldCpp.make({ baseUrl: "http://127.0.0.1:1/v1" }), scope)
      const said = yield* Stream.runCollect(backend.stream(request))
      assert.strictEqual(said.at(-1)?._tag, "Finished")
      const refused = yield* Effect.flip(Stream.runDrain(backend.stream(request)))
      assert.strictEqual(refused.message, "HTTP 503: busy")
      yield* Effect.flip(Stream.runDrain(nobody.stream(request)))
      // closing waits for every abort on its way
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(
        server.requests.map(({ path }) => path),
        ["/v1/chat/completions", "/v1/chat/completions"]
      )
    })
  )

  live("X-WIRE-01 a cut reply fails as one, and what the server still writes is aborted", () =>
    Effect.gen(function* () {
      const server = yield* serving({ ...hanging, ending: { _tag: "Destroyed" } })
      const backend = yield* KoboldCpp.make({ baseUrl: server.baseUrl })
      const error = yield* Effect.flip(Stream.runDrain(backend.stream(request)))
      assert.strictEqual(error.reason._tag, "BadResponse")
      yield* server.arrived(2)
      assert.strictEqual(aborts(server).length, 1)
    })
  )

  live("an abort that is never answered holds up neither the reader nor, for longer than its bound, the scope", () =>
    Effect.gen(function* () {
      const server = yield* serving(hanging, { body: "{}", delay: { headers: 60_000 } })
      const scope = yield* Scope.make()
      const backend = yield* Scope.provide(
        KoboldCpp.make({ baseUrl: server.baseUrl, abortTimeout: "300 millis" }),
        scope
      )
      const [left] = yield* Effect.timed(leaveAfterText(backend))
      yield* server.arrived(2)
      const [closed] = yield* Effect.timed(Scope.close(scope, Exit.void))
      assert.isBelow(Duration.toMillis(left), 5000)
      assert.isBelow(Duration.toMillis(closed), 5000)
    })
  )

  live("an abort that fails is nobody's failure", () =>
    Effect.gen(function* () {
      const server = yield* serving(hanging, { status: 500, body: "no", ending: { _tag: "Destroyed" } })
      const scope = yield* Scope.make()
      const backend = yield* Scope.provide(KoboldCpp.make({ baseUrl: server.baseUrl }), scope)
      const exit = yield* Effect.exit(Stream.runDrain(Stream.take(backend.stream(request), 1)))
      assert.isTrue(Exit.isSuccess(exit))
      assert.isTrue(Exit.isSuccess(yield* Effect.exit(Scope.close(scope, Exit.void))))
      assert.strictEqual(aborts(server).length, 1)
    })
  )
})

describe("what a KoboldCpp server is asked", () => {
  live("L-ROUTE-03 a schema goes out as the server's own constraint", () =>
    Effect.gen(function* () {
      const server = yield* serving({ body: ReplayServer.events({ text: ["{}"] }) })
      const backend = yield* KoboldCpp.make({ baseUrl: server.baseUrl })
      assert.strictEqual(backend.canConstrain, true)
      const schema = { name: "tool_route", schema: { type: "object" } }
      yield* Stream.runDrain(backend.stream({ ...request, schema, maxTokens: 99 }))
      const body = JSON.parse(server.requests[0]?.body ?? "")
      assert.deepStrictEqual(body.response_format, {
        type: "json_schema",
        json_schema: { name: "tool_route", schema: { type: "object" }, strict: false }
      })
      assert.deepStrictEqual([body.model, body.max_tokens], ["koboldcpp", 99])
    })
  )

  it.effect("S12 headers may take for ever, bytes half an hour", () =>
    Effect.gen(function* () {
      const seen: Array<Http.Post> = []
      const http: Http.Http = {
        post: (post) =>
          Effect.suspend(() => {
            seen.push(post)
            // the reply never begins, and its abort breaks
            return seen.length > 1 ? Effect.die("no network") : Effect.never
          })
      }
      const backend = yield* KoboldCpp.make().pipe(Effect.provideService(Http.Http, http))
      const reader = yield* Effect.forkChild(Stream.runDrain(backend.stream(request)), { startImmediately: true })
      yield* Fiber.interrupt(reader)
      const [chat] = seen
      assert.strictEqual(chat?.url.href, "http://127.0.0.1:5001/v1/chat/completions")
      assert.strictEqual(Duration.toMillis(chat?.headersTimeout ?? 0), Infinity)
      assert.strictEqual(Duration.toMinutes(chat?.idleBytesTimeout ?? 0), 30)
    }).pipe(Effect.scoped)
  )

  live("a server behind a path of its own is aborted there, with the key that it wants", () =>
    Effect.gen(function* () {
      const server = yield* serving(hanging, { body: "{}" })
      const env = ConfigProvider.fromUnknown({
        KOBOLDCPP_BASE_URL: `http://127.0.0.1:${server.port}/deep/v1/`,
        KOBOLDCPP_API_KEY: "sk-kobold"
      })
      const scope = yield* Scope.make()
      const built = yield* Layer.buildWithScope(
        KoboldCpp.layerConfig.pipe(Layer.provide(ConfigProvider.layer(env))),
        scope
      )
      const { chain } = yield* Effect.provide(Backend.Backends, built)
      const [backend] = chain
      if (backend === undefined) return assert.fail("no backend")
      yield* leaveAfterText(backend)
      yield* server.arrived(2)
      assert.deepStrictEqual(
        server.requests.map(({ headers, path }) => [path, headers.authorization]),
        [
          ["/deep/v1/chat/completions", "Bearer sk-kobold"],
          ["/deep/api/extra/abort", "Bearer sk-kobold"]
        ]
      )
      yield* Scope.close(scope, Exit.void)
    })
  )

  it.effect("L-GEN-09 a bound that is none is refused", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(KoboldCpp.make({ abortTimeout: 0 }))
      assert.strictEqual(error.message, 'abortTimeout: 0 is not a duration above zero. Write it like "60 seconds"')
    }).pipe(Effect.scoped)
  )
})

BackendSuite.suite("KoboldCpp", (step: Script.Step) =>
  Effect.gen(function* () {
    const server = yield* serving(Answers.answer(step))
    const http = yield* Http.make()
    const backend = yield* KoboldCpp.make({ baseUrl: server.baseUrl }).pipe(Effect.provideService(Http.Http, http))
    // the server's own word for it
    return { backend, aborted: Effect.sync(() => aborts(server).length) }
  })
)
