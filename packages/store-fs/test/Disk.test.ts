import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Child from "./Child.ts"
import * as Scratch from "./Scratch.ts"

const nobody = 65534

/** A disk of 128 KiB; undefined where none can be mounted. */
const smallDisk = Effect.gen(function* () {
  const folder = yield* Scratch.folder
  const size = ["-t", "tmpfs", "-o", "size=128k", "tmpfs", folder]
  if (!Scratch.isRoot || spawnSync("mount", size).status !== 0) return undefined
  yield* Effect.addFinalizer(() => Effect.sync(() => spawnSync("umount", [folder])))
  return folder
})

const skip = (what: string) => Effect.sync(() => console.log(`skipped: ${what}`))

describe("a disk that refuses", () => {
  it.effect("J16 X-STORE-06 a full disk: nothing half-written stays, memory agrees, and freed space is used", () =>
    Effect.gen(function* () {
      const folder = yield* smallDisk
      if (folder === undefined) return yield* skip("mounting a small disk needs root")
      const file = path.join(folder, "a.jsonl")
      const ballast = path.join(folder, "ballast")
      fs.writeFileSync(ballast, Buffer.alloc(60_000))
      yield* Scratch.using({ path: file }, (transcript) =>
        Effect.gen(function* () {
          let good = 0
          const text = "x".repeat(3000)
          const append = transcript.append([Scratch.user(text), Scratch.user(text)])
          const refusal = yield* Effect.flip(Effect.forever(Effect.tap(append, () => Effect.sync(() => good++))))
          assert.strictEqual(refusal.reason._tag, "WriteFailed")
          assert.strictEqual(
            refusal.message,
            `could not append the transcript ${file}: no space is left on the disk; free some, then go on (ENOSPC)`
          )
          assert.isAbove(good, 1)
          assert.strictEqual((yield* transcript.replay).entries.length, 2 * good)
          assert.strictEqual(fs.readFileSync(file).at(-1), 10, "the file ends with a whole line")
          assert.strictEqual(fs.readFileSync(file, "utf8").trimEnd().split("\n").length, 2 * good + 1)
          yield* Effect.flip(append)
          fs.rmSync(ballast)
          yield* append
          assert.strictEqual((yield* transcript.replay).entries.length, 2 * good + 2)
        })
      )
      const replay = yield* Scratch.using({ path: file }, (transcript) => transcript.replay)
      assert.deepStrictEqual(replay.faults, [])
    })
  )

  it.effect("J16 a full disk: a torn line that cannot be kept is not cut off", () =>
    Effect.gen(function* () {
      const folder = yield* smallDisk
      if (folder === undefined) return yield* skip("mounting a small disk needs root")
      const file = path.join(folder, "a.jsonl")
      const text = `${Scratch.lines(Scratch.header)}{"torn ${"x".repeat(9000)}`
      fs.writeFileSync(file, text)
      fs.writeFileSync(path.join(folder, "a.jsonl.lock"), "")
      try {
        fs.writeFileSync(path.join(folder, "ballast"), Buffer.alloc(1_000_000))
      } catch {
        // As much as fits.
      }
      fs.rmSync(path.join(folder, "a.jsonl.lock"))
      const error = yield* Effect.flip(Scratch.using({ path: file }, () => Effect.void))
      assert.include(error.message, "(ENOSPC)")
      assert.strictEqual(fs.readFileSync(file, "utf8"), text)
    })
  )

  it.live(
    "J16 a limit on the size of files: the same, with its own words",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const file = yield* Scratch.file()
          const child = yield* Child.startUnder("ulimit -f 64", "fill.ts", [file])
          yield* child.exited
          assert.isNotEmpty(child.out(), child.errors())
          const seen = JSON.parse(child.out())
          assert.include(seen.first, "the file would grow beyond the size that is allowed here (EFBIG)")
          assert.include(seen.second, "(EFBIG)")
          assert.isAbove(seen.appended, 1)
          assert.strictEqual(seen.entries, 2 * seen.appended)
          const replay = yield* Scratch.using({ path: file }, (transcript) => transcript.replay)
          assert.strictEqual(replay.entries.length, 2 * seen.appended)
          assert.deepStrictEqual(replay.faults, [])
        })
      ),
    60_000
  )

  it.live(
    "J16 X-STORE-01 a folder that is closed to writing: the error says so, and reading works",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          if (!Scratch.isRoot) return yield* skip("running as another user needs root")
          const file = yield* Scratch.file()
          fs.writeFileSync(file, Scratch.lines(Scratch.header, Scratch.message("a", "user", "one")))
          fs.chmodSync(file, 0o644)
          fs.chmodSync(path.dirname(file), 0o755)
          const child = yield* Child.start("fill.ts", [file, String(nobody)])
          yield* child.exited
          assert.isNotEmpty(child.out(), child.errors())
          assert.include(
            JSON.parse(child.out()).first,
            `its lock ${file}.lock could not be made: permission is denied; check who owns it and its mode (EACCES)`
          )
          assert.deepStrictEqual(fs.readdirSync(path.dirname(file)), ["session.jsonl"])
          assert.deepStrictEqual(yield* Scratch.using({ path: file, readOnly: true }, Scratch.contents), ["one"])
        })
      ),
    60_000
  )

  it.effect("J16 a read-only disk is named, and a folder that vanished too", () =>
    Effect.gen(function* () {
      const folder = yield* smallDisk
      if (folder === undefined) return yield* skip("mounting a small disk needs root")
      const file = path.join(folder, "a.jsonl")
      fs.writeFileSync(file, Scratch.lines(Scratch.header))
      spawnSync("mount", ["-o", "remount,ro", folder])
      const error = yield* Effect.flip(Scratch.using({ path: file }, () => Effect.void))
      assert.include(error.message, "the file system is read-only (EROFS)")
      yield* Scratch.using({ path: file, readOnly: true }, () => Effect.void)
    })
  )

  it.effect("J16 the folder of an open transcript vanishes: the next append says that the file is gone", () =>
    Effect.gen(function* () {
      const file = path.join(yield* Scratch.folder, "deep", "a.jsonl")
      yield* Scratch.using({ path: file }, (transcript) =>
        Effect.gen(function* () {
          yield* transcript.append([Scratch.user("one")])
          fs.rmSync(path.dirname(file), { recursive: true })
          const error = yield* Effect.flip(transcript.append([Scratch.user("two")]))
          assert.match(error.message, /its lock .* was removed; nothing was written/)
        })
      )
    })
  )
})
