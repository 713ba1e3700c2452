import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Schema } from "effect"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Artifacts from "@settle/core/port/Artifacts"
import * as FsArtifacts from "../src/FsArtifacts.ts"
import * as Location from "../src/Location.ts"
import * as Scratch from "./Scratch.ts"

const fresh = Effect.map(Scratch.folder, (folder) => path.join(folder, "talk.artifacts"))

describe("FsArtifacts", () => {
  it.effect("L-ART-03 the whole text lies beside the transcript, with its digest, bytes and characters", () =>
    Effect.gen(function* () {
      const folder = yield* fresh
      const artifacts = FsArtifacts.make(folder)
      assert.isFalse(fs.existsSync(folder), "the folder is made by the first write")
      const text = "é💥\r\n\u0000 end"
      const stored = yield* artifacts.store("7f-op", text)
      const bytes = fs.readFileSync(path.join(folder, stored.file))
      assert.strictEqual(bytes.toString(), text)
      assert.deepStrictEqual(stored, {
        file: "7f-op.txt",
        digest: createHash("sha256").update(bytes).digest("hex"),
        bytes: bytes.length,
        chars: [...text].length
      })
      assert.deepStrictEqual(fs.readdirSync(folder), ["7f-op.txt"])
    })
  )

  it.effect("L-ART-03 a resume does not need the folder", () =>
    Effect.gen(function* () {
      const file = yield* Scratch.file()
      const artifact = { file: "o.txt", digest: "d", bytes: 1, chars: 1, elidedChars: 1 }
      fs.writeFileSync(
        file,
        Scratch.lines(
          Scratch.header,
          Scratch.asks("a", "c"),
          Scratch.message("t", "tool", "cut", { toolCallId: "c", artifact })
        )
      )
      const replay = yield* Scratch.using({ path: file }, (transcript) => transcript.replay)
      assert.strictEqual(replay.entries.length, 2)
      assert.deepStrictEqual(replay.faults, [])
    })
  )

  it.effect("L-ART-03 nothing is overwritten: equal safe names, and one operation twice", () =>
    Effect.gen(function* () {
      const folder = yield* fresh
      const artifacts = FsArtifacts.make(folder)
      const names = yield* Effect.forEach(
        [
          ["a/b", "one"],
          ["a_b", "two"],
          ["a/b", "one"],
          ["a/b", "three"]
        ] as const,
        ([id, text]) => Effect.map(artifacts.store(id, text), (stored) => stored.file),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(new Set(names).size, 3)
      assert.deepStrictEqual(fs.readdirSync(folder).sort(), ["a_b.2.txt", "a_b.3.txt", "a_b.txt"])
      const texts = fs.readdirSync(folder).map((name) => fs.readFileSync(path.join(folder, name), "utf8"))
      assert.deepStrictEqual(texts.sort(), ["one", "three", "two"])
    })
  )

  it.effect.prop(
    "L-ART-03 X-SAFE-02 no id leaves the folder or fails",
    {
      id: Schema.String,
      hostile: Schema.Literals(["../../x", "..", ".", "", "/etc/passwd", "a\u0000b", "C:\\x", "💥", "__proto__"])
    },
    ({ hostile, id }) =>
      Effect.gen(function* () {
        const folder = yield* fresh
        const artifacts = FsArtifacts.make(folder)
        for (const name of [id, hostile, hostile + id.repeat(300)]) {
          const stored = yield* artifacts.store(name, name)
          assert.match(stored.file, /^[A-Za-z0-9_-][A-Za-z0-9_.-]*\.txt$/)
          assert.strictEqual(fs.readFileSync(path.join(folder, stored.file), "utf8"), name.toWellFormed())
        }
        assert.deepStrictEqual(fs.readdirSync(path.dirname(folder)), ["talk.artifacts"])
      }),
    { arbitrary: { runs: 20 } }
  )

  it.effect("L-ART-04 a store that cannot write fails with the cause and leaves no piece", () =>
    Effect.gen(function* () {
      const folder = yield* fresh
      fs.writeFileSync(folder, "a file is in the way")
      const error = yield* Effect.flip(FsArtifacts.make(folder).store("op", "text"))
      assert.strictEqual(
        error.message,
        `the full result could not be stored in ${folder}: something else has that name (EEXIST)`
      )
      assert.strictEqual(fs.readFileSync(folder, "utf8"), "a file is in the way")
    })
  )

  it.effect("L-GEN-07 the layer provides the port", () =>
    Effect.gen(function* () {
      const folder = yield* fresh
      const context = yield* Layer.build(FsArtifacts.layer(folder))
      const stored = yield* Context.get(context, Artifacts.Artifacts)?.store("op", "x") ?? Effect.die("absent")
      assert.strictEqual(stored.file, "op.txt")
    })
  )

  it("L-ART-01 the folder is named after the transcript", () => {
    assert.strictEqual(Location.artifactsOf("/a/b.jsonl"), "/a/b.artifacts")
    assert.strictEqual(Location.artifactsOf("/a/b"), "/a/b.artifacts")
    assert.strictEqual(Location.artifactsOf("/a/b.c.jsonl"), "/a/b.c.artifacts")
  })
})
