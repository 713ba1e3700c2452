import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import type * as Json from "../../src/model/Json.ts"
import * as Rules from "../../src/tools/Rules.ts"
import * as Suggestion from "../../src/tools/Suggestion.ts"

const ground: Rules.Ground = {
  roots: [{ prefix: "", path: "/repo" }],
  checks: new Map<string, (call: Rules.Call) => "yes" | "no" | "unknown">([
    ["small", ({ arguments: args }) => (args["size"] === 1 ? "yes" : "no")],
    [
      "broken",
      () => {
        throw new Error("broken")
      }
    ]
  ])
}
const facts = (tool: string, args: Json.JsonObject = {}) => Rules.facts({ tool, arguments: args }, ground)
const decide = (rules: ReadonlyArray<Rules.Rule>, tool: string, args: Json.JsonObject = {}) =>
  Rules.decide(rules, facts(tool, args))
const rule = (decision: Rules.Decision, tool: string, more: Partial<Rules.Rule> = {}): Rules.Rule => ({
  tool,
  decision,
  ...more
})

describe("Rules", () => {
  it("c8 the strongest rule that holds decides: deny, then ask, then allow; without one somebody is asked", () => {
    const rules = [rule("allow", "*"), rule("ask", "fs_*"), rule("deny", "fs_remove")]
    assert.strictEqual(decide(rules, "web").decision, "allow")
    assert.strictEqual(decide(rules, "fs_read").decision, "ask")
    assert.strictEqual(decide(rules.toReversed(), "fs_remove").decision, "deny")
    assert.deepStrictEqual(decide([], "web"), { decision: "ask", reason: "no-match" })
  })

  it("c8 the most specific of the rules that decided is the one that is named", () => {
    const wide = rule("deny", "fs_*", { note: "wide" })
    const named = rule("deny", "fs_write", { note: "named" })
    const deep = rule("deny", "fs_write", { under: "/repo/a/b", note: "deep" })
    const flat = rule("deny", "fs_write", { under: "/repo", note: "flat" })
    assert.strictEqual(decide([wide, named], "fs_write").rule?.note, "named")
    assert.strictEqual(decide([wide, flat, deep, named], "fs_write", { path: "a/b/c" }).rule?.note, "deep")
    assert.strictEqual(decide([wide, flat, deep, named], "fs_write", { path: "x" }).rule?.note, "flat")
  })

  it("c8 an allowance needs every path inside, a denial one of them", () => {
    const allow = [rule("allow", "move", { under: "src" })]
    const deny = [rule("deny", "move", { under: "/repo/src" }), rule("allow", "move")]
    const both = { source: "src/a", destination: "src/b" }
    const one = { source: "src/a", destination: "other/b" }
    assert.strictEqual(decide(allow, "move", both).decision, "allow")
    assert.strictEqual(decide(allow, "move", one).decision, "ask")
    assert.strictEqual(decide(deny, "move", one).decision, "deny")
    assert.strictEqual(decide(deny, "move", { source: "a", destination: "b" }).decision, "allow")
  })

  it("c8 a path that cannot be told is never allowed, always denied, and said", () => {
    const args = { path: "src/../../etc/passwd" }
    assert.deepStrictEqual(decide([rule("allow", "read", { under: "." })], "read", args), {
      decision: "ask",
      reason: "unevaluable-path"
    })
    const denied = decide([rule("deny", "read", { under: "/etc" }), rule("allow", "read")], "read", args)
    assert.strictEqual(denied.decision, "deny")
    assert.strictEqual(denied.reason, "unevaluable-path")
    assert.strictEqual(decide([rule("allow", "read", { under: "." })], "read", {}).reason, "unevaluable-path")
  })

  it("c8 several predicates of a rule must all hold", () => {
    const rules = [rule("allow", "fetch", { host: "*.example.com", under: "/repo" })]
    const url = "https://a.example.com/x"
    assert.strictEqual(decide(rules, "fetch", { url, path: "x" }).decision, "allow")
    assert.strictEqual(decide(rules, "fetch", { url, path: "/x" }).decision, "ask")
    assert.strictEqual(decide(rules, "fetch", { url: "https://b.com", path: "x" }).decision, "ask")
    const run = [rule("deny", "run", { command: "git", argsAny: ["--force"] }), rule("allow", "run")]
    assert.strictEqual(decide(run, "run", { command: "git push --force" }).decision, "deny")
    assert.strictEqual(decide(run, "run", { command: "git push" }).decision, "allow")
    assert.strictEqual(decide(run, "run", { command: "true && git push '--force'" }).decision, "deny")
  })

  it("c8 a named check decides; one that throws or is missing cannot be told", () => {
    assert.strictEqual(decide([rule("allow", "x", { check: "small" })], "x", { size: 1 }).decision, "allow")
    assert.strictEqual(decide([rule("allow", "x", { check: "small" })], "x", { size: 2 }).decision, "ask")
    for (const check of ["broken", "missing", "constructor"]) {
      assert.strictEqual(decide([rule("allow", "x", { check })], "x").decision, "ask")
      assert.strictEqual(decide([rule("deny", "x", { check }), rule("allow", "x")], "x").decision, "deny")
    }
  })

  it("c8 only a denial without any condition hides a tool", () => {
    assert.isTrue(Rules.isHidden([rule("deny", "fs_*")], "fs_read"))
    assert.isFalse(Rules.isHidden([rule("deny", "fs_*", { under: "/etc" })], "fs_read"))
    assert.isFalse(Rules.isHidden([rule("ask", "fs_*")], "fs_read"))
  })

  it("c8 rules that may speak about a tool come strongest and most specific first", () => {
    const rules = [
      rule("allow", "fs_*"),
      rule("allow", "fs_read"),
      rule("deny", "*", { under: "/etc" }),
      rule("ask", "w")
    ]
    assert.deepStrictEqual(
      Rules.about(rules, "fs_read").map(({ decision, tool }) => `${decision} ${tool}`),
      ["deny *", "allow fs_read", "allow fs_*"]
    )
  })

  it("c8 a bad rule is refused with its place, the nearest member and the reason; none of the list is taken", () => {
    const faults: ReadonlyArray<readonly [unknown, string]> = [
      ["x", "rules: a list of rules belongs here"],
      [[3], "rules[0]: a rule is an object"],
      [
        [
          { tool: "a", decision: "allow" },
          { tool: "a", decision: "allow", undr: "/x" }
        ],
        'rules[1].undr: a rule has no such member. Did you mean "under"?'
      ],
      [
        [JSON.parse('{"tool":"a","decision":"allow","__proto__":{}}')],
        "rules[0].__proto__: a rule has no such member."
      ],
      [[{ tool: "a" }], "rules[0].decision: Missing key"],
      [[{ tool: "a", decision: "maybe" }], 'rules[0].decision: Expected "allow" | "deny" | "ask"'],
      [[{ tool: "a*b", decision: "ask" }], 'rules[0].tool: "a*b": a "*" may only stand at the end'],
      [[{ tool: "a", decision: "ask", args: ["x"] }], 'rules[0]: "args" and "argsAny" need "command"'],
      [
        [{ tool: "a", decision: "ask", under: "../x" }],
        'rules[0].under: "../x": a folder is a path with "/" and without ".."; a relative one begins at the root of the tool'
      ],
      [
        [{ tool: "a", decision: "ask", host: "https://x" }],
        'rules[0].host: "https://x": a host is a name or an address, or "*." and a name'
      ]
    ]
    for (const [given, message] of faults) {
      const read = Rules.decode(given)
      assert.isTrue(Result.isFailure(read))
      if (Result.isFailure(read)) assert.strictEqual(read.failure.message, message)
    }
    assert.isTrue(Result.isSuccess(Rules.decode([{ tool: "a_*", decision: "deny", command: "git", args: ["push"] }])))
  })

  it("c8 what always would mean is one narrow rule, or nothing where something could not be read", () => {
    const of = (tool: string, args: Json.JsonObject) => Suggestion.make(facts(tool, args))
    assert.deepStrictEqual(of("read", { path: "src/a/x.ts" }), { tool: "read", under: "/repo/src/a" })
    assert.deepStrictEqual(of("move", { from: "src/a/x", to: "src/b/y" }), { tool: "move", under: "/repo/src" })
    assert.deepStrictEqual(of("list", { path: "." }), { tool: "list", under: "/repo" })
    assert.deepStrictEqual(of("read", { path: "/etc/passwd" }), { tool: "read", under: "/etc" })
    assert.isUndefined(of("move", { from: "/repo/a", to: "/etc/b" }))
    assert.isUndefined(of("read", { path: "../x" }))
    assert.deepStrictEqual(of("fetch", { url: "https://A.com/x" }), { tool: "fetch", host: "a.com" })
    assert.isUndefined(of("fetch", { url: "ftp://a.com/x" }))
    assert.deepStrictEqual(of("run", { command: "git status" }), { tool: "run", command: "git", args: ["status"] })
    assert.isUndefined(of("run", { command: "git status; ls" }))
    assert.isUndefined(of("run", { command: "git $X" }))
    assert.isUndefined(of("run", { command: "git log > x" }))
    assert.deepStrictEqual(of("run", { command: "ls", path: "a/b" }), { tool: "run", under: "/repo/a", command: "ls" })
    assert.deepStrictEqual(of("now", {}), { tool: "now" })
    assert.isUndefined(of("*", {}))
  })
})

