/**
 * The forward pass: RMS norm, rotary attention over a cache of keys and values, SwiGLU.
 *
 * W1. `memory.tokens` are exactly the tokens whose keys and values it holds; `rewind` forgets from the end only.
 * W2. `evaluate` is one synchronous step of at most two positions; whoever drives it decides when to let others run.
 */
import * as Kernel from "./Kernel.ts"
import type { Layer, Llama } from "./Llama.ts"

export interface Memory {
  readonly tokens: Array<number>
  /** Scores of the vocabulary after the last token, when they were asked for. */
  readonly logits: Float32Array
  readonly keys: Array<Float32Array>
  readonly values: Array<Float32Array>
  readonly scratch: Scratch
}

interface Scratch {
  readonly x: Float32Array
  readonly normed: Float32Array
  readonly query: Float32Array
  readonly attended: Float32Array
  readonly added: Float32Array
  readonly gate: Float32Array
  readonly up: Float32Array
  readonly scores: Float32Array
}

/** Positions a new memory has room for; it doubles as needed. */
const firstRoom = 256

export const memory = (self: Llama): Memory => {
  const room = Math.min(firstRoom, self.context) * self.keyHeads * self.headSize
  return {
    tokens: [],
    logits: new Float32Array(self.vocabulary),
    keys: self.layers.map(() => new Float32Array(room)),
    values: self.layers.map(() => new Float32Array(room)),
    scratch: {
      x: new Float32Array(self.width * 2),
      normed: new Float32Array(self.width * 2),
      query: new Float32Array(self.width * 2),
      attended: new Float32Array(self.width * 2),
      added: new Float32Array(self.width * 2),
      gate: new Float32Array(self.hidden * 2),
      up: new Float32Array(self.hidden * 2),
      scores: new Float32Array(self.context)
    }
  }
}

/** Forgets everything after the first `length` tokens. */
export const rewind = (memory: Memory, length: number): void => {
  memory.tokens.length = Math.min(length, memory.tokens.length)
}

/**
 * Takes the next one or two tokens; with `wanted`, `memory.logits` then belong to the last of them. The caller keeps
 * `memory.tokens` within `context`.
 */
export const evaluate = (
  self: Llama,
  memory: Memory,
  next: { readonly tokens: readonly [number] | readonly [number, number]; readonly wanted: boolean }
): void => {
  const { tokens, wanted } = next
  const { scratch } = memory
  const { width } = self
  const multiply = tokens.length === 2 ? Kernel.two : Kernel.one
  const start = memory.tokens.length
  grow(self, memory, start + tokens.length)
  for (const [i, token] of tokens.entries()) {
    scratch.x.set(self.embedding.subarray(token * width, (token + 1) * width), i * width)
  }
  for (const [depth, layer] of self.layers.entries()) {
    attend(
      self,
      { layer, keys: memory.keys[depth]!, values: memory.values[depth]!, scratch },
      { start, tokens, multiply }
    )
    const { added, gate, normed, up, x } = scratch
    normalise(self, normed, { x, weights: layer.feedNorm, positions: tokens.length })
    multiply(gate, 0, normed, layer.gate)
    multiply(up, 0, normed, layer.up)
    for (let i = 0; i < self.hidden * tokens.length; i++) gate[i] = (gate[i]! / (1 + Math.exp(-gate[i]!))) * up[i]!
    multiply(added, 0, gate, layer.down)
    for (let i = 0; i < width * tokens.length; i++) x[i] = x[i]! + added[i]!
  }
  memory.tokens.push(...tokens)
  if (!wanted) return
  scratch.x.copyWithin(0, (tokens.length - 1) * width, tokens.length * width)
  normalise(self, scratch.normed, { x: scratch.x, weights: self.norm, positions: 1 })
  Kernel.one(memory.logits, 0, scratch.normed, self.logits)
}

