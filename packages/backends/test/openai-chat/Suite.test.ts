/** The suite of every backend, with each step played on this protocol's wire by a real server. */
import * as ReplayServer from "@settle/testing/servers/ReplayServer"
import type * as Script from "@settle/testing/Script"
import * as BackendSuite from "@settle/testing/suites/BackendSuite"
import { Effect } from "effect"
import * as Http from "../../src/Http.ts"
import * as OpenAiChat from "../../src/openai-chat/Backend.ts"

const texts = (step: Script.Step): ReadonlyArray<string> =>
  step.chunks?.map((read) => (typeof read === "string" ? read : "")) ??
  (step.content === undefined ? [] : [step.content])

const usage = (step: Script.Step) => ({
  prompt_tokens: step.usage?.promptTokens ?? 1,
  completion_tokens: step.usage?.completionTokens ?? 1
})

const answer = (step: Script.Step): ReplayServer.Answer => {
  const { error } = step
  if (error?._tag === "Refused") {
    return { status: error.status, body: JSON.stringify({ error: { message: error.detail } }) }
  }
  const calls = (step.toolCalls ?? []).map(({ id, name, arguments: text }) => ({ id, name, arguments: [text] }))
  const open = step.stall === true || step.cut === true
  const body = ReplayServer.events({
    text: texts(step),
    calls,
    usage: usage(step),
    ...(open ? { finish: null, done: false } : {})
  })
  return step.stall === true ? { body, ending: { _tag: "Hanging" } } : { body }
}

BackendSuite.suite("OpenAiChat", (step) =>
  Effect.gen(function* () {
    const server = yield* ReplayServer.make(ReplayServer.inTurn(answer(step)))
    const http = yield* Http.make()
    const backend = yield* OpenAiChat.make({ baseUrl: server.baseUrl, model: "m" }).pipe(
      Effect.provideService(Http.Http, http)
    )
    let aborted = 0
    const watch = Effect.flatMap(server.arrived(1), () => server.requests[0]?.over ?? Effect.never)
    yield* Effect.forkScoped(Effect.map(watch, (how) => (how === "aborted" ? aborted++ : 0)))
    return { backend, aborted: Effect.sync(() => aborted) }
  })
)
