/** Real processes for tests: spawned from source, and always gone at the end of the scope. */
import { Effect } from "effect"
import type { ChildProcess, SpawnOptions } from "node:child_process"
import { spawn } from "node:child_process"
import * as path from "node:path"

export interface Child {
  readonly process: ChildProcess
  readonly out: () => string
  readonly errors: () => string
  readonly exited: Effect.Effect<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>
  /** Waits until the output holds the text. */
  readonly prints: (text: string) => Effect.Effect<void>
  readonly kill: Effect.Effect<void>
}

/** Compiled once for all children: starting them is most of what these tests do. */
const environment = {
  ...process.env,
  NODE_COMPILE_CACHE: path.join(import.meta.dirname, "../../../.cache/compiled")
}

const argumentsOf = (script: string, args: ReadonlyArray<string>) => [
  "--conditions=source",
  "--disable-warning=ExperimentalWarning",
  path.join(import.meta.dirname, "child", script),
  ...args
]

export const start = (script: string, args: ReadonlyArray<string>, options: SpawnOptions = {}) =>
  command(process.execPath, argumentsOf(script, args), options)

/** The same, on a heap of so many MiB: a process that needs more dies. */
export const startOnHeap = (mebibytes: number, script: string, args: ReadonlyArray<string>) =>
  command(process.execPath, [`--max-old-space-size=${mebibytes}`, ...argumentsOf(script, args)], {})

/** The same, with a limit of the shell's in force. */
export const startUnder = (limit: string, script: string, args: ReadonlyArray<string>) =>
  command("/bin/sh", ["-c", `${limit}; exec "$0" "$@"`, process.execPath, ...argumentsOf(script, args)], {})

const command = (file: string, args: ReadonlyArray<string>, options: SpawnOptions) =>
  Effect.acquireRelease(
    Effect.sync((): Child => {
      const child = spawn(file, args, { env: environment, ...options, stdio: ["ignore", "pipe", "pipe"] })
      let out = ""
      let errors = ""
      const waiting = new Set<() => void>()
      const wake = () => waiting.forEach((look) => look())
      child.stdout?.on("data", (chunk: Buffer) => ((out += chunk.toString()), wake()))
      child.stderr?.on("data", (chunk: Buffer) => (errors += chunk.toString()))
      const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) =>
        child.on("close", (code, signal) => (resolve({ code, signal }), wake()))
      )
      const exited = Effect.promise(() => ended)
      const prints = (text: string) =>
        Effect.callback<void>((resume) => {
          const look = () => {
            if (out.includes(text)) resume(Effect.void)
            else if (child.exitCode !== null) resume(Effect.die(new Error(`ended without "${text}": ${errors}`)))
          }
          waiting.add(look)
          look()
          return Effect.sync(() => waiting.delete(look))
        })
      return {
        process: child,
        out: () => out,
        errors: () => errors,
        exited,
        prints,
        kill: Effect.andThen(
          Effect.sync(() => child.kill("SIGKILL")),
          exited
        )
      }
    }),
    (child) => child.kill
  )
