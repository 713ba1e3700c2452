/** A permission snapshot: plain rules, written whole, compared by digest (L-GRANT-01, -02). */
import * as Canonical from "./Canonical.ts"
import type * as Json from "./Json.ts"

export type Snapshot = ReadonlyArray<Json.JsonObject>

export const digest = (snapshot: Snapshot): string => Canonical.digest(snapshot)
