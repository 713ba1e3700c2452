/** The suite of every backend, with each step played on this protocol's wire by a real server. */
import * as ReplayServer from "@settle/testing/servers/ReplayServer"
import * as BackendSuite from "@settle/testing/suites/BackendSuite"
import { Effect } from "effect"
import * as Http from "../../src/Http.ts"
import * as OpenAiChat from "../../src/openai-chat/Backend.ts"
import * as Answers from "./Answers.ts"

BackendSuite.suite("OpenAiChat", (step) =>
  Effect.gen(function* () {
    const server = yield* ReplayServer.make(ReplayServer.inTurn(Answers.answer(step)))
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
