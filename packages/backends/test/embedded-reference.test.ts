/** The built-in model against the reference inference and the held-out requests it was published with, where they are at hand. */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import type * as Prompt from "../src/embedded/Prompt.ts"
import * as Router from "../src/embedded/Router.ts"
import * as Session from "../src/embedded/Session.ts"
import { bytes, drive, model, tools } from "./fixtures/embedded.ts"

const folder =
  process.env["SETTLE_LOCAL_MODEL"] ?? fileURLToPath(new URL("../../../../shared/local-model", import.meta.url))
const heldOut = join(folder, "heldout.jsonl")
const reference = join(folder, "reference.ts")
const present = existsSync(heldOut) && existsSync(reference)
if (!present) console.warn(`skipped: no reference of the built-in model at ${folder} (set SETTLE_LOCAL_MODEL)`)

interface Step {
  readonly tool: string
  readonly arguments?: Readonly<Record<string, string>>
  readonly result?: string
}
interface Row {
  readonly id: string
  readonly user: string
  readonly steps: ReadonlyArray<Step>
}
interface Expected {
  readonly text: string
  readonly because: string
  readonly confidence: number
}
interface Reference {
  readonly TOOLS: unknown
  readonly Router: new (bytes: Uint8Array) => {
    next: (messages: ReadonlyArray<Prompt.Message>, tools: unknown) => Expected
  }
}

/** Every question of a row, each after the expected steps before it. */
const questions = (row: Row): ReadonlyArray<ReadonlyArray<Prompt.Message>> => {
  let messages: ReadonlyArray<Prompt.Message> = [{ role: "user", text: row.user }]
  return row.steps.map((step) => {
    const question = messages
    messages = [
      ...messages,
      { role: "action", text: JSON.stringify({ tool: step.tool, arguments: step.arguments }) },
      { role: "result", text: step.result ?? "" }
    ]
    return question
  })
}

/** The reference is slow on a busy machine: every fourth request by default, all of them with `SETTLE_SLOW=1`. */
const stride = process.env["SETTLE_SLOW"] === "1" ? 1 : 4

describe.skipIf(!present)("the published reference", () => {
  it("gives the same action on the held-out requests and after every step of them", { timeout: 300_000 }, async () => {
    const { Router: Published, TOOLS }: Reference = await import(pathToFileURL(reference).href)
    const published = new Published(bytes)
    const rows: ReadonlyArray<Row> = readFileSync(heldOut, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
    const session = Session.make(model)
    let actions = 0
    for (const row of rows.filter((_, i) => i % stride === 0)) {
      for (const messages of questions(row)) {
        const expected = published.next(messages, TOOLS)
        const { action } = drive(Router.next(session, { messages, tools }))
        assert.strictEqual(action.json, expected.text, row.id)
        assert.strictEqual(action.because, expected.because, row.id)
        assert.approximately(action.confidence, expected.confidence, 1e-4, row.id)
        actions++
      }
    }
    assert.isAtLeast(rows.length, 196)
    assert.isAtLeast(actions, 363 / (stride + 1))
  })
})
