/** Makes a conversation smaller. When is its decision (L-ROUND-07); the loop only obeys. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Message } from "../model/Message.ts"
import type { Usage } from "../model/Usage.ts"
import type { TokenCounter } from "./TokenCounter.ts"

export interface Target {
  /** In units of `counter`, which travels with it (L-CTX-10). */
  readonly tokens: number
  readonly counter: TokenCounter
}

export interface Pass {
  readonly messages: ReadonlyArray<Message>
  /** Whole content of the summary message, when one was made. */
  readonly summary?: string
  /** How many messages went. */
  readonly dropped: number
  /** Index of the last replaced message in the input; -1 when nothing was replaced. */
  readonly cutIndex: number
  readonly tokensBefore: number
  readonly tokensAfter: number
  /** True when messages were dropped without a summary. */
  readonly fallback: boolean
  /** True when even this does not fit: the run must end (L-ROUND-10). */
  readonly exhausted: boolean
  /** What the sends of a summary were billed, failed ones too; absent when nothing was sent. `Billed` heard of it before. */
  readonly usage?: ReadonlyArray<Usage>
  /** Tool results replaced by a stub; indexes of the input. */
  readonly elisions: ReadonlyArray<{ readonly index: number; readonly stub: string }>
}

export interface Compactor {
  readonly budget: number
  /** `tokens` is the whole request where the caller weighed one (L-ROUND-08). */
  readonly needsCompaction: (messages: ReadonlyArray<Message>, tokens: number | undefined) => boolean
  readonly compact: (messages: ReadonlyArray<Message>, target: Target | undefined) => Effect.Effect<Pass>
}

/**
 * Told by a compactor of each send of a summary as soon as it is over, `undefined` for one that reported nothing: what was paid stays
 * known when a cancel takes the rest of the pass (L-CAP-12). `Pass.usage` repeats what was reported, in the same order.
 */
export const Billed: Context.Reference<(usage: Usage | undefined) => void> = Context.Reference<
  (usage: Usage | undefined) => void
>("@settle/core/port/Compactor/Billed", { defaultValue: () => () => undefined })

/** Optional part: `undefined` means conversations only grow. */
export const Compactor: Context.Reference<Compactor | undefined> = Context.Reference<Compactor | undefined>(
  "@settle/core/port/Compactor",
  { defaultValue: () => undefined }
)
