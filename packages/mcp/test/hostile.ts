/** How tests reach the hostile server, and what they look at. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Invocation } from "@settle/core/model/Tool"
import * as CallScope from "@settle/core/port/CallScope"
import { Effect } from "effect"
import type * as Json from "@settle/core/model/Json"
import type * as ServerSpec from "../src/ServerSpec.ts"

const script = fileURLToPath(new URL("./fixtures/hostile.mjs", import.meta.url))

export const spec = (mode = "plain", more: Partial<ServerSpec.Stdio> = {}, journal?: string): ServerSpec.Stdio => ({
  command: process.execPath,
  args: [script, mode, ...(journal === undefined ? [] : [journal])],
  ...more
})

let calls = 0
export const invocation = (name: string, args: Json.JsonObject | string = {}): Invocation => {
  const callId = `call-${++calls}`
  return {
    callId,
    operationId: `op-${callId}`,
    name,
    arguments: typeof args === "string" ? args : JSON.stringify(args)
  }
}

export interface Recorded extends CallScope.CallScope {
  readonly logs: Array<{ readonly level: string; readonly logger: string; readonly data: Json.Json }>
  readonly notes: Array<CallScope.Progress>
  readonly asked: Array<Json.JsonObject>
}

/** A scope that keeps what a run would be told. */
export const recorder = (runId = "run-1"): Recorded => {
  const logs: Recorded["logs"] = []
  const notes: Recorded["notes"] = []
  const asked: Recorded["asked"] = []
  return {
    ...CallScope.none,
    runId,
    live: Effect.succeed(true),
    log: (level, logger, data) => Effect.sync(() => void logs.push({ level, logger, data })),
    progress: (note) => Effect.sync(() => void notes.push(note)),
    asking: (request, ask) =>
      Effect.andThen(
        Effect.sync(() => void asked.push(request)),
        ask
      ),
    logs,
    notes,
    asked
  }
}

export const within = (scope: CallScope.CallScope) => Effect.provideService(CallScope.CallScope, scope)

/** A file in a folder of its own; both are gone with the scope. */
export const temporaryFile = Effect.acquireRelease(
  Effect.sync(() => join(mkdtempSync(join(tmpdir(), "settle-mcp-")), "journal")),
  (file) => Effect.sync(() => rmSync(join(file, ".."), { recursive: true, force: true }))
)

export const lines = (file: string): ReadonlyArray<string> =>
  existsSync(file)
    ? readFileSync(file, "utf8")
        .split("\n")
        .filter((line) => line !== "")
    : []

export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    // a zombie still answers; what counts is whether it runs
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch {
    return false
  }
}
