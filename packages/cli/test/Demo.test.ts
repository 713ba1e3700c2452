import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { type Backend, Chunk, type Request } from "@settle/core/port/Backend"
import * as Message from "@settle/core/model/Message"
import * as PerLine from "../src/demo/PerLine.ts"
import { jsonLines, place, settle } from "./Process.ts"

describe("settle demo", () => {
  it.live(
    "L-TOOL-05 a real run is killed in the middle of a call, and the transcript tells finished, running and never started apart",
    () =>
      Effect.gen(function* () {
        const where = yield* place
        const ran = yield* settle(where, ["demo", "--dir", "box"])
        assert.strictEqual(ran.code, 0, ran.stderr)
        assert.include(ran.stdout, "a built-in demonstration model")
        assert.match(ran.stdout, /SIGKILL to process \d+, in the middle of \w+_write_file\./)
        const report = ran.stdout.slice(ran.stdout.indexOf("3. What"), ran.stdout.indexOf("4. The"))
        assert.match(
          report,
          /\n {3}✔ \w+\(path: "notes\.txt"\): completed\n {3}\? \w+_write_file\(.*\): was running, outcome unknown \(destructive: .*\)\n {3}– \w+\(path: "todo\.txt"\): never ran\n {3}On disk, report\.txt has \d of 9 words/
        )
        assert.include(ran.stdout, "report.txt says: four checks ran")
        assert.match(ran.stdout, /\nThe transcript: \S+\/box\/demo\.jsonl\nWhat to type next:\n/)
        const outcomes = jsonLines(where.read("box/demo.jsonl")).flatMap((line) =>
          line["type"] === "tool-settled" ? [(line["payload"] as { outcome: string }).outcome] : []
        )
        assert.deepStrictEqual(outcomes, ["completed", "outcome-unknown", "completed"])
        const again = yield* settle(where, ["demo", "--dir", "box"])
        assert.deepStrictEqual([again.code, again.stdout], [2, ""])
        assert.match(
          again.stderr,
          /^There is a demo in \S+\/box already\. Give --dir another folder, or leave it out\.\n$/
        )
      }).pipe(Effect.scoped)
  )

  it.effect(
    "asks a one-call model once a line and makes one turn of its calls; everything else goes through as it is",
    () =>
      Effect.gen(function* () {
        const asked: Array<string> = []
        const backend: Backend = {
          model: "m",
          maxTokens: undefined,
          canConstrain: true,
          stream: ({ conversation }) => {
            const text = conversation.messages.at(-1)?.content ?? ""
            asked.push(text)
            const toolCalls = text.startsWith("do") ? [{ id: text, name: "t", arguments: "{}" }] : []
            const finish = toolCalls.length > 0 ? ("tool-calls" as const) : ("stop" as const)
            const usage = { promptTokens: 2, completionTokens: 1 }
            return Stream.succeed(
              Chunk.Finished({
                reply: {
                  text: toolCalls.length > 0 ? "" : "no",
                  toolCalls,
                  partialCalls: [],
                  finish,
                  usage,
                  warnings: []
                }
              })
            )
          }
        }
        const request = (...messages: ReadonlyArray<Message.Message>): Request => ({
          conversation: { messages, revision: 0 },
          tools: []
        })
        const last = (chunks: ReadonlyArray<Chunk>) => {
          const chunk = chunks.at(-1)
          return chunk?._tag === "Finished" ? chunk.reply : assert.fail("no end")
        }
        const perLine = PerLine.make(backend)
        const several = last(yield* Stream.runCollect(perLine.stream(request(Message.user("do a\n\nwhat\ndo b")))))
        assert.deepStrictEqual(asked, ["do a", "what", "do b"])
        assert.deepStrictEqual(
          several.toolCalls.map((call) => call.id),
          ["do a", "do b"]
        )
        assert.deepInclude(several, { text: "no", finish: "tool-calls" })
        assert.deepInclude(several.usage, { promptTokens: 6, completionTokens: 3, totalTokens: 9 })
        const one = last(
          yield* Stream.runCollect(perLine.stream(request(Message.user("a\nb"), Message.tool("x", "r\ns"))))
        )
        assert.strictEqual(one.text, "no")
        assert.strictEqual(asked.at(-1), "r\ns")
      })
  )
})
