/** What a transcript keeps of permissions, looked at before anything is built on it. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Result from "effect/Result"
import * as Json from "@settle/core/model/Json"
import type { Replay } from "@settle/core/model/Replay"
import * as Grants from "@settle/core/tools/Grants"

export interface Problem {
  /** 1-based line of the transcript; 0 when it cannot be told. */
  readonly line: number
  readonly problem: string
}

/** Line of the last list; a later one replaces all before it. */
const lastList = (text: string): number =>
  text.split("\n").findLastIndex((line) => {
    const value = line.includes(`"grants"`) ? Json.parse(line) : undefined
    return Json.isObject(value) && value["type"] === "grants"
  }) + 1

/**
 * Why the list that counts cannot be read. It is not left out: with it would go the denials that it holds, and a tool that somebody
 * forbade for good would be asked for again, or run.
 */
export const problem = Effect.fn("Granted.problem")(function* (path: string, replay: Replay) {
  const decoded = Grants.decode(replay.grants ?? [])
  const suspects = replay.faults.filter((fault) => fault.problem.startsWith("grants:"))
  if (Result.isSuccess(decoded) && suspects.length === 0) return undefined
  const fs = yield* FileSystem.FileSystem
  const line = lastList(yield* Effect.orElseSucceed(fs.readFileString(path), () => ""))
  if (Result.isFailure(decoded)) return { line, problem: decoded.failure.message } satisfies Problem
  return suspects.find((fault) => fault.line === line)
})

/** As the doctor says it, with the way on. */
export const sentence = ({ line, problem }: Problem, name: string): string =>
  `the permissions that were given for good cannot be read${line === 0 ? "" : ` (line ${line})`}: ${problem}. ${
    line > 1
      ? `settle sessions fork ${name} NEW --at ${line - 1} makes a session of the lines before`
      : "Begin a new session"
  }`
