import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schema } from "effect"
import type * as Json from "../../src/model/Json.ts"
import * as Tool from "../../src/model/Tool.ts"
import * as Asker from "../../src/port/Asker.ts"
import * as CallScope from "../../src/port/CallScope.ts"
import { type ToolProvider, ToolProviderError } from "../../src/port/ToolProvider.ts"
import * as Grants from "../../src/tools/Grants.ts"
import * as Policy from "../../src/tools/Policy.ts"
import type * as Rules from "../../src/tools/Rules.ts"

const declare = (name: string, more: Partial<Tool.Declaration> = {}): Tool.Declaration => ({
  name,
  parameters: { type: "object" },
  origin: "server",
  ...more
})

const fake = (names: ReadonlyArray<string>, more: Partial<ToolProvider> = {}) => {
  const batches: Array<ReadonlyArray<Tool.Invocation>> = []
  const tools = names.map((name) => declare(name))
  const provider: ToolProvider = {
    list: Effect.succeed(tools),
    execute: (batch) =>
      Effect.sync(() => {
        batches.push(batch)
        return batch.map(({ name }) => `ran ${name}`)
      }),
    ...more
  }
  return { batches, provider, tools }
}

const call = (callId: string, name: string, args: Json.JsonObject | string = {}): Tool.Invocation => ({
  callId,
  operationId: `o-${callId}`,
  name,
  arguments: typeof args === "string" ? args : JSON.stringify(args)
})

/** Answers in turn, and remembers what it was asked. */
const person = (...answers: ReadonlyArray<Json.JsonObject | Effect.Effect<Json.JsonObject>>) => {
  const asked: Array<Json.JsonObject> = []
  const asker: Asker.Asker = {
    ask: (request) =>
      Effect.suspend(() => {
        const answer = answers[asked.push(request) - 1] ?? { action: "nothing left to say" }
        return Effect.isEffect(answer) ? answer : Effect.succeed(answer)
      })
  }
  return { asked, asker }
}
const once = { action: "allow-once" }
const no = { action: "deny-once" }
const always = { action: "always-allow" }

const said = (answers: ReadonlyArray<Tool.Answer | string | undefined>) =>
  answers.map((answer) =>
    typeof answer === "object" ? (answer._tag === "Answered" ? answer.content : answer.message) : answer
  )
const isDenied = (text: string | undefined) => text?.startsWith("Permission denied") === true

const rules: ReadonlyArray<Rules.Rule> = [
  { tool: "read", decision: "allow" },
  { tool: "remove", decision: "deny", note: "nothing is removed here" }
]

/** What the scope of a run would say, by hand. */
const runScope = (more: Partial<CallScope.CallScope> = {}) => {
  const events: Array<string> = []
  const scope: CallScope.CallScope = {
    ...CallScope.none,
    runId: "run",
    live: Effect.succeed(true),
    log: (_level, _logger, data) => Effect.sync(() => void events.push(`log ${JSON.stringify(data)}`)),
    asking: (request, ask) =>
      Effect.sync(() => void events.push(`pending ${String(request["callId"])}`)).pipe(
        Effect.andThen(ask),
        Effect.ensuring(Effect.sync(() => void events.push(`answered ${String(request["callId"])}`)))
      ),
    grantsChanged: Effect.sync(() => void events.push("grants")),
    ...more
  }
  return { events, in: Effect.provideService(CallScope.CallScope, scope) }
}

