/**
 * A server's process. It has its own process group, so that what it started goes with it.
 *
 * C1. When the scope is closed, no process of the group is left: its input ends, then SIGTERM, then SIGKILL.
 * C2. `gone` is said once, after the last byte of its output was heard: an answer written just before death still counts.
 * C3. A write to a dead process is an error of that write and never one of this process (M2).
 */
import { type ChildProcessWithoutNullStreams, spawn as spawnProcess } from "node:child_process"
import { existsSync } from "node:fs"
import { getDefaultEnvironment } from "@modelcontextprotocol/sdk/client/stdio.js"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import * as Closing from "./Closing.ts"
import * as McpError from "./McpError.ts"
import * as ServerSpec from "./ServerSpec.ts"

export interface Ears {
  readonly stdout: (chunk: Uint8Array) => void
  readonly stderr: (chunk: Uint8Array) => void
  /** How it ended: `exited with code 1`. */
  readonly gone: (how: string) => void
}

export interface Child {
  readonly pid: number
  /** Opens the ears; nothing it says is lost before. */
  readonly listen: (ears: Ears) => Effect.Effect<void, never, Scope.Scope>
  /** `done` hears an error when the text certainly did not arrive whole. */
  readonly write: (text: string, done: (error: Error | undefined) => void) => void
  /** A well-behaved server leaves when its input ends. */
  readonly endInput: () => void
}

const grace = "2 seconds"
/** What may still be in the pipe of a dead process; longer means that somebody else holds the pipe. */
const drainTime = "500 millis"

interface Running {
  readonly process: ChildProcessWithoutNullStreams
  readonly pid: number
  readonly exited: Deferred.Deferred<string>
  readonly drained: Deferred.Deferred<void>
}

export const spawn = Effect.fnUntraced(function* (
  spec: ServerSpec.Stdio
): Effect.fn.Return<Child, McpError.Reason, Scope.Scope> {
  const running = yield* Effect.acquireRelease(start(spec), stop)
  return {
    pid: running.pid,
    listen: (ears) => listen(running, ears),
    write: (text, done) => {
      const input = running.process.stdin
      if (!input.writable) return done(new Error("its input is closed"))
      input.write(text, (error) => done(error ?? undefined))
    },
    endInput: () => {
      running.process.stdin.end()
    }
  }
})

const start = (spec: ServerSpec.Stdio): Effect.Effect<Running, McpError.Reason> =>
  Effect.callback((resume) => {
    const refuse = (error: unknown): void => resume(Effect.fail(spawnFailed(spec, error)))
    try {
      const child = spawnProcess(spec.command, [...(spec.args ?? [])], {
        ...(spec.cwd === undefined ? {} : { cwd: spec.cwd }),
        env: { ...getDefaultEnvironment(), ...plainEnv(spec) },
        stdio: ["pipe", "pipe", "pipe"],
        detached: process.platform !== "win32",
        windowsHide: true
      })
      const exited = Deferred.makeUnsafe<string>()
      const drained = Deferred.makeUnsafe<void>()
      // these four stand for the life of the process: an `error` event that nobody hears ends ours
      child.on("error", refuse)
      child.stdin.on("error", () => undefined)
      child.stdout.on("error", () => undefined)
      child.stderr.on("error", () => undefined)
      child.stdout.on("close", () => Deferred.doneUnsafe(drained, Exit.void))
      child.on("exit", (code, signal) => {
        Deferred.doneUnsafe(
          exited,
          Exit.succeed(signal === null ? `exited with code ${code}` : `was killed by ${signal}`)
        )
      })
      child.on("spawn", () => {
        resume(Effect.succeed({ process: child, pid: child.pid ?? 0, exited, drained }))
      })
    } catch (error) {
      refuse(error)
    }
  })

const plainEnv = (spec: ServerSpec.Stdio): Record<string, string> =>
  Object.fromEntries(Object.entries(spec.env ?? {}).map(([key, value]) => [key, ServerSpec.plain(value)]))

const listen = (running: Running, ears: Ears): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    running.process.stdout.on("data", ears.stdout)
    running.process.stderr.on("data", ears.stderr)
    yield* Effect.forkScoped(Effect.map(death(running), ears.gone), { startImmediately: true })
  })

const death = (running: Running): Effect.Effect<string> =>
  Effect.gen(function* () {
    yield* Effect.raceFirst(Deferred.await(running.exited), Deferred.await(running.drained))
    // its output can end a moment before its exit is known, and a process without output is of no use
    const how = yield* Effect.timeoutOption(Deferred.await(running.exited), drainTime)
    signal(running, "SIGKILL")
    yield* Effect.timeoutOption(Deferred.await(running.drained), drainTime)
    return how._tag === "Some" ? how.value : "closed its output"
  })

const stop = (running: Running): Effect.Effect<void> =>
  Closing.apart(
    Effect.gen(function* () {
      const left = Effect.timeoutOption(Deferred.await(running.exited), grace)
      running.process.stdin.end()
      if ((yield* left)._tag === "None") {
        signal(running, "SIGTERM")
        if ((yield* left)._tag === "None") signal(running, "SIGKILL")
        yield* left
      }
      // what it started in its group and left behind
      signal(running, "SIGKILL")
      running.process.stdout.destroy()
      running.process.stderr.destroy()
      running.process.stdin.destroy()
    })
  )

const signal = (running: Running, name: "SIGTERM" | "SIGKILL"): void => {
  try {
    if (process.platform === "win32") running.process.kill(name)
    else process.kill(-running.pid, name)
  } catch {
    // nobody is left to hear it
  }
}

const spawnFailed = (spec: ServerSpec.Stdio, error: unknown): McpError.SpawnFailed => {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown"
  return new McpError.SpawnFailed({ command: ServerSpec.shown(spec), code, detail: why(spec, code, error) })
}

const why = (spec: ServerSpec.Stdio, code: string, error: unknown): string => {
  // the system blames the command for a missing directory too
  if (code === "ENOENT" && spec.cwd !== undefined && !existsSync(spec.cwd)) {
    return `its working directory ${spec.cwd} does not exist. Create it or correct "cwd"`
  }
  if (code === "ENOENT") {
    return `there is no program \`${spec.command}\` on the PATH. Install it or give its full path as "command"`
  }
  if (code === "EACCES") return `\`${spec.command}\` may not be executed. Check its permissions`
  return `${error instanceof Error ? error.message : String(error)}. Check "command", "args" and "cwd"`
}
