/**
 * Two hundred transcripts as crashes, disks and strangers leave them, drawn from one seed: each opens with its faults named, or is
 * refused by name and untouched.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import * as FsTranscript from "../src/FsTranscript.ts"
import * as Scratch from "./Scratch.ts"

/** A small generator with a seed (mulberry32). */
const random = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

const texts = [
  "plain",
  "💥👩‍👩‍👧‍👦🏳️‍🌈",
  "e\u0301 \u202e right to left \u2066",
  "\u0000\u0001\u001f\u007f",
  "\u2028\u2029\u0085\ufeff",
  "lone \ud800 and \udfff",
  '{"v":1,"type":"message"}\n{"torn',
  "\\u0000 \\n \\",
  "x".repeat(5000),
  ""
]

type Below = (below: number) => number

const goodLine = (below: Below, id: string): string => {
  const content = texts[below(texts.length)] ?? ""
  return Scratch.message(id, below(2) === 0 ? "user" : "assistant", content)
}

/** How one file is hurt. */
const wounds: ReadonlyArray<(bytes: Buffer, below: Below) => Buffer> = [
  (bytes) => bytes,
  (bytes, below) => bytes.subarray(0, below(bytes.length + 1)),
  (bytes, below) => Buffer.concat([bytes, Buffer.alloc(1 + below(2000))]),
  (bytes, below) => {
    const at = below(bytes.length)
    return Buffer.concat([bytes.subarray(0, at), Buffer.alloc(1 + below(700)), bytes.subarray(at)])
  },
  (bytes, below) => {
    const copy = Buffer.from(bytes)
    copy.fill(0, below(bytes.length), bytes.length)
    return copy
  },
  (bytes, below) => {
    const copy = Buffer.from(bytes)
    for (let i = 0; i < 5; i++) copy[below(copy.length)] = below(256)
    return copy
  },
  (bytes, below) => {
    const at = below(bytes.length)
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(Math.min(bytes.length, at + 1 + below(200)))])
  },
  (bytes, below) => Buffer.concat([bytes, bytes.subarray(0, below(bytes.length))]),
  (bytes) => Buffer.from(bytes.toString("latin1").replaceAll("\n", "\r\n"), "latin1"),
  (bytes) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes]),
  (bytes, below) => Buffer.concat([Buffer.from(Array.from({ length: below(300) }, () => below(256))), bytes]),
  (bytes) => Buffer.from(bytes.toString("utf8"), "utf16le"),
  (bytes) => Buffer.from(bytes.toString("latin1").replaceAll("\n", ""), "latin1"),
  (_, below) => Buffer.from(Array.from({ length: below(3000) }, () => below(256)))
]

const hurt = (seed: number): Buffer => {
  const below = random(seed)
  const lines = [Scratch.header, ...Array.from({ length: 1 + below(8) }, (_, i) => goodLine(below, `m${i}`))]
  let bytes = Buffer.from(Scratch.lines(...lines))
  for (let i = 0; i <= below(2); i++) {
    const wound = wounds[below(wounds.length)]
    if (wound !== undefined && bytes.length > 0) bytes = Buffer.from(wound(bytes, below))
  }
  return bytes
}

/** Every message line that stands whole in the bytes must be in the replay. */
const wholeMessages = (bytes: Buffer): ReadonlyArray<string> => {
  const ids = new Set<string>()
  for (const line of bytes.toString("utf8").split("\n")) {
    try {
      const value = JSON.parse(line.trim())
      const { content, role } = value.payload
      const isRole = role === "user" || role === "assistant"
      const isNamed = typeof value.id === "string" && typeof value.ts === "string"
      if (value.v === 1 && isNamed && value.type === "message" && isRole && typeof content === "string")
        ids.add(value.id)
    } catch {
      continue
    }
  }
  return [...ids]
}

describe("hostile transcripts", () => {
  it.live(
    "X-STORE-03 two hundred hurt transcripts open with every fault named or are refused by name",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const folder = yield* Scratch.folder
          const tally = { sound: 0, faulty: 0, refused: 0 }
          for (let seed = 1; seed <= 200; seed++) {
            const file = path.join(folder, `${seed}.jsonl`)
            const bytes = hurt(seed)
            fs.writeFileSync(file, bytes)
            const opened = yield* Effect.result(
              Scratch.using({ path: file, durability: "flush" }, (transcript) =>
                Effect.gen(function* () {
                  const before = yield* transcript.replay
                  yield* transcript.append([Scratch.user("appended")])
                  return { before, after: yield* transcript.replay, notices: transcript.notices }
                })
              )
            )
            if (Result.isFailure(opened)) {
              tally.refused++
              assert.match(
                opened.failure.message,
                /^could not open the transcript .+: none of its \d+ lines? is a record/
              )
              assert.isTrue(fs.readFileSync(file).equals(bytes), `seed ${seed}: a refused file was changed`)
              assert.deepStrictEqual(wholeMessages(bytes), [], `seed ${seed}: a file with messages was refused`)
              continue
            }
            const { after, before } = opened.success
            before.faults.length === 0 ? tally.sound++ : tally.faulty++
            for (const fault of before.faults) {
              assert.isAtLeast(fault.line, 1, `seed ${seed}`)
              assert.isNotEmpty(fault.problem, `seed ${seed}`)
            }
            const ids = new Set(after.entries.map((entry) => entry.id))
            for (const id of wholeMessages(bytes)) assert.isTrue(ids.has(id), `seed ${seed}: message ${id} was lost`)
            assert.isTrue(
              after.entries.every(({ message }) => message.content.isWellFormed()),
              `seed ${seed}`
            )
            const again = yield* Scratch.using({ path: file, durability: "flush" }, (transcript) => transcript.replay)
            assert.deepStrictEqual(again.entries, after.entries, `seed ${seed}: opening again differs`)
            assert.strictEqual(again.entries.at(-1)?.message.content, "appended", `seed ${seed}`)
          }
          assert.isAtLeast(tally.sound, 20)
          assert.isAtLeast(tally.faulty, 40)
          assert.isAtLeast(tally.refused, 10)
          assert.strictEqual(tally.sound + tally.faulty + tally.refused, 200)
        })
      ),
    60_000
  )
})
