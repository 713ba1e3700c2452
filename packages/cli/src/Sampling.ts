/**
 * Answers for MCP servers that ask for a model (sampling). Offered only where somebody can be asked: each answer is the person's to
 * allow, and the run whose call brought it up pays for it.
 */
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import type * as Loop from "@settle/core/agent/Loop"
import * as Usage from "@settle/core/model/Usage"
import type { Backend } from "@settle/core/port/Backend"
import * as Sampler from "@settle/mcp/Sampler"

type Paying = Pick<Loop.Loop, "absorbSpend">

export interface Sampling {
  readonly sampler: Sampler.Sampler
  /** Whose run pays from now on. Servers are up before there is an agent. */
  readonly paidBy: (loop: Paying) => Effect.Effect<void>
}

export const make = (backend: Backend): Effect.Effect<Sampling> =>
  Effect.map(Ref.make<Paying | undefined>(undefined), (payer) => ({
    sampler: Sampler.fromBackend(backend, {
      spent: (usage) =>
        Effect.flatMap(Ref.get(payer), (loop) =>
          loop === undefined ? Effect.void : Effect.asVoid(loop.absorbSpend(asSpent(usage)))
        )
    }),
    paidBy: (loop) => Ref.set(payer, loop)
  }))

/** Its time is the call's already. */
const asSpent = (usage: Usage.Usage) => {
  const { cachedPromptTokens, completionTokens, cost, costComputed, promptTokens } = usage
  const total = Usage.total(usage)
  return {
    totalTokens: total ?? (promptTokens ?? 0) + (completionTokens ?? 0),
    wallClock: 0,
    complete: total !== undefined,
    ...(cost === undefined ? {} : { cost }),
    ...(costComputed === undefined ? {} : { costComputed }),
    ...(promptTokens === undefined ? {} : { promptTokens }),
    ...(completionTokens === undefined ? {} : { completionTokens }),
    ...(cachedPromptTokens === undefined ? {} : { cachedPromptTokens })
  }
}
