import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as fs from "node:fs"
import * as Conversation from "@settle/core/model/Conversation"
import * as Replay from "@settle/core/model/Replay"
import * as Doctor from "../src/Doctor.ts"
import * as Scratch from "./Scratch.ts"

const { asks, dispatched, header, lines, message, settled } = Scratch
const examine = (...given: ReadonlyArray<string>) => Doctor.examine(Replay.fromLines(given))

const threeKinds = [
  header,
  message("u", "user", "go"),
  asks("a", "c1", "c2", "c3"),
  dispatched("o1", "c1"),
  message("t1", "tool", "done", { toolCallId: "c1", isError: true }),
  dispatched("o2", "c2", { idempotency: "destructive" })
]

describe("Doctor", () => {
  it("L-TOOL-05 X-STORE-05 tells the three kinds of open call apart", () => {
    const report = examine(...threeKinds)
    assert.deepStrictEqual(
      report.calls.map((call) => [call._tag, call.callId]),
      [
        ["WasRunning", "c2"],
        ["NeverRan", "c3"],
        ["SettleLost", "c1"]
      ]
    )
    assert.deepStrictEqual(Doctor.describe(report), [
      "write (call c2) was running when the process ended, since 2026-01-02T03:04:05.678Z: whether it took effect is unknown (destructive). A repair records that and runs nothing.",
      "write (call c3) never ran: it was not handed over. A repair answers it so; resuming with it named runs it.",
      "write (call c1) came back (failed) and only its settle line was lost. A repair writes that line."
    ])
    assert.isFalse(Doctor.isSound(report))
  })

  it.effect(
    "X-STORE-05 a repair appends, changes no byte before, claims nothing it cannot know, and is done once",
    () =>
      Effect.gen(function* () {
        const file = yield* Scratch.file()
        const before = lines(...threeKinds)
        fs.writeFileSync(file, before)
        yield* Scratch.using({ path: file }, (transcript) =>
          Effect.gen(function* () {
            assert.isAbove(Doctor.examine(yield* transcript.replay).repair.length, 0)
            assert.strictEqual(fs.readFileSync(file, "utf8"), before, "looking writes nothing")
            yield* Doctor.repair(transcript)
            const after = yield* transcript.replay
            assert.isTrue(fs.readFileSync(file, "utf8").startsWith(before))
            assert.deepStrictEqual(
              after.settled.map((operation) => [operation.callId, operation.outcome]),
              [
                ["c2", "outcome-unknown"],
                ["c1", "failed"]
              ]
            )
            const [, , , running, never] = after.entries
            assert.deepInclude(running, { mark: "outcome-unknown" })
            assert.include(running?.message.content ?? "", "whether it took effect is unknown")
            assert.notMatch(running?.message.content ?? "", /fail/i)
            assert.deepInclude(never, { mark: "abandoned" })
            assert.include(never?.message.content ?? "", "it did not run")
            assert.isTrue(Conversation.isWellFormed(Replay.messages(after)))
            assert.isTrue(Doctor.isSound(Doctor.examine(after)))
            assert.deepStrictEqual((yield* Doctor.repair(transcript)).repair, [])
          })
        )
      })
  )

  it("X-STORE-05 a sound transcript has nothing to repair", () => {
    const report = examine(header, message("u", "user", "hi"), message("a", "assistant", "hello"))
    assert.isTrue(Doctor.isSound(report))
    assert.deepStrictEqual(Doctor.describe(report), [])
    assert.deepStrictEqual(report.repair, [])
  })

  it("X-STORE-05 an outcome that the tool message calls unknown stays unknown", () => {
    const report = examine(
      header,
      asks("a", "c"),
      dispatched("o", "c"),
      message("t", "tool", "lost", { toolCallId: "c", outcomeUnknown: true })
    )
    assert.deepStrictEqual(report.repair, [
      { type: "tool-settled", payload: { opId: "o", outcome: "outcome-unknown", reason: "process-ended" } }
    ])
  })

  it("X-STORE-05 a call compacted away keeps its kind, and gets no orphan answer", () => {
    const answered = [
      header,
      asks("a", "c"),
      dispatched("o", "c"),
      message("t", "tool", "done", { toolCallId: "c" }),
      message("e", "assistant", "ok")
    ]
    const compaction = Scratch.record("compaction", "k", { summary: "s", replacesThroughId: "e", fallback: false })
    const lost = examine(...answered, compaction)
    assert.deepStrictEqual(
      lost.calls.map((call) => call._tag),
      ["SettleLost"]
    )
    const running = examine(header, message("u", "user", "x"), dispatched("o", "c"))
    assert.deepStrictEqual(running.repair, [
      { type: "tool-settled", payload: { opId: "o", outcome: "outcome-unknown", reason: "process-ended" } }
    ])
  })

  it("J4 X-STORE-05 bad lines and broken pairs are named with their way out and left alone", () => {
    const report = examine(header, asks("a", "c"), message("u", "user", "went on"), "{}")
    assert.deepStrictEqual(Doctor.describe(report), [
      "line 4 was skipped or read in part: version null is not known to this reader",
      "message 0 (line id a) asks for call c, and the conversation went on without an answer: fork before it"
    ])
    assert.deepStrictEqual(report.repair, [])
    const orphan = examine(header, message("t", "tool", "x", { toolCallId: "nobody" }))
    assert.match(Doctor.describe(orphan)[0] ?? "", /answers call nobody, which nothing before it asked for/)
  })

  it.effect.prop(
    "L-TOOL-05 X-STORE-05 wherever a batch is cut, a repair leaves a conversation that a provider takes",
    {
      calls: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 4 })),
      cut: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 }))
    },
    ({ calls, cut }) =>
      Effect.gen(function* () {
        const ids = Array.from({ length: calls }, (_, i) => `c${i}`)
        const story = [
          header,
          asks("a", ...ids),
          ...ids.flatMap((id) => [
            dispatched(`o-${id}`, id),
            message(`t-${id}`, "tool", "x", { toolCallId: id }),
            settled(`s-${id}`, `o-${id}`)
          ])
        ]
        const file = yield* Scratch.file()
        fs.writeFileSync(file, lines(...story.slice(0, 1 + (cut % story.length))))
        const options = { path: file, durability: "flush" } as const
        yield* Scratch.using(options, Doctor.repair)
        const replay = yield* Scratch.using(options, (transcript) => transcript.replay)
        assert.isTrue(Doctor.isSound(Doctor.examine(replay)))
        assert.isTrue(Conversation.isWellFormed(Replay.messages(replay)))
        assert.isTrue(replay.settled.every((operation) => operation.outcome !== "failed"))
      }),
    { arbitrary: { runs: 30 } }
  )
})