/** Worlds in which rules and calls meet often. */
const Decision = Schema.Literals(["allow", "deny", "ask"])
const SomeRule = Schema.Struct({
  tool: Schema.Literals(["*", "fs_*", "fs_read", "run"]),
  decision: Decision,
  under: Schema.optionalKey(Schema.Literals(["/", ".", "src", "/etc", "/Repo"])),
  host: Schema.optionalKey(Schema.Literals(["a.com", "*.a.com"])),
  command: Schema.optionalKey(Schema.Literals(["git", "g*", "rm", "/x/git"])),
  check: Schema.optionalKey(Schema.Literals(["small", "broken", "missing"]))
})
const SomeCall = Schema.Struct({
  tool: Schema.Literals(["fs_read", "fs_write", "run"]),
  arguments: Schema.Struct({
    path: Schema.optionalKey(Schema.Literals(["src/x", "/etc/x", "../x", "", "/repo", "a\\b"])),
    paths: Schema.optionalKey(Schema.Array(Schema.Literals(["src/x", "~/x", "b"]))),
    url: Schema.optionalKey(Schema.Literals(["https://a.com", "https://x.a.com", "a.com", "http://u@a.com"])),
    command: Schema.optionalKey(Schema.Literals(["git status", "rm x", "$X", "sh -c 'git x'", "git > f", "git; rm"])),
    size: Schema.optionalKey(Schema.Literals([1, 2]))
  })
})
const power = { deny: 0, ask: 1, allow: 2 }

