/**
 * A failure of one send, as a bucket (L-FAIL-08, L-400). What the loop then does is `Disposition`'s.
 *
 * C1. The status speaks first: a rate limit or a refusal of the key is never a window, whatever its text says (F10).
 * C2. An error object inside a 200 stream is classified as the HTTP error it names (X-WIRE-02): `inStream` changes nothing here.
 */
import * as Data from "effect/Data"

export type Bucket = Data.TaggedEnum<{
  /** Waiting will not help. */
  Abort: {}
  RetrySame: {}
  /** A property of this backend. `overflow`: it says that the conversation does not fit. */
  Advance: { readonly overflow: boolean }
}>
export const Bucket = Data.taggedEnum<Bucket>()

export interface Facts {
  /** `undefined` and names not known here are retried. */
  readonly errorClass: string | undefined
  /** HTTP status, where the class is `http`. */
  readonly status?: number | undefined
  /** The answer of `Overflow.overflow` about this failure. */
  readonly overflow: boolean
}

const neverWindow: ReadonlySet<number> = new Set([401, 402, 403, 404, 429])
const aborting: ReadonlySet<number> = new Set([400, 401, 402, 403, 404])

export const classify = (facts: Facts): Bucket => {
  switch (facts.errorClass) {
    case "http":
      return http(facts.status ?? 0, facts.overflow)
    case "timeout":
    case "response":
      return Bucket.Advance({ overflow: facts.overflow })
    default:
      return Bucket.RetrySame()
  }
}

const http = (status: number, overflow: boolean): Bucket => {
  if (overflow && !neverWindow.has(status)) return Bucket.Advance({ overflow: true })
  if (aborting.has(status)) return Bucket.Abort()
  return status >= 500 && status <= 599 ? Bucket.RetrySame() : Bucket.Advance({ overflow: false })
}
