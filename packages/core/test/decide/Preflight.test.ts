import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as Chain from "../../src/decide/Chain.ts"
import * as LengthVerdict from "../../src/decide/LengthVerdict.ts"
import * as Preflight from "../../src/decide/Preflight.ts"
import * as Target from "../../src/decide/Target.ts"

const parts = (messages: number, over: Partial<Preflight.Parts> = {}): Preflight.Parts => {
  const tools = over.tools ?? 0
  const context = over.context ?? 0
  return { messages, tools, context, request: over.request ?? messages + tools + context }
}
const plain = (contextWindow: number): Preflight.Window => ({ contextWindow, reserve: 0, margin: 0 })
const size = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))

describe("Preflight", () => {
  it("L-PRE-01 fits to the last token and refuses the next one", () => {
    const window = { contextWindow: 1000, reserve: 100, margin: 50 }
    const request = { tools: 40, context: 10 }
    assert.deepStrictEqual(Preflight.check(parts(800, request), window), Preflight.Preflight.Fits({ needed: 900 }))
    assert.strictEqual(Preflight.check(parts(801, request), window)._tag, "Refuses")
  })

  it("L-PRE-04 names every term, a context of zero too, and they add up", () => {
    const refused = Preflight.check(parts(8000, { tools: 200 }), { contextWindow: 8192, reserve: 1024, margin: 512 })
    assert.deepStrictEqual(
      refused,
      Preflight.Preflight.Refuses({
        needed: 8712,
        window: 8192,
        error:
          "the request does not fit the window: it needs ~9736 tokens (messages 8000 + tools 200 + context 0 + margin 512 + reserve 1024) and the window is 8192"
      })
    )
  })

  it("L-PRE-04 names the framing of an exact counter, and only then", () => {
    const refused = Preflight.check(parts(900, { tools: 50, context: 30, request: 1000 }), plain(999))
    assert.include(refused._tag === "Refuses" ? refused.error : "", "context 30 + framing 20 + margin 0 + reserve 0")
  })

  it("L-PRE-04 adds up for a calibrated counter, whose messages hold the tools already", () => {
    const terms = Preflight.terms({ messages: 1000, tools: 300, context: 100, request: 1000 })
    assert.deepStrictEqual(terms, { messages: 600, tools: 300, context: 100, request: 1000, framing: 0 })
  })

  it.prop(
    "L-PRE-04 the terms add up to the request, whatever the counter",
    { messages: size(5000), tools: size(500), context: size(500), request: size(6000) },
    (given) => {
      const terms = Preflight.terms(given)
      assert.strictEqual(terms.messages + terms.tools + terms.context + terms.framing, given.request)
    }
  )

  it("L-PRE-10 never refuses a backend that no profile describes", () => {
    assert.strictEqual(Preflight.check(parts(1_000_000), undefined)._tag, "Fits")
  })

  it("L-PRE-11 L-BUDG-02 takes the reserve from the profile, the backend, or 1024", () => {
    assert.deepStrictEqual(Preflight.window({ contextWindow: 9000, completionReserve: 7 }, 400), {
      contextWindow: 9000,
      reserve: 7,
      margin: 512
    })
    assert.strictEqual(Preflight.window({ contextWindow: 9000 }, 400).reserve, 400)
    assert.strictEqual(Preflight.window({ contextWindow: 9000 }, undefined).reserve, 1024)
    assert.deepStrictEqual(
      Preflight.window({ contextWindow: 9000, completionReserve: 0, inputSafetyMargin: 0 }, 400),
      plain(9000)
    )
  })
})

