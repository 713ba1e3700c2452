/** The suite of every backend, with each step played on this protocol's wire by a real server. */
import * as ReplayServer from "@settle/testing/servers/ReplayServer"
import type * as Script from "@settle/testing/Script"
import * as BackendSuite from "@settle/testing/suites/BackendSuite"
import { Effect } from "effect"
import * as Anthropic from "../../src/anthropic/Backend.ts"
import * as Http from "../../src/Http.ts"
import { ended, start, toolUse, words } from "./Reading.ts"

const texts = (step: Script.Step): ReadonlyArray<string> =>
  step.chunks?.map((read) => (typeof read === "string" ? read : "")) ??
  (step.content === undefined ? [] : [step.content])

const answer = (step: Script.Step): ReplayServer.Answer => {
  const { error } = step
  if (error?._tag === "Refused") {
    return {
      status: error.status,
      body: JSON.stringify({ type: "error", error: { type: "x", message: error.detail } })
    }
  }
  const said = texts(step)
  const calls = step.toolCalls ?? []
  const body =
    start({ usage: { input_tokens: step.usage?.promptTokens ?? 1, output_tokens: 1 } }) +
    (said.length === 0 ? "" : words(0, ...said)) +
    calls.map((call, n) => toolUse(n + 1, call.id, call.name, call.arguments)).join("")
  if (step.stall === true) return { body, ending: { _tag: "Hanging" } }
  if (step.cut === true) return { body }
  const usage = { output_tokens: step.usage?.completionTokens ?? 1 }
  return { body: body + ended(calls.length > 0 ? "tool_use" : "end_turn", usage) }
}

BackendSuite.suite("Anthropic", (step) =>
  Effect.gen(function* () {
    const server = yield* ReplayServer.make(ReplayServer.inTurn(answer(step)))
    const http = yield* Http.make()
    const backend = yield* Anthropic.make({ baseUrl: server.baseUrl, model: "m" }).pipe(
      Effect.provideService(Http.Http, http)
    )
    let aborted = 0
    const watch = Effect.flatMap(server.arrived(1), () => server.requests[0]?.over ?? Effect.never)
    yield* Effect.forkScoped(Effect.map(watch, (how) => (how === "aborted" ? aborted++ : 0)))
    return { backend, aborted: Effect.sync(() => aborted) }
  })
)
