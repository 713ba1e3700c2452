import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Artifacts from "@settle/core/port/Artifacts"
import { Transcript } from "@settle/core/port/Transcript"
import * as FsTranscript from "../src/FsTranscript.ts"
import * as Scratch from "./Scratch.ts"

const { asks, dispatched, header, lines, message, settled, user, using } = Scratch

/** Opens a file of exactly this text, looks at it, appends one message, and answers what was seen. */
const openText = (text: string | Buffer) =>
  Effect.gen(function* () {
    const file = yield* Scratch.file()
    fs.writeFileSync(file, text)
    const seen = yield* using({ path: file }, (transcript) =>
      Effect.gen(function* () {
        const before = yield* transcript.replay
        yield* transcript.append([user("appended")])
        return { before, after: yield* transcript.replay, notices: transcript.notices }
      })
    )
    const again = yield* using({ path: file }, (transcript) => transcript.replay)
    return { ...seen, again, file, text: fs.readFileSync(file, "utf8") }
  })

const openError = (options: FsTranscript.Options) => Effect.flip(Effect.scoped(FsTranscript.open(options)))
const said = (replay: { readonly entries: ReadonlyArray<{ readonly message: { readonly content: string } }> }) =>
  replay.entries.map((entry) => entry.message.content)

describe("open", () => {
  it.effect("J1 X-STORE-03 a torn last line is moved aside and reported, and nothing is glued to it", () =>
    Effect.gen(function* () {
      const torn = '{"type":"mess'
      const { again, before, file, notices, text } = yield* openText(lines(header, message("a", "user", "one")) + torn)
      assert.deepStrictEqual(said(before), ["one"])
      assert.deepStrictEqual(said(again), ["one", "appended"])
      assert.deepStrictEqual(again.faults, [])
      assert.notInclude(text, torn)
      assert.strictEqual(fs.readFileSync(`${file}.torn-1`, "utf8"), torn)
      assert.deepStrictEqual(notices, [
        `line 3: the torn end of the last line was removed (13 bytes, kept in ${file}.torn-1): not a record: "{\\"type\\":\\"mess"`
      ])
      assert.strictEqual(before.faults[0]?.line, 3)
    })
  )

  it.effect("X-STORE-03 an earlier torn piece is never written over", () =>
    Effect.gen(function* () {
      const file = yield* Scratch.file()
      fs.writeFileSync(`${file}.torn-1`, "earlier")
      fs.writeFileSync(file, `${lines(header)}{"later`)
      yield* using({ path: file }, () => Effect.void)
      assert.strictEqual(fs.readFileSync(`${file}.torn-1`, "utf8"), "earlier")
      assert.strictEqual(fs.readFileSync(`${file}.torn-2`, "utf8"), '{"later')
    })
  )

  it.effect("X-STORE-03 cut at every byte of the last line, in a multi-byte character too, the rest survives", () =>
    Effect.gen(function* () {
      const kept = lines(header, message("a", "user", "kept"))
      const last = Buffer.from(`${message("b", "assistant", "fin 💥 é")}\n`)
      const folder = yield* Scratch.folder
      for (let length = 0; length <= last.length; length++) {
        const file = path.join(folder, `${length}.jsonl`)
        fs.writeFileSync(file, Buffer.concat([Buffer.from(kept), last.subarray(0, length)]))
        const isWhole = length >= last.length - 1
        yield* using({ path: file, durability: "flush" }, (transcript) => transcript.append([user("next")]))
        const replay = yield* using({ path: file, durability: "flush" }, (transcript) => transcript.replay)
        assert.deepStrictEqual(
          said(replay),
          isWhole ? ["kept", "fin 💥 é", "next"] : ["kept", "next"],
          `cut at ${length}`
        )
        assert.deepStrictEqual(replay.faults, [])
        assert.strictEqual(fs.existsSync(`${file}.torn-1`), length > 0 && !isWhole)
      }
    })
  )

  it.effect("J2 NUL blocks in the middle and at the end: history on both sides, named, appended to", () =>
    Effect.gen(function* () {
      const nul = "\u0000"
      const middle = lines(header, message("a", "user", "one"), nul.repeat(700), message("b", "user", "two"))
      const { again, before } = yield* openText(middle + nul.repeat(1024))
      assert.deepStrictEqual(said(before), ["one", "two"])
      assert.deepStrictEqual(said(again), ["one", "two", "appended"])
      assert.deepStrictEqual(again.faults, [{ line: 3, problem: "700 NUL bytes, as a lost write leaves them" }])
      assert.include(before.faults[1]?.problem ?? "", "1024 NUL bytes")
    })
  )

  it.effect("J2 a valid record with NUL padding behind it stays", () =>
    Effect.gen(function* () {
      const text = lines(header) + message("a", "user", "padded") + "\u0000".repeat(300)
      const { again, file } = yield* openText(text)
      assert.deepStrictEqual(said(again), ["padded", "appended"])
      assert.deepStrictEqual(again.faults, [])
      assert.isFalse(fs.existsSync(`${file}.torn-1`), "NUL bytes alone are not worth keeping")
    })
  )

  it.effect("J4 X-STORE-03 a record without an id and a second one with the same id are named faults", () =>
    Effect.gen(function* () {
      const noId = JSON.stringify({ v: 1, type: "message", ts: "t", payload: { role: "user", content: "no id" } })
      const { again } = yield* openText(
        lines(header, message("a", "user", "one"), noId, message("a", "user", "twin"), message("b", "user", "two"))
      )
      assert.deepStrictEqual(said(again), ["one", "two", "appended"])
      assert.deepStrictEqual(again.faults, [
        { line: 3, problem: "type, id or ts is missing" },
        { line: 4, problem: "message: a second line with id a" }
      ])
    })
  )

  it.effect("J7 an empty file, blank lines, a torn header and NUL bytes alone are new sessions", () =>
    Effect.gen(function* () {
      for (const text of ["", "\n\n", "  ", '{"v":1,"typ', "\u0000".repeat(4096)]) {
        const { again, before } = yield* openText(text)
        assert.isDefined(before.meta, JSON.stringify(text))
        assert.deepStrictEqual(said(again), ["appended"], JSON.stringify(text))
        assert.deepStrictEqual(again.faults, [], JSON.stringify(text))
      }
    })
  )

  it.effect("J7 header only, blank lines, CRLF and a missing last line end all open", () =>
    Effect.gen(function* () {
      const one = message("a", "user", "one")
      assert.deepStrictEqual(said((yield* openText(lines(header))).again), ["appended"])
      for (const text of [
        `${header}\n\n${one}\n\n`,
        `${header}\r\n${one}\r\n`,
        `${header}\n${one}`,
        `\uFEFF${header}\n${one}`
      ]) {
        const { again } = yield* openText(text)
        assert.deepStrictEqual(said(again), ["one", "appended"])
        assert.deepStrictEqual(again.faults, [])
      }
      const crlf = yield* openText(`${header}\r\n${one}`)
      assert.include(crlf.text, `${one}\r\n`)
      assert.deepStrictEqual(crlf.notices, ["the last line had no line end; it has one now"])
    })
  )

  it.effect("J7 a missing header is added behind the end and said once", () =>
    Effect.gen(function* () {
      const { again, before, notices } = yield* openText(lines(message("a", "user", "one")))
      assert.deepStrictEqual(notices, ["no session-meta line was found; one was added at the end"])
      assert.deepStrictEqual(before.meta, { rebuilt: true })
      assert.deepStrictEqual(before.faults, [
        { line: 1, problem: "no session-meta line was found; one was added at the end" }
      ])
      assert.deepStrictEqual(said(again), ["one", "appended"])
      assert.deepStrictEqual(again.faults, [])
    })
  )

  it.effect("J9 a line over the bound is named with its size, and the rest is read", () =>
    Effect.gen(function* () {
      const file = yield* Scratch.file()
      fs.writeFileSync(file, lines(header, message("a", "user", "x".repeat(5000)), message("b", "user", "two")))
      const replay = yield* using({ path: file, maxLineBytes: 1000 }, (transcript) => transcript.replay)
      assert.deepStrictEqual(said(replay), ["two"])
      assert.match(replay.faults[0]?.problem ?? "", /^the line is 5\d+ bytes long and the bound is 1000/)
    })
  )

  it.effect("J10 an old line with half an emoji is healed on the way in", () =>
    Effect.gen(function* () {
      const half = message("a", "user", "cut \ud83d")
      assert.include(half, "\\ud83d")
      const { again } = yield* openText(lines(header, half))
      assert.deepStrictEqual(said(again), ["cut \ufffd", "appended"])
      assert.isTrue(said(again).every((text) => text.isWellFormed()))
    })
  )

  it.effect("J12 X-STORE-03 an unknown type, a wrong field and half a compaction leave the session alive", () =>
    Effect.gen(function* () {
      const { again } = yield* openText(
        lines(
          header,
          message("a", "user", "one"),
          Scratch.record("from-the-future", "f", { any: [1] }),
          Scratch.record("message", "g", { role: "user", content: { not: "text" } }),
          Scratch.record("compaction", "c", { summary: "s", replacesThroughId: "nobody", fallback: false }),
          message("b", "user", "two")
        )
      )
      assert.deepStrictEqual(said(again), ["one", "two", "appended"])
      assert.deepStrictEqual(again.custom, [{ id: "f", type: "from-the-future", payload: { any: [1] } }])
      assert.deepStrictEqual(again.faults, [
        { line: 4, problem: "message: content is not text" },
        { line: 5, problem: 'compaction: replacesThroughId "nobody" names no message' }
      ])
    })
  )

  it.effect("J14 U+0000 and every other odd character survive the file", () =>
    Effect.gen(function* () {
      const odd = "a\u0000b \u2028 \u0085 \ufeff 💥 e\u0301 \r\n \ud800"
      const file = yield* Scratch.file()
      yield* using({ path: file }, (transcript) => transcript.append([user(odd)]))
      const replay = yield* using({ path: file }, (transcript) => transcript.replay)
      assert.deepStrictEqual(said(replay), [odd.toWellFormed()])
      assert.deepStrictEqual(replay.faults, [])
      assert.strictEqual(fs.readFileSync(file).indexOf(0), -1)
    })
  )

  it.effect("J15 L-TOOL-05 three kinds of open call come back apart", () =>
    Effect.gen(function* () {
      const { before } = yield* openText(
        lines(
          header,
          asks("a", "c1", "c2", "c3", "c4"),
          dispatched("o1", "c1"),
          message("t1", "tool", "done", { toolCallId: "c1" }),
          settled("s1", "o1"),
          dispatched("o2", "c2"),
          message("t2", "tool", "done too", { toolCallId: "c2" }),
          dispatched("o3", "c3")
        )
      )
      assert.deepStrictEqual(
        before.pending.map(({ answered, callId }) => [callId, answered]),
        [
          ["c2", "completed"],
          ["c3", undefined]
        ]
      )
      assert.deepStrictEqual(
        before.settled.map((operation) => operation.callId),
        ["c1"]
      )
    })
  )

  it.effect("J7 X-STORE-03 a file that is no transcript is refused and not touched", () =>
    Effect.gen(function* () {
      const folder = yield* Scratch.folder
      const texts = ["# Notes\n\nhello\n", "hello", '{"name":"package"}\n', "\u0000\u0001binary\n\u0002", "[1]\n[2]\n"]
      for (const [index, text] of texts.entries()) {
        const file = path.join(folder, `${index}.txt`)
        fs.writeFileSync(file, text)
        const error = yield* openError({ path: file })
        assert.match(
          error.message,
          /^could not open the transcript .*: none of its \d lines? is a record of a transcript/
        )
        assert.strictEqual(fs.readFileSync(file, "utf8"), text)
      }
      assert.strictEqual(fs.readdirSync(folder).length, texts.length, "no lock and no piece is left behind")
    })
  )

  it.effect("X-STORE-03 a transcript of a later version is refused by name", () =>
    Effect.gen(function* () {
      const file = yield* Scratch.file()
      fs.writeFileSync(file, '{"v":2,"type":"session-meta","id":"a","ts":"t","payload":{}}\n')
      assert.include((yield* openError({ path: file })).message, "version 2 is not known to this reader")
    })
  )

  it.effect("J16 a folder, a device, a pipe and a path through a file say what they are", () =>
    Effect.gen(function* () {
      const folder = yield* Scratch.folder
      const link = path.join(folder, "full.jsonl")
      const pipe = path.join(folder, "pipe.jsonl")
      fs.symlinkSync("/dev/full", link)
      assert.strictEqual(spawnSync("mkfifo", [pipe]).status, 0)
      fs.writeFileSync(path.join(folder, "plain"), "")
      assert.include((yield* openError({ path: folder })).message, "it is a folder, not a file")
      assert.include((yield* openError({ path: link })).message, "it is a device, not a file")
      assert.include((yield* openError({ path: pipe })).message, "it is a named pipe, not a file")
      assert.include((yield* openError({ path: pipe, readOnly: true })).message, "it is a named pipe, not a file")
      assert.include((yield* openError({ path: path.join(folder, "plain", "a.jsonl") })).message, "(EEXIST)")
      assert.include((yield* openError({ path: path.join(folder, "none.jsonl"), readOnly: true })).message, "(ENOENT)")
    })
  )

  it.effect("X-STORE-01 a symbolic link and its target share one lock", () =>
    Effect.gen(function* () {
      const folder = yield* Scratch.folder
      const file = path.join(folder, "real.jsonl")
      const link = path.join(folder, "link.jsonl")
      yield* using({ path: file }, () =>
        Effect.gen(function* () {
          fs.symlinkSync(file, link)
          const error = yield* openError({ path: link })
          assert.strictEqual(error.reason._tag, "Locked")
        })
      )
    })
  )

  it.effect("X-STORE-01 a second writer is told the owner, a reader is let in", () =>
    Effect.gen(function* () {
      const file = yield* Scratch.file()
      yield* using({ path: file }, (first) =>
        Effect.gen(function* () {
          yield* first.append([user("one")])
          const error = yield* openError({ path: file })
          assert.match(
            error.message,
            new RegExp(
              `^could not open the transcript ${file}: it is open for writing in process ${process.pid} on .+ since `
            )
          )
          yield* using({ path: file, readOnly: true }, (reader) =>
            Effect.gen(function* () {
              assert.deepStrictEqual(yield* Scratch.contents(reader), ["one"])
              const refusal = yield* Effect.flip(reader.append([user("no")]))
              assert.include(refusal.message, "it was opened read-only")
            })
          )
          yield* first.append([user("two")])
          assert.deepStrictEqual(yield* Scratch.contents(first), ["one", "two"])
        })
      )
      assert.deepStrictEqual(yield* using({ path: file }, Scratch.contents), ["one", "two"])
    })
  )

  it.live("J5 X-STORE-01 whose lock was taken appends nothing any more", () =>
    Effect.scoped(
      Effect.gen(function* () {
        for (const durability of ["fsync", "flush"] as const) {
          const file = yield* Scratch.file()
          yield* using({ path: file, durability }, (old) =>
            Effect.gen(function* () {
              yield* old.append([user("one")])
              const lock = JSON.parse(fs.readFileSync(`${file}.lock`, "utf8"))
              fs.writeFileSync(
                `${file}.other`,
                JSON.stringify({ ...lock, pid: 4_000_000, host: "elsewhere", token: "t" })
              )
              fs.renameSync(`${file}.other`, `${file}.lock`)
              // An unsynced pen looks at its lock once a millisecond.
              yield* Effect.sleep(5)
              const before = fs.readFileSync(file, "utf8")
              for (let i = 0; i < 2; i++) {
                const error = yield* Effect.flip(old.append([user("late")]))
                assert.strictEqual(error.reason._tag, "Fenced")
                assert.include(error.message, "process 4000000 on elsewhere took its lock over")
              }
              assert.strictEqual(fs.readFileSync(file, "utf8"), before)
            })
          )
          assert.isTrue(fs.existsSync(`${file}.lock`), "the new owner's lock is not removed")
        }
      })
    )
  )

  it.effect("X-STORE-01 a failed opening gives its lock back at once", () =>
    Effect.gen(function* () {
      const file = yield* Scratch.file()
      fs.writeFileSync(file, "no transcript\n")
      yield* Effect.flip(FsTranscript.open({ path: file }))
      fs.writeFileSync(file, "")
      yield* FsTranscript.open({ path: file })
    })
  )

  it.effect("L-GEN-07 the layer provides the transcript and the artifacts beside it", () =>
    Effect.gen(function* () {
      const file = yield* Scratch.file("talk.jsonl")
      const context = yield* Layer.build(FsTranscript.layer({ path: file, meta: { name: "talk" } }))
      const transcript = Context.get(context, Transcript)
      const stored = yield* (
        Context.get(context, Artifacts.Artifacts)?.store("op", "full text") ?? Effect.die("no artifacts")
      )
      assert.strictEqual(transcript?.place, file)
      assert.strictEqual(
        fs.readFileSync(path.join(path.dirname(file), "talk.artifacts", stored.file), "utf8"),
        "full text"
      )
    })
  )
})

