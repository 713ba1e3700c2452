/** Processes that take the pen of one file in turns, and all die with it in their hand. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Child from "./Child.ts"
import * as Scratch from "./Scratch.ts"

export const run = (race: { readonly processes: number; readonly turns: number }) =>
  Effect.gen(function* () {
    const file = yield* Scratch.file()
    const children = yield* Effect.forEach(Array.from({ length: race.processes }), () =>
      Child.start("turns.ts", [file, String(race.turns)])
    )
    for (const child of children) {
      const end = yield* child.exited
      assert.deepStrictEqual(end, { code: null, signal: "SIGKILL" }, child.errors())
    }
    const replay = yield* Scratch.using({ path: file, durability: "flush" }, (transcript) => transcript.replay)
    assert.deepStrictEqual(replay.faults, [])
    const said = replay.entries.map((entry) => entry.message.content.split(" "))
    assert.strictEqual(said.length, race.processes * race.turns * 2)
    for (let i = 0; i < said.length; i += 2) {
      assert.deepStrictEqual([said[i]?.[0], said[i + 1]?.[0]], ["enter", "leave"])
      assert.strictEqual(said[i]?.[1], said[i + 1]?.[1])
    }
    const left = fs.readdirSync(path.dirname(file)).filter((name) => name.includes(".lock"))
    assert.deepStrictEqual(left, [])
  }).pipe(Effect.scoped)
