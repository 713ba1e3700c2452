/**
 * Does a provider's refusal say that the request does not fit the model's window (L-400-01)?
 *
 * V1. Sentences that only sound like it (rate limits, credit, output limits, one string too long) are ruled out first (F10).
 * V2. Total, and blind to the HTTP status: the caller asks only about statuses that may be a window.
 */

/** Codes and types that mean it whatever the text says. */
const codes =
  /context_length_exceeded|exceed_context_size|request_too_large|too_many_prompt_tokens|^too_many_tokens$|max_prompt_tokens_exceeded|tokens_limit_reached|context_window_exceeded/i

const lookalikes = [
  /rate.?limit|tokens per (minute|min|day)|\bTPM\b|\bTPD\b|throttl|please wait|retry shortly/i,
  /quota|credits|can only afford|prompt tokens limit exceeded/i,
  /string too long|string_above_max_length/i,
  /maximum allowed number of output tokens|output limit was reached/i
]

const sentences = [
  // the five of the specification
  /context length|context_length|maximum context|too many tokens|prompt is too long/i,
  /exceeds? (the )?(context (limit|window|size)|available context|model token limit)/i,
  /exceeded model token limit|context window exceeds|context size has been exceeded|increasing context size/i,
  /input tokens exceed|input token count.*exceeds the maximum|exceeds maximum length/i,
  /input is too long|prompt too long|total length of all messages is too long/i,
  /maximum prompt length|prompt exceeds max length|prompt token count of \d+ exceeds/i,
  /reduce the length of the messages|current length is \d+ while limit is \d+/i,
  /longer than the (model's context|maximum model) length/i,
  /range of input length should be|`inputs` tokens \+ `max_new_tokens` must be/i,
  /maximum number of bytes|allowed number of bytes|(request|payload|content)( body| entity)? (is )?too large/i
]

const ruledOut = (text: string): boolean => lookalikes.some((pattern) => pattern.test(text))

/** True when the refusal means "too big for the window". `code` is the provider's own code or type. */
export const overflow = (detail: string, code?: string): boolean => {
  if (code !== undefined && ruledOut(code)) return false
  if (code !== undefined && codes.test(code)) return true
  return !ruledOut(detail) && (sentences.some((pattern) => pattern.test(detail)) || codes.test(detail))
}
