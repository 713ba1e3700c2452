import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import * as ReplayServer from "@settle/testing/servers/ReplayServer"
import { configured, filesystemServer, place, type Place, settle } from "./Process.ts"

const call = (id: string, name: string, args: object): ReplayServer.Answer => ({
  body: ReplayServer.events({ calls: [{ id, name, arguments: [JSON.stringify(args)] }] })
})
const write = (id: string, path: string) => call(id, "files_write_file", { path, content: "x" })
const done: ReplayServer.Answer = { body: ReplayServer.events({ text: ["Done."] }) }

const world = Effect.fnUntraced(function* (
  answers: readonly [ReplayServer.Answer, ...Array<ReplayServer.Answer>],
  rules: ReadonlyArray<object> = []
) {
  const server = yield* ReplayServer.make(ReplayServer.inTurn(...answers))
  const where = yield* place
  const files = { command: process.execPath, args: [filesystemServer, "."] }
  where.write("settle.json", configured(server.baseUrl, { mcpServers: { files }, rules }))
  return { server, where }
})

/** The text of the tool message that the n-th request ends with. */
const told = (server: ReplayServer.ReplayServer, request: number): string =>
  JSON.parse(server.requests[request]?.body ?? "{}").messages.at(-1).content

const offered = (server: ReplayServer.ReplayServer): ReadonlyArray<string> =>
  JSON.parse(server.requests[0]?.body ?? "{}").tools.map((tool: { function: { name: string } }) => tool.function.name)

const run = (where: Place, ...flags: ReadonlyArray<string>) => settle(where, ["run", "--no-session", ...flags, "write"])

