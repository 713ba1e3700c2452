/**
 * A small MCP server over stdio with one tool that takes its time: `write_file` writes word by word. The demo kills a run in the
 * middle of it.
 *
 * W1. When its client is gone it stops where it is, as a server that is killed with its client would.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import * as Json from "@settle/core/model/Json"
import { version } from "../Version.ts"

const pause = "400 millis"

const tool = {
  name: "write_file",
  description: "Writes a text file slowly, one word after the other.",
  inputSchema: {
    type: "object",
    properties: { path: { type: "string" }, content: { type: "string" } },
    required: ["path", "content"]
  },
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false }
}

/** Answers requests until stdin ends. */
export const serve = Effect.fn("SlowServer.serve")(function* (folder: string) {
  const stdio = yield* Stdio.Stdio
  const answers = stdio.stdin.pipe(
    Stream.decodeText(),
    Stream.splitLines,
    Stream.mapEffect((line) => answer(folder, Json.parse(line))),
    Stream.filter((message) => message !== undefined),
    Stream.runForEach((message) => Effect.sync(() => process.stdout.write(`${JSON.stringify(message)}\n`)))
  )
  const clientLeft = Effect.callback<void>((resume) => {
    process.stdin.once("end", () => resume(Effect.void))
    process.stdin.once("close", () => resume(Effect.void))
  })
  yield* Effect.raceFirst(Effect.ignore(answers), clientLeft)
})

const answer = Effect.fnUntraced(function* (folder: string, message: Json.Json | undefined) {
  if (!Json.isObject(message) || message["id"] === undefined) return undefined
  const { id, method, params } = message
  const result = yield* resultOf(folder, method, Json.isObject(params) ? params : {})
  return result === undefined
    ? { jsonrpc: "2.0", id, error: { code: -32601, message: `no method ${JSON.stringify(method ?? null)}` } }
    : { jsonrpc: "2.0", id, result }
})

const resultOf = (folder: string, method: Json.Json | undefined, params: Json.JsonObject) => {
  switch (method) {
    case "initialize":
      return Effect.succeed({
        protocolVersion: params["protocolVersion"] ?? "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "settle-demo-slow", version }
      })
    case "ping":
      return Effect.succeed({})
    case "tools/list":
      return Effect.succeed({ tools: [tool] })
    case "tools/call":
      return Effect.map(write(folder, Json.isObject(params["arguments"]) ? params["arguments"] : {}), (text) => ({
        content: [{ type: "text", text }]
      }))
    default:
      return Effect.undefined
  }
}

const write = Effect.fnUntraced(function* (folder: string, { content, path: given }: Json.JsonObject) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  // a demo writes beside its own files and nowhere else
  const name = path.basename(String(given))
  const file = path.join(folder, name)
  const words = String(content).split(" ")
  yield* Effect.orDie(fs.writeFileString(file, ""))
  for (const [index, word] of words.entries()) {
    yield* Effect.orDie(fs.writeFileString(file, index === 0 ? word : ` ${word}`, { flag: "a" }))
    yield* Effect.sleep(pause)
  }
  return `Wrote ${words.length} words to ${name}.`
})
