import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import * as ReplayServer from "@settle/testing/servers/ReplayServer"
import { configured, filesystemServer, place, settle } from "./Process.ts"

/** A pseudo terminal, where the machine has one to give. */
const hasScript = spawnSync("script", ["-qec", "true", "/dev/null"]).status === 0

const quoted = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`
const terminal = (command: ReadonlyArray<string>) => ["script", "-qec", command.map(quoted).join(" "), "/dev/null"]

const world = Effect.gen(function* () {
  const broken: ReplayServer.Answer = {
    body: ReplayServer.events({ text: ["Half", " an ans"], finish: null, done: false }),
    ending: { _tag: "Destroyed" }
  }
  const call = { id: "c1", name: "files_read_text_file", arguments: [`{"path":"notes.txt"}`] }
  const server = yield* ReplayServer.make(
    ReplayServer.inTurn(
      broken,
      { body: ReplayServer.events({ calls: [call] }) },
      { body: ReplayServer.events({ text: ["The \u001b[31mend\u202e."] }) }
    )
  )
  const where = yield* place
  where.write("notes.txt", "42\n")
  where.write(
    "settle.json",
    configured(server.baseUrl, {
      mcpServers: { files: { command: process.execPath, args: [filesystemServer, "."] } },
      rules: [{ tool: "files_read_*", decision: "allow" }]
    })
  )
  return where
})

const run = ["run", "--no-session", "hi"]

describe.skipIf(!hasScript)("on a terminal (skipped where there is no script command)", () => {
  it.live(
    "L-STREAM-01 X-SAFE-03 it streams, takes a failed attempt back, draws calls, colours, and stays neutral",
    () =>
      Effect.gen(function* () {
        const ran = yield* settle(yield* world, run, { under: terminal })
        assert.strictEqual(ran.code, 0)
        assert.include(ran.stdout, "Half an ans\r\u001b[0J", "withdrawn")
        assert.include(ran.stdout, "\u001b[2m⋯ files_read_text_file", "drawn while it runs")
        assert.match(ran.stdout, /\u001b\[1A\u001b\[0J/, "and erased")
        assert.match(ran.stdout, /\u001b\[32m✔ files_read_text_file\(path: "notes\.txt"\) [\d.]+ s\u001b\[0m/)
        assert.include(ran.stdout, "The ⟨U+001B⟩[31mend⟨U+202E⟩.")
      }).pipe(Effect.scoped)
  )

  it.live("NO_COLOR takes the colours and leaves the rest", () =>
    Effect.gen(function* () {
      const ran = yield* settle(yield* world, run, { under: terminal, env: { NO_COLOR: "1" } })
      assert.notMatch(ran.stdout, /\u001b\[\d+m/)
      assert.include(ran.stdout, "\u001b[0J")
      assert.include(ran.stdout, `✔ files_read_text_file(path: "notes.txt")`)
    }).pipe(Effect.scoped)
  )

  it.live("TERM=dumb is no terminal to draw on", () =>
    Effect.gen(function* () {
      const ran = yield* settle(yield* world, run, { under: terminal, env: { TERM: "dumb" } })
      assert.notInclude(ran.stdout.replace("The \u001b[31mend\u202e.", ""), "\u001b")
    }).pipe(Effect.scoped)
  )
})

describe("in a pipe", () => {
  it.live("no escape sequence of ours reaches stdout or stderr, and the answer is exact", () =>
    Effect.gen(function* () {
      const ran = yield* settle(yield* world, run)
      assert.strictEqual(ran.stdout, "The \u001b[31mend\u202e.\n")
      assert.notInclude(ran.stderr, "\u001b")
      assert.match(ran.stderr, /^↻ .*\n✔ files_read_text_file\(path: "notes\.txt"\) [\d.]+ s\n2 rounds · /)
    }).pipe(Effect.scoped)
  )
})