describe("append", () => {
  it.effect("X-STORE-02 what waits together is one write and one sync, in the order asked", () =>
    Effect.gen(function* () {
      const file = yield* Scratch.file()
      yield* using({ path: file }, (transcript) =>
        Effect.gen(function* () {
          const before = transcript.counts()
          const names = Array.from({ length: 100 }, (_, i) => `m${i}`)
          yield* Effect.forEach(names, (name) => transcript.append([user(name)]), { concurrency: "unbounded" })
          assert.deepStrictEqual(transcript.counts(), { writes: before.writes + 1, syncs: before.syncs + 1 })
          assert.deepStrictEqual(yield* Scratch.contents(transcript), names)
        })
      )
    })
  )

  it.effect("X-STORE-02 flush writes without a sync", () =>
    Effect.gen(function* () {
      const file = yield* Scratch.file()
      yield* using({ path: file, durability: "flush" }, (transcript) =>
        Effect.gen(function* () {
          yield* transcript.append([user("one")])
          assert.strictEqual(transcript.counts().syncs, 0)
          assert.include(fs.readFileSync(file, "utf8"), '"one"')
        })
      )
    })
  )

  it.effect("J6 the lines of one append stand together, however many append at once", () =>
    Effect.gen(function* () {
      const file = yield* Scratch.file()
      const replay = yield* using({ path: file }, (transcript) =>
        Effect.gen(function* () {
          const writer = (name: string) =>
            Effect.gen(function* () {
              for (let i = 0; i < 20; i++) {
                yield* transcript.append([user(`${name} ${i} a`), user(`${name} ${i} b`), user(`${name} ${i} c`)])
                if (i % 3 === 0) yield* Effect.yieldNow
              }
            })
          yield* Effect.all(["x", "y", "z"].map(writer), { concurrency: "unbounded" })
          return yield* transcript.replay
        })
      )
      const order = said(replay)
      assert.strictEqual(order.length, 180)
      for (let i = 0; i < order.length; i += 3) {
        const stem = order[i]?.slice(0, -2)
        assert.deepStrictEqual(order.slice(i, i + 3), [`${stem} a`, `${stem} b`, `${stem} c`])
      }
      for (const name of ["x", "y", "z"]) {
        const own = order.filter((text) => text.startsWith(name) && text.endsWith("a"))
        assert.deepStrictEqual(
          own,
          Array.from({ length: 20 }, (_, i) => `${name} ${i} a`)
        )
      }
    })
  )

  it.live("X-STORE-02 an interrupted append lands whole, and nobody behind it is hurt", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const file = yield* Scratch.file()
        const texts = yield* using({ path: file }, (transcript) =>
          Effect.gen(function* () {
            for (let i = 0; i < 20; i++) {
              const fibers = yield* Effect.forEach([0, 1, 2], (n) =>
                Effect.forkChild(transcript.append([user(`${i}.${n}a`), user(`${i}.${n}b`)]), {
                  startImmediately: true
                })
              )
              const [leader, second] = fibers
              if (leader !== undefined) yield* Fiber.interrupt(leader)
              if (second !== undefined) yield* Fiber.interrupt(second)
              yield* transcript.append([user(`${i}.end`)])
            }
            return yield* Scratch.contents(transcript)
          })
        )
        for (let i = 0; i < 20; i++) {
          for (const n of [0, 1, 2]) {
            assert.strictEqual(texts.includes(`${i}.${n}a`), texts.includes(`${i}.${n}b`), `${i}.${n}`)
          }
          assert.include(texts, `${i}.2a`)
          assert.include(texts, `${i}.end`)
        }
      })
    )
  )

  it.effect("X-STORE-02 closing waits for the lines in flight", () =>
    Effect.gen(function* () {
      const file = yield* Scratch.file()
      yield* using({ path: file }, (transcript) =>
        Effect.forEach([1, 2, 3], (n) =>
          Effect.forkDetach(transcript.append([user(`m${n}`)]), { startImmediately: true })
        )
      )
      assert.deepStrictEqual(yield* using({ path: file }, Scratch.contents), ["m1", "m2", "m3"])
    })
  )

  it.effect("X-STORE-02 after closing an append fails and says so", () =>
    Effect.gen(function* () {
      const file = yield* Scratch.file()
      const transcript = yield* using({ path: file }, Effect.succeed)
      assert.include((yield* Effect.flip(transcript.append([user("late")]))).message, "it was closed")
    })
  )

  it.effect("J16 X-STORE-06 a file removed, replaced or written by somebody else stops the pen for good", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [string, (file: string) => void, RegExp]> = [
        ["removed", (file) => fs.rmSync(file), /the file was removed while it was open; nothing was written/],
        [
          "replaced",
          (file) => (fs.renameSync(file, `${file}.old`), fs.writeFileSync(file, "other\n")),
          /the file was replaced by another one while it was open/
        ],
        ["grown", (file) => fs.appendFileSync(file, "{}\n"), /something else wrote to it; nothing was written/],
        ["cut", (file) => fs.truncateSync(file, 3), /the file has 3 bytes where this process left \d+/]
      ]
      for (const [name, spoil, expected] of cases) {
        const file = yield* Scratch.file(`${name}.jsonl`)
        yield* using({ path: file }, (transcript) =>
          Effect.gen(function* () {
            yield* transcript.append([user("one")])
            spoil(file)
            const first = yield* Effect.flip(transcript.append([user("two")]))
            assert.strictEqual(first.reason._tag, "WriteFailed")
            assert.match(first.message, expected)
            assert.strictEqual((yield* Effect.flip(transcript.append([user("three")]))).message, first.message)
          })
        )
        if (name === "replaced") assert.strictEqual(fs.readFileSync(file, "utf8"), "other\n")
      }
    })
  )

  it.effect("X-STORE-03 a line that the replay would refuse is not written", () =>
    Effect.gen(function* () {
      const file = yield* Scratch.file()
      yield* using({ path: file }, (transcript) =>
        Effect.gen(function* () {
          const [id] = yield* transcript.append([user("one")])
          const before = fs.readFileSync(file, "utf8")
          const refused = [
            { type: "custom", name: "message", payload: {} },
            { type: "custom", name: " ", payload: {} },
            { type: "tool-settled", payload: { opId: "nobody", outcome: "completed" } },
            { type: "elision", payload: { items: [] } },
            { type: "elision", payload: { items: [{ id: "nobody", stub: "" }] } },
            { type: "compaction", payload: { summary: "s", replacesThroughId: "nobody", fallback: false } }
          ] as const
          for (const draft of refused) {
            assert.include((yield* Effect.flip(transcript.append([user("x"), draft]))).message, "nothing was written")
          }
          assert.strictEqual(fs.readFileSync(file, "utf8"), before)
          yield* transcript.append([
            { type: "compaction", payload: { summary: "short", replacesThroughId: id ?? "", fallback: false } }
          ])
          assert.deepStrictEqual(yield* Scratch.contents(transcript), ["short"])
        })
      )
    })
  )

  it.effect("O-ID-01 an operation is settled once, under the id of its dispatch line", () =>
    Effect.gen(function* () {
      const file = yield* Scratch.file()
      const settle = (opId: string) => [{ type: "tool-settled", payload: { opId, outcome: "completed" } } as const]
      yield* using({ path: file }, (transcript) =>
        Effect.gen(function* () {
          const [opId = ""] = yield* transcript.append([
            { type: "tool-dispatched", payload: { callId: "c", tool: "t", arguments: "{}" } }
          ])
          assert.deepStrictEqual(
            (yield* transcript.replay).pending.map((operation) => operation.opId),
            [opId]
          )
          yield* transcript.append(settle(opId))
          assert.include((yield* Effect.flip(transcript.append(settle(opId)))).message, "which is no open operation")
          assert.deepStrictEqual((yield* transcript.replay).pending, [])
        })
      )
    })
  )

  it.effect("J9 what could not be read back is not written", () =>
    Effect.gen(function* () {
      const file = yield* Scratch.file()
      yield* using({ path: file, maxLineBytes: 500 }, (transcript) =>
        Effect.gen(function* () {
          const error = yield* Effect.flip(transcript.append([user("💥".repeat(200))]))
          assert.match(error.message, /a message line of \d+ bytes is over the bound of 500 \(maxLineBytes\)/)
          yield* transcript.append([user("fits")])
          assert.deepStrictEqual(yield* Scratch.contents(transcript), ["fits"])
        })
      )
    })
  )
})
