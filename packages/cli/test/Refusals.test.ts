import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as ReplayServer from "@settle/testing/servers/ReplayServer"
import { configured, place, type Place, settle } from "./Process.ts"

interface Case {
  readonly name: string
  /** Files of the project, and what is prepared beside them. */
  readonly project?: Readonly<Record<string, string | object>>
  readonly args: ReadonlyArray<string>
  readonly stdin?: string
  readonly code: number
  readonly says: RegExp
}

const model = { models: { main: { protocol: "openai-chat", baseUrl: "http://127.0.0.1:9/v1", model: "m" } } }
const withKey = { models: { main: { ...model.models.main, apiKeyEnv: "NO_SUCH_KEY" } } }

const cases: ReadonlyArray<Case> = [
  {
    name: "a key that is not in the environment",
    project: { "settle.json": withKey },
    args: ["run", "hi"],
    code: 2,
    says: /^The model "main" takes its API key from the environment variable NO_SUCH_KEY, which is not set\. Set it \(export NO_SUCH_KEY=…\), or name another one with --api-key-env\.$/
  },
  {
    name: "a wrong key in the configuration",
    project: { "settle.json": { modles: {} } },
    args: ["run", "hi"],
    code: 2,
    says: /^The configuration \S+\/settle\.json is not valid\. modles: this key is not known\. Did you mean "models"\? Known here: /
  },
  {
    name: "a configuration that is no JSON",
    project: { "settle.json": `{\n  "models": oops }` },
    args: ["run", "hi"],
    code: 2,
    says: /settle\.json is not valid\. line 2, column 13: a value was expected, not 'o'$/
  },
  {
    name: "a configuration that is not there",
    args: ["run", "--config", "nope.json", "hi"],
    code: 2,
    says: /^There is no configuration file \S+\/nope\.json\. Give --config another file, or leave it out/
  },
  {
    name: "a session that is not there, with no model configured either",
    args: ["resume", "nope", "hi"],
    code: 2,
    says: /^Could not find the session: there is no session nope; there are none yet\.$/
  },
  {
    name: "a session that is not there, with a model that is not configured",
    args: ["resume", "nope", "--model", "x", "hi"],
    code: 2,
    says: /^Could not find the session: there is no session nope; there are none yet\.$/
  },
  {
    name: "a session that is a folder",
    project: { "settle.json": model, "adir/keep": "x" },
    args: ["run", "--session", "./adir", "hi"],
    code: 3,
    says: /^Could not open the transcript \S+\/adir: it is a folder, not a file\. Nothing was changed\./
  },
  {
    name: "a session that is a folder, with nothing configured",
    project: { "adir/keep": "x" },
    args: ["resume", "./adir", "hi"],
    code: 3,
    says: /^Could not open the transcript \S+\/adir: it is a folder, not a file\. Nothing was changed\./
  },
  {
    name: "a model file that is not there",
    project: { "settle.json": { models: { mine: { protocol: "gguf", path: "models/nope.gguf" } } } },
    args: ["run", "hi"],
    code: 2,
    says: /there is no file \S+\/project\/models\/nope\.gguf/i
  },
  {
    name: "a model that is not configured",
    project: { "settle.json": model },
    args: ["run", "--model", "mian", "hi"],
    code: 2,
    says: /^There is no model "mian" \(configured: main\)\. Did you mean "main"\?/
  },
  {
    name: "an empty prompt",
    project: { "settle.json": model },
    args: ["run", "  "],
    code: 2,
    says: /^The prompt is empty\. Give it/
  },
  {
    name: "an empty stdin",
    project: { "settle.json": model },
    args: ["run"],
    stdin: "\n",
    code: 2,
    says: /^The prompt is empty\. Give it as an argument/
  },
  {
    name: "a system prompt that is not there",
    project: { "settle.json": model },
    args: ["run", "--system", "nope.txt", "hi"],
    code: 2,
    says: /^The system prompt nope\.txt could not be read: there is no such file or folder\. Check the path after --system\.$/
  },
  {
    name: "an MCP server that cannot be started",
    project: { "settle.json": { ...model, mcpServers: { files: { command: "no-such-program-anywhere" } } } },
    args: ["run", "hi"],
    code: 2,
    says: /MCP server `files`.*no-such-program-anywhere.* settle mcp check tries all of them\.$/
  },
  {
    name: "an MCP server that dies at its start",
    project: {
      "settle.json": {
        ...model,
        mcpServers: {
          files: { command: process.execPath, args: ["-e", "console.error('no database'); process.exit(3)"] }
        }
      }
    },
    args: ["run", "hi"],
    code: 2,
    says: /MCP server `files`.*no database.* settle mcp check tries all of them\.$/
  },
  {
    name: "a variable that a server's environment wants",
    project: { "settle.json": { ...model, mcpServers: { web: { command: "x", env: { TOKEN: "${NO_SUCH_TOKEN}" } } } } },
    args: ["run", "hi"],
    code: 2,
    says: /^mcpServers\.web\.env\.TOKEN: the environment variable NO_SUCH_TOKEN is not set\. Set it \(export NO_SUCH_TOKEN=…\)/
  },
  {
    name: "a session name that is none",
    project: { "settle.json": model },
    args: ["run", "--session", "a b", "hi"],
    code: 2,
    says: /^"a b" cannot name a session: a name may hold letters, digits, _, \. and - only\./
  },
  {
    name: "a session that is not there",
    project: { "settle.json": model },
    args: ["resume", "nope"],
    code: 2,
    says: /^Could not find the session: there is no session nope; there are none yet\.$/
  },
  {
    name: "a transcript that is a folder",
    project: { "settle.json": model, "dir.jsonl/keep": "x" },
    args: ["run", "--session", "./dir.jsonl", "hi"],
    code: 3,
    says: /^Could not open the transcript \S+\/dir\.jsonl: .* Nothing was changed\. Take another one with --session, or run without one: --no-session\.$/
  },
  {
    name: "a transcript that is something else",
    project: { "settle.json": model, "photo.jsonl": "not a transcript\nat all\n" },
    args: ["run", "--session", "./photo.jsonl", "hi"],
    code: 3,
    says: /^Could not open the transcript \S+\/photo\.jsonl: .* Nothing was changed\./
  }
]

