/** The demo's folder: a few files, a configuration with two real MCP servers, and a place for the transcript. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Failure from "../Failure.ts"

export interface Workspace {
  readonly folder: string
  readonly transcript: string
  /** What the slow tool writes, and where. */
  readonly report: string
  readonly reportText: string
}

/** How this very command is started again: the runtime, its flags, the file. */
export const self: ReadonlyArray<string> = [process.execPath, ...process.execArgv, process.argv[1] ?? ""]

/** What a person types for it where they are: `npx settle` inside the clone, else the file itself. */
export const command = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const file = yield* Effect.orElseSucceed(fs.realPath(self.at(-1) ?? ""), () => self.at(-1) ?? "")
  const manifest = path.resolve("package.json")
  const isClone =
    file.startsWith(path.resolve(".") + path.sep) && (yield* Effect.orElseSucceed(fs.exists(manifest), () => false))
  return isClone ? "npx settle" : `node ${file}`
})

const reportText = "four checks ran and three of them passed today"

const server = "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"

/** The reference filesystem server, from the clone this file or the working directory lies in. */
export const filesystemServer = Effect.fn("Workspace.filesystemServer")(function* () {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const here = yield* Effect.orDie(path.fromFileUrl(new URL(import.meta.url)))
  for (const start of [path.dirname(here), path.resolve(".")]) {
    for (let folder = start; ; folder = path.dirname(folder)) {
      const candidate = path.join(folder, server)
      if (yield* Effect.orElseSucceed(fs.exists(candidate), () => false)) return candidate
      if (path.dirname(folder) === folder) break
    }
  }
  return yield* Failure.usage(
    "The demo needs the reference MCP filesystem server, which lies in the node_modules of a clone, and there is none above this file or this folder. In a clone of Settle, npm run demo installs and runs it."
  )
})

export const make = Effect.fn("Workspace.make")(function* (given: string | undefined) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const filesystem = yield* filesystemServer()
  const folder = given === undefined ? yield* fs.makeTempDirectory({ prefix: "settle-demo-" }) : path.resolve(given)
  const transcript = path.join(folder, "demo.jsonl")
  if (yield* fs.exists(transcript)) {
    return yield* Failure.usage(`There is a demo in ${folder} already. Give --dir another folder, or leave it out.`)
  }
  yield* fs.makeDirectory(folder, { recursive: true })
  const [command = "", ...args] = self
  const config = {
    models: { demo: { protocol: "embedded", perLine: true } },
    mcpServers: {
      files: { command: process.execPath, args: [filesystem, "."] },
      slow: { command, args: [...args, "demo", "--serve", "."] }
    },
    rules: [
      { tool: "files_read_*", decision: "allow" },
      { tool: "files_list_*", decision: "allow" },
      { tool: "slow_*", decision: "allow" },
      { tool: "files_write_file", decision: "deny", note: "so that writing is the slow server's" }
    ]
  }
  yield* fs.writeFileString(path.join(folder, "settle.json"), `${JSON.stringify(config, null, 2)}\n`)
  yield* fs.writeFileString(path.join(folder, "notes.txt"), "Settle writes down what it knows.\n")
  yield* fs.writeFileString(path.join(folder, "todo.txt"), "Look before doing it again.\n")
  const workspace: Workspace = { folder, transcript, report: path.join(folder, "report.txt"), reportText }
  return workspace
})
