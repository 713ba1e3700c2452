/** The command as a real process, from its sources, in a folder of its own. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type ChildProcess, spawn } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { vi } from "vitest"

// A process takes seconds to start on a busy machine, and a test starts several.
vi.setConfig({ testTimeout: 120_000 })

export const main = fileURLToPath(new URL("../src/main.ts", import.meta.url))
export const self: ReadonlyArray<string> = [
  process.execPath,
  "--disable-warning=ExperimentalWarning",
  "-C",
  "source",
  main
]

const root = fileURLToPath(new URL("../../..", import.meta.url))
export const filesystemServer = join(root, "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js")

/** A folder that goes with the test: a project, a home and a user's configuration, all empty. */
export interface Place {
  readonly folder: string
  readonly home: string
  readonly env: Readonly<Record<string, string>>
  readonly write: (name: string, content: string | object) => string
  readonly read: (name: string) => string
  readonly has: (name: string) => boolean
  /** Every file below the place, by its relative path. */
  readonly files: () => ReadonlyArray<string>
}

export const place: Effect.Effect<Place, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "settle-cli-"))),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
  ),
  (top) => {
    const folder = join(top, "project")
    const home = join(top, "home")
    mkdirSync(folder)
    const env = {
      PATH: process.env["PATH"] ?? "",
      HOME: home,
      SETTLE_HOME: home,
      XDG_CONFIG_HOME: join(top, "config"),
      TERM: "xterm",
      NODE_COMPILE_CACHE: join(root, ".cache/node")
    }
    const at = (name: string) => join(folder, name)
    return {
      folder,
      home,
      env,
      write: (name, content) => {
        const file = at(name)
        mkdirSync(dirname(file), { recursive: true })
        writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content))
        return file
      },
      read: (name) => readFileSync(at(name), "utf8"),
      has: (name) => existsSync(at(name)),
      files: () =>
        readdirSync(top, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => relative(top, join(entry.parentPath, entry.name)))
          .sort()
    }
  }
)

export interface Options {
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
  readonly cwd?: string
  /** Another program in front: a terminal. */
  readonly under?: (command: ReadonlyArray<string>) => ReadonlyArray<string>
}

export interface Ran {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface Started {
  readonly pid: number
  readonly stdout: () => string
  readonly stderr: () => string
  readonly signal: (signal: NodeJS.Signals) => void
  /** Completes when the text has been printed on stdout; dies when the process ends before. */
  readonly printed: (text: string) => Effect.Effect<void>
  readonly ended: Effect.Effect<Ran>
}

/** Starts the command; it is killed with the scope. */
export const start = (
  where: Place,
  args: ReadonlyArray<string>,
  options: Options = {}
): Effect.Effect<Started, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const [file = "", ...rest] = options.under?.([...self, ...args]) ?? [...self, ...args]
        const child = spawn(file, rest, {
          cwd: options.cwd ?? where.folder,
          env: { ...where.env, ...options.env },
          stdio: [options.stdin === undefined ? "ignore" : "pipe", "pipe", "pipe"]
        })
        if (options.stdin !== undefined) child.stdin?.end(options.stdin)
        return child
      }),
      (child) => Effect.sync(() => void child.kill("SIGKILL"))
    ),
    watched
  )

const watched = (child: ChildProcess): Started => {
  let stdout = ""
  let stderr = ""
  let ran: Ran | undefined
  const listeners = new Set<() => void>()
  const changed = () => listeners.forEach((listener) => listener())
  child.stdout?.setEncoding("utf8").on("data", (text: string) => ((stdout += text), changed()))
  child.stderr?.setEncoding("utf8").on("data", (text: string) => ((stderr += text), changed()))
  child.on("close", (code, signal) => {
    ran = { code, signal, stdout, stderr }
    changed()
  })
  const until = <A>(look: () => A | undefined): Effect.Effect<A> =>
    Effect.callback<A>((resume) => {
      const check = () => {
        const found = look()
        if (found === undefined) return
        listeners.delete(check)
        resume(Effect.succeed(found))
      }
      listeners.add(check)
      check()
      return Effect.sync(() => void listeners.delete(check))
    })
  return {
    pid: child.pid ?? 0,
    stdout: () => stdout,
    stderr: () => stderr,
    signal: (signal) => void child.kill(signal),
    printed: (text) =>
      Effect.flatMap(
        until(() => (stdout.includes(text) ? true : ran === undefined ? undefined : false)),
        (found) => (found ? Effect.void : Effect.die(new Error(`never printed ${text}:\n${stdout}\n${stderr}`)))
      ),
    ended: until(() => ran)
  }
}

/** Runs the command to its end. */
export const settle = (where: Place, args: ReadonlyArray<string>, options: Options = {}): Effect.Effect<Ran> =>
  Effect.scoped(Effect.flatMap(start(where, args, options), (started) => started.ended))

/** A configuration for one chat-completions server. */
export const configured = (baseUrl: string, more: object = {}) => ({
  models: { main: { protocol: "openai-chat", baseUrl, model: "scripted" } },
  limits: { maxRetries: 2, backoffCap: "1 millis" },
  ...more
})

/** Lines of JSON. */
export const jsonLines = (text: string): ReadonlyArray<Record<string, unknown>> =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))
