/**
 * A transcript in memory: the same lines and the same fold as a file, gone with the process.
 *
 * M1. What is folded is the text of a line, not the draft: a replay knows nothing that a file would not.
 * M2. One append is one step: its lines stand together, in order.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Json from "../model/Json.ts"
import * as Replay from "../model/Replay.ts"
import * as TranscriptLine from "../model/TranscriptLine.ts"
import { IdGenerator } from "../port/IdGenerator.ts"
import { Transcript } from "../port/Transcript.ts"

export interface MemoryTranscript extends Transcript {
  /** The text of every line so far, without its LF. */
  readonly lines: Effect.Effect<ReadonlyArray<string>>
}

export interface Options {
  /** Lines of an earlier process, to go on from. */
  readonly lines?: ReadonlyArray<string>
  /** Default `memory`. */
  readonly place?: string
}

export const make = (options: Options = {}): Effect.Effect<MemoryTranscript> =>
  Effect.sync(() => {
    const lines: Array<string> = []
    const fold = Replay.make()
    const add = (line: string) => {
      lines.push(line)
      fold.add(Json.parse(line), lines.length)
    }
    for (const line of options.lines ?? []) add(line)
    return {
      place: options.place ?? "memory",
      lines: Effect.sync(() => [...lines]),
      replay: Effect.sync(fold.result),
      append: (drafts) => Effect.map(stamp(drafts), (stamped) => stamped.map(({ id, line }) => (add(line), id)))
    }
  })

export const layer: Layer.Layer<never> = Layer.effect(Transcript, make())

const stamp = (drafts: ReadonlyArray<TranscriptLine.Draft>) =>
  Effect.gen(function* () {
    const ids = yield* IdGenerator
    const clock = yield* Clock.Clock
    return yield* Effect.forEach(drafts, (draft) =>
      Effect.map(ids.next, (id) => ({ id, line: TranscriptLine.encode(draft, id, clock.currentTimeMillisUnsafe()) }))
    )
  })
