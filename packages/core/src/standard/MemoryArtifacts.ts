/** Full results in memory, under the names a folder would give them. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Excerpt from "../decide/Excerpt.ts"
import * as Canonical from "../model/Canonical.ts"
import { Artifacts } from "../port/Artifacts.ts"

export interface MemoryArtifacts extends Artifacts {
  /** Text by file name. */
  readonly files: Effect.Effect<ReadonlyMap<string, string>>
}

export const make = (): Effect.Effect<MemoryArtifacts> =>
  Effect.sync(() => {
    const files = new Map<string, string>()
    return {
      files: Effect.sync(() => new Map(files)),
      store: (operationId, content) =>
        Effect.sync(() => {
          const file = fileName(operationId)
          files.set(file, content)
          return {
            file,
            digest: Canonical.textDigest(content),
            bytes: Excerpt.utf8Bytes(content),
            chars: [...content].length
          }
        })
    }
  })

export const layer: Layer.Layer<never> = Layer.effect(Artifacts, make())

/** Letters, digits, `_`, `.` and `-` stay; every other character of an id becomes `_`. */
export const fileName = (operationId: string): string => `${operationId.replace(/[^A-Za-z0-9_.-]/gu, "_")}.txt`
