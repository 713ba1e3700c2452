/**
 * The only writer of messages: the transcript first, then the working array (L-ROUND-13).
 *
 * C1. What is in the array is in the transcript, or there is no transcript.
 * C2. Every string is well-formed Unicode before it is kept (X-SAFE-01).
 */
import * as Effect from "effect/Effect"
import * as Json from "../model/Json.ts"
import type { Message } from "../model/Message.ts"
import * as RunFailure from "../model/RunFailure.ts"
import type * as TranscriptLine from "../model/TranscriptLine.ts"
import { fail, type Transcript, type TranscriptError, WriteFailed } from "../port/Transcript.ts"
import type { Live } from "./Live.ts"

export interface Item {
  readonly message: Message
  readonly extras: TranscriptLine.Extras
}

/** Appends messages and, in the same write, the lines that belong right after them. Answers the message ids. */
export const messages = Effect.fnUntraced(function* (
  live: Live,
  items: ReadonlyArray<Item>,
  after: ReadonlyArray<TranscriptLine.Draft> = []
) {
  const healed = items.map(({ extras, message }) => ({ extras, message: heal(message) }))
  const drafts = healed.map(({ extras, message }): TranscriptLine.Draft => ({ type: "message", message, extras }))
  const ids = yield* lines(live, [...drafts, ...after])
  const kept: Array<string | undefined> = []
  for (const [index, { message }] of healed.entries()) kept.push(inMemory(live, message, ids[index]))
  return kept
})

/** Lines that carry no message. A failed write ends the run (X-STORE-06). */
export const lines = (
  live: Live,
  drafts: ReadonlyArray<TranscriptLine.Draft>
): Effect.Effect<ReadonlyArray<string>, RunFailure.RunFailure> =>
  live.transcript === undefined || drafts.length === 0
    ? Effect.succeed([])
    : Effect.mapError(append(live.transcript, drafts), failed)

/** One that throws where it should fail has failed all the same. */
const append = (transcript: Transcript, drafts: ReadonlyArray<TranscriptLine.Draft>) =>
  Effect.catchDefect(
    Effect.suspend(() => transcript.append(drafts)),
    (defect) => {
      const detail = defect instanceof Error ? defect.message : String(defect)
      return fail("append", transcript.place, new WriteFailed({ detail }))
    }
  )

/** For an end that can no longer write: the conversation handed back stays one that a provider accepts. */
export const inMemory = (live: Live, message: Message, id: string | undefined): string | undefined => {
  live.state.conversation.messages.push(message)
  live.state.conversation.ids.push(id)
  return id
}

const failed = (error: TranscriptError): RunFailure.RunFailure =>
  RunFailure.failure(new RunFailure.TranscriptFailed({ detail: error.message, unsettled: [] }))

const heal = (message: Message): Message => {
  const calls = message.toolCalls
  if (message.content.isWellFormed() && (calls === undefined || calls.every(isWellFormedCall))) return message
  return {
    ...message,
    content: Json.wellFormed(message.content),
    ...(calls === undefined
      ? {}
      : {
          toolCalls: calls.map((call) => ({
            id: Json.wellFormed(call.id),
            name: Json.wellFormed(call.name),
            arguments: Json.wellFormed(call.arguments)
          }))
        })
  }
}

const isWellFormedCall = (call: { readonly id: string; readonly name: string; readonly arguments: string }): boolean =>
  call.id.isWellFormed() && call.name.isWellFormed() && call.arguments.isWellFormed()