describe("permission", () => {
  it.live("a session whose permissions cannot be read is not gone on with: the line, and the way on", () =>
    Effect.gen(function* () {
      const { server, where } = yield* world([done])
      yield* settle(where, ["run", "--session", "s", "hi"])
      const [file = ""] = where.files().filter((name) => name.endsWith("/s.jsonl"))
      const sound = where.read(`../${file}`)
      const lines = sound.trimEnd().split("\n").length
      const grants = [
        { tool: "files_write_file", decision: "deny" },
        { tool: "x", decison: "deny" }
      ]
      const line = (id: string, payload: object) =>
        `${JSON.stringify({ v: 1, type: "grants", id, ts: "2026-01-01T00:00:00.000Z", payload })}\n`
      for (const broken of [line("g", { grants }), line("g", { grants: "none" })]) {
        where.write(`../${file}`, sound + broken)
        const ran = yield* settle(where, ["resume", "s", "go on"])
        assert.deepStrictEqual([ran.code, ran.stdout], [2, ""])
        assert.match(
          ran.stderr,
          new RegExp(
            `^The session s is not gone on with: the permissions that were given for good cannot be read \\(line ${lines + 1}\\): grants.*\\. settle sessions fork s NEW --at ${lines} makes a session of the lines before\\.\\n$`
          )
        )
        assert.strictEqual(where.read(`../${file}`), sound + broken, "nothing was written")
      }
      const doctor = yield* settle(where, ["sessions", "doctor", "s"])
      assert.strictEqual(doctor.code, 1)
      assert.include(doctor.stdout, `cannot be read (line ${lines + 1})`)
      assert.strictEqual(server.requests.length, 1)
      yield* settle(where, ["sessions", "fork", "s", "t", "--at", `${lines}`])
      assert.strictEqual((yield* settle(where, ["resume", "t", "go on"])).code, 0)
    }).pipe(Effect.scoped)
  )

  it.live("without a terminal a question is denied with its reason, and the call is not run", () =>
    Effect.gen(function* () {
      const { server, where } = yield* world([write("c1", "a.txt"), done])
      const ran = yield* run(where)
      assert.deepStrictEqual([ran.code, ran.stdout], [0, "Done.\n"])
      assert.match(
        told(server, 1),
        /^Permission denied for "files_write_file".*the call was not run.*no rule speaks about it.*nobody is there to be asked/
      )
      assert.include(ran.stderr, "✘ files_write_file(")
      assert.isFalse(where.has("a.txt"))
    }).pipe(Effect.scoped)
  )

  it.live("--allow answers a question beforehand, also one that a rule asks", () =>
    Effect.gen(function* () {
      const { where } = yield* world([write("c1", "a.txt"), done], [{ tool: "*", decision: "ask" }])
      const ran = yield* run(where, "--allow", "files_write_*")
      assert.strictEqual(ran.code, 0, ran.stderr)
      assert.strictEqual(where.read("a.txt"), "x")
    }).pipe(Effect.scoped)
  )

  it.live("--deny and a rule that denies hide the tool and are lifted by no --allow", () =>
    Effect.gen(function* () {
      const { server, where } = yield* world(
        [write("c1", "a.txt"), done],
        [
          { tool: "files_*", decision: "allow" },
          { tool: "files_move_file", decision: "deny" }
        ]
      )
      yield* run(where, "--deny", "files_write_file", "--allow", "files_*")
      assert.notInclude(offered(server), "files_write_file")
      assert.notInclude(offered(server), "files_move_file")
      assert.include(offered(server), "files_read_text_file")
      assert.match(
        told(server, 1),
        /^Permission denied for "files_write_file".*the call was not run.*[aA] rule denies it/
      )
      assert.isFalse(where.has("a.txt"))
    }).pipe(Effect.scoped)
  )

  it.live("a rule's folder counts from the folder of the configuration", () =>
    Effect.gen(function* () {
      const { server, where } = yield* world(
        [write("c1", "docs/a.txt"), write("c2", "b.txt"), done],
        [{ tool: "files_*", decision: "allow", under: "docs" }]
      )
      where.write("docs/keep", "")
      where.write("deep/er/keep", "")
      const ran = yield* settle(where, ["run", "--no-session", "write"], { cwd: `${where.folder}/deep/er` })
      assert.strictEqual(ran.code, 0)
      assert.strictEqual(where.read("docs/a.txt"), "x")
      assert.isFalse(where.has("b.txt"))
      assert.match(told(server, 2), /nobody is there to be asked/)
    }).pipe(Effect.scoped)
  )

  it.live("arguments of a program without the program are refused before anything starts", () =>
    Effect.gen(function* () {
      const { where } = yield* world([done], [{ tool: "a", decision: "allow", args: ["x"] }])
      const ran = yield* run(where)
      assert.deepStrictEqual([ran.code, ran.stdout], [2, ""])
      assert.strictEqual(
        ran.stderr,
        `rules[0]: "args" and "argsAny" need "command". Correct it in the configuration.\n`
      )
    }).pipe(Effect.scoped)
  )

  it.live(
    "--ask always takes answers from stdin; what was allowed for good holds after a resume, in the same session alone",
    () =>
      Effect.gen(function* () {
        const { server, where } = yield* world([
          write("c1", "a.txt"),
          done,
          write("c2", "b.txt"),
          done,
          write("c3", "c.txt"),
          done
        ])
        const asked = yield* settle(where, ["run", "--session", "s", "--ask", "always", "write"], { stdin: "a\n" })
        assert.strictEqual(asked.code, 0, asked.stderr)
        assert.match(
          asked.stderr,
          /May files_write_file \(files\) run\?\n {2}path: a\.txt\n {2}content: x\n {2}no rule decides about it\ny: once, n: no, a: always, d: never \(files_write_file under \S+\)\? /
        )
        assert.strictEqual(where.read("a.txt"), "x")
        const resumed = yield* settle(where, ["resume", "s", "again"])
        assert.strictEqual(resumed.code, 0, resumed.stderr)
        assert.strictEqual(where.read("b.txt"), "x")
        yield* settle(where, ["run", "--session", "other", "again"])
        assert.isFalse(where.has("c.txt"))
        assert.match(told(server, 5), /nobody is there to be asked/)
      }).pipe(Effect.scoped)
  )

  const hasScript = spawnSync("script", ["-qec", "true", "/dev/null"]).status === 0
  it.live.skipIf(!hasScript)(
    "X-SAFE-03 on a terminal the person is asked, neutral, and a no is told to the model",
    () =>
      Effect.gen(function* () {
        const { server, where } = yield* world([write("c1", "a\u202etxt.exe"), done])
        const ran = yield* settle(where, ["run", "--no-session", "write"], {
          stdin: "n\n",
          under: (command) => ["script", "-qec", command.map((word) => `'${word}'`).join(" "), "/dev/null"]
        })
        assert.include(ran.stdout, "May files_write_file (files) run?")
        assert.include(ran.stdout, "path: a⟨U+202E⟩txt.exe")
        assert.notInclude(ran.stdout, "\u202e")
        assert.match(
          told(server, 1),
          /^Permission denied for "files_write_file".*the call was not run.*person who was asked said no/
        )
      }).pipe(Effect.scoped)
  )
})
