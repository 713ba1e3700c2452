/**
 * What changes while a run runs: slices with one owner each; none reads another.
 *
 * | slice | changed only by |
 * |---|---|
 * | conversation | Commit, Compact |
 * | tally | Batch |
 * | spend | AttemptLog, Compact, Park, absorbSpend |
 * | ledger | Batch |
 * | attempts, scratch | RoundTrip and what it calls |
 * | shapes, contextWeights | Weigh |
 * | round, toolsOff | Round |
 * | carriedSteers | Park; emptied by Inject |
 * | catalogue, grantsDigest | Catalogue; Grants |
 * | route | RoutedTurn |
 */
import type * as Calibration from "../decide/Calibration.ts"
import * as Caps from "../decide/Caps.ts"
import * as Handoff from "../decide/Handoff.ts"
import type * as Marker from "../decide/Marker.ts"
import type * as Conversation from "../model/Conversation.ts"
import type { AttemptRecord } from "../model/AttemptRecord.ts"
import type { Message } from "../model/Message.ts"
import type { Declaration } from "../model/Tool.ts"
import type { TokenCounter } from "../port/TokenCounter.ts"
import * as Limits from "../decide/Limits.ts"
import type { Route } from "../decide/Routing.ts"

/** Grows in place; a compaction replaces the array and starts a new revision. `ids` runs beside `messages`. */
export interface Growing extends Conversation.Conversation {
  messages: Array<Message>
  ids: Array<string | undefined>
  revision: number
}

/** Of one round trip. */
export interface Scratch {
  attempt: number
  /** The round's single extra send was used (L-EMPTY-04). */
  suspectSpent: boolean
  /** The round forced a compaction. */
  compacted: boolean
  readonly failures: Array<Marker.Failure>
}

export const scratch = (): Scratch => ({ attempt: 0, suspectSpent: false, compacted: false, failures: [] })

export interface RunState {
  readonly conversation: Growing
  tally: Limits.Tally
  spend: Caps.Spend
  ledger: Handoff.Ledger
  scratch: Scratch
  readonly shapes: Map<TokenCounter, Calibration.Shape>
  /** The run context, weighed once by each counter (L-CTX-07). */
  readonly contextWeights: Map<TokenCounter, number>
  attempts: Array<AttemptRecord>
  round: number
  toolsOff: boolean
  catalogue: ReadonlyArray<Declaration>
  route: Route | undefined
  carriedSteers: ReadonlyArray<string>
  grantsDigest: string | undefined
}

export const make = (now: number): RunState => ({
  conversation: { messages: [], ids: [], revision: 0 },
  tally: Limits.empty,
  spend: Caps.start(now),
  ledger: Handoff.start({ resumed: false }),
  scratch: scratch(),
  shapes: new Map(),
  contextWeights: new Map(),
  attempts: [],
  round: 0,
  toolsOff: false,
  catalogue: [],
  route: undefined,
  carriedSteers: [],
  grantsDigest: undefined
})
