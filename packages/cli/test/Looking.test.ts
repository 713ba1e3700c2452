import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Html from "../src/Html.ts"
import * as Replay from "@settle/core/model/Replay"
import * as Message from "@settle/core/model/Message"
import * as ReplayServer from "@settle/testing/servers/ReplayServer"
import { configured, filesystemServer, place, settle } from "./Process.ts"

const files = { files: { command: process.execPath, args: [filesystemServer, "."] } }

describe("settle tools, mcp check, models", () => {
  it.live("tools: the catalogue by provider, with class, who says so, and the rule that applies", () =>
    Effect.gen(function* () {
      const where = yield* place
      where.write("settle.json", {
        mcpServers: files,
        idempotency: [{ tool: "files_edit_file", idempotency: "idempotent" }],
        rules: [
          { tool: "files_read_*", decision: "allow" },
          { tool: "files_*", decision: "allow", under: "docs" }
        ]
      })
      const ran = yield* settle(where, ["tools", "--output", "json"])
      assert.deepStrictEqual([ran.code, ran.stderr], [0, ""])
      const rows: ReadonlyArray<Record<string, string>> = JSON.parse(ran.stdout)
      const pick = (name: string) => {
        const row = rows.find((each) => each["name"] === name)
        return [row?.["provider"], row?.["idempotency"], row?.["from"], row?.["rule"]]
      }
      assert.deepStrictEqual(pick("files_read_text_file"), [
        "files",
        "read-only",
        "the tool",
        "allow (files_read_*); allow under docs"
      ])
      assert.deepStrictEqual(pick("files_edit_file"), [
        "files",
        "idempotent",
        "configuration",
        "ask (no rule); allow under docs"
      ])
      const text = yield* settle(where, ["tools"])
      assert.match(
        text.stdout,
        /^files\n {2}files_read_file .* read-only \(the tool\) {2}allow \(files_read_\*\); allow under docs\n/
      )
    }).pipe(Effect.scoped)
  )

  it.live("mcp check: what each server offers, or why it failed; exit code 1 when one failed", () =>
    Effect.gen(function* () {
      const where = yield* place
      where.write("settle.json", { mcpServers: { ...files, broken: { command: "no-such-program-anywhere" } } })
      const ran = yield* settle(where, ["mcp", "check"])
      assert.strictEqual(ran.code, 1)
      assert.match(
        ran.stdout,
        /^✔ files {2}\S+ .*\n {4}secure-filesystem-server [\d.]+, 14 tools after [\d.]+ s: files_read_file, /
      )
      assert.match(ran.stdout, /\n✘ broken {2}no-such-program-anywhere\n {4}.*could not be started/)
      assert.strictEqual(ran.stderr, "1 of 2 servers failed.\n")
      const json = yield* settle(where, ["mcp", "check", "--output", "json"])
      assert.deepStrictEqual(
        JSON.parse(json.stdout).map((status: { server: string; state: string }) => [status.server, status.state]),
        [
          ["files", "up"],
          ["broken", "down"]
        ]
      )
    }).pipe(Effect.scoped)
  )

  it.live("X-SAFE-05 models: window, cap and where the key is, never the key", () =>
    Effect.gen(function* () {
      const where = yield* place
      const main = {
        protocol: "openai-chat",
        baseUrl: "http://h/v1",
        model: "qwen3",
        apiKeyEnv: "K",
        contextWindow: 32768,
        maxTokens: 4096
      }
      where.write("settle.json", {
        models: {
          main,
          box: { protocol: "embedded" },
          both: ["main", "box"],
          gpt: { protocol: "openai-chat", model: "gpt-4o" },
          claude: { protocol: "anthropic", model: "claude-haiku-4-5", apiKeyEnv: "NONE" }
        },
        model: "main"
      })
      const ran = yield* settle(where, ["models"], { env: { K: "sk-secret" } })
      assert.strictEqual(
        ran.stdout,
        [
          "* main",
          "      openai-chat qwen3 · at http://h/v1 · window 32,768 tokens · completion cap 4,096 · key in K (set) · prices not known",
          "  box",
          "      embedded, a built-in demonstration model of 0.8 million parameters · window 2,048 tokens · no completion cap · no key · costs nothing",
          "  both → main",
          "      openai-chat qwen3 · at http://h/v1 · window 32,768 tokens · completion cap 4,096 · key in K (set) · prices not known",
          "  both → box",
          "      embedded, a built-in demonstration model of 0.8 million parameters · window 2,048 tokens · no completion cap · no key · costs nothing",
          "  gpt",
          "      openai-chat gpt-4o · at https://api.openai.com/v1 · window 128,000 tokens · no completion cap (it gives at most 16,384) · no key · $2.50 in, $10.00 out for a million tokens",
          "  claude",
          "      anthropic claude-haiku-4-5 · at https://api.anthropic.com · window 200,000 tokens · no completion cap (it gives at most 64,000) · key in NONE (not set) · $1.00 in, $5.00 out for a million tokens",
          ""
        ].join("\n")
      )
      assert.notInclude(ran.stdout, "sk-secret")
    }).pipe(Effect.scoped)
  )
})

