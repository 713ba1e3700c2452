/** What a provider publishes, what it is handed, and what it answers. */
import * as Data from "effect/Data"
import type * as Json from "./Json.ts"
import type * as Message from "./Message.ts"

/** A classification, never a promise: it words a repair and decides nothing else (O-IDEM-01, -03). */
export type Idempotency = "read-only" | "idempotent" | "destructive" | "unknown"
export const idempotencies: ReadonlyArray<Idempotency> = ["read-only", "idempotent", "destructive", "unknown"]

/**
 * How a call takes an interruption (X-CANC-02): `detach` lets it run on while the run's `drained` waits for it, `interrupt` ends its
 * fiber. Either way its outcome is unknown afterwards.
 */
export type Interruption = "detach" | "interrupt"

export interface Declaration {
  readonly name: string
  readonly description?: string
  /** JSON schema of the arguments, `type: "object"`. */
  readonly parameters: Json.JsonObject
  /** From annotations of the tool's author: untrusted, and overruled by any configured rule (X-IDEM-01). */
  readonly idempotency?: Idempotency
  /** Default `detach`. */
  readonly interruption?: Interruption
  /** Where the tool lives, for people and for grants: a server's name. */
  readonly origin?: string
}

/** One call as it is handed over. */
export interface Invocation {
  readonly callId: string
  readonly operationId: string
  readonly name: string
  /** Text of a JSON object, as the model wrote it. */
  readonly arguments: string
}

export interface ArtifactRef {
  /** Basename within the artifacts folder of the transcript. */
  readonly file: string
  /** SHA-256 of the whole text, hex. */
  readonly digest: string
  readonly bytes: number
  readonly chars: number
  readonly elidedChars: number
}

/**
 * What is known after a call was handed over.
 * - `Answered`: the tool spoke, well or with an error.
 * - `Lost`: the provider can no longer learn the answer (a server died); the outcome is unknown.
 * - `NotAccepted`: the provider knows the call never began (connection refused, dead session); only this may settle an unanswered
 *   call as failed (X-CANC-04).
 */
export type Answer = Data.TaggedEnum<{
  Answered: {
    readonly content: string
    readonly isError: boolean
    /** The id the provider answered under; a wrong one is corrected and logged (L-ROUND-17). */
    readonly callId?: string
    /** The work goes on behind this acknowledgement and reports through the completion bus. */
    readonly background?: boolean
    readonly structuredContent?: Json.Json
    readonly parts?: ReadonlyArray<Message.Part>
  }
  Lost: { readonly message: string }
  NotAccepted: { readonly message: string }
}>
export const Answer = Data.taggedEnum<Answer>()

export const answered = (content: string): Answer => Answer.Answered({ content, isError: false })
export const failed = (content: string): Answer => Answer.Answered({ content, isError: true })
