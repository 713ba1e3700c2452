import { assert, it } from "@effect/vitest"
import * as Facts from "../Facts.ts"
import * as Reading from "./Reading.ts"

/** Blocks that a client has to send back as they came, by the type they have in the stream. */
const memorable = (body: string): ReadonlyArray<string> =>
  [...body.matchAll(/"content_block":\{[^\n]*?"type":"([a-z_]+)"/g)].map(([, type]) => type ?? "")

Facts.suite(
  {
    protocol: "anthropic-messages",
    atLeast: 10,
    read: Reading.read,
    ended: /message_stop/,
    usage: ({ expected }, { usage }) => {
      // the facts are as sent, where the input leaves out what the cache had part in
      const input = (usage?.promptTokens ?? 0) - (usage?.cachedPromptTokens ?? 0) - (usage?.cacheWriteTokens ?? 0)
      assert.deepStrictEqual(
        [input, usage?.completionTokens, usage?.cachedPromptTokens ?? null, usage?.cacheWriteTokens ?? null],
        [
          expected.usage?.input_tokens,
          expected.usage?.output_tokens,
          expected.usage?.cached_input_tokens ?? null,
          expected.usage?.cache_write_tokens ?? null
        ]
      )
    }
  },
  (file) => {
    it(`F9 ${file.file} keeps every block that must go back, as it came`, () => {
      if (file.outcome !== "complete") return
      const body = file.body.toString("utf8")
      const reply = Reading.reply(Reading.read([file.body]))
      const types = memorable(body)
      const plain = types.every((type) => type === "text" || type === "tool_use") && !body.includes("citations_delta")
      assert.strictEqual(reply.replay === undefined, plain)
      if (reply.replay === undefined) return
      const kept = JSON.stringify(reply.replay.data)
      for (const [, secret] of body.matchAll(/"(?:encrypted_content|encrypted_index|data|signature)":"([^"]{40,})"/g)) {
        assert.include(kept, secret ?? "unmatched")
      }
    })
  }
)
