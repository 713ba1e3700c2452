import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { expect } from "vitest"
import { version } from "../src/Version.ts"
import { place, settle } from "./Process.ts"

const inPlace = <A, E>(use: (where: Effect.Success<typeof place>) => Effect.Effect<A, E>) =>
  Effect.scoped(Effect.flatMap(place, use))

describe("usage", () => {
  it.live("prints its version, that of the manifest", () =>
    inPlace((where) =>
      Effect.map(settle(where, ["--version"]), (ran) => {
        const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"))
        assert.strictEqual(version, manifest.version)
        assert.deepStrictEqual([ran.code, ran.stdout, ran.stderr], [0, `settle v${manifest.version}\n`, ""])
      })
    )
  )

  it.live("helps on stdout, for every command with flags of its own", () =>
    inPlace((where) =>
      Effect.gen(function* () {
        const commands = [[], ["run"], ["chat"], ["resume"], ["sessions"], ["sessions", "doctor"], ["demo"]]
        const helps = yield* Effect.forEach(commands, (command) => settle(where, [...command, "--help"]), {
          concurrency: 3
        })
        for (const [index, ran] of helps.entries()) {
          assert.deepStrictEqual([ran.code, ran.stderr], [0, ""])
          expect(ran.stdout).toMatchSnapshot(`settle ${commands[index]?.join(" ")}`)
        }
      })
    )
  )

  it.live("a usage error is exit code 2, nothing on stdout, one paragraph on stderr and no file", () =>
    inPlace((where) =>
      Effect.forEach(
        [
          [
            ["run", "--modle", "x", "hi"],
            "Unrecognized flag: --modle in command settle run. Did you mean --model? See settle run --help."
          ],
          [["rnu"], `Unknown subcommand "rnu" for "settle". Did you mean run? See settle --help.`],
          [
            ["run", "--output", "xml", "hi"],
            `Invalid value for flag --output: "xml". Expected: "text" | "json" | "events". See settle run --help.`
          ],
          [["resume"], "Missing required argument: session. See settle resume --help."],
          [
            ["run", "--max-cost", "much", "hi"],
            /^Invalid value for flag --max-cost: "much"\. .* See settle run --help\.$/
          ]
        ] as const,
        ([args, paragraph]) =>
          Effect.map(settle(where, args), (ran) => {
            assert.deepStrictEqual([ran.code, ran.stdout], [2, ""])
            if (typeof paragraph === "string") assert.strictEqual(ran.stderr, `${paragraph}\n`)
            else assert.match(ran.stderr.trimEnd(), paragraph)
            assert.deepStrictEqual(where.files(), [])
          }),
        { concurrency: 3, discard: true }
      )
    )
  )
})
