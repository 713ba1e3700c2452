/** The command behind a real pseudo terminal, made by the `script` of util-linux: typed into, looked at, resized. */
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { spawn, spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { type Place, self } from "../Process.ts"
import { Screen } from "./Screen.ts"

export const hasScript = spawnSync("script", ["-qec", "true", "/dev/null"]).status === 0

export interface Pty {
  readonly screen: Screen
  readonly type: (text: string) => Effect.Effect<void>
  /** Completes when the screen is so; dies with the screen when it does not become so. */
  readonly until: (what: string, is: (screen: Screen) => boolean) => Effect.Effect<void>
  readonly sees: (text: string) => Effect.Effect<void>
  readonly resize: (columns: number, rows: number) => Effect.Effect<void>
  /** To the command itself. */
  readonly signal: (signal: NodeJS.Signals) => Effect.Effect<void>
  /** The window is closed; completes when the command is gone, and dies when it stays. */
  readonly hangUp: Effect.Effect<void>
  /** What the terminal's own settings are now: `stty -a`. */
  readonly settings: () => string
  /** The exit code; what ran after the command in the same terminal is on the screen. */
  readonly ended: Effect.Effect<number>
}

export interface Options {
  readonly columns?: number
  readonly rows?: number
  readonly env?: Readonly<Record<string, string>>
}

const quoted = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`

/** The longest a screen may take to become what is expected: the machine may be busy. */
const patience = 30_000

export const open = (
  where: Place,
  args: ReadonlyArray<string>,
  { columns = 80, env = {}, rows = 24 }: Options = {}
): Effect.Effect<Pty, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const note = join(where.folder, "..", "pty")
        const command = [
          `stty rows ${rows} cols ${columns}`,
          `tty > ${quoted(note)}`,
          `sh -c 'echo $$ > "$0"; exec "$@"' ${[`${note}.pid`, ...self, ...args].map(quoted).join(" ")}`,
          `echo $? > ${quoted(`${note}.code`)}`,
          `stty -a > ${quoted(`${note}.stty`)}`
        ].join("; ")
        const child = spawn("script", ["-qfec", command, "/dev/null"], {
          cwd: where.folder,
          env: { ...where.env, ...env },
          stdio: ["pipe", "pipe", "pipe"]
        })
        return { child, note }
      }),
      ({ child, note }) =>
        Effect.sync(() => {
          child.kill("SIGKILL")
          // The terminal hangs up with its master; a command that does not care is ended by its id.
          try {
            process.kill(Number(readFileSync(`${note}.pid`, "utf8")), "SIGKILL")
          } catch {
            // It is over.
          }
        })
    ),
    ({ child, note }): Pty => {
      const screen = new Screen(columns, rows)
      const listeners = new Set<() => void>()
      const changed = () => listeners.forEach((listener) => listener())
      let code: number | undefined
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        screen.write(text)
        changed()
      })
      child.on("close", () => {
        code = existsSync(`${note}.code`) ? Number(readFileSync(`${note}.code`, "utf8")) : -1
        changed()
      })
      const wait = (is: () => boolean) =>
        Effect.callback<void>((resume) => {
          const check = () => {
            if (!is()) return
            listeners.delete(check)
            resume(Effect.void)
          }
          listeners.add(check)
          check()
          return Effect.sync(() => void listeners.delete(check))
        })
      const shown = () =>
        `${screen
          .visible()
          .map((line) => `|${line}`)
          .join("\n")}\ncode ${code}`
      const until: Pty["until"] = (what, is) =>
        Effect.suspend(() =>
          Effect.timeoutOrElse(
            wait(() => is(screen)),
            {
              duration: patience,
              orElse: () => Effect.die(new Error(`never: ${what}\n${shown()}`))
            }
          )
        )
      return {
        screen,
        type: (text) => Effect.sync(() => void child.stdin.write(text)),
        until,
        sees: (text) => until(JSON.stringify(text), (seen) => seen.visible().join("\n").includes(text)),
        resize: (wide, high) =>
          Effect.sync(() => {
            screen.resize(wide, high)
            spawnSync("stty", ["-F", readFileSync(note, "utf8").trim(), "rows", `${high}`, "cols", `${wide}`])
          }),
        signal: (signal) => Effect.sync(() => void process.kill(Number(readFileSync(`${note}.pid`, "utf8")), signal)),
        hangUp: Effect.suspend(() => {
          child.kill("SIGKILL")
          const pid = Number(readFileSync(`${note}.pid`, "utf8"))
          const isGone = () => {
            try {
              return !process.kill(pid, 0)
            } catch {
              return true
            }
          }
          return Effect.timeoutOrElse(
            Effect.repeat(Effect.sync(isGone), { schedule: Schedule.spaced("50 millis"), until: (gone) => gone }),
            { duration: patience, orElse: () => Effect.die(new Error("the command outlives its terminal")) }
          )
        }).pipe(Effect.asVoid),
        settings: () => readFileSync(`${note}.stty`, "utf8"),
        ended: Effect.timeoutOrElse(
          Effect.map(
            wait(() => code !== undefined),
            () => code ?? -1
          ),
          { duration: patience, orElse: () => Effect.die(new Error(`never ended\n${shown()}`)) }
        )
      }
    }
  )
