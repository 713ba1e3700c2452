import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { place, settle } from "./Process.ts"

const said =
  /^No model is configured: a built-in demonstration model of 0\.8 million parameters answers\. For a real one: --base-url URL --model NAME, or "models" in settle\.json\.\n/

describe("with nothing configured", () => {
  it.live("the built-in model answers, and one line on stderr says which it is and how to take a real one", () =>
    Effect.gen(function* () {
      const where = yield* place
      const ran = yield* settle(where, ["run", "--session", "s", "Hello"])
      assert.strictEqual(ran.code, 0, ran.stderr)
      assert.match(ran.stderr, said)
      assert.strictEqual(ran.stderr.split("\n").length, 3, `the line, and how the run ended: ${ran.stderr}`)
      assert.notStrictEqual(ran.stdout.trim(), "")

      const resumed = yield* settle(where, ["resume", "s", "--output", "json", "Hello again"])
      assert.strictEqual(resumed.code, 0, resumed.stderr)
      assert.match(resumed.stderr, said)
      assert.notStrictEqual(JSON.parse(resumed.stdout).final, "")

      const talked = yield* settle(where, ["chat", "--no-session"], { stdin: "Hello\n" })
      assert.strictEqual(talked.code, 0, talked.stderr)
      assert.match(talked.stderr, said)
      assert.notStrictEqual(talked.stdout.trim(), "")
    }).pipe(Effect.scoped)
  )

  it.live("settle models lists the built-in model and says how to add another", () =>
    Effect.gen(function* () {
      const where = yield* place
      const ran = yield* settle(where, ["models"])
      assert.deepStrictEqual(
        [ran.code, ran.stderr, ran.stdout],
        [
          0,
          "",
          '* demonstration-0.8m\n      embedded, a built-in demonstration model of 0.8 million parameters · window 2,048 tokens · no completion cap · no key · costs nothing\nNo model is configured, so this one answers. Add a real one under "models" in settle.json, or name a server with --base-url and --model.\n'
        ]
      )
      const json = yield* settle(where, ["models", "--output", "json"])
      assert.deepStrictEqual(JSON.parse(json.stdout), [
        {
          name: "demonstration-0.8m",
          isDefault: true,
          protocol: "embedded",
          model: "demonstration-0.8m",
          hasPrices: true,
          contextWindow: 2048
        }
      ])
    }).pipe(Effect.scoped)
  )
})
