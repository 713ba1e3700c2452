/**
 * Who holds a lock: enough about a process to tell later whether that very process still lives.
 *
 * W1. A process id alone proves nothing: it is used again. The start time of the process and the boot of the machine go with it.
 * W2. What cannot be judged from here (another machine, another pid namespace) is never called dead.
 */
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as Json from "@settle/core/model/Json"

export interface Owner {
  readonly pid: number
  readonly host: string
  /** Identity of the machine beyond its name; empty where it has none. */
  readonly machine: string
  /** Identity of this boot; empty where unknown. */
  readonly boot: string
  /** Where `pid` means something: the pid namespace; empty where there is none. */
  readonly space: string
  /** Start of the process in the system's own terms; empty where unknown. */
  readonly started: string
  /** ISO-8601 UTC, for people. */
  readonly since: string
  /** Names this one lock, for ever. */
  readonly token: string
}

export const encode = (self: Owner): string => `${JSON.stringify({ v: 1, ...self })}\n`

/** Undefined for anything that is not a lock file of ours. */
export const decode = (text: string): Owner | undefined => {
  const json = Json.parse(text)
  if (!Json.isObject(json)) return undefined
  const { boot, host, machine, pid, since, space, started, token } = json
  if (typeof pid !== "number" || typeof host !== "string" || typeof token !== "string") return undefined
  const text_ = (value: Json.Json | undefined) => (typeof value === "string" ? value : "")
  return {
    pid,
    host,
    token,
    machine: text_(machine),
    boot: text_(boot),
    space: text_(space),
    started: text_(started),
    since: text_(since)
  }
}

/** This process. */
export const self = (stamp: { readonly since: string; readonly token: string }): Owner => ({
  pid: process.pid,
  host: os.hostname(),
  machine: content("/etc/machine-id"),
  boot: content("/proc/sys/kernel/random/boot_id"),
  space: link("/proc/self/ns/pid"),
  started: startOf(process.pid),
  ...stamp
})

/** - `elsewhere`: it may live where this process cannot look. */
export type Life = "alive" | "dead" | "elsewhere"

export const life = (owner: Owner, here: Owner): Life => {
  if (owner.host !== here.host || owner.machine !== here.machine) return "elsewhere"
  if (differs(owner.boot, here.boot)) return here.machine === "" ? "elsewhere" : "dead"
  if (owner.space !== here.space) return "elsewhere"
  if (!isRunning(owner.pid)) return "dead"
  return differs(owner.started, owner.pid === here.pid ? here.started : startOf(owner.pid)) ? "dead" : "alive"
}

const differs = (a: string, b: string): boolean => a !== "" && b !== "" && a !== b

/** EPERM means that it runs and belongs to somebody else. */
const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return !isZombie(pid)
  } catch (cause) {
    return !(cause instanceof Error && "code" in cause && cause.code === "ESRCH")
  }
}

/** Fields of /proc/<pid>/stat behind the command, whose name may hold anything, brackets too. */
const statFields = (pid: number): ReadonlyArray<string> => {
  const text = content(`/proc/${pid}/stat`)
  return text === "" ? [] : text.slice(text.lastIndexOf(")") + 2).split(" ")
}

/** A killed process whose parent did not collect it yet writes nothing any more. */
const isZombie = (pid: number): boolean => {
  const state = statFields(pid)[0]
  return state === "Z" || state === "X"
}

const startOf = (pid: number): string => {
  const ticks = statFields(pid)[19]
  if (ticks !== undefined) return ticks
  if (process.platform === "linux" || process.platform === "win32") return ""
  try {
    return execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8", stdio: "pipe" }).trim()
  } catch {
    return ""
  }
}

const content = (path: string): string => {
  try {
    return fs.readFileSync(path, "utf8").trim()
  } catch {
    return ""
  }
}

const link = (path: string): string => {
  try {
    return fs.readlinkSync(path)
  } catch {
    return ""
  }
}
