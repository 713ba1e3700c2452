import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as ReplayServer from "@settle/testing/servers/ReplayServer"
import { configured, place } from "../Process.ts"
import * as Pty from "./Pty.ts"

const { events } = ReplayServer

describe.skipIf(!Pty.hasScript)("settle chat on a terminal (skipped where there is no script command)", () => {
  it.live("streams an answer", () =>
    Effect.gen(function* () {
      const server = yield* ReplayServer.make(
        ReplayServer.inTurn({
          body: events({
            text: ["Hello ", "there."],
            usage: { prompt_tokens: 40, completion_tokens: 2, total_tokens: 42 }
          }),
          pieces: { _tag: "Every", bytes: 300 },
          delay: { pieces: 300 }
        })
      )
      const where = yield* place
      where.write("settle.json", configured(server.baseUrl))
      const pty = yield* Pty.open(where, ["chat", "--session", "s"])
      yield* pty.sees("/help")
      yield* pty.type("hi you\r")
      yield* pty.sees("Hello")
      yield* pty.sees("1 round")
      yield* Effect.sleep("300 millis")
      yield* pty.type("/quit\r")
      const code = yield* pty.ended
      assert.strictEqual(code, 0)
    }).pipe(Effect.scoped)
  )
})
