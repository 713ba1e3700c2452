import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { createHash } from "node:crypto"
import * as Recorded from "../Recorded.ts"
import * as Reading from "./Reading.ts"

const sha = (text: string) => createHash("sha256").update(text, "utf8").digest("hex")

const inPieces = (body: Uint8Array, size: number): ReadonlyArray<Uint8Array> =>
  Array.from({ length: Math.ceil(body.length / size) }, (_, n) => body.subarray(n * size, (n + 1) * size))

const checkReply = (file: Recorded.Recorded, read: Reading.Read) => {
  const reply = Reading.reply(read)
  const { expected } = file
  assert.strictEqual(sha(reply.text), expected.text_sha256, "text")
  assert.strictEqual(Reading.streamed(read), reply.text, "the streamed text is the reply's")
  assert.strictEqual(sha(reply.reasoning ?? ""), expected.reasoning_sha256, "reasoning")
  assert.strictEqual(reply.finishReason, expected.finish_reason ?? undefined)
  assert.deepStrictEqual(
    reply.toolCalls.map((call) => [call.id, call.name, JSON.parse(call.arguments)]),
    (expected.tool_calls ?? []).map((call) => [call.id, call.name, call.arguments])
  )
  for (const [n, call] of (expected.tool_calls ?? []).entries()) {
    if (call.arguments_raw !== "") assert.strictEqual(reply.toolCalls[n]?.arguments, call.arguments_raw)
  }
  assert.deepStrictEqual(reply.partialCalls, [])
  assert.strictEqual(reply.modelUsed, expected.models?.at(-1))
  const { usage } = reply
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

const checkOutcome = (file: Recorded.Recorded, read: Reading.Read) => {
  if (file.outcome === "complete") return checkReply(file, read)
  const { reason } = Reading.failure(read)
  assert.strictEqual(reason._tag, "Refused")
  assert.strictEqual(sha(Reading.streamed(read)), file.expected.text_sha256, "partial text")
}

const boundaries = (body: Buffer): ReadonlyArray<number> =>
  [...body.toString("latin1").matchAll(/\r?\n\r?\n/g)]
    .map((match) => match.index + match[0].length)
    .filter((at) => at < body.length)

/** Blocks that a client has to send back as they came, by the type they have in the stream. */
const memorable = (body: string): ReadonlyArray<string> =>
  [...body.matchAll(/"content_block":\{[^\n]*?"type":"([a-z_]+)"/g)].map(([, type]) => type ?? "")

describe.skipIf(Recorded.folder === undefined)("recorded streams", () => {
  const files = Recorded.files("anthropic-messages")

  it("X-WIRE-04 there are recorded streams to read", () => {
    assert.isAtLeast(files.length, 10)
  })

  for (const file of files) {
    const sizes = file.body.length < 8_000 ? [1, 2, 3, 7, 64, 1000] : [61, 997, 16_384]
    it(`X-WIRE-04 ${file.file} decodes to its facts however it is cut`, () => {
      checkOutcome(file, Reading.read([file.body]))
      for (const size of sizes) checkOutcome(file, Reading.read(inPieces(file.body, size)))
    })

    it(`X-WIRE-01 ${file.file} cut between events is never a plain success`, () => {
      for (const at of boundaries(file.body)) {
        const before = file.body.subarray(0, at)
        if (before.includes("message_stop")) continue
        const read = Reading.read([before])
        assert.isFalse(Result.isSuccess(read.result) && read.result.success.warnings.length === 0, `cut at ${at}`)
        const broken = Reading.read([before], { ending: { _tag: "Broken", detail: "reset" } })
        assert.isTrue(Result.isFailure(broken.result), `broken at ${at}`)
      }
    })

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
})

describe.runIf(Recorded.folder === undefined)("recorded streams", () => {
  it.skip(`X-WIRE-04 ${Recorded.missing}`, () => undefined)
})
