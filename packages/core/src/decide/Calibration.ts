/**
 * Does what a counter learned still describe the next request (L-CAL)? A bill covers one complete request to one model, so another
 * model, context or catalogue makes it worthless. Rewritten history is told by the digest of the billed prefix.
 *
 * C1. The digest of a prefix is extended, not recomputed: each message is hashed once, onto the digest before it, and
 *     a conversation that grew is read only from where it was left.
 */
import * as Canonical from "../model/Canonical.ts"
import * as Message from "../model/Message.ts"
import * as Prefix from "../model/Prefix.ts"
import type { Declaration } from "../model/Tool.ts"

export interface Shape {
  readonly model: string
  /** Of the run context. */
  readonly contextDigest: string
  readonly catalogueDigest: string
}

/** True when the counter described another shape before: it must be invalidated (L-CAL-01). The first shape invalidates nothing. */
export const isStale = (described: Shape | undefined, next: Shape): boolean =>
  described !== undefined &&
  (described.model !== next.model ||
    described.contextDigest !== next.contextDigest ||
    described.catalogueDigest !== next.catalogueDigest)

const catalogues = new WeakMap<ReadonlyArray<Declaration>, string>()

/** Digest of a catalogue, order included; computed once for each array. */
export const catalogueDigest = (tools: ReadonlyArray<Declaration>): string => {
  const known = catalogues.get(tools)
  if (known !== undefined) return known
  const made = Canonical.digest(tools)
  catalogues.set(tools, made)
  return made
}

const links = new WeakMap<Message.Message, { readonly before: string; readonly digest: string }>()

const linked = (before: string, message: Message.Message): string => {
  const known = links.get(message)
  if (known !== undefined && known.before === before) return known.digest
  const digest = Canonical.textDigest(`${before}\n${Message.digest(message)}`)
  links.set(message, { before, digest })
  return digest
}

/** Digest of the first `count` messages (default: all). The empty prefix is the empty string. */
export const prefixDigest: Prefix.Fold<Message.Message, string> = Prefix.fold("", linked)
