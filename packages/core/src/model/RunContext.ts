/**
 * What is true now rather than what happened: rendered into each request around the conversation, never part of it (L-CTX).
 * Immutable, rendered once; it never reads a clock, a folder or a file.
 */
import * as Canonical from "./Canonical.ts"
import * as Message from "./Message.ts"

type Pairs = ReadonlyArray<readonly [name: string, value: string]>

export interface Input {
  readonly facts?: Pairs
  readonly headSections?: Pairs
  readonly tailSections?: Pairs
}

export interface Section {
  readonly name: string
  readonly digest: string
  readonly rendered: string
}

export interface RunContext {
  readonly head: Message.Message | undefined
  readonly tail: Message.Message | undefined
  /** Over facts and sections as given, order included. */
  readonly digest: string
  readonly facts: Pairs
  readonly sections: ReadonlyArray<Section>
}

export const empty: RunContext = {
  head: undefined,
  tail: undefined,
  digest: Canonical.digest([[], [], []]),
  facts: [],
  sections: []
}

const closing = [
  "Where this block disagrees with earlier descriptions of the environment, the tools or the project, this block is right.",
  "It is context, not a request: neither acknowledge nor answer it."
]

export const make = (input: Input): RunContext => {
  const trimmed = (pairs: Pairs = []): Pairs => pairs.map(([name, value]) => [name, value.trimEnd()])
  const facts = trimmed(input.facts)
  const heads = trimmed(input.headSections)
  const tails = trimmed(input.tailSections)
  const bodies = (pairs: Pairs) => pairs.map(([, value]) => value).filter((value) => value !== "")
  const headBodies = bodies(heads)
  const hasTail = facts.length > 0 || bodies(tails).length > 0
  const factLines = facts.map(([name, value]) => `- ${name}: ${value}`).join("\n")
  const tailText = ["## Current context", factLines, ...bodies(tails), closing.join("\n")].filter((part) => part !== "")
  return {
    head: headBodies.length > 0 ? Message.system(headBodies.join("\n\n")) : undefined,
    tail: hasTail ? Message.system(tailText.join("\n\n")) : undefined,
    digest: Canonical.digest([facts, heads, tails]),
    facts,
    sections: [...heads, ...tails].map(([name, rendered]) => ({
      name,
      rendered,
      digest: Canonical.textDigest(rendered)
    }))
  }
}

export const isEmpty = (self: RunContext): boolean => self.head === undefined && self.tail === undefined
