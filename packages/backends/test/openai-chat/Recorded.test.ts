import type * as Backend from "@settle/core/port/Backend"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { createHash } from "node:crypto"
import * as Recorded from "../Recorded.ts"
import * as Reading from "./Reading.ts"

const sha = (text: string) => createHash("sha256").update(text, "utf8").digest("hex")

const inPieces = (body: Uint8Array, size: number): ReadonlyArray<Uint8Array> =>
  Array.from({ length: Math.ceil(body.length / size) }, (_, n) => body.subarray(n * size, (n + 1) * size))

const usageOf = (usage: NonNullable<Recorded.Recorded["expected"]["usage"]>) => {
  const ticks = usage.cost_in_usd_ticks
  const cost = usage.cost ?? (typeof ticks === "number" ? ticks * 1e-10 : null)
  return [
    usage.input_tokens ?? null,
    usage.output_tokens ?? null,
    usage.total_tokens ?? null,
    usage.cached_input_tokens ?? null,
    usage.cache_write_tokens ?? null,
    usage.reasoning_tokens ?? null,
    cost
  ]
}

const usageIn = (usage: Backend.Reply["usage"]) => [
  usage?.promptTokens ?? null,
  usage?.completionTokens ?? null,
  usage?.totalTokens ?? null,
  usage?.cachedPromptTokens ?? null,
  usage?.cacheWriteTokens ?? null,
  usage?.reasoningTokens ?? null,
  usage?.cost ?? null
]

const checkReply = (file: Recorded.Recorded, read: Reading.Read) => {
  const reply = Reading.reply(read)
  const { expected } = file
  const refused = (expected.refusal_len_utf16 ?? 0) > 0
  assert.strictEqual(sha(reply.text), refused ? expected.refusal_sha256 : expected.text_sha256, "text")
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
  assert.strictEqual(Reading.streamed(read), reply.text, "the streamed text is the reply's")
  if (expected.usage === undefined || expected.usage === null) assert.isUndefined(reply.usage)
  else assert.deepStrictEqual(usageIn(reply.usage), usageOf(expected.usage))
  const model = expected.models?.findLast((name) => name !== "")
  assert.strictEqual(reply.modelUsed, model)
}

const checkOutcome = (file: Recorded.Recorded, read: Reading.Read) => {
  switch (file.outcome) {
    case "complete":
      return checkReply(file, read)
    case "no-finish-reason": {
      checkReply(file, read)
      assert.include(Reading.reply(read).warnings, "the stream ended with [DONE] and no finish reason")
      return
    }
    default: {
      const { reason } = Reading.failure(read)
      assert.include(["Refused", "BadResponse"], reason._tag)
      assert.strictEqual(sha(Reading.streamed(read)), file.expected.text_sha256, "partial text")
    }
  }
}

const small = 8_000

/** A plain success: a reply nobody has to wonder about. */
const isPlain = (read: Reading.Read): boolean =>
  Result.isSuccess(read.result) && read.result.success.warnings.length === 0

const boundaries = (body: Buffer): ReadonlyArray<number> => {
  const text = body.toString("latin1")
  return [...text.matchAll(/\r?\n\r?\n/g)]
    .map((match) => match.index + match[0].length)
    .filter((at) => at < body.length)
}

describe.skipIf(Recorded.folder === undefined)("recorded streams", () => {
  const files = Recorded.files("openai-chat")

  it("X-WIRE-04 there are recorded streams to read", () => {
    assert.isAbove(files.length, 30)
  })

  for (const file of files) {
    const sizes = file.body.length <= small ? [1, 2, 3, 7, 64, 1000] : [61, 997, 16_384]
    it(`X-WIRE-04 ${file.file} decodes to its facts however it is cut`, () => {
      checkOutcome(file, Reading.read([file.body]))
      for (const size of sizes) checkOutcome(file, Reading.read(inPieces(file.body, size)))
    })

    it(`X-WIRE-01 ${file.file} cut between events is never a plain success`, () => {
      const all = boundaries(file.body)
      const step = Math.max(1, Math.floor(all.length / 60))
      const cuts = all.filter((_, n) => n % step === 0 || n > all.length - 8)
      for (const at of cuts) {
        const rest = file.body.subarray(at).toString("utf8").trim()
        // what follows a [DONE] or was only blank changes nothing
        if (rest === "" || file.body.subarray(0, at).includes("[DONE]")) continue
        const read = Reading.read([file.body.subarray(0, at)])
        assert.isFalse(isPlain(read), `cut at ${at}`)
        const broken = Reading.read([file.body.subarray(0, at)], { ending: { _tag: "Broken", detail: "reset" } })
        assert.isTrue(Result.isFailure(broken.result), `broken at ${at}`)
      }
    })
  }
})

describe.runIf(Recorded.folder === undefined)("recorded streams", () => {
  it.skip(`X-WIRE-04 ${Recorded.missing}`, () => undefined)
})
