/** The suite of every backend, with each step played on a protocol's wire by a real server. */
import type * as Backend from "@settle/core/port/Backend"
import type * as Script from "@settle/testing/Script"
import * as ReplayServer from "@settle/testing/servers/ReplayServer"
import * as BackendSuite from "@settle/testing/suites/BackendSuite"
import { Effect } from "effect"
import * as Http from "../src/Http.ts"

export interface Wire {
  /** The body of a refusal. */
  readonly refusal: (detail: string) => unknown
  /** What a step says, without its end. */
  readonly begin: (step: Script.Step, texts: ReadonlyArray<string>) => string
  readonly end: (step: Script.Step) => string
}

const texts = (step: Script.Step): ReadonlyArray<string> =>
  step.chunks?.map((read) => (typeof read === "string" ? read : "")) ??
  (step.content === undefined ? [] : [step.content])

const answer = (step: Script.Step, wire: Wire): ReplayServer.Answer => {
  const { error } = step
  if (error?._tag === "Refused") return { status: error.status, body: JSON.stringify(wire.refusal(error.detail)) }
  const body = wire.begin(step, texts(step))
  if (step.stall === true) return { body, ending: { _tag: "Hanging" } }
  return { body: step.cut === true ? body : body + wire.end(step) }
}

export const suite = <E>(
  name: string,
  make: (baseUrl: string) => Effect.Effect<Backend.Backend, E>,
  wire: Wire
): void =>
  BackendSuite.suite(name, (step) =>
    Effect.gen(function* () {
      const server = yield* ReplayServer.make(ReplayServer.inTurn(answer(step, wire)))
      const http = yield* Http.make()
      const backend = yield* make(server.baseUrl).pipe(Effect.provideService(Http.Http, http))
      let aborted = 0
      const watch = Effect.flatMap(server.arrived(1), () => server.requests[0]?.over ?? Effect.never)
      yield* Effect.forkScoped(Effect.map(watch, (how) => (how === "aborted" ? aborted++ : 0)))
      return { backend, aborted: Effect.sync(() => aborted) }
    })
  )