const grow = (self: Llama, memory: Memory, positions: number): void => {
  const row = self.keyHeads * self.headSize
  if ((memory.keys[0]?.length ?? 0) >= positions * row) return
  const room = Math.min(self.context, 2 ** Math.ceil(Math.log2(positions))) * row
  for (const store of [memory.keys, memory.values]) {
    for (const [depth, old] of store.entries()) {
      const larger = new Float32Array(room)
      larger.set(old)
      store[depth] = larger
    }
  }
}

const normalise = (
  self: Llama,
  out: Float32Array,
  { positions, weights, x }: { readonly x: Float32Array; readonly weights: Float32Array; readonly positions: number }
): void => {
  const { epsilon, width } = self
  for (let at = 0; at < positions * width; at += width) {
    let squares = 0
    for (let i = 0; i < width; i++) squares += x[at + i]! * x[at + i]!
    const scale = 1 / Math.sqrt(squares / width + epsilon)
    for (let i = 0; i < width; i++) out[at + i] = x[at + i]! * scale * weights[i]!
  }
}

interface Step {
  readonly start: number
  readonly tokens: readonly [number] | readonly [number, number]
  readonly multiply: typeof Kernel.one
}

interface Stage {
  readonly layer: Layer
  readonly keys: Float32Array
  readonly values: Float32Array
  readonly scratch: Scratch
}

const attend = (self: Llama, stage: Stage, { multiply, start, tokens }: Step): void => {
  const { keys, layer, scratch, values } = stage
  const { added, attended, normed, query, x } = scratch
  const row = self.keyHeads * self.headSize
  normalise(self, normed, { x, weights: layer.attentionNorm, positions: tokens.length })
  multiply(query, 0, normed, layer.query)
  multiply(keys, start * row, normed, layer.key)
  multiply(values, start * row, normed, layer.value)
  for (let i = 0; i < tokens.length; i++) {
    rotate(self, query, { at: i * self.width, length: self.width, position: start + i })
    rotate(self, keys, { at: (start + i) * row, length: row, position: start + i })
    for (let head = 0; head < self.heads; head++) attendHead(self, stage, { at: i * self.width, head, last: start + i })
  }
  multiply(added, 0, attended, layer.output)
  for (let i = 0; i < self.width * tokens.length; i++) x[i] = x[i]! + added[i]!
}

const rotate = (
  self: Llama,
  vector: Float32Array,
  { at, length, position }: { readonly at: number; readonly length: number; readonly position: number }
): void => {
  const pairs = self.headSize / 2
  for (let i = 0; i < length; i += 2) {
    const turn = position * pairs + ((i / 2) % pairs)
    const c = self.cosine[turn]!
    const s = self.sine[turn]!
    const a = vector[at + i]!
    const b = vector[at + i + 1]!
    vector[at + i] = a * c - b * s
    vector[at + i + 1] = a * s + b * c
  }
}

const attendHead = (
  self: Llama,
  { keys, scratch, values }: Stage,
  { at, head, last }: { readonly at: number; readonly head: number; readonly last: number }
): void => {
  const { attended, query, scores } = scratch
  const { headSize } = self
  const row = self.keyHeads * headSize
  const from = at + head * headSize
  const column = Math.floor((head * self.keyHeads) / self.heads) * headSize
  const scale = 1 / Math.sqrt(headSize)
  let highest = -Infinity
  for (let position = 0; position <= last; position++) {
    const key = position * row + column
    let dot = 0
    for (let i = 0; i < headSize; i++) dot += query[from + i]! * keys[key + i]!
    scores[position] = dot * scale
    if (scores[position]! > highest) highest = scores[position]!
  }
  let sum = 0
  for (let position = 0; position <= last; position++) {
    const weight = Math.exp(scores[position]! - highest)
    scores[position] = weight
    sum += weight
  }
  attended.fill(0, from, from + headSize)
  for (let position = 0; position <= last; position++) {
    const share = scores[position]! / sum
    const value = position * row + column
    for (let i = 0; i < headSize; i++) attended[from + i] = attended[from + i]! + share * values[value + i]!
  }
}
