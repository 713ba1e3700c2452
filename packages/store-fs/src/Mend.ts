/**
 * Carries out a repair of the end of a file: the torn rest to a file beside, then one truncate, then the missing line end.
 *
 * M1. The torn bytes have their own file before they leave the transcript, synced where the store syncs.
 * M2. Cut short anywhere, mending again gives the same file; at worst the torn bytes are kept twice.
 */
import * as fs from "node:fs"
import * as Effect from "effect/Effect"
import type * as Replay from "@settle/core/model/Replay"
import * as Errno from "./Errno.ts"
import type * as Framing from "./Framing.ts"
import * as OpenFile from "./OpenFile.ts"
import * as Reader from "./Reader.ts"
import type * as Repair from "./Repair.ts"

export interface Request {
  readonly fd: number
  readonly file: string
  readonly plan: Extract<Repair.Plan, { readonly _tag: "Open" }>
  readonly end: Framing.End
  readonly isDurable: boolean
}

export interface Mended {
  readonly size: number
  /** Lines of the file now. */
  readonly lines: number
  readonly faults: ReadonlyArray<Replay.Fault>
  readonly notices: ReadonlyArray<string>
}

export const mend = Effect.fnUntraced(function* (request: Request) {
  const { end, fd, file, isDurable, plan } = request
  const faults: Array<Replay.Fault> = []
  const notices: Array<string> = []
  let { lines } = end
  if (plan.cut !== undefined) {
    const problem = yield* cut(request, plan.cut)
    faults.push({ line: plan.cut.line, problem })
    notices.push(`line ${plan.cut.line}: ${problem}`)
    if (plan.newline === "") lines--
  } else if (end.tail?.torn !== undefined) {
    faults.push({ line: end.tail.number, problem: end.tail.torn })
  }
  if (plan.newline !== "") {
    yield* Reader.system(() => fs.writeSync(fd, plan.newline))
    notices.push("the last line had no line end; it has one now")
  }
  if (plan.header === "rebuilt") {
    const problem = "no session-meta line was found; one was added at the end"
    faults.push({ line: 1, problem })
    notices.push(problem)
  }
  if (isDurable) yield* Reader.system(() => fs.fdatasyncSync(fd))
  if (isDurable && plan.header === "new") yield* OpenFile.syncFolder(file)
  const size = yield* Reader.system(() => fs.fstatSync(fd).size)
  const mended: Mended = { size, lines, faults, notices }
  return mended
})

/** Answers what was done, for people. */
const cut = Effect.fnUntraced(function* (request: Request, torn: Repair.Cut) {
  const beside = yield* quarantine(request, torn)
  yield* Reader.system(() => fs.ftruncateSync(request.fd, torn.at))
  const where = beside === undefined ? "" : `, kept in ${beside}`
  return `the torn end of the last line was removed (${torn.bytes} bytes${where}): ${torn.problem}`
})

/** The name of the copy; undefined when there was nothing but NUL bytes to copy. */
const quarantine = (
  { fd, file, isDurable }: Request,
  torn: Repair.Cut
): Effect.Effect<string | undefined, Reader.SystemError> =>
  Reader.system(() => {
    const beside = createBeside(file)
    let hasContent = false
    try {
      const block = Buffer.allocUnsafe(Math.min(Reader.blockBytes, torn.bytes))
      for (let at = torn.at; at < torn.at + torn.bytes;) {
        const wanted = Math.min(block.length, torn.at + torn.bytes - at)
        const count = fs.readSync(fd, block, 0, wanted, at)
        if (count === 0) break
        const part = block.subarray(0, count)
        hasContent ||= part.some((byte) => byte !== 0)
        for (let done = 0; done < count;) done += fs.writeSync(beside.fd, part, done)
        at += count
      }
      if (isDurable) fs.fsyncSync(beside.fd)
    } finally {
      fs.closeSync(beside.fd)
    }
    if (hasContent) return beside.path
    fs.unlinkSync(beside.path)
    return undefined
  })

const createBeside = (file: string): { readonly fd: number; readonly path: string } => {
  for (let n = 1; ; n++) {
    const path = `${file}.torn-${n}`
    try {
      return { fd: fs.openSync(path, "wx", 0o600), path }
    } catch (cause) {
      if (Errno.code(cause) !== "EEXIST") throw cause
    }
  }
}
