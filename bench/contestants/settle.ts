/** The library as an application uses it: an agent of one layer, a tool by hand, a subscriber to every event. */
import * as OpenAiChat from "@settle/backends/openai-chat/Backend"
import * as Agent from "@settle/core/agent/Agent"
import type * as RunEvent from "@settle/core/model/RunEvent"
import * as Tool from "@settle/core/model/Tool"
import * as ToolProvider from "@settle/core/port/ToolProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type { Contestant, Work } from "../measure.ts"

const declaration: Tool.Declaration = {
  name: "echo",
  description: "Echo the text back",
  parameters: {
    type: "object",
    properties: { text: { type: "string" } },
    required: ["text"],
    additionalProperties: false
  }
}

const provider = (echo: Work["echo"]): ToolProvider.ToolProvider => ({
  list: Effect.succeed([declaration]),
  execute: (batch) =>
    Effect.sync(() => batch.map((invocation) => Tool.answered(echo(JSON.parse(invocation.arguments)))))
})

/** `beside` is what else the agent is given: nothing, or a transcript. */
export const make = (baseUrl: string, beside: () => Layer.Layer<never, unknown>): Contestant => ({
  run: ({ echo, model, onText, prompt }) => {
    const backend = OpenAiChat.layer({ baseUrl, model, includeUsage: true })
    const parts = Layer.mergeAll(backend, Layer.succeed(ToolProvider.ToolProvider, provider(echo)), beside())
    const hear = (events: ReadonlyArray<RunEvent.RunEvent>) =>
      Effect.sync(() => {
        for (const event of events) if (event._tag === "Token") onText(event.text)
      })
    return Effect.gen(function* () {
      const run = yield* (yield* Agent.Agent).run(prompt)
      yield* Stream.runForEachArray(run.events, hear)
      return (yield* run.result).final
    }).pipe(Effect.provide(Agent.layer().pipe(Layer.provide(parts))), Effect.runPromise)
  },
  close: () => Promise.resolve()
})

export const load = (baseUrl: string): Promise<Contestant> => Promise.resolve(make(baseUrl, () => Layer.empty))
