/** The built-in model from the three places it is run from: the source, the built package, and a bundle of one file. */
import { assert, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { inlineWeights } from "../assets/rolldown.mjs"
import { file } from "./fixtures/embedded.ts"

const root = fileURLToPath(new URL("../../..", import.meta.url))
const backend = fileURLToPath(new URL("../src/embedded/Backend.ts", import.meta.url))

const program = `
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Embedded from ${JSON.stringify(backend)}
const request = { conversation: { messages: [{ role: "user", content: "Thank you!" }], revision: 0 }, tools: [] }
const told = Embedded.make().pipe(
  Effect.flatMap((backend) => Stream.runCollect(backend.stream(request))),
  Effect.map((chunks) => chunks.at(-1).reply.text),
  Effect.catch((error) => Effect.succeed(error.message))
)
console.log(await Effect.runPromise(told))
`

/** A bundle in an empty folder, with or without the weights in it; answers the folder. */
const bundle = async (inline: boolean): Promise<string> => {
  const { rolldown } = await import("rolldown")
  // The entry stands in the clone, where its packages are found; the bundle stands where nothing is.
  const inside = mkdtempSync(join(root, "node_modules/.settle-bundle-"))
  const folder = mkdtempSync(join(tmpdir(), "settle-bundle-"))
  try {
    writeFileSync(join(inside, "entry.mjs"), program)
    const made = await rolldown({
      input: join(inside, "entry.mjs"),
      platform: "node",
      resolve: { conditionNames: ["source", "import", "node", "default"] },
      plugins: inline ? [inlineWeights()] : []
    })
    await made.write({ file: join(folder, "program.mjs"), format: "esm", codeSplitting: false })
  } finally {
    rmSync(inside, { recursive: true })
  }
  return folder
}

const run = (folder: string): string =>
  execFileSync(process.execPath, ["program.mjs"], { cwd: folder, encoding: "utf8" }).trim()

describe("the built-in model", () => {
  it("runs from a bundle of one file that holds the weights, in a folder of its own", { timeout: 60_000 }, async () => {
    const folder = await bundle(true)
    try {
      assert.strictEqual(run(folder), "You are welcome.")
      assert.isAbove(readFileSync(join(folder, "program.mjs")).length, 1_100_000)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it(
    "runs from a bundle with the weights beside it, and says where it looked without",
    { timeout: 60_000 },
    async () => {
      const folder = await bundle(false)
      try {
        assert.include(run(folder), "they are at none of ")
        assert.include(run(folder), join(folder, "demonstration.gguf"))
        copyFileSync(file, join(folder, "demonstration.gguf"))
        assert.strictEqual(run(folder), "You are welcome.")
        rmSync(join(folder, "demonstration.gguf"))
        mkdirSync(join(folder, "assets"))
        copyFileSync(file, join(folder, "assets/demonstration.gguf"))
        assert.strictEqual(run(folder), "You are welcome.")
      } finally {
        rmSync(folder, { recursive: true })
      }
    }
  )
})