describe("Target", () => {
  const one = { name: "one" }
  const other = { name: "other" }

  it("L-PRE-08 is the largest conversation any refusing backend would take, tools and context aside", () => {
    const request = parts(9000, { tools: 300, context: 100 })
    const refusal = (contextWindow: number) => ({
      counter: one,
      parts: request,
      usable: Target.afterPreflight(request.request, { contextWindow, reserve: 1000, margin: 500 })
    })
    const best = Target.best([refusal(4096), refusal(8192), refusal(2048)])
    assert.deepStrictEqual(best, { counter: one, tokens: 8192 - 1500 - 400 })
    assert.isUndefined(Target.best([]))
    assert.isUndefined(Target.best([{ counter: one, parts: parts(0), usable: 0 }]), "nothing was counted")
  })

  it("L-CTX-10 compares different counters by their ratio and keeps the counter with its number", () => {
    const small = { counter: one, parts: parts(1000), usable: 900 }
    const big = { counter: other, parts: parts(4000), usable: 2000 }
    assert.deepStrictEqual(Target.best([big, small]), { counter: one, tokens: 900 })
    assert.deepStrictEqual(Target.best([{ ...big, usable: 3900 }, small]), { counter: other, tokens: 3900 })
  })

  it("L-CTX-10 believes the parts where a calibrated counter hides the tools in its messages", () => {
    const calibrated = { messages: 1000, tools: 300, context: 100, request: 1000 }
    assert.strictEqual(Target.best([{ counter: one, parts: calibrated, usable: 900 }])?.tokens, 500)
  })

  it("L-LEN-09 assumes a quarter too few, or what the provider's prompt says", () => {
    const window = { contextWindow: 1200, reserve: 100, margin: 20 }
    assert.strictEqual(Target.afterProvider(980, window, undefined), Math.floor(1100 / 1.25) - 20)
    assert.strictEqual(Target.afterProvider(980, window, 2000), 1100 / 2 - 20)
    assert.strictEqual(Target.afterProvider(980, window, 500), Math.floor(1100 / 1.25) - 20)
    assert.strictEqual(Target.afterProvider(1000, undefined, undefined), 800)
  })

  it.prop(
    "L-LEN-09 L-CTXEX-04 whatever refused, the target is strictly below the request that was sent",
    {
      request: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 300_000 })),
      contextWindow: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 300_000 })),
      reserve: size(9000),
      margin: size(2000),
      prompt: size(400_000),
      declared: Schema.Boolean
    },
    ({ contextWindow, declared, margin, prompt, request, reserve }) => {
      const window = { contextWindow, reserve, margin }
      assert.isBelow(Target.afterPreflight(request, window), request)
      const after = Target.afterProvider(request, declared ? window : undefined, prompt)
      assert.isBelow(after, request)
      assert.isAtLeast(after, 0)
    }
  )
})

describe("LengthVerdict", () => {
  const facts = (over: Partial<LengthVerdict.Facts>): LengthVerdict.Facts => ({
    window: plain(1000),
    request: 700,
    cap: 256,
    usage: undefined,
    outputBytes: 4000,
    hasReasoning: false,
    saysWindow: false,
    ...over
  })
  const tag = (over: Partial<LengthVerdict.Facts>) => LengthVerdict.judge(facts(over))._tag
  const evidence = (over: Partial<LengthVerdict.Facts>) => LengthVerdict.judge(facts(over)).evidence

  it("L-LEN-02 L-LEN-06 L-LEN-07 in a window of 1000, 900 counted is near it and 700 is not", () => {
    assert.strictEqual(tag({ request: 900 }), "NearWindow")
    assert.strictEqual(tag({ request: 700 }), "CompletionCap")
    assert.strictEqual(tag({ request: 800 }), "CompletionCap")
    assert.strictEqual(tag({ request: 801 }), "NearWindow")
    assert.strictEqual(tag({ window: { contextWindow: 1200, reserve: 100, margin: 0 }, request: 898 }), "NearWindow")
  })

  it("L-LEN-08 the provider's own numbers need no tolerance", () => {
    const usage = { promptTokens: 9950, completionTokens: 50 }
    assert.strictEqual(tag({ window: plain(10_000), request: 12, usage }), "NearWindow")
    assert.strictEqual(
      tag({ window: plain(10_000), request: 9900, cap: 49, usage: { ...usage, completionTokens: 49 } }),
      "CompletionCap"
    )
    assert.strictEqual(
      tag({ window: { contextWindow: 10_000, reserve: 100, margin: 0 }, usage: { ...usage, completionTokens: 1 } }),
      "NearWindow"
    )
    assert.strictEqual(tag({ window: plain(1000), request: 10, usage: { totalTokens: 1000 } }), "NearWindow")
  })

  it("L-LEN-10 L-LEN-12 says cut off at max_tokens only when the bill confirms it", () => {
    const confirmed = evidence({ usage: { promptTokens: 100, completionTokens: 256 } })
    assert.strictEqual(
      confirmed,
      "the answer was cut off at max_tokens: the provider billed 256 completion tokens and the cap is 256. Raise maxTokens of this backend"
    )
    const unverified = evidence({})
    assert.notInclude(unverified, "cut off at max_tokens")
    assert.include(unverified, "no usage that would verify this, and the output is 4000 bytes")
    assert.include(unverified, "maxTokens is 256")
  })

  it("L-LEN-11 a backend nothing describes reads as the cap and names both possibilities", () => {
    assert.strictEqual(tag({ window: undefined, request: 1_000_000, cap: undefined }), "CompletionCap")
    const text = evidence({ window: undefined, cap: undefined })
    assert.include(text, "maxTokens of this backend")
    assert.include(text, "No profile describes this backend: if its window was full instead, declare its contextWindow")
  })

  it("L-LEN-13 L-LEN-16 a completion billed below the cap did not stop at it", () => {
    assert.strictEqual(tag({ usage: { promptTokens: 100, completionTokens: 255 } }), "Unexplained")
    assert.strictEqual(tag({ usage: { promptTokens: 100, completionTokens: 256 } }), "CompletionCap")
    assert.strictEqual(tag({ usage: { promptTokens: 100, completionTokens: 300 } }), "CompletionCap")
  })

  it("L-LEN-14 fewer bytes than the cap has tokens cannot have filled it", () => {
    const live = { window: plain(131_072), request: 40_000, cap: 8192 }
    assert.strictEqual(tag({ ...live, outputBytes: 7484 }), "Unexplained")
    assert.strictEqual(tag({ ...live, outputBytes: 8191 }), "Unexplained")
    assert.strictEqual(tag({ ...live, outputBytes: 8192 }), "CompletionCap")
    assert.include(evidence({ ...live, outputBytes: 7484 }), "7484 bytes of output cannot hold the 8192 tokens")
    assert.notInclude(evidence({ ...live, outputBytes: 7484 }), "Raise")
  })

  it("L-LEN-15 bytes measure nothing beside reasoning", () => {
    assert.strictEqual(tag({ outputBytes: 10, hasReasoning: true }), "CompletionCap")
    assert.strictEqual(
      tag({ outputBytes: 10, hasReasoning: true, usage: { promptTokens: 10, completionTokens: 9 } }),
      "Unexplained"
    )
  })

  it("L-LEN-19 an undescribed backend can be unexplained too, and is told about its window", () => {
    assert.strictEqual(tag({ window: undefined, outputBytes: 10 }), "Unexplained")
    assert.include(evidence({ window: undefined, outputBytes: 10 }), "declare its contextWindow to find out")
  })

  it("F10 a stop reason that names the window is believed", () => {
    assert.strictEqual(tag({ saysWindow: true, request: 1 }), "NearWindow")
    assert.strictEqual(tag({ saysWindow: true, window: undefined }), "NearWindow")
  })
})

