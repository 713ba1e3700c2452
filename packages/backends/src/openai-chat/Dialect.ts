/** What is known of the servers that speak chat completions: how each deviates. Pure facts, overruled by options. */

export interface Dialect {
  /** Takes `stream_options.include_usage` (X-WIRE-05). */
  readonly includeUsage: boolean
  /** The name of the completion cap. */
  readonly capField: "max_tokens" | "max_completion_tokens"
  /** Ids of tool calls it accepts; others are re-mapped (D2). */
  readonly callId: RegExp
  /** Length of a re-mapped id. */
  readonly callIdLength: number
  /** Refuses every request without a key. */
  readonly needsKey: boolean
  readonly replayReasoning: ReplayReasoning
  /** Whether the model sees pictures; a user's go out where it is not known, those of results only where it is true (M13). */
  readonly vision?: boolean
  /** Refuses a turn whose calls come back without the `extra_content` they came with: it signs them. */
  readonly callExtras: boolean
}

/**
 * Whether the reasoning of an earlier turn goes back (F8): never, with the turns that called tools, or with every turn; under which
 * name (default: the field it came in); and whether a turn with calls needs the field even when there was none.
 */
export interface ReplayReasoning {
  readonly when: "never" | "calls" | "always"
  readonly field?: "reasoning_content" | "reasoning" | "reasoning_details"
  readonly insist?: boolean
}

const plain: Dialect = {
  includeUsage: false,
  capField: "max_tokens",
  callId: /^[A-Za-z0-9_.:-]{1,64}$/,
  callIdLength: 24,
  needsKey: false,
  replayReasoning: { when: "never" },
  callExtras: false
}

const hosted: Dialect = { ...plain, includeUsage: true, needsKey: true }

const thinking: ReplayReasoning = { when: "calls", field: "reasoning_content", insist: true }

const known: ReadonlyArray<readonly [suffix: string, Dialect]> = [
  ["api.openai.com", { ...hosted, capField: "max_completion_tokens", callId: /^[A-Za-z0-9_-]{1,40}$/ }],
  ["openai.azure.com", { ...hosted, capField: "max_completion_tokens", callId: /^[A-Za-z0-9_-]{1,40}$/ }],
  ["openrouter.ai", { ...hosted, replayReasoning: { when: "calls" } }],
  ["api.deepseek.com", { ...hosted, replayReasoning: thinking }],
  ["api.moonshot.ai", { ...hosted, replayReasoning: thinking }],
  ["api.moonshot.cn", { ...hosted, replayReasoning: thinking }],
  ["generativelanguage.googleapis.com", { ...hosted, callExtras: true }],
  ["aiplatform.googleapis.com", { ...hosted, callExtras: true }],
  ["api.groq.com", hosted],
  ["api.x.ai", hosted],
  ["api.together.xyz", hosted],
  ["api.fireworks.ai", hosted],
  ["api.cerebras.ai", hosted],
  ["dashscope.aliyuncs.com", hosted],
  // it sends usage unasked and refuses unknown fields; its ids are nine letters and digits
  ["api.mistral.ai", { ...plain, needsKey: true, callId: /^[A-Za-z0-9]{9}$/, callIdLength: 9 }]
]

/** By host name; an unknown host is assumed to know nothing. */
export const of = (host: string): Dialect =>
  known.find(([suffix]) => host === suffix || host.endsWith(`.${suffix}`))?.[1] ?? plain