const snapshot = (where: Place) => where.files().map((name) => [name, where.read(`../${name}`)])

describe("refusals leave every file as it was, print nothing on stdout and one paragraph on stderr", () => {
  it.live(cases.map(({ name }) => name).join("; "), () =>
    Effect.forEach(
      cases,
      (one) =>
        Effect.gen(function* () {
          const where = yield* place
          for (const [name, content] of Object.entries(one.project ?? {})) where.write(name, content)
          const before = snapshot(where)
          const ran = yield* settle(where, one.args, one.stdin === undefined ? {} : { stdin: one.stdin })
          assert.strictEqual(ran.code, one.code, `${one.name}: ${ran.stderr}`)
          assert.strictEqual(ran.stdout, "", one.name)
          assert.match(ran.stderr.trimEnd(), one.says, one.name)
          assert.strictEqual(ran.stderr.trimEnd().split("\n").length, 1, `${one.name}: ${ran.stderr}`)
          assert.notMatch(ran.stderr, /\n\s+at /, one.name)
          assert.deepStrictEqual(snapshot(where), before, one.name)
        }).pipe(Effect.scoped),
      { concurrency: 3, discard: true }
    )
  )

  it.live("a refused port is a failed run: exit code 1, what was sent for is in its transcript", () =>
    Effect.gen(function* () {
      const where = yield* place
      where.write("settle.json", configured("http://127.0.0.1:9/v1"))
      const ran = yield* settle(where, ["run", "--session", "s", "hi"])
      assert.deepStrictEqual([ran.code, ran.stdout], [1, ""])
      assert.match(
        ran.stderr,
        /\nThe run failed: .*no connection.*127\.0\.0\.1:9.*\. Check that the server of the model runs and that its address, name and key are right: settle models\.\n$/
      )
      const [file] = where.files().filter((name) => name.endsWith("s.jsonl"))
      assert.include(where.read(`../${file}`), `"content":"hi"`)
    }).pipe(Effect.scoped)
  )

  it.live("a session that another process writes is refused with that process, exit code 3", () =>
    Effect.gen(function* () {
      const server = yield* ReplayServer.make(ReplayServer.inTurn({ body: "", ending: { _tag: "Hanging" } }))
      const where = yield* place
      where.write("settle.json", configured(server.baseUrl))
      yield* Effect.forkScoped(settle(where, ["run", "--session", "s", "first"]))
      yield* server.arrived(1)
      const ran = yield* settle(where, ["run", "--session", "s", "second"])
      assert.deepStrictEqual([ran.code, ran.stdout], [3, ""])
      assert.match(
        ran.stderr,
        /^Could not open the transcript \S+\/s\.jsonl: it is open for writing in process \d+ on .* Wait until that process ends, or write another session with --session NAME\.\n$/
      )
    }).pipe(Effect.scoped)
  )
})
