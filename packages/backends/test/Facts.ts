/** The facts of a recorded body, compared with what was read from it, whole and in pieces. */
import type * as Backend from "@settle/core/port/Backend"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { createHash } from "node:crypto"
import * as Reading from "./Reading.ts"
import * as Recorded from "./Recorded.ts"

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

export const checkUsage = ({ expected }: Recorded.Recorded, { usage }: Backend.Reply): void => {
  if (expected.usage === undefined || expected.usage === null) return assert.isUndefined(usage)
  const { cacheWriteTokens: written, ...rest } = usage ?? {}
  // not every index entry names what was written to a cache
  const named = expected.usage.cache_write_tokens === undefined || written === undefined ? rest : usage
  assert.deepStrictEqual(usageIn(named), usageOf(expected.usage))
}

const checkReply = (file: Recorded.Recorded, read: Reading.Read, { usage = checkUsage }: Protocol) => {
  const reply = Reading.reply(read)
  const { expected } = file
  const refused = (expected.refusal_len_utf16 ?? 0) > 0
  assert.strictEqual(sha(reply.text), refused ? expected.refusal_sha256 : expected.text_sha256, "text")
  assert.strictEqual(Reading.streamed(read), reply.text, "the streamed text is the reply's")
  assert.strictEqual(sha(reply.reasoning ?? ""), expected.reasoning_sha256, "reasoning")
  assert.strictEqual(reply.finishReason, expected.finish_reason ?? undefined)
  const calls = expected.tool_calls ?? []
  assert.deepStrictEqual(
    reply.toolCalls.map((call) => [call.name, JSON.parse(call.arguments)]),
    // the input of a call of free text is that text
    calls.map((call) => [call.name, call.arguments ?? call.arguments_raw])
  )
  for (const [n, { arguments: parsed, arguments_raw: raw = "", id }] of calls.entries()) {
    if (id === null) assert.match(reply.toolCalls[n]?.id ?? "", /^call_fresh_\d+$/)
    else assert.strictEqual(reply.toolCalls[n]?.id, id)
    if (raw !== "" && parsed !== undefined) assert.strictEqual(reply.toolCalls[n]?.arguments, raw)
  }
  assert.deepStrictEqual(reply.partialCalls, [])
  usage(file, reply)
  assert.strictEqual(
    reply.modelUsed,
    expected.models?.findLast((name) => name !== "")
  )
}

const checkOutcome = (file: Recorded.Recorded, read: Reading.Read, protocol: Protocol) => {
  switch (file.outcome) {
    case "complete":
    case "incomplete":
      return checkReply(file, read, protocol)
    case "no-finish-reason": {
      checkReply(file, read, protocol)
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

const boundaries = (body: Buffer): ReadonlyArray<number> =>
  [...body.toString("latin1").matchAll(/\r?\n\r?\n/g)]
    .map((match) => match.index + match[0].length)
    .filter((at) => at < body.length)

/** A plain success: a reply nobody has to wonder about. */
const isPlain = (read: Reading.Read): boolean =>
  Result.isSuccess(read.result) && read.result.success.warnings.length === 0

export interface Protocol {
  readonly protocol: string
  /** So many bodies there are at least. */
  readonly atLeast: number
  readonly read: Reading.Reader
  /** What ends a reply: what follows it changes nothing. */
  readonly ended: RegExp
  readonly usage?: (file: Recorded.Recorded, reply: Backend.Reply) => void
}

const cutBetweenEvents = (file: Recorded.Recorded, { ended, read }: Protocol) => {
  const all = boundaries(file.body)
  const step = Math.max(1, Math.floor(all.length / 60))
  for (const at of all.filter((_, n) => n % step === 0 || n > all.length - 8)) {
    const before = file.body.subarray(0, at)
    const rest = file.body.subarray(at).toString("utf8").trim()
    if (rest === "" || ended.test(before.toString("utf8"))) continue
    assert.isFalse(isPlain(read([before])), `cut at ${at}`)
    const broken = read([before], { ending: { _tag: "Broken", detail: "reset" } })
    assert.isTrue(Result.isFailure(broken.result), `broken at ${at}`)
  }
}

/** Registers the facts of every recorded body of a protocol; `more`: what else to prove of each. */
export const suite = (given: Protocol, more: (file: Recorded.Recorded) => void = () => undefined): void => {
  describe.skipIf(Recorded.folder === undefined)("recorded streams", () => {
    const files = Recorded.files(given.protocol)

    it("X-WIRE-04 there are recorded streams to read", () => {
      assert.isAtLeast(files.length, given.atLeast)
    })

    for (const file of files) {
      const sizes = file.body.length < 8_000 ? [1, 2, 3, 7, 64, 1000] : [61, 997, 16_384]
      it(`X-WIRE-04 ${file.file} decodes to its facts however it is cut`, () => {
        checkOutcome(file, given.read([file.body]), given)
        for (const size of sizes) checkOutcome(file, given.read(inPieces(file.body, size)), given)
      })
      it(`X-WIRE-01 ${file.file} cut between events is never a plain success`, () => cutBetweenEvents(file, given))
      more(file)
    }
  })

  describe.runIf(Recorded.folder === undefined)("recorded streams", () => {
    it.skip(`X-WIRE-04 ${Recorded.missing}`, () => undefined)
  })
}
