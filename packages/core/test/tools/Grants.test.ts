import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type * as Tool from "../../src/model/Tool.ts"
import * as Grants from "../../src/tools/Grants.ts"

const tool = (name: string, more: Partial<Tool.Declaration> = {}): Tool.Declaration => ({
  name,
  parameters: { type: "object" },
  origin: "files",
  ...more
})
const listed = [tool("fs_read"), tool("fs_write"), tool("web", { origin: "web" })]
const activeFor = (grant: Grants.Grant | undefined, name: string, now: ReadonlyArray<Tool.Declaration>) =>
  Grants.active(grant === undefined ? [] : [grant], name, now).length === 1

describe("Grants", () => {
  it("X-SAFE-04 an allowance is lost when the declaration or the server changes, and only then", () => {
    const grant = Grants.bind({ tool: "fs_read" }, "allow", listed)
    assert.isTrue(activeFor(grant, "fs_read", listed.toReversed()))
    assert.isFalse(activeFor(grant, "fs_read", [tool("fs_read", { description: "now it also writes" })]))
    assert.isFalse(activeFor(grant, "fs_read", [tool("fs_read", { parameters: { type: "object", required: ["x"] } })]))
    assert.isFalse(activeFor(grant, "fs_read", [tool("fs_read", { origin: "elsewhere" })]))
    assert.isFalse(activeFor(grant, "fs_read", [tool("fs_read", { idempotency: "read-only" })]))
    assert.isFalse(activeFor(grant, "fs_read", []))
  })

  it("X-SAFE-04 an allowance for a pattern is for the tools that were there, and a later one is asked about", () => {
    const grant = Grants.bind({ tool: "fs_*" }, "allow", listed)
    assert.isTrue(activeFor(grant, "fs_write", listed))
    assert.isFalse(activeFor(grant, "fs_remove", [...listed, tool("fs_remove")]))
    assert.isFalse(activeFor(grant, "web", listed))
    assert.isUndefined(Grants.bind({ tool: "gone" }, "allow", listed))
  })

  it("X-SAFE-04 a denial holds whatever the server says now", () => {
    const grant = Grants.bind({ tool: "fs_read" }, "deny", listed)
    assert.isTrue(activeFor(grant, "fs_read", [tool("fs_read", { description: "harmless, really" })]))
    assert.isTrue(activeFor(grant, "fs_read", []))
  })

  it.effect("P2 a snapshot is restored whole or refused whole", () =>
    Effect.gen(function* () {
      const grant = Grants.bind({ tool: "fs_read", under: "/repo" }, "allow", listed)
      const grants = yield* Grants.make([grant, { tool: "web", decision: "deny" }])
      const kept = yield* grants.current
      assert.strictEqual(kept.length, 2)
      assert.deepStrictEqual(JSON.parse(JSON.stringify(kept)), kept)
      const faults = [
        [[{ tool: "a", decision: "allow" }], 'grants[0]: an allowance names the tools it was given for, under "bound"'],
        [[grant, { tool: "a", decision: "ask" }], 'grants[1].decision: Expected "allow" | "deny"'],
        [
          [grant, { tool: "a", decision: "deny", hots: "x" }],
          'grants[1].hots: a rule has no such member. Did you mean "host"?'
        ],
        [{}, "grants: a list of rules belongs here"]
      ] as const
      for (const [snapshot, message] of faults) {
        assert.strictEqual((yield* Effect.flip(grants.replace(snapshot))).message, message)
        assert.strictEqual((yield* Effect.flip(Grants.make(snapshot))).message, message)
      }
      assert.strictEqual(yield* grants.current, kept)
    })
  )

  it.effect("P2 a grant is kept once, and revoked for good", () =>
    Effect.gen(function* () {
      const grants = yield* Grants.make()
      const grant: Grants.Grant = { tool: "fs_read", decision: "deny" }
      yield* grants.add([grant])
      yield* grants.add([{ ...grant }, { ...grant, note: "other" }])
      assert.strictEqual((yield* grants.current).length, 2)
      assert.strictEqual(yield* grants.revoke(({ note }) => note === undefined), 1)
      assert.deepStrictEqual(yield* grants.current, [{ ...grant, note: "other" }])
      yield* grants.replace([])
      assert.deepStrictEqual(yield* grants.current, [])
    })
  )
})
