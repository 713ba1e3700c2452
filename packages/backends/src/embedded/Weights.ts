/**
 * Where the weights are, and whether they are the right ones.
 *
 * They are found in this order: inside a one-file bundle; in the package's `assets`, which is at the same place seen from `src` and
 * from `dist`; beside the running file. Nothing is read before they are asked for.
 */
import { createHash } from "node:crypto"
import { readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { base64 } from "./Inline.ts"

/** Of `assets/demonstration.gguf`, hex. */
export const sha256 = "02617d072a41df093af5346db83967516fd97e9e54af096df858f6ca61248089"
export const byteLength = 869_664

export class NotFound extends Schema.TaggedError<NotFound>()("NotFound", { looked: Schema.Array(Schema.String) }) {
  override get message(): string {
    return `they are at none of ${this.looked.join(", ")}`
  }
}

export class Unreadable extends Schema.TaggedError<Unreadable>()("Unreadable", {
  file: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `${this.file} cannot be read: ${this.detail}`
  }
}

export class Damaged extends Schema.TaggedError<Damaged>()("Damaged", {
  file: Schema.String,
  bytes: Schema.Int,
  sha256: Schema.String
}) {
  override get message(): string {
    const expected = `${byteLength} bytes with the sha256 ${sha256}`
    return `${this.file} is damaged: it has ${this.bytes} bytes with the sha256 ${this.sha256}, and should have ${expected}`
  }
}

export class WeightsError extends Schema.TaggedError<WeightsError>()("WeightsError", {
  reason: Schema.Union([NotFound, Unreadable, Damaged])
}) {
  override readonly cause = this.reason
  override get message(): string {
    return `The weights of the built-in model cannot be used: ${this.reason.message}. Install the package again, or configure another model.`
  }
}

const name = "demonstration.gguf"
const places = [`../../assets/${name}`, `./${name}`, `./assets/${name}`]

/** The bytes, once they are known to be the published ones. */
export const verified = (file: string, bytes: Uint8Array): Effect.Effect<Uint8Array, WeightsError> =>
  Effect.suspend(() => {
    const digest = createHash("sha256").update(bytes).digest("hex")
    return digest === sha256
      ? Effect.succeed(bytes)
      : Effect.fail(new WeightsError({ reason: new Damaged({ file, bytes: bytes.length, sha256: digest }) }))
  })

/** Reads a file of weights and verifies it; `undefined` where there is none. */
export const fromFile = (file: string): Effect.Effect<Uint8Array | undefined, WeightsError> =>
  Effect.tryPromise({ try: (signal) => readFile(file, { signal }), catch: (cause) => problem(file, cause) }).pipe(
    Effect.catchIf(isAbsent, () => Effect.undefined),
    Effect.catchIf(isUnreadable, (reason) => Effect.fail(new WeightsError({ reason }))),
    Effect.flatMap((bytes) => (bytes === undefined ? Effect.undefined : verified(file, bytes)))
  )

/** The published weights. */
export const load: Effect.Effect<Uint8Array, WeightsError> = Effect.suspend(() =>
  base64 === undefined ? search(places.map(locate)) : verified("the bundle", Buffer.from(base64, "base64"))
)

const locate = (place: string): string => fileURLToPath(new URL(place, import.meta.url))

/** The first of these files that is there. */
export const search = (files: ReadonlyArray<string>): Effect.Effect<Uint8Array, WeightsError> =>
  Effect.gen(function* () {
    for (const file of files) {
      const bytes = yield* fromFile(file)
      if (bytes !== undefined) return bytes
    }
    return yield* new WeightsError({ reason: new NotFound({ looked: files }) })
  })

const absent = { _tag: "Absent" } as const
type Problem = typeof absent | Unreadable

const isAbsent = (problem: Problem): problem is typeof absent => problem._tag === "Absent"
const isUnreadable = (problem: Problem): problem is Unreadable => problem._tag === "Unreadable"

const problem = (file: string, cause: unknown): Problem => {
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined
  if (code === "ENOENT" || code === "ENOTDIR") return absent
  return new Unreadable({ file, detail: cause instanceof Error ? cause.message : String(cause) })
}
