/** A backend against a server on the loopback: what every test over a connection needs. */
import * as Conversation from "@settle/core/model/Conversation"
import * as Message from "@settle/core/model/Message"
import type * as Port from "@settle/core/port/Backend"
import * as ReplayServer from "@settle/testing/servers/ReplayServer"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Stream, type Scope } from "effect"
import * as Http from "../src/Http.ts"

export const ask = (...messages: ReadonlyArray<Message.Message>): Port.Request => ({
  conversation: Conversation.of(messages.length === 0 ? [Message.user("hi")] : messages),
  tools: []
})

export const serving = (...answers: readonly [ReplayServer.Answer, ...Array<ReplayServer.Answer>]) =>
  ReplayServer.make(ReplayServer.inTurn(...answers))

export const collect = (backend: Port.Backend, request: Port.Request = ask()) =>
  Stream.runCollect(backend.stream(request))

/** The reply of a stream that ended well. */
export const replyOf = (chunks: ReadonlyArray<Port.Chunk>): Port.Reply => {
  const last = chunks.at(-1)
  if (last?._tag !== "Finished") throw new Error("the stream did not finish")
  return last.reply
}

/** The turn that a reply becomes in its conversation. */
export const turnOf = ({ replay, text, toolCalls }: Port.Reply): Message.Message => ({
  ...Message.assistant(text, toolCalls),
  ...(replay === undefined ? {} : { replay })
})

export const live = <A, E>(name: string, test: () => Effect.Effect<A, E, Scope.Scope>) =>
  it.live(name, () => Effect.scoped(test()).pipe(Effect.provide(Http.layer())))

/** Interrupting whoever reads leaves the request. */
export const abortsAt = (
  body: string,
  backendAt: (baseUrl: string) => Effect.Effect<Port.Backend, unknown>
): Effect.Effect<void, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const server = yield* serving({ body, ending: { _tag: "Hanging" } })
    const fiber = yield* Effect.forkChild(collect(yield* backendAt(server.baseUrl)))
    yield* server.arrived(1)
    yield* Fiber.interrupt(fiber)
    assert.strictEqual(yield* server.requests[0]?.over ?? Effect.succeed("finished" as const), "aborted")
  })