describe("Chain", () => {
  const decide = (ends: ReadonlyArray<Chain.LinkEnd>, hasCompactor = true, compacted = false) =>
    Chain.decide({ ends, hasCompactor, compacted })._tag

  it("L-PRE-08 L-LEN-04 compacts once when every backend refused, then stops", () => {
    assert.strictEqual(decide(["window", "window"]), "Compact")
    assert.strictEqual(decide(["window", "window"], true, true), "ContextExhausted")
  })

  it("L-PRE-09 without a compactor the refusals are the end", () => {
    assert.strictEqual(decide(["window"], false), "ContextExhausted")
  })

  it("L-FAIL-09 one other failure, and the attempts say it all", () => {
    assert.strictEqual(decide(["window", "failed"]), "Spent")
    assert.strictEqual(decide(["failed"], false), "Spent")
    assert.strictEqual(decide([]), "Spent")
  })

  it("K8 L-400-03 a 400 about the window may ask for the one pass and is a plain failure without a compactor", () => {
    assert.strictEqual(decide(["overflow"]), "Compact")
    assert.strictEqual(decide(["overflow", "window"]), "Compact")
    assert.strictEqual(decide(["overflow"], true, true), "ContextExhausted")
    assert.strictEqual(decide(["overflow"], false), "Spent")
  })

  it("K1 L-CTXEX-04 only a conversation that became smaller is sent again", () => {
    assert.isTrue(Chain.mayWalkAgain({ exhausted: false, tokensBefore: 10, tokensAfter: 9 }))
    assert.isFalse(Chain.mayWalkAgain({ exhausted: false, tokensBefore: 10, tokensAfter: 10 }))
    assert.isFalse(Chain.mayWalkAgain({ exhausted: true, tokensBefore: 10, tokensAfter: 2 }))
  })

  it("L-CTXEX-03 tells the refusals in order and what was tried", () => {
    assert.strictEqual(
      Chain.exhaustedText(["[backend 0] a", "[backend 1] b"], { hasCompactor: false, compacted: false }),
      "the conversation does not fit any backend, and there is no compactor to make it smaller: [backend 0] a; [backend 1] b. Use a model with a larger window, or start a new conversation"
    )
    assert.include(
      Chain.exhaustedText([], { hasCompactor: true, compacted: true }),
      "it was compacted once and still does not fit"
    )
  })
})
