/** Scenario F: opening a transcript of 100,000 lines (100 MB), against JSON.parse of the same lines already in memory. */
import * as Message from "@settle/core/model/Message"
import * as TranscriptLine from "@settle/core/model/TranscriptLine"
import * as FsTranscript from "@settle/store-fs/FsTranscript"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const lines = 100_000
const folder = fs.mkdtempSync(join(tmpdir(), "settle-bench-"))
const path = join(folder, "long.jsonl")

const text = (index: number): string => `${index} `.padEnd(820, "words of a conversation that went on for long. ")
const idOf = (index: number): string => `00000000-0000-4000-8000-${index.toString(16).padStart(12, "0")}`

const draftOf = (index: number): TranscriptLine.Draft => {
  if (index === 0) return { type: "session-meta", payload: {} }
  const message = index % 2 === 1 ? Message.user(text(index)) : Message.assistant(text(index))
  return { type: "message", message, extras: {} }
}

const write = (): void => {
  const fd = fs.openSync(path, "w")
  for (let from = 0; from < lines; from += 1000) {
    const block = Array.from({ length: 1000 }, (_, at) =>
      TranscriptLine.encode(draftOf(from + at), idOf(from + at), 1_700_000_000_000)
    )
    fs.writeSync(fd, `${block.join("\n")}\n`)
  }
  fs.closeSync(fd)
}

const cpuMs = async (work: () => Promise<number> | number): Promise<number> => {
  globalThis.gc?.()
  const from = process.cpuUsage()
  const count = await work()
  if (count < lines - 1) throw new Error(`only ${count} lines were read`)
  const used = process.cpuUsage(from)
  return (used.user + used.system) / 1000
}

const parseAll = (texts: ReadonlyArray<string>): number => {
  const parsed: Array<unknown> = texts.map((one) => JSON.parse(one))
  return parsed.length
}

const openOurs = (): Promise<number> =>
  Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const replay = yield* (yield* FsTranscript.open({ path, readOnly: true })).replay
        if (replay.faults.length > 0) throw new Error(`faults in a sound file: ${replay.faults[0]?.problem}`)
        return replay.entries.length
      })
    )
  )

write()
const rssBefore = process.memoryUsage.rss() / 1_048_576
const first = await cpuMs(openOurs)
const rssAfter = process.memoryUsage.rss() / 1_048_576
const texts = fs.readFileSync(path, "utf8").trimEnd().split("\n")
const floors: Array<number> = []
const ours: Array<number> = [first]
for (let turn = 0; turn < 2; turn++) {
  floors.push(await cpuMs(() => parseAll(texts)))
  ours.push(await cpuMs(openOurs))
}
const least = (values: ReadonlyArray<number>): number => Math.min(...values)
const row = {
  "open and replay: x CPU of JSON.parse in memory": least(ours) / least(floors),
  "the first time, cold code": first / (floors[0] ?? NaN),
  "CPU ms": least(ours),
  "RSS MB more after the first opening": rssAfter - rssBefore
}
fs.rmSync(folder, { recursive: true })
process.stdout.write(`${JSON.stringify(row)}\n`)
process.exit(0)