describe("Rules, for any rules and any call", () => {
  it.effect.prop(
    "c8 one more denial or question never widens what is allowed",
    { rules: Schema.Array(SomeRule), extra: SomeRule, call: SomeCall },
    ({ call, extra, rules }) =>
      Effect.sync(() => {
        const before = decide(rules, call.tool, call.arguments)
        const denied = decide([...rules, { ...extra, decision: "deny" }], call.tool, call.arguments)
        assert.isAtMost(power[denied.decision], power[before.decision])
        const asked = decide([...rules, { ...extra, decision: "ask" }], call.tool, call.arguments)
        assert.isFalse(asked.decision === "allow" && before.decision !== "allow")
      }),
    { arbitrary: { runs: 300 } }
  )

  it.effect.prop(
    "c8 what is unknown never allows: a call with an unreadable place passes no rule that looks at places",
    { rules: Schema.Array(SomeRule), call: SomeCall },
    ({ call, rules }) =>
      Effect.sync(() => {
        const looking = rules.map((one) => ({ ...one, under: one.under ?? "/" }))
        const args = { ...call.arguments, path: "x/../y" }
        assert.notStrictEqual(decide(looking, call.tool, args).decision, "allow")
        const denies = looking.map((one) => ({ tool: one.tool, decision: "deny" as const, under: one.under }))
        const matched = denies.some(
          ({ tool }) => tool === "*" || tool === call.tool || (tool === "fs_*" && call.tool !== "run")
        )
        assert.strictEqual(
          decide([...denies, rule("allow", "*")], call.tool, args).decision,
          matched ? "deny" : "allow"
        )
      }),
    { arbitrary: { runs: 300 } }
  )

  it.effect.prop(
    "c8 the order of rules changes no decision",
    { rules: Schema.Array(SomeRule), call: SomeCall },
    ({ call, rules }) =>
      Effect.sync(() => {
        const there = decide(rules, call.tool, call.arguments)
        const back = decide(rules.toReversed(), call.tool, call.arguments)
        assert.strictEqual(back.decision, there.decision)
      })
  )

  it.effect.prop(
    "c8 a suggestion holds for the call it was made from, as an allowance and as a denial",
    { call: SomeCall },
    ({ call }) =>
      Effect.sync(() => {
        const suggestion = Suggestion.make(facts(call.tool, call.arguments))
        if (suggestion === undefined) return
        for (const decision of ["allow", "deny"] as const) {
          const rules = [{ ...suggestion, decision }]
          assert.isTrue(Result.isSuccess(Rules.decode(rules)))
          assert.strictEqual(decide(rules, call.tool, call.arguments).decision, decision)
        }
      }),
    { arbitrary: { runs: 300 } }
  )
})
