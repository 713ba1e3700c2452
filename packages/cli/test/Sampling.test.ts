import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"
import * as ReplayServer from "@settle/testing/servers/ReplayServer"
import { configured, place, settle } from "./Process.ts"

const script = fileURLToPath(new URL("SamplingServer.ts", import.meta.url))
const args = ["--disable-warning=ExperimentalWarning", script]
const call: ReplayServer.Answer = {
  body: ReplayServer.events({ calls: [{ id: "c1", name: "deep_think", arguments: ["{}"] }] })
}
const usage = { prompt_tokens: 600, completion_tokens: 30, total_tokens: 630 }
const thought: ReplayServer.Answer = { body: ReplayServer.events({ text: ["Deep words."], usage }) }
const done: ReplayServer.Answer = { body: ReplayServer.events({ text: ["Done."] }) }

const world = Effect.fnUntraced(function* (...answers: readonly [ReplayServer.Answer, ...Array<ReplayServer.Answer>]) {
  const server = yield* ReplayServer.make(ReplayServer.inTurn(...answers))
  const where = yield* place
  const deep = { command: process.execPath, args }
  where.write("settle.json", configured(server.baseUrl, { mcpServers: { deep } }))
  return { server, where }
})

const flags = ["run", "--no-session", "--output", "json", "--allow", "deep_*"]
const told = (server: ReplayServer.ReplayServer): string =>
  JSON.parse(server.requests.at(-1)?.body ?? "{}").messages.at(-1).content

describe("a server that asks for a model", () => {
  it.live("L-ABS-05 gets an answer when the person allows it, and the run pays for it", () =>
    Effect.gen(function* () {
      const { server, where } = yield* world(call, thought, done)
      const ran = yield* settle(where, [...flags, "--ask", "always", "think"], { stdin: "y\n" })
      assert.strictEqual(ran.code, 0, ran.stderr)
      assert.include(ran.stderr, "deep wants an answer of the model:")
      assert.include(told(server), "Deep words.")
      assert.strictEqual(JSON.parse(ran.stdout).spent.totalTokens, 630)
    }).pipe(Effect.scoped)
  )

  it.live("M15 gets none when the person declines, and does not hear of a model when nobody is there", () =>
    Effect.gen(function* () {
      const declined = yield* world(call, done)
      const ran = yield* settle(declined.where, [...flags, "--ask", "always", "think"], { stdin: "n\n" })
      assert.strictEqual(ran.code, 0, ran.stderr)
      assert.include(told(declined.server), "the user declined it")
      const alone = yield* world(call, done)
      assert.strictEqual((yield* settle(alone.where, [...flags, "think"])).code, 0)
      assert.include(told(alone.server), "there is no model to ask")
    }).pipe(Effect.scoped)
  )
})
