/** Full results beside a transcript (L-ART). What is stored here can be deleted: no resume needs it (L-ART-03). */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

export class ArtifactError extends Schema.TaggedError<ArtifactError>()("ArtifactError", { detail: Schema.String }) {
  override get message(): string {
    return this.detail
  }
}

export interface Stored {
  /** Basename. */
  readonly file: string
  /** SHA-256 of the UTF-8 bytes, hex. */
  readonly digest: string
  readonly bytes: number
  readonly chars: number
}

export interface Artifacts {
  readonly store: (operationId: string, content: string) => Effect.Effect<Stored, ArtifactError>
}

/** Optional part: `undefined` means there is no place, and the excerpt says so (L-ART-05). */
export const Artifacts: Context.Reference<Artifacts | undefined> = Context.Reference<Artifacts | undefined>(
  "@settle/core/port/Artifacts",
  { defaultValue: () => undefined }
)
