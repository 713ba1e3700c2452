import { assert, describe, it } from "@effect/vitest"
import { Duration, Result } from "effect"
import { readFileSync } from "node:fs"
import * as Config from "../src/Config.ts"
import * as Protocols from "../src/Protocols.ts"

const faults = (text: string): ReadonlyArray<string> => {
  const read = Config.parse(text)
  assert.isTrue(Result.isFailure(read), `accepted: ${text}`)
  return Result.isFailure(read) ? read.failure.map((fault) => `${fault.path}: ${fault.problem}`) : []
}

const accepted = (text: string): Config.Config => {
  const read = Config.parse(text)
  if (Result.isFailure(read)) assert.fail(JSON.stringify(read.failure))
  return Result.getOrThrow(read)
}

describe("Config", () => {
  it("takes the file of the manual, comments and trailing commas included", () => {
    const config = accepted(`{
      "models": { // names for --model; a value may be a list
        "main": { "protocol": "openai-chat", "baseUrl": "http://127.0.0.1:8080/v1", "model": "qwen3", "apiKeyEnv": "MY_KEY",
                  "maxTokens": 4096, "contextWindow": 32768, "includeUsage": false },
        "chain": ["main", { "protocol": "openai-chat", "model": "other" }],
      },
      "model": "main",
      /* the shape
         that other hosts use */
      "mcpServers": {
        "files": { "command": "npx", "args": ["-y", "x", "."], "env": {}, "connectTimeout": "20 seconds" },
        "web": { "url": "https://example.test/mcp", "headers": { "a": "http://not-a-comment" } }
      },
      "rules": [ { "tool": "files_read_*", "decision": "allow", "under": "." }, { "tool": "*", "decision": "ask" } ],
      "idempotency": [ { "tool": "files_read_*", "idempotency": "read-only" } ],
      "concurrentTools": ["task"],
      "budget": { "maxCost": 1.5, "maxTotalTokens": 400000, "maxWallClock": "20 minutes", "maxObservationSize": 16384 },
      "compaction": { "trigger": 0.8, "target": 0.4 },
      "limits": { "maxToolRounds": 1000, "maxToolCalls": 10000, "maxIdenticalCalls": 30, "toolDeadline": "10 minutes",
                  "maxRetries": 3, "backoffCap": "30 seconds", "roundTripTimeout": "120 seconds" },
      "identicalCallExempt": ["lock_acquire"]
    }`)
    assert.strictEqual(Duration.toMillis(config.limits!.toolDeadline!), 600_000)
    assert.deepStrictEqual(Object.keys(config.mcpServers!), ["files", "web"])
  })

  it("refuses an unknown key with its path and the nearest known key", () => {
    assert.deepStrictEqual(faults(`{"modles": {}}`), [
      `modles: this key is not known. Did you mean "models"? Known here: models, model, mcpServers, rules, idempotency, concurrentTools, toolRouting, budget, compaction, limits, identicalCallExempt`
    ])
    assert.match(
      faults(`{"models": {"main": {"protocol": "openai-chat", "model": "m", "baseURL": "x"}}}`)[0]!,
      /^models\.main\.baseURL: this key is not known\. Did you mean "baseUrl"\? Known here: protocol, baseUrl, model, /
    )
    assert.match(
      faults(`{"limits": {"maxToolRound": 1}}`)[0]!,
      /^limits\.maxToolRound: .*Did you mean "maxToolRounds"\?/
    )
    assert.match(
      faults(`{"rules": [{"tool": "a", "decision": "ask", "unter": "."}]}`)[0]!,
      /^rules\[0\]\.unter: .*"under"/
    )
    assert.match(
      faults(`{"mcpServers": {"f": {"command": "x", "arg": []}}}`)[0]!,
      /^mcpServers\.f\.arg: .*Did you mean "args"\?/
    )
  })

  it("refuses a wrong value with its path, what was expected and what stood there", () => {
    assert.deepStrictEqual(faults(`{"budget": {"maxCost": "a"}}`), [`budget.maxCost: expected number, not "a".`])
    assert.deepStrictEqual(faults(`{"toolRouting": "nativ"}`), [
      `toolRouting: expected "native" | "schema", not "nativ". Did you mean "native"?`
    ])
    assert.deepStrictEqual(faults(`{"limits": {"toolDeadline": "soon"}}`), [
      `limits.toolDeadline: "soon" is not a duration above zero: write it like "30 seconds"`
    ])
    assert.deepStrictEqual(faults(`{"models": {"x": {"protocol": "openai-cat", "model": "m"}}}`), [
      `models.x: "openai-cat" is not a protocol this version speaks. Did you mean "openai-chat"? Known: ${Protocols.names.join(", ")}`
    ])
    assert.deepStrictEqual(faults(`{"models": {"x": {"model": "m"}}}`), [
      `models.x: it names no protocol. Known: ${Protocols.names.join(", ")}`
    ])
    assert.deepStrictEqual(faults(`{"models": {"x": {"protocol": "openai-chat"}}}`), [
      "models.x.model: this key is missing"
    ])
    assert.deepStrictEqual(faults(`{"concurrentTools": ["a*b"]}`), [
      `concurrentTools[0]: "a*b": a "*" may only stand at the end`
    ])
    assert.deepStrictEqual(faults(`[]`), [": expected object, not []."])
  })

  it("tells the two kinds of MCP server apart", () => {
    assert.deepStrictEqual(faults(`{"mcpServers": {"f": {"command": "x", "url": "y"}}}`), [
      `mcpServers.f.url: a server has either a "command" or a "url", not both`
    ])
    assert.deepStrictEqual(faults(`{"mcpServers": {"f": {}}}`), [
      `mcpServers.f.command: a server has either a "command" or a "url"`
    ])
  })

  it("names line and column of a text that is no JSON, and a key that stands twice", () => {
    assert.deepStrictEqual(faults(`{\n  "model": // why\n  oops }`), [
      ": line 3, column 3: a value was expected, not 'o'"
    ])
    assert.deepStrictEqual(faults(`{"model": "a",\n "model": "b"}`), [
      `: line 2, column 2: the key "model" stands twice in one object`
    ])
    assert.deepStrictEqual(faults(``), [": line 1, column 1: a value was expected, not the end of the file"])
    assert.deepStrictEqual(faults(`{"a": 1} x`), [": line 1, column 10: there is more text after the value"])
    assert.deepStrictEqual(faults(`{} /* never`), [": line 1, column 4: a comment that never ends"])
  })

  it("X-SAFE-02 treats a name like __proto__ as any other name", () => {
    const config = accepted(`{"models": {"__proto__": {"protocol": "openai-chat", "model": "m"}}}`)
    assert.deepStrictEqual(Object.keys(config.models!), ["__proto__"])
    assert.match(faults(`{"__proto__": {}}`)[0]!, /^__proto__: this key is not known/)
  })

  it("publishes the schema it decodes with: settle.schema.json is up to date", () => {
    const published = JSON.parse(readFileSync(new URL("../settle.schema.json", import.meta.url), "utf8"))
    assert.deepStrictEqual(published, Config.jsonSchema(), "run: node -C source packages/cli/scripts/schema.ts")
  })
})
