import { assert, describe, it } from "@effect/vitest"
import { overflow } from "../../src/decide/Overflow.ts"

const windows: ReadonlyArray<readonly [text: string, code?: string]> = [
  ["This model's maximum context length is 4097 tokens. However, your messages resulted in 4294 tokens."],
  ["something", "context_length_exceeded"],
  ["too many tokens: size limit exceeded by 25836 tokens."],
  ["prompt is too long: 3333404 tokens > 200000 maximum"],
  ["input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"],
  ["Your input exceeds the context window of this model."],
  ["Input tokens exceed the configured limit of 272000 tokens."],
  ["The input token count (1250074) exceeds the maximum number of tokens allowed (1048576)."],
  ["Input Tokens Exceeded: Number of input tokens exceeds maximum length."],
  ["Input is too long for requested model."],
  ["The total length of all messages is too long.", "too_many_prompt_tokens"],
  ["This model's maximum prompt length is 131072 but the request contains 537812 tokens.", "invalid-argument"],
  ["Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000"],
  ["The input (691793 tokens) is longer than the model's context length (540000 tokens)."],
  ["Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193."],
  ["The decoder prompt (length 5000) is longer than the maximum model length of 4096."],
  ["request (13392 tokens) exceeds the available context size (8192 tokens)", "exceed_context_size_error"],
  ["failed to decode, try again, increasing context size or reducing parallel"],
  ["prompt token count of 13613 exceeds the limit of 12288", "model_max_prompt_tokens_exceeded"],
  ["Request body too large for gpt-4o model. Max size: 8000 tokens.", "tokens_limit_reached"],
  ["Your request exceeded model token limit: 262144 (requested: 291351)"],
  ["invalid params, context window exceeds limit (2013)"],
  ["Prompt exceeds max length", "1261"],
  ["Range of input length should be [1, 129024]"],
  ["Request exceeds the maximum allowed number of bytes", "request_too_large"]
]

const others: ReadonlyArray<readonly [text: string, code?: string]> = [
  ["Please reduce the prompt length or the maximum tokens requested, or try again later", "rate_limit_error"],
  ["Rate limit reached on tokens per min (TPM): Limit 30000, Requested 31538"],
  ["Request too large on tokens per minute (TPM): Limit 6000, Requested 14810", "rate_limit_exceeded"],
  ["This request requires more credits, or fewer max_tokens. You can only afford 27342"],
  ["Prompt tokens limit exceeded: 230799 > 91442"],
  ["Invalid 'messages[0].content': string too long. Expected a string with maximum length 1048576"],
  ["max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens for this model"],
  ["Could not finish the message because max_tokens or model output limit was reached"],
  ["Too many tokens, please wait before trying again"],
  ["Token limit reached"],
  ["Invalid API Key"],
  [""]
]

describe("a refusal that means the window", () => {
  it("L-400-01 the five phrases, in any case", () => {
    for (const phrase of [
      "context length",
      "context_length",
      "maximum context",
      "too many tokens",
      "prompt is too long"
    ]) {
      assert.isTrue(overflow(`Error: ${phrase} …`), phrase)
      assert.isTrue(overflow(`Error: ${phrase.toUpperCase()} …`), phrase)
    }
  })

  it("L-400-01 what providers really say", () => {
    for (const [text, code] of windows) assert.isTrue(overflow(text, code), text)
  })

  it("F10 L-400-02 what only sounds like it", () => {
    for (const [text, code] of others) assert.isFalse(overflow(text, code), text)
  })
})