describe("settle sessions", () => {
  it.live("X-STORE-05 list, show, search, fork, rename, export and doctor on a session a run wrote", () =>
    Effect.gen(function* () {
      const server = yield* ReplayServer.make(
        ReplayServer.inTurn({ body: ReplayServer.events({ text: ["<b>Bold</b> & \u001b[31mred"] }) })
      )
      const where = yield* place
      where.write("settle.json", configured(server.baseUrl))
      yield* settle(where, ["run", "--session", "first", "What is <i>this</i>?"])
      const out = (...args: ReadonlyArray<string>) =>
        Effect.map(settle(where, ["sessions", ...args]), (ran) => {
          assert.deepStrictEqual([ran.code, ran.stderr], [0, ""], ran.stderr)
          return ran.stdout
        })
      assert.match(yield* out("list"), /^first {2}\d{4}-\d\d-\d\d \d\d:\d\d {2}2 messages {2}What is <i>this<\/i>\?\n$/)
      assert.match(
        yield* out("show", "first"),
        /\nuser\nWhat is <i>this<\/i>\?\n\nassistant\n<b>Bold<\/b> & ⟨U\+001B⟩\[31mred\n$/
      )
      assert.strictEqual(yield* out("search", "bold"), "first:3 assistant: <b>Bold</b> & ⟨U+001B⟩[31mred\n")
      assert.match(
        yield* out("fork", "first", "second", "--at", "2"),
        /\/second\.jsonl: 1 line of .*\/first\.jsonl\.\n$/
      )
      assert.match(yield* out("rename", "second", "third"), /\/third\.jsonl\n$/)
      assert.match(yield* out("export", "first"), /^# first\n\n## User\n\nWhat is/)
      yield* out("export", "first", "--format", "html", "--to", "page.html")
      assert.include(where.read("page.html"), "&lt;b&gt;Bold&lt;/b&gt; &amp; ⟨U+001B⟩[31mred")
      assert.match(yield* out("doctor"), /^✔ .*first\.jsonl\n✔ .*third\.jsonl\n$/)
      const again = yield* settle(where, ["sessions", "export", "first", "--to", "page.html"])
      assert.deepStrictEqual(
        [again.code, again.stderr],
        [1, "The export could not be written to page.html: it exists already.\n"]
      )
      assert.strictEqual(JSON.parse(yield* out("list", "--output", "json")).length, 2)
    }).pipe(Effect.scoped)
  )

  it("X-SAFE-03 an HTML export escapes everything and forbids itself scripts and requests", () => {
    const nasty = `<script>alert("x")</script><img src=x onerror='y'>&amp;\u202e`
    const line = (id: string, message: Message.Message, more: object = {}) =>
      JSON.stringify({ v: 1, type: "message", id, ts: "2026-01-01T00:00:00.000Z", payload: { ...message, ...more } })
    const replay = Replay.fromLines([
      line("1", Message.user(nasty)),
      line("2", Message.assistant(nasty, [{ id: "c", name: nasty, arguments: nasty }])),
      line("3", Message.tool("c", nasty), { outcomeUnknown: true }),
      nasty
    ])
    const html = [...Html.page(replay, nasty)].join("")
    assert.notMatch(html, /<script|<img|onerror='|\u202e/)
    assert.include(html, `content="default-src 'none'; style-src 'unsafe-inline'"`)
    assert.include(
      html,
      "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&lt;img src=x onerror=&#39;y&#39;&gt;&amp;amp;⟨U+202E⟩"
    )
    assert.include(html, `<span class="mark">outcome unknown</span>`)
    assert.include(html, "line 4: not a JSON object")
  })
})
