/** The handles that the parts of one live run share. No counters: what changes is in RunState. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Json from "../model/Json.ts"
import type { RunContext } from "../model/RunContext.ts"
import type { Settings } from "../model/Settings.ts"
import type { Artifacts } from "../port/Artifacts.ts"
import type { Backend } from "../port/Backend.ts"
import type { CallScope, LogLevel } from "../port/CallScope.ts"
import type { Compactor } from "../port/Compactor.ts"
import type { CompletionBus } from "../port/CompletionBus.ts"
import type { HostHooks } from "../port/HostHooks.ts"
import type { IdGenerator } from "../port/IdGenerator.ts"
import type { RequestBudget } from "../port/RequestBudget.ts"
import type { SteerSource } from "../port/SteerSource.ts"
import type { TokenCounter } from "../port/TokenCounter.ts"
import type { ToolProvider } from "../port/ToolProvider.ts"
import type { Transcript } from "../port/Transcript.ts"
import type { Feed } from "./Feed.ts"
import type { InFlight } from "./InFlight.ts"
import type { RunState } from "./RunState.ts"
import type { Sections } from "./Section.ts"
import type { Work } from "./Work.ts"

/** The parts a loop was built from; `undefined` means that the feature does not exist. */
export interface Parts {
  readonly settings: Settings
  readonly chain: readonly [Backend, ...ReadonlyArray<Backend>]
  readonly provider: ToolProvider | undefined
  readonly transcript: Transcript | undefined
  readonly artifacts: Artifacts | undefined
  readonly budget: RequestBudget | undefined
  readonly counter: TokenCounter | undefined
  readonly compactor: Compactor | undefined
  readonly steers: SteerSource
  readonly bus: CompletionBus
  readonly hooks: HostHooks
  readonly ids: IdGenerator
}

export interface Live extends Parts {
  readonly runId: string
  readonly context: RunContext
  readonly feed: Feed
  readonly work: Work
  readonly sections: Sections
  readonly inFlight: InFlight
  readonly state: RunState
  readonly callScope: CallScope
  /** Milliseconds of the run's clock. */
  readonly now: () => number
}

export const logger = "settle.loop"

export const log = (live: Pick<Live, "feed">, level: LogLevel, data: Json.Json): boolean =>
  live.feed.emit({ _tag: "Log", level, logger, data })

/** Runs an effect whose failure or defect must not change how the run ends: it becomes a Log event. */
export const shielded = <A>(
  live: Pick<Live, "feed">,
  what: string,
  effect: Effect.Effect<A, { readonly message: string }>
): Effect.Effect<A | undefined> =>
  Effect.catchCause(effect, (cause) =>
    Effect.sync(() => {
      log(live, "error", { message: what, error: describe(cause) })
      return undefined
    })
  )

/** What went wrong, in one line: the message of an error, the text of anything else. */
export const describe = (cause: Cause.Cause<unknown>): string => {
  const squashed = Cause.squash(cause)
  return squashed instanceof Error ? squashed.message : Json.render(squashed)
}
