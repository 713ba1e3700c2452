/** Which of the allowed tokens comes next: the likeliest one, or with a temperature one drawn from a seed. */

export interface Sampling {
  readonly temperature: number
  /** The same seed draws the same reply. */
  readonly seed: number
}

/** `tokens` is not empty; of equals the first one wins. */
export type Choose = (logits: Float32Array, tokens: ReadonlyArray<number>) => number

export const make = (sampling: Sampling | undefined): Choose =>
  sampling === undefined || sampling.temperature <= 0
    ? likeliest
    : drawn(sampling.temperature, mulberry32(sampling.seed))

const likeliest: Choose = (logits, tokens) => {
  let best = -1
  for (const token of tokens) if (best < 0 || logits[token]! > logits[best]!) best = token
  return best
}

const drawn =
  (temperature: number, random: () => number): Choose =>
  (logits, tokens) => {
    const highest = logits[likeliest(logits, tokens)] ?? 0
    const weights = tokens.map((token) => Math.exp((logits[token]! - highest) / temperature))
    let rest = random() * weights.reduce((a, b) => a + b, 0)
    return tokens.find((_, i) => (rest -= weights[i]!) <= 0) ?? tokens.at(-1) ?? -1
  }

/** The share of one token among several, as a softmax. */
export const share = (logits: Float32Array, token: number, among: ReadonlyArray<number>): number => {
  const highest = logits[likeliest(logits, among)] ?? 0
  return Math.exp(logits[token]! - highest) / among.reduce((sum, other) => sum + Math.exp(logits[other]! - highest), 0)
}

/** The published 32-bit generator: numbers in [0, 1), the same for a seed on every machine. */
const mulberry32 = (seed: number): (() => number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
