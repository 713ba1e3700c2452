/** Scenario E: what a durable line costs, against the same bytes written by hand. Blocks of both alternate in one process. */
import * as Message from "@settle/core/model/Message"
import type * as TranscriptLine from "@settle/core/model/TranscriptLine"
import * as FsTranscript from "@settle/store-fs/FsTranscript"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const draft = (index: number): TranscriptLine.Draft => ({
  type: "message",
  message: Message.tool(`call_${index}`, `${index} `.padEnd(900, "the result of a tool, with some words in it. ")),
  extras: {}
})
const lineOf = (index: number): string => {
  const made = draft(index)
  const payload = made.type === "message" ? made.message : {}
  return `${JSON.stringify({ v: 1, type: "message", id: `id-${index}`, ts: "2026-01-01T00:00:00.000Z", payload })}\n`
}

interface Cost {
  cpuMs: number
  wallMs: number
  lines: number
}
const cost = (): Cost => ({ cpuMs: 0, wallMs: 0, lines: 0 })

const measured = async (into: Cost, lines: number, work: () => Promise<unknown> | void): Promise<void> => {
  const wall = performance.now()
  const from = process.cpuUsage()
  await work()
  const used = process.cpuUsage(from)
  into.wallMs += performance.now() - wall
  into.cpuMs += (used.user + used.system) / 1000
  into.lines += lines
}

const folder = fs.mkdtempSync(join(tmpdir(), "settle-bench-"))

/** By hand: stringify, one write a line, and where asked one sync a line. */
const byHand = (file: string, lines: number, sync: boolean): void => {
  const fd = fs.openSync(join(folder, file), "a")
  for (let index = 0; index < lines; index++) {
    fs.writeSync(fd, lineOf(index))
    if (sync) fs.fdatasyncSync(fd)
  }
  fs.closeSync(fd)
}

/** One after the other, each awaited; or `writers` at once. */
const append = (transcript: FsTranscript.FsTranscript, lines: number, writers: number) =>
  Effect.gen(function* () {
    for (let index = 0; index < lines; index += writers) {
      const together = Array.from({ length: writers }, (_, at) => transcript.append([draft(index + at)]))
      yield* writers === 1 ? together[0]! : Effect.all(together, { concurrency: "unbounded", discard: true })
    }
  })

const program = Effect.gen(function* () {
  const flush = yield* FsTranscript.open({ path: join(folder, "flush.jsonl"), durability: "flush" })
  const alone = yield* FsTranscript.open({ path: join(folder, "alone.jsonl") })
  const many = yield* FsTranscript.open({ path: join(folder, "many.jsonl") })
  const costs = { handUnsynced: cost(), flush: cost(), handSynced: cost(), alone: cost(), many: cost() }
  const ours = (into: Cost, lines: number, work: Effect.Effect<void, unknown>) =>
    Effect.promise(() => measured(into, lines, () => Effect.runPromise(work)))

  yield* append(flush, 2000, 1)
  byHand("warm.jsonl", 2000, false)
  for (let block = 0; block < 8; block++) {
    yield* Effect.promise(() => measured(costs.handUnsynced, 1000, () => byHand("unsynced.jsonl", 1000, false)))
    yield* ours(costs.flush, 1000, append(flush, 1000, 1))
    yield* Effect.promise(() => measured(costs.handSynced, 100, () => byHand("synced.jsonl", 100, true)))
    yield* ours(costs.alone, 100, append(alone, 100, 1))
    yield* ours(costs.many, 2000, append(many, 2000, 100))
  }
  const us = ({ cpuMs, lines }: Cost) => (cpuMs * 1000) / lines
  const wall = ({ lines, wallMs }: Cost) => (wallMs * 1000) / lines
  const { syncs } = many.counts()
  const bytes = fs.statSync(join(folder, "flush.jsonl")).size / fs.statSync(join(folder, "warm.jsonl")).size
  return {
    "flush, one writer: x CPU of stringify and write": us(costs.flush) / us(costs.handUnsynced),
    "flush, one writer: CPU us a line": us(costs.flush),
    "synced, one writer: x wall of write and fdatasync": wall(costs.alone) / wall(costs.handSynced),
    "synced, one writer: wall us a line": wall(costs.alone),
    "synced, 100 writers: lines a sync": costs.many.lines / syncs,
    "synced, 100 writers: CPU us a line": us(costs.many),
    "bytes a line: x by hand": bytes / (10_000 / 2000)
  }
})

const row = await Effect.runPromise(Effect.scoped(program))
fs.rmSync(folder, { recursive: true })
process.stdout.write(`${JSON.stringify(row)}\n`)
process.exit(0)
