/**
 * How much well-known models look at, and how much they say at most: facts of their makers, in tokens. What a user configures
 * overrules them, and a server of one's own may give a model less.
 *
 * W1. A name is matched from its start, by the longest entry that ends at a dash, a colon, an at sign or the end: dates, tags and
 *     regions do not matter, and `gpt-4` says nothing about `gpt-4o`.
 * W2. What is not known is `undefined`, never a guess.
 */
export interface Window {
  readonly contextWindow: number
  /** Longest completion, where it is less than the window. */
  readonly maxOutput?: number
}

type Entry = readonly [name: string, contextWindow: number, maxOutput?: number]

const k = 1024
const million = 1_048_576

const openai: ReadonlyArray<Entry> = [
  ["gpt-5", 400_000, 128_000],
  ["gpt-5-chat", 128_000, 16_384],
  ["gpt-5-pro", 400_000, 272_000],
  ["gpt-5.1", 400_000, 128_000],
  ["gpt-4.1", 1_047_576, 32_768],
  ["gpt-4o", 128_000, 16_384],
  ["chatgpt-4o", 128_000, 16_384],
  ["gpt-4-turbo", 128_000, 4096],
  ["gpt-4", 8192],
  ["gpt-4-32k", 32_768],
  ["gpt-3.5-turbo", 16_385, 4096],
  ["o1", 200_000, 100_000],
  ["o1-mini", 128_000, 65_536],
  ["o1-preview", 128_000, 32_768],
  ["o3", 200_000, 100_000],
  ["o4-mini", 200_000, 100_000],
  ["gpt-oss", 128 * k]
]

const anthropic: ReadonlyArray<Entry> = [
  ["claude-opus-4", 200_000, 32_000],
  ["claude-opus-4-5", 200_000, 64_000],
  ["claude-sonnet-4", 200_000, 64_000],
  ["claude-haiku-4-5", 200_000, 64_000],
  ["claude-3-7-sonnet", 200_000, 64_000],
  ["claude-3-5-sonnet", 200_000, 8192],
  ["claude-3-5-haiku", 200_000, 8192],
  ["claude-3-opus", 200_000, 4096],
  ["claude-3-sonnet", 200_000, 4096],
  ["claude-3-haiku", 200_000, 4096]
]

const google: ReadonlyArray<Entry> = [
  ["gemini-3-pro", million, 65_536],
  ["gemini-2.5-pro", million, 65_536],
  ["gemini-2.5-flash", million, 65_536],
  ["gemini-2.5-flash-image", 32_768],
  ["gemini-2.0-flash", million, 8192],
  ["gemini-1.5-pro", 2 * million, 8192],
  ["gemini-1.5-flash", million, 8192]
]

const others: ReadonlyArray<Entry> = [
  ["deepseek-chat", 128_000, 8192],
  ["deepseek-reasoner", 128_000, 65_536],
  ["mistral-large", 128_000],
  ["mistral-small", 128_000],
  ["devstral", 128_000],
  ["codestral", 256_000],
  ["grok-3", 131_072],
  ["grok-4", 256_000],
  ["grok-4-fast", 2_000_000],
  ["grok-code-fast", 256_000],
  ["kimi-k2", 128 * k],
  ["kimi-k2-0905", 256 * k],
  ["glm-4.5", 128 * k],
  ["glm-4.6", 200_000],
  ["llama-3.1", 128 * k],
  ["llama-3.2", 128 * k],
  ["llama-3.3", 128 * k],
  ["qwen3-coder", 256 * k]
]

const known: ReadonlyMap<string, Window> = new Map(
  [...openai, ...anthropic, ...google, ...others].map(([name, contextWindow, maxOutput]) => [
    name,
    { contextWindow, ...(maxOutput === undefined ? {} : { maxOutput }) }
  ])
)

/** Without the maker before a slash, and without a cloud's region and maker before a dot. */
const bare = (model: string): string =>
  model
    .toLowerCase()
    .replace(/^.*\//, "")
    .replace(/^(?:(?:us|eu|apac|global)\.)?(?:anthropic|deepseek|meta|mistral|openai)\./, "")
    .replace(/^meta-(?=llama-)/, "")

/** What is known of a model by its name. */
export const of = (model: string): Window | undefined => {
  for (let name = bare(model); name !== ""; name = name.replace(/(?:^|[-:@])[^-:@]*$/, "")) {
    const found = known.get(name)
    if (found !== undefined) return found
  }
  return undefined
}
