/** The reference servers, as published. */
import { assert, describe, it } from "@effect/vitest"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, Fiber } from "effect"
import * as Tool from "@settle/core/model/Tool"
import * as McpServers from "../src/McpServers.ts"
import { invocation, recorder, within } from "./hostile.ts"

const server = (name: string) =>
  join(dirname(fileURLToPath(import.meta.resolve(`@modelcontextprotocol/${name}/package.json`))), "dist/index.js")

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "settle-real-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)
const answered = (
  answer: unknown
): { readonly content: string; readonly isError: boolean; readonly parts?: unknown } => {
  assert.isTrue(Tool.Answer.$is("Answered")(answer), JSON.stringify(answer))
  if (!Tool.Answer.$is("Answered")(answer)) throw new Error("not answered")
  return answer
}

describe("server-filesystem", () => {
  it.live("M13 X-IDEM-01 lists, reads, writes, and refuses what lies outside", () =>
    Effect.gen(function* () {
      const root = yield* folder
      writeFileSync(join(root, "a.txt"), "hello from a file")
      const { provider } = yield* McpServers.make({
        files: { command: process.execPath, args: [server("server-filesystem"), root] }
      })
      const tools = yield* provider.list
      const classes = new Map(tools.map((tool) => [tool.name, tool.idempotency]))
      assert.strictEqual(classes.get("files_read_text_file"), "read-only")
      assert.strictEqual(classes.get("files_write_file"), "idempotent")
      const [read, written, outside] = yield* provider.execute([
        invocation("files_read_text_file", { path: join(root, "a.txt") }),
        invocation("files_write_file", { path: join(root, "b.txt"), content: "written" }),
        invocation("files_read_text_file", { path: "/etc/hostname" })
      ])
      assert.strictEqual(answered(read).content, "hello from a file")
      assert.isFalse(answered(written).isError)
      assert.isTrue(answered(outside).isError)
      assert.match(answered(outside).content, /outside allowed directories/)
    })
  )
})

describe("server-everything", () => {
  it.live("M4 M6 M13 X-CANC-02 progress, pictures, structured content, errors and a cancel", () =>
    Effect.gen(function* () {
      const { provider, status } = yield* McpServers.make({
        all: { command: process.execPath, args: [server("server-everything")] }
      })
      const tools = (yield* provider.list).map((tool) => tool.name)
      assert.includeMembers(tools, ["all_echo", "all_get-sum"])
      const [one] = yield* status
      assert.strictEqual(one?.state, "up")
      const [sum, image, structured] = yield* provider.execute([
        invocation("all_get-sum", { a: 2, b: 40 }),
        invocation("all_get-tiny-image"),
        invocation("all_get-structured-content", { location: "New York" })
      ])
      assert.match(answered(sum).content, /42/)
      assert.match(answered(image).content, /\[image image\/png, \d+ bytes\]/)
      assert.strictEqual(answered(structured).isError, false)
      const scope = recorder()
      const long = invocation("all_trigger-long-running-operation", { duration: 1, steps: 4 })
      const [done] = yield* provider.execute([long]).pipe(within(scope))
      assert.match(answered(done).content, /completed/)
      assert.deepStrictEqual(
        scope.notes.map((note) => [note.callId, note.progress, note.total]),
        [1, 2, 3, 4].map((n) => [long.callId, n, 4])
      )
      const slow = yield* Effect.forkChild(
        provider.execute([invocation("all_trigger-long-running-operation", { duration: 60, steps: 60 })]),
        { startImmediately: true }
      )
      yield* Effect.sleep("300 millis")
      yield* Fiber.interrupt(slow)
      const [bad] = yield* provider.execute([invocation("all_get-sum", { a: "x" })])
      assert.isTrue(answered(bad).isError)
    })
  )
})
