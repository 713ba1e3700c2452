import { assert, describe, it } from "@effect/vitest"
import * as Canonical from "../../src/model/Canonical.ts"
import * as Message from "../../src/model/Message.ts"
import * as RunContext from "../../src/model/RunContext.ts"

const full: RunContext.Input = {
  facts: [
    ["cwd", "/work \n"],
    ["date", "2026-01-01"]
  ],
  headSections: [
    ["rules", "Be brief.\n\n"],
    ["empty", "  "],
    ["style", "Use British spelling."]
  ],
  tailSections: [["files", "a.txt\n"]]
}

describe("RunContext", () => {
  it("L-CTX-01 head is one system message of the head sections, blank lines between, empty ones left out", () => {
    assert.deepStrictEqual(RunContext.make(full).head, Message.system("Be brief.\n\nUse British spelling."))
  })

  it("L-CTX-01 tail is one system message: heading, facts, sections, and two sentences about itself", () => {
    const tail = RunContext.make(full).tail
    assert.strictEqual(tail?.role, "system")
    const [heading, facts, section, closing, ...rest] = (tail?.content ?? "").split("\n\n")
    assert.strictEqual(heading, "## Current context")
    assert.strictEqual(facts, "- cwd: /work\n- date: 2026-01-01")
    assert.strictEqual(section, "a.txt")
    assert.deepStrictEqual(rest, [])
    const [authority, request, ...more] = (closing ?? "").split("\n")
    assert.match(authority ?? "", /disagrees.*this block is right/)
    assert.match(request ?? "", /context, not a request/)
    assert.deepStrictEqual(more, [])
  })

  it("without facts the tail has no empty line for them, without sections none either", () => {
    const onlyFacts = RunContext.make({ facts: [["a", "1"]] }).tail?.content.split("\n\n")
    assert.deepStrictEqual(onlyFacts?.slice(0, 2), ["## Current context", "- a: 1"])
    assert.lengthOf(onlyFacts ?? [], 3)
    const onlySections = RunContext.make({ tailSections: [["s", "text"]] }).tail?.content.split("\n\n")
    assert.deepStrictEqual(onlySections?.slice(0, 2), ["## Current context", "text"])
  })

  it("neither message is sticky, so no compaction keeps one", () => {
    const { head, tail } = RunContext.make(full)
    assert.isFalse([head, tail].some((message) => message !== undefined && Message.isSticky(message)))
  })

  it("is empty when nothing is to be said", () => {
    for (const input of [{}, { headSections: [["a", " "]] as const }, { tailSections: [["a", "\n"]] as const }]) {
      const context = RunContext.make(input)
      assert.isTrue(RunContext.isEmpty(context))
      assert.deepStrictEqual([context.head, context.tail], [undefined, undefined])
    }
    assert.isTrue(RunContext.isEmpty(RunContext.empty))
    assert.strictEqual(RunContext.empty.digest, RunContext.make({}).digest)
    assert.isFalse(RunContext.isEmpty(RunContext.make({ facts: [["a", ""]] })))
  })

  it("L-CAL-01 the digest is over facts and both lists as given, their order included", () => {
    const digests = [
      full,
      { ...full, facts: [...(full.facts ?? [])].reverse() },
      { ...full, headSections: full.tailSections ?? [], tailSections: full.headSections ?? [] },
      { ...full, facts: [] },
      {}
    ].map((input) => RunContext.make(input).digest)
    assert.strictEqual(new Set(digests).size, digests.length)
    assert.strictEqual(RunContext.make(full).digest, RunContext.make(structuredClone(full)).digest)
    assert.strictEqual(
      RunContext.make(full).digest,
      RunContext.make({
        ...full,
        facts: [
          ["cwd", "/work"],
          ["date", "2026-01-01 "]
        ]
      }).digest,
      "white space at an end says nothing"
    )
  })

  it("L-CTX-04 sections are head then tail, each with the digest of its text", () => {
    assert.deepStrictEqual(RunContext.make(full).sections, [
      { name: "rules", rendered: "Be brief.", digest: Canonical.textDigest("Be brief.") },
      { name: "empty", rendered: "", digest: Canonical.textDigest("") },
      { name: "style", rendered: "Use British spelling.", digest: Canonical.textDigest("Use British spelling.") },
      { name: "files", rendered: "a.txt", digest: Canonical.textDigest("a.txt") }
    ])
  })
})
