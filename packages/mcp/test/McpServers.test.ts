import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as ToolProvider from "@settle/core/port/ToolProvider"
import * as Backoff from "../src/Backoff.ts"
import * as McpServers from "../src/McpServers.ts"
import { invocation, lines, spec, temporaryFile } from "./hostile.ts"

const tag = (answer: unknown): unknown =>
  typeof answer === "object" && answer !== null && "_tag" in answer
    ? answer._tag === "Answered" && "content" in answer
      ? answer.content
      : answer._tag
    : answer

describe("many servers", () => {
  it.live("M8 M11 one that fails stops no other, and is told; two with the same tools stay apart", () =>
    Effect.gen(function* () {
      const before = Date.now()
      const servers = yield* McpServers.make({
        good: spec(),
        broken: spec("exits"),
        silent: spec("silent", { connectTimeout: "1 second" }),
        "also good": spec()
      })
      const names = (yield* servers.provider.list).map((tool) => tool.name)
      assert.isBelow(Date.now() - before, 4000)
      assert.include(names, "good_echo")
      const second = names.find((name) => /^also_good_[0-9a-f]{8}_echo$/.test(name)) ?? ""
      const answers = yield* servers.provider.execute([
        invocation(second, { text: "B" }),
        invocation("good_echo", { text: "A" }),
        invocation("nobody_echo"),
        invocation("broken_echo")
      ])
      assert.deepStrictEqual(answers.slice(0, 2).map(tag), ["B", "A"])
      assert.match(
        String(tag(answers[2])),
        /^There is no tool "nobody_echo"\. Names of tools begin with: good_, broken_, /
      )
      assert.strictEqual(tag(answers[3]), "NotAccepted")
      const status = yield* servers.status
      assert.deepStrictEqual(
        status.map(({ server, state }) => [server, state]),
        [
          ["good", "up"],
          ["broken", "down"],
          ["silent", "down"],
          ["also good", "up"]
        ]
      )
      assert.match(status[1]?.problem ?? "", /MCP server `broken`: .*exited with code 1.*MISSING_KEY/)
      assert.match(status[2]?.problem ?? "", /did not answer `initialize` within 1 seconds/)
      assert.strictEqual(status[0]?.about?.version, "1.0.0")
      assert.include(status[0]?.tools ?? [], "good_echo")
    })
  )
  it.live("M11 all published names are legal and fit, prefix included", () =>
    Effect.gen(function* () {
      const servers = yield* McpServers.make({ [`${"long ".repeat(20)}name`]: spec() })
      const tools = yield* servers.provider.list
      assert.isAbove(tools.length, 20)
      for (const { name } of tools) assert.match(name, /^[A-Za-z0-9_-]{1,64}$/)
    })
  )
  it.live(
    "M2 a server that died is started again on the next use, its calls are not made again, and its tools stay listed",
    () =>
      Effect.gen(function* () {
        const journal = yield* temporaryFile
        const servers = yield* McpServers.make({ h: spec("plain", {}, journal) })
        const listed = yield* servers.provider.list
        const [lost] = yield* servers.provider.execute([invocation("h_die")])
        assert.strictEqual(tag(lost), "Lost")
        assert.strictEqual((yield* servers.status)[0]?.state, "down")
        assert.strictEqual(yield* servers.provider.list, listed)
        const [again] = yield* servers.provider.execute([invocation("h_echo", { text: "back" })])
        assert.strictEqual(tag(again), "back")
        const [status] = yield* servers.status
        assert.strictEqual(status?.state, "up")
        assert.strictEqual(status?.restarts, 1)
        assert.strictEqual(yield* servers.provider.list, listed)
        assert.deepStrictEqual(lines(journal), ["die", "echo"])
      })
  )
  it.live("M2 a server that dies again and again is left alone for a while, and says until when", () =>
    Effect.gen(function* () {
      const journal = yield* temporaryFile
      const servers = yield* McpServers.make({ h: spec("plain", {}, journal) })
      yield* servers.provider.list
      yield* servers.provider.execute([invocation("h_die")])
      yield* servers.provider.execute([invocation("h_die")])
      const [answer] = yield* servers.provider.execute([invocation("h_echo", { text: "x" })])
      assert.strictEqual(tag(answer), "NotAccepted")
      assert.match(
        JSON.stringify(answer),
        /it is down \(.*killed by SIGKILL\); it is started again on the next use after 1 seconds/
      )
      yield* Effect.sleep("1100 millis")
      const [later] = yield* servers.provider.execute([invocation("h_echo", { text: "x" })])
      assert.strictEqual(tag(later), "x")
      assert.deepStrictEqual(lines(journal), ["die", "die", "echo"])
    })
  )
  it.live("X-CANC-04 a layer gives the tools to an agent, and check tells how each server fared", () =>
    Effect.gen(function* () {
      const provider = yield* ToolProvider.ToolProvider.pipe(Effect.provide(McpServers.layer({ h: spec() })))
      assert.isDefined(provider)
      const status = yield* McpServers.check({ h: spec("pages"), x: { command: "no-such-program-here" } })
      assert.deepStrictEqual(status[0]?.tools, ["h_page0", "h_page1", "h_page2"])
      assert.match(status[1]?.problem ?? "", /there is no program `no-such-program-here` on the PATH/)
    })
  )
})

describe("back-off", () => {
  it.effect.prop(
    "M2 waits never shrink while failures go on, never pass half a minute, and a steady connection forgets them",
    { stood: Schema.Array(Schema.NullOr(Schema.Literals([0, 5, 29_999]))) },
    ({ stood }) =>
      Effect.sync(() => {
        let failures = Backoff.none
        for (const each of stood) failures = Backoff.failed(failures, { now: 0, stoodFor: each ?? undefined })
        assert.strictEqual(failures.count, stood.length)
        assert.isAtMost(Backoff.left(failures, 0), 30_000)
        const next = Backoff.failed(failures, { now: 0, stoodFor: undefined })
        assert.isAtLeast(Backoff.left(next, 0), Math.max(1_000, Backoff.left(failures, 0)))
        assert.strictEqual(Backoff.left(Backoff.failed(next, { now: 9, stoodFor: 30_000 }), 9), 0)
      })
  )
})