describe("Policy", () => {
  it.effect("L-CONC-12 every call is decided before one runs, and those allowed go on unchanged as one batch", () =>
    Effect.gen(function* () {
      const { batches, provider } = fake(["read", "write", "remove"])
      const { asked, asker } = person(
        Effect.sync(() => (assert.strictEqual(batches.length, 0), once)),
        no
      )
      const policy = yield* Policy.make({ provider, rules, asker })
      const batch = [
        call("1", "read"),
        call("2", "write", '{ "a" : 1 }'),
        call("3", "remove"),
        call("4", "write"),
        call("5", "read")
      ]
      const answers = yield* policy.execute(batch)
      assert.deepStrictEqual(batches, [batch.filter((_, index) => [0, 1, 4].includes(index))])
      assert.strictEqual(batches[0]?.[1], batch[1])
      assert.deepStrictEqual(
        asked.map((request) => request["callId"]),
        ["2", "4"]
      )
      assert.deepStrictEqual(said(answers), [
        "ran read",
        "ran write",
        'Permission denied for "remove"; the call was not run. A rule denies it: nothing is removed here',
        'Permission denied for "write"; the call was not run. The person who was asked said no.',
        "ran read"
      ])
      assert.deepStrictEqual(answers[2], Tool.failed(said(answers)[2] ?? ""))
    })
  )

  it.effect("M15 P1 with nobody there a question is a denial at once, with its reason, and no question is shown", () =>
    Effect.gen(function* () {
      const { batches, provider } = fake(["read", "write"])
      const policy = yield* Policy.make({
        provider,
        rules: [...rules, { tool: "read", decision: "ask", under: "/secret", note: "secrets are asked about" }]
      })
      const { events, in: inside } = runScope()
      const answers = yield* inside(
        policy.execute([
          call("1", "write"),
          call("2", "read", { path: "/secret/x" }),
          call("3", "read", { path: "a/../b" })
        ])
      )
      assert.deepStrictEqual(said(answers), [
        'Permission denied for "write"; the call was not run. It needs somebody\'s permission (no rule speaks about it), and nobody is there to be asked.',
        'Permission denied for "read"; the call was not run. It needs somebody\'s permission (secrets are asked about), and nobody is there to be asked.',
        'Permission denied for "read"; the call was not run. It needs somebody\'s permission (a path, host or command in it could not be read), and nobody is there to be asked.'
      ])
      assert.deepStrictEqual(batches, [])
      assert.deepStrictEqual(events, [])
    })
  )

  it.effect("T11 T12 X-SAFE-03 the question says what is asked, neutralised, and which call it is about", () =>
    Effect.gen(function* () {
      const { provider } = fake(["write"])
      const { asked, asker } = person(once)
      const policy = yield* Policy.make({
        provider,
        asker,
        rules: [{ tool: "write", decision: "ask", note: "look first", severity: "danger" }],
        ground: { roots: [{ prefix: "", path: "/repo" }] }
      })
      yield* policy.execute([call("1", "write", { text: "\u202eevil\u001b[2J", path: "a/b" })])
      assert.strictEqual(asked.length, 1)
      const { arguments: args, digest, shown, ...rest } = asked[0] ?? {}
      assert.deepStrictEqual(rest, {
        kind: "permission",
        tool: "write",
        callId: "1",
        reason: "rule",
        paths: ["/repo/a/b"],
        origin: "server",
        rule: { tool: "write", decision: "ask", note: "look first", severity: "danger" },
        suggestion: { tool: "write", under: "/repo/a" }
      })
      assert.deepStrictEqual(args, { text: "\u202eevil\u001b[2J", path: "a/b" })
      assert.strictEqual(shown, 'write(text: "⟨U+202E⟩evil\\u001b[2J", path: "a/b")')
      assert.match(String(digest), /^[0-9a-f]{64}$/)
    })
  )

  it.effect("T12 T11 an answer for another call, or for the same call with other arguments, allows nothing", () =>
    Effect.gen(function* () {
      const { batches, provider } = fake(["write"])
      const first = person(once)
      yield* (yield* Policy.make({ provider, asker: first.asker })).execute([call("1", "write", { n: 1 })])
      const answered = first.asked[0] ?? {}
      const addressed = { action: "allow-once", callId: "1", digest: answered["digest"] ?? "" }
      const { asker, asked } = person(addressed, { ...addressed, digest: "" }, { ...addressed, callId: "2" }, addressed)
      const policy = yield* Policy.make({ provider, asker })
      const run = (id: string, args: string) => Effect.map(policy.execute([call(id, "write", args)]), said)
      // the same id with other arguments
      const denial =
        'Permission denied for "write"; the call was not run. Asking for permission brought no answer: the answer was given for another call.'
      assert.deepStrictEqual(yield* run("1", '{"n":2}'), [denial])
      assert.deepStrictEqual(yield* run("1", '{"n":1}'), [denial])
      assert.deepStrictEqual(yield* run("1", '{"n":1}'), [denial])
      // the same call, written otherwise
      assert.deepStrictEqual(yield* run("1", ' { "n" : 1.0 } '), ["ran write"])
      assert.strictEqual(asked.length, 4)
      assert.strictEqual(batches.length, 2)
    })
  )

  it.effect(
    "T8 a question that ends after the run was cancelled allows nothing and keeps nothing; no further one is put",
    () =>
      Effect.gen(function* () {
        const { batches, provider } = fake(["read", "write"])
        let cancelled = false
        const answer = Effect.sync(() => {
          cancelled = true
          return always
        })
        const { asked, asker } = person(answer, always)
        const policy = yield* Policy.make({ provider, rules, asker })
        const { events, in: inside } = runScope({ isCancelled: Effect.sync(() => cancelled) })
        const answers = yield* inside(policy.execute([call("1", "read"), call("2", "write"), call("3", "write")]))
        assert.deepStrictEqual(
          said(answers),
          ["read", "write", "write"].map(
            (name) =>
              `Permission denied for "${name}"; the call was not run. The run was cancelled, or gave it up, before it was handed over.`
          )
        )
        assert.strictEqual(asked.length, 1)
        assert.deepStrictEqual(batches, [])
        assert.deepStrictEqual(yield* policy.grants, [])
        assert.notInclude(events, "grants")
      })
  )

  it.effect(
    "P2 L-SHIM-04 L-SHIM-05 a question is framed, and a grant is kept and recorded before the call is handed over",
    () =>
      Effect.gen(function* () {
        const order: Array<string> = []
        const { provider } = fake(["write"], {
          execute: (batch) => Effect.sync(() => (order.push("run"), batch.map(() => "ok")))
        })
        const { asker } = person(always)
        const policy = yield* Policy.make({ provider, asker })
        const { events, in: inside } = runScope({
          grantsChanged: Effect.flatMap(
            Effect.suspend(() => policy.grants),
            (grants) => Effect.sync(() => void order.push(`grants ${grants.length}`))
          )
        })
        yield* inside(policy.execute([call("1", "write")]))
        assert.deepStrictEqual(events, ["pending 1", "answered 1"])
        assert.deepStrictEqual(order, ["grants 1", "run"])
      })
  )

  it.effect("P2 who waited behind an always is not asked, and one question is open at a time", () =>
    Effect.gen(function* () {
      const { batches, provider } = fake(["write", "other"])
      const gate = yield* Deferred.make<Json.JsonObject>()
      const { asked, asker } = person(Deferred.await(gate), no)
      const policy = yield* Policy.make({ provider, asker })
      const first = yield* Effect.forkChild(policy.execute([call("1", "write")]), { startImmediately: true })
      const second = yield* Effect.forkChild(policy.execute([call("2", "write")]), { startImmediately: true })
      const third = yield* Effect.forkChild(policy.execute([call("3", "other")]), { startImmediately: true })
      yield* Effect.yieldNow
      assert.deepStrictEqual(
        asked.map((request) => request["callId"]),
        ["1"]
      )
      yield* Deferred.succeed(gate, always)
      assert.deepStrictEqual(said(yield* Fiber.join(first)), ["ran write"])
      assert.deepStrictEqual(said(yield* Fiber.join(second)), ["ran write"])
      assert.isTrue(isDenied(said(yield* Fiber.join(third))[0]))
      assert.deepStrictEqual(
        asked.map((request) => request["callId"]),
        ["1", "3"]
      )
      assert.strictEqual(batches.length, 2)
    })
  )

  it.effect(
    "P2 always is the suggestion or the rules of the answer, all or none, and its decision is the action's",
    () =>
      Effect.gen(function* () {
        const { provider, tools } = fake(["fs_read", "fs_write"])
        const ground = { roots: [{ prefix: "", path: "/repo" }] }
        const ask = (answer: Json.JsonObject) =>
          Effect.gen(function* () {
            const policy = yield* Policy.make({ provider, ground, asker: person(answer).asker })
            const [answered] = said(yield* policy.execute([call("1", "fs_read", { path: "src/a" })]))
            return { answered, grants: yield* policy.grants }
          })
        const bound = (name: string) =>
          tools
            .filter((tool) => tool.name === name)
            .map((tool) => ({ tool: name, origin: "server", digest: Grants.digestOf(tool) }))
        assert.deepStrictEqual((yield* ask(always)).grants, [
          { tool: "fs_read", under: "/repo/src", decision: "allow", bound: bound("fs_read") }
        ])
        const chosen = yield* ask({ ...always, rule: { tool: "fs_*", under: "/repo" } })
        assert.strictEqual(chosen.answered, "ran fs_read")
        assert.deepStrictEqual(chosen.grants, [
          { tool: "fs_*", under: "/repo", decision: "allow", bound: [...bound("fs_read"), ...bound("fs_write")] }
        ])
        const denied = yield* ask({
          action: "always-deny",
          rules: [{ tool: "fs_read" }, { tool: "gone" }],
          message: "never"
        })
        assert.strictEqual(
          denied.answered,
          'Permission denied for "fs_read"; the call was not run. The person who was asked said no: never'
        )
        assert.deepStrictEqual(denied.grants, [
          { tool: "fs_read", decision: "deny" },
          { tool: "gone", decision: "deny" }
        ])
        const bad: ReadonlyArray<readonly [Json.JsonObject, string]> = [
          [
            { ...always, rules: [{ tool: "fs_read" }, { tool: "x", undr: "/" }] },
            'the rules of the answer[1].undr: a rule has no such member. Did you mean "under"?'
          ],
          [{ ...always, rule: { tool: "a" }, rules: [] }, 'the answer has both "rule" and "rules"'],
          [{ ...always, rules: [] }, "the answer has an empty list of rules"],
          [
            { ...always, rule: { tool: "fs_read", decision: "deny" } },
            "a rule of the answer decides otherwise than the answer"
          ],
          [{ ...always, rule: { tool: "gone" } }, "a rule of the answer is for no tool that is listed"],
          [{ ...once, rule: { tool: "fs_read" } }, 'the answer has a rule, and "allow-once" keeps none'],
          [{ action: "decline" }, "what came back is no answer to a question of permission"],
          [{}, "what came back is no answer to a question of permission"]
        ]
        for (const [answer, why] of bad) {
          const { answered, grants } = yield* ask(answer)
          assert.strictEqual(
            answered,
            `Permission denied for "fs_read"; the call was not run. Asking for permission brought no answer: ${why}.`
          )
          assert.deepStrictEqual(grants, [])
        }
      })
  )

  it.effect("P2 where nothing narrow can be kept, always is for this call alone, and that is logged", () =>
    Effect.gen(function* () {
      const { provider } = fake(["run"])
      const { asker, asked } = person(always, no)
      const policy = yield* Policy.make({ provider, asker })
      const { events, in: inside } = runScope()
      assert.deepStrictEqual(said(yield* inside(policy.execute([call("1", "run", { command: "a; b $X" })]))), [
        "ran run"
      ])
      assert.deepStrictEqual(yield* policy.grants, [])
      assert.isUndefined(asked[0]?.["suggestion"])
      assert.isTrue(events.some((event) => event.includes("nothing narrow enough")))
      assert.isTrue(isDenied(said(yield* inside(policy.execute([call("2", "run", { command: "ls" })])))[0]))
    })
  )

  it.effect("c8 an asker that throws, or gives up, denies its call and no other", () =>
    Effect.gen(function* () {
      const { provider } = fake(["write"])
      const { asker } = person(Effect.die(new Error("screen gone")), Effect.interrupt, once)
      const policy = yield* Policy.make({ provider, asker })
      assert.deepStrictEqual(
        said(yield* policy.execute([call("1", "write"), call("2", "write"), call("3", "write")])),
        [
          'Permission denied for "write"; the call was not run. Asking for permission brought no answer: screen gone.',
          'Permission denied for "write"; the call was not run. Asking for permission brought no answer: the question was taken back.',
          "ran write"
        ]
      )
    })
  )

  it.effect("c8 an interrupted question frees the lock", () =>
    Effect.gen(function* () {
      const { provider } = fake(["write"])
      const { asker } = person(Effect.never, once)
      const policy = yield* Policy.make({ provider, asker })
      const stuck = yield* Effect.forkChild(policy.execute([call("1", "write")]), { startImmediately: true })
      yield* Fiber.interrupt(stuck)
      assert.deepStrictEqual(said(yield* policy.execute([call("2", "write")])), ["ran write"])
    })
  )

  it.effect("X-SAFE-04 a server that changes a declaration loses the grant for it, and somebody is asked again", () =>
    Effect.gen(function* () {
      let tools = [declare("write")]
      const { batches, provider } = fake([], { list: Effect.sync(() => tools) })
      const { asked, asker } = person(always, no, no)
      const policy = yield* Policy.make({ provider, asker })
      const run = Effect.suspend(() => policy.execute([call("1", "write")]))
      yield* run
      yield* run
      assert.strictEqual(asked.length, 1)
      tools = [declare("write", { description: "also sends it elsewhere" })]
      assert.isTrue(isDenied(said(yield* run)[0]))
      tools = [declare("write", { origin: "another" })]
      assert.isTrue(isDenied(said(yield* run)[0]))
      assert.strictEqual(asked.length, 3)
      tools = [declare("write")]
      assert.deepStrictEqual(said(yield* run), ["ran write"])
      assert.strictEqual(batches.length, 3)
    })
  )

  it.effect("X-SAFE-04 a catalogue that cannot be read lets no allowance count", () =>
    Effect.gen(function* () {
      let broken = false
      const tools = [declare("write")]
      const { provider } = fake([], {
        list: Effect.suspend(() =>
          broken ? Effect.fail(new ToolProviderError({ provider: "x", detail: "down" })) : Effect.succeed(tools)
        )
      })
      const { asked, asker } = person(always, always)
      const policy = yield* Policy.make({ provider, asker })
      yield* policy.execute([call("1", "write")])
      broken = true
      assert.deepStrictEqual(said(yield* policy.execute([call("2", "write")])), ["ran write"])
      assert.strictEqual(asked.length, 2)
      assert.strictEqual((yield* policy.grants).length, 1)
      assert.strictEqual((yield* Effect.flip(policy.list)).message, "x: down")
    })
  )

  it.effect("X-IDEM-02 a tool that calls itself harmless is asked about like any other", () =>
    Effect.gen(function* () {
      const { asked, asker } = person(no, no)
      const { provider } = fake([], {
        list: Effect.succeed([declare("a", { idempotency: "read-only" }), declare("b", { idempotency: "destructive" })])
      })
      const policy = yield* Policy.make({ provider, asker })
      yield* policy.execute([call("1", "a"), call("2", "b")])
      assert.deepStrictEqual(
        asked.map((request) => request["tool"]),
        ["a", "b"]
      )
    })
  )

  it.effect("c8 what was approved beforehand answers a question and lifts no denial", () =>
    Effect.gen(function* () {
      const { provider } = fake(["write", "remove"])
      const preapproved: ReadonlyArray<Rules.Rule> = [{ tool: "*", decision: "allow" }]
      const policy = yield* Policy.make({
        provider,
        preapproved,
        rules: [...rules, { tool: "write", decision: "ask" }]
      })
      const answers = said(yield* policy.execute([call("1", "write"), call("2", "remove")]))
      assert.strictEqual(answers[0], "ran write")
      assert.isTrue(isDenied(answers[1]))
      assert.deepStrictEqual(yield* policy.grants, [])
      assert.strictEqual((yield* policy.decide({ tool: "write", arguments: {} })).decision, "allow")
    })
  )

  it.effect("c8 arguments that are no object are refused before any rule is asked", () =>
    Effect.gen(function* () {
      const { batches, provider } = fake(["read"])
      const policy = yield* Policy.make({ provider, rules })
      const answers = said(
        yield* policy.execute([call("1", "read", "[1]"), call("2", "read", '{"a":'), call("3", "read", "")])
      )
      assert.strictEqual(
        answers[0],
        'Permission denied for "read"; the call was not run. Its arguments are not one JSON object, so that no rule can be read against them.'
      )
      assert.isTrue(isDenied(answers[1]))
      assert.strictEqual(answers[2], "ran read")
      assert.strictEqual(batches.length, 1)
    })
  )

  it.effect("c8 a tool that no call can pass is not listed; the list is the same array while nothing changes", () =>
    Effect.gen(function* () {
      const { provider, tools } = fake(["read", "remove"])
      const policy = yield* Policy.make({ provider, rules })
      const list = yield* policy.list
      assert.deepStrictEqual(
        list.map(({ name }) => name),
        ["read"]
      )
      assert.strictEqual(yield* policy.list, list)
      yield* policy.replaceRules([])
      assert.strictEqual(yield* policy.list, tools)
      const open = yield* Policy.make({ provider, rules, hide: false })
      assert.strictEqual(yield* open.list, tools)
    })
  )

  it.effect("c8 rules are replaced whole; bad ones and missing checks are refused", () =>
    Effect.gen(function* () {
      const { provider } = fake(["read"])
      const policy = yield* Policy.make({ provider, rules })
      const problem = yield* Effect.flip(policy.replaceRules([{ tool: "x", decision: "deny" }, { tool: "read" }]))
      assert.strictEqual(problem.message, "rules[1].decision: Missing key")
      assert.strictEqual((yield* policy.decide({ tool: "read", arguments: {} })).decision, "allow")
      const missing = yield* Effect.flip(
        Policy.make({
          provider,
          rules: [{ tool: "x", decision: "ask", check: "small" }],
          ground: { checks: new Map([["tiny", () => "yes" as const]]) }
        })
      )
      assert.strictEqual(missing.message, "rules[0].check: there is no check of that name; there are: tiny")
    })
  )

  it.effect("X-IDEM-03 a probe of the provider behind is passed on, and none is invented", () =>
    Effect.gen(function* () {
      const probed = yield* Policy.make({
        provider: fake([], { probe: () => Effect.succeed("landed" as const) }).provider
      })
      assert.strictEqual(yield* probed.probe?.(call("1", "x")) ?? Effect.succeed(undefined), "landed")
      assert.isUndefined((yield* Policy.make({ provider: fake([]).provider })).probe)
    })
  )

  const Action = Schema.Literals(["allow-once", "deny-once", "always-allow", "always-deny", "nonsense"])
  it.effect.prop(
    "L-CONC-12 c8 for any batch and any answers: what runs is what was allowed, and each answer stands at its place",
    {
      calls: Schema.Array(Schema.Literals(["read", "write", "other", "remove"])),
      answers: Schema.Array(Action)
    },
    ({ answers, calls }) =>
      Effect.gen(function* () {
        const { batches, provider } = fake(["read", "write", "other", "remove"])
        const { asked, asker } = person(...answers.map((action) => ({ action })))
        const policy = yield* Policy.make({ provider, rules, asker })
        const batch = calls.map((name, index) => call(String(index), name))
        const given = said(yield* policy.execute(batch))
        // The same, told call by call: a grant speaks for the calls behind it.
        const grants = new Map<string, boolean>()
        let questions = 0
        const expected = calls.map((name) => {
          if (name === "read" || name === "remove") return name === "read"
          const granted = grants.get(name)
          if (granted !== undefined) return granted
          const action = answers[questions++]
          const isAllowed = action === "allow-once" || action === "always-allow"
          if (action?.startsWith("always") === true) grants.set(name, isAllowed)
          return isAllowed
        })
        assert.deepStrictEqual(
          given.map((answer, index) => answer === `ran ${calls[index] ?? ""}`),
          expected
        )
        assert.deepStrictEqual(
          given.map(isDenied),
          expected.map((isAllowed) => !isAllowed)
        )
        assert.deepStrictEqual(
          batches.flat(),
          batch.filter((_, index) => expected[index])
        )
        assert.isAtMost(batches.length, 1)
        assert.strictEqual(asked.length, questions)
      })
  )
})
