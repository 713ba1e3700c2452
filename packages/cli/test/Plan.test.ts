import { assert, describe, it } from "@effect/vitest"
import { Duration, Result } from "effect"
import * as Config from "../src/Config.ts"
import * as Flags from "../src/commands/Flags.ts"
import * as Plan from "../src/Plan.ts"
import type * as Protocols from "../src/Protocols.ts"

const config = Result.getOrThrow(
  Config.decode({
    models: {
      main: { protocol: "openai-chat", baseUrl: "http://a/v1", model: "qwen3", apiKeyEnv: "K", contextWindow: 1000 },
      small: { protocol: "openai-chat", model: "tiny", contextWindow: 500, completionReserve: 50 },
      both: ["main", "small", { protocol: "openai-chat", model: "third" }],
      loop: ["both", "loop"]
    },
    model: "main",
    limits: { maxToolRounds: 7, toolDeadline: "10 minutes" },
    budget: { maxCost: 1.5, maxWallClock: "20 minutes" },
    rules: [{ tool: "a", decision: "allow" }]
  })
)

const plan = (flags: Partial<Flags.Flags> = {}, over: Config.Config = config) =>
  Plan.make(over, { ...Flags.none, ...flags })
const ok = (flags: Partial<Flags.Flags> = {}, over: Config.Config = config) => Result.getOrThrow(plan(flags, over))
const error = (flags: Partial<Flags.Flags>, over: Config.Config = config): string =>
  Result.match(plan(flags, over), { onFailure: (failure) => failure.message, onSuccess: () => "accepted" })

describe("Plan", () => {
  it("takes the model of the file, and a chain of names in order when flags say so", () => {
    assert.deepStrictEqual(
      ok().chain.map((link) => link.name),
      ["main"]
    )
    assert.deepStrictEqual(
      ok({ model: ["small", "both"] }).chain.map((link) => link.name),
      ["small", "main", "small", "both[2]"]
    )
  })

  it("takes a bare server and model without any file", () => {
    const made = ok({ baseUrl: "http://127.0.0.1:1/v1", model: ["x"], apiKeyEnv: "V" }, {})
    assert.deepStrictEqual(made.chain, [
      { name: "x", model: { protocol: "openai-chat", model: "x", baseUrl: "http://127.0.0.1:1/v1", apiKeyEnv: "V" } }
    ])
    assert.strictEqual(ok({ baseUrl: "http://h/v1" }, {}).chain[0]?.model.model, "default")
  })

  it("lets flags override the file, and keeps what they do not name", () => {
    const made = ok({
      maxToolRounds: 3,
      toolDeadline: "2 minutes",
      maxCost: 0,
      baseUrl: "http://b/v1",
      toolRouting: "schema"
    })
    assert.strictEqual(made.settings.maxToolRounds, 3)
    assert.strictEqual(Duration.toMillis(Duration.fromInputUnsafe(made.settings.toolDeadline!)), 120_000)
    assert.strictEqual(made.settings.toolRouting, "schema")
    assert.strictEqual(made.budget.maxCost, 0)
    assert.strictEqual(made.budget.maxWallClockMs, 1_200_000)
    const first = made.chain[0]?.model
    assert.isTrue(first?.protocol === "openai-chat" && first.baseUrl === "http://b/v1")
    assert.strictEqual(ok().settings.maxToolRounds, 7)
  })

  it("adds denials as rules and keeps what was allowed apart, since it lifts no denial", () => {
    const made = ok({ allow: ["x_*"], deny: ["y"] })
    assert.deepStrictEqual(made.rules, [
      { tool: "a", decision: "allow" },
      { tool: "y", decision: "deny" }
    ])
    assert.deepStrictEqual(made.allowed, ["x_*"])
  })

  it("derives windows and the compaction from the smallest window of the chain", () => {
    const made = ok({ model: ["both"] })
    assert.deepStrictEqual(
      [...made.budget.profiles!],
      [
        ["qwen3", { contextWindow: 1000 }],
        ["tiny", { contextWindow: 500, completionReserve: 50 }]
      ]
    )
    assert.deepStrictEqual([made.window, made.compaction], [500, undefined], "no compaction that is not configured")
    const compacting = ok({ model: ["both"] }, { ...config, compaction: {} })
    assert.deepStrictEqual(compacting.compaction, { window: 500, trigger: 0.8, target: 0.4 })
    assert.strictEqual(ok({ baseUrl: "http://h/v1" }, { compaction: {} }).compaction, undefined)
  })

  it("takes the window of a well-known model where none is configured, and presumes nothing of a server of one's own", () => {
    const window = (model: Protocols.Model) => ok({}, { models: { m: model } }).window
    assert.strictEqual(window({ protocol: "anthropic", model: "claude-sonnet-4-5" }), 200_000)
    assert.strictEqual(window({ protocol: "anthropic", model: "claude-sonnet-4-5", contextWindow: 9000 }), 9000)
    assert.strictEqual(
      window({ protocol: "openai-chat", model: "gpt-4o", baseUrl: "http://127.0.0.1:1/v1" }),
      undefined
    )
    assert.strictEqual(window({ protocol: "openai-chat", model: "nobody-knows-it" }), undefined)
    assert.strictEqual(window({ protocol: "gguf", path: "gpt-4o.gguf" }), undefined)
    const { budget } = ok({}, { models: { m: { protocol: "openai-chat", model: "gpt-4o" } } })
    assert.deepStrictEqual([...budget.profiles!], [["gpt-4o", { contextWindow: 128_000 }]])
  })

  it("runs the built-in model where nothing at all is configured, and only there", () => {
    const made = ok({}, {})
    assert.deepStrictEqual(
      [made.chain, made.isBuiltIn, made.window],
      [[{ name: "demonstration-0.8m", model: { protocol: "embedded" } }], true, undefined]
    )
    assert.isFalse(ok({ baseUrl: "http://h/v1" }, {}).isBuiltIn)
    assert.isFalse(ok({}, { models: { m: { protocol: "embedded" } } }).isBuiltIn)
    assert.match(error({ model: ["x"] }, {}), /^There is no model "x" \(none is configured\)\./)
  })

  it("refuses what cannot be, saying what to do", () => {
    assert.strictEqual(
      error({ model: ["mian"] }),
      `There is no model "mian" (configured: main, small, both, loop). Did you mean "main"? A name that is not configured needs --base-url as well.`
    )
    assert.strictEqual(
      error({ model: ["loop"] }),
      `The model list "loop" contains itself. Take it out of its own list in "models".`
    )
    assert.match(
      error({}, { ...config, model: [] }),
      /^No model is chosen\. Take one with --model \(configured: main, /
    )
    assert.strictEqual(
      error({ toolDeadline: "soon" }),
      `--tool-deadline: "soon" is not a duration above zero. Write it like "30 seconds".`
    )
    assert.strictEqual(error({ maxCost: -1 }), "--max-cost: -1 is below zero. Give 0 or more.")
    assert.strictEqual(
      error({ maxToolRounds: -1 }),
      "maxToolRounds: -1 is not a whole number of at least 0. Leave it out for 1000."
    )
    assert.strictEqual(
      error({ allow: ["*a"] }),
      `--allow: "*a": a "*" may only stand at the end. Give a tool's name, or a prefix ending in *.`
    )
    assert.strictEqual(error({ model: ["toString"] }).slice(0, 34), `There is no model "toString" (conf`)
  })
})
