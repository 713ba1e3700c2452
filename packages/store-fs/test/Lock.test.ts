import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Lock from "../src/Lock.ts"
import * as Owner from "../src/Owner.ts"
import * as Race from "./Race.ts"
import * as Scratch from "./Scratch.ts"

const here = Owner.self({ since: "2026-01-02T03:04:05.000Z", token: "here" })
const owned = (file: string, owner: Partial<Owner.Owner>) =>
  fs.writeFileSync(Lock.pathOf(file), Owner.encode({ ...here, token: "old", ...owner }))
const taken = (file: string, options: Lock.Options = {}) =>
  Effect.scoped(Effect.map(Lock.acquire(file, options), (lock) => lock.owner.token))
const leftovers = (file: string) => fs.readdirSync(path.dirname(file)).filter((name) => name.includes(".lock"))

describe("Lock", () => {
  it.effect("X-STORE-01 the lock names pid, host, start and token, and is gone with its scope", () =>
    Effect.gen(function* () {
      const file = yield* Scratch.file()
      yield* Effect.scoped(
        Effect.gen(function* () {
          const lock = yield* Lock.acquire(file)
          const written = JSON.parse(fs.readFileSync(`${file}.lock`, "utf8"))
          assert.deepInclude(written, { pid: process.pid, host: os.hostname(), token: lock.owner.token })
          assert.match(written.since, /^\d{4}-\d\d-\d\dT/)
          assert.deepStrictEqual(yield* Lock.ownerOf(file), lock.owner)
          assert.isUndefined(lock.lost())
        })
      )
      assert.deepStrictEqual(leftovers(file), [])
      assert.isUndefined(yield* Lock.ownerOf(file))
    })
  )

  it.effect("J5 X-STORE-01 a live owner is named and keeps its lock", () =>
    Effect.gen(function* () {
      const file = yield* Scratch.file()
      owned(file, {})
      const error = yield* Effect.flip(taken(file))
      assert.strictEqual(
        error.message,
        `it is open for writing in process ${process.pid} on ${os.hostname()} since 2026-01-02T03:04:05.000Z`
      )
      assert.strictEqual((yield* Lock.ownerOf(file))?.token, "old")
      yield* Effect.flip(taken(file, { takeOver: true }))
    })
  )

  it.effect(
    "J5 X-STORE-01 a dead owner's lock is taken over: ended, another process with its number, another boot",
    () =>
      Effect.gen(function* () {
        const file = yield* Scratch.file()
        const dead: ReadonlyArray<Partial<Owner.Owner>> = [{ pid: 4_194_304 + 7 }]
        const onLinux = [...dead, { started: "12" }, ...(here.machine === "" ? [] : [{ boot: "another" }])]
        for (const owner of process.platform === "linux" ? onLinux : dead) {
          owned(file, owner)
          yield* taken(file)
          assert.deepStrictEqual(leftovers(file), [])
        }
      })
  )

  it.effect("X-STORE-01 an owner on another host is never taken over unasked, and the error says how", () =>
    Effect.gen(function* () {
      const file = yield* Scratch.file()
      for (const owner of [{ host: "far" }, { machine: "other" }, { space: "pid:[1]" }]) {
        owned(file, { pid: 4_194_304 + 7, ...owner })
        const error = yield* Effect.flip(taken(file))
        assert.strictEqual(error._tag, "Locked")
        assert.include(
          error.message,
          `whether that process still lives cannot be seen from here: make sure that it has ended, then remove ${file}.lock`
        )
        yield* taken(file, { takeOver: true })
        assert.deepStrictEqual(leftovers(file), [])
      }
    })
  )

  it.effect("X-STORE-01 a lock that names nobody is not guessed about", () =>
    Effect.gen(function* () {
      const file = yield* Scratch.file()
      fs.writeFileSync(`${file}.lock`, "")
      assert.include((yield* Effect.flip(taken(file))).message, "names no owner: make sure that no process has")
      yield* taken(file, { takeOver: true })
    })
  )

  it.effect("X-STORE-01 a taker that died while taking over is replaced too", () =>
    Effect.gen(function* () {
      const file = yield* Scratch.file()
      const gone = { ...here, pid: 4_194_304 + 7 }
      owned(file, { pid: gone.pid, token: "first" })
      fs.writeFileSync(`${file}.lock.first`, Owner.encode({ ...gone, token: "second" }))
      fs.writeFileSync(`${file}.lock.second`, Owner.encode({ ...gone, token: "third" }))
      yield* taken(file)
      assert.deepStrictEqual(leftovers(file), [])
      owned(file, { pid: gone.pid, token: "first" })
      fs.writeFileSync(`${file}.lock.first`, Owner.encode({ ...here, token: "busy" }))
      assert.strictEqual((yield* Effect.flip(taken(file)))._tag, "Locked")
      assert.strictEqual((yield* Lock.ownerOf(file))?.token, "first")
    })
  )

  it.effect("X-STORE-01 a removed lock is noticed by its owner", () =>
    Effect.gen(function* () {
      const file = yield* Scratch.file()
      const lock = yield* Lock.acquire(file)
      fs.rmSync(lock.path)
      assert.strictEqual(lock.lost(), `its lock ${file}.lock was removed`)
    })
  )

  it.live(
    "J5 X-STORE-01 processes race for one pen, each dies with it: no two ever hold it",
    () => Race.run({ processes: 4, turns: 4 }),
    120_000
  )
})
