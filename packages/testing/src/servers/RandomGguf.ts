/**
 * A llama of two layers with seeded random weights, as a GGUF file that any llama.cpp loads: real tokens, a real window and real stops,
 * and no meaning at all. Its vocabulary is the 256 bytes, a space and the two ChatML marks.
 *
 * G1. The same options give the same bytes.
 */
import { seeded } from "./HostileProvider.ts"

export interface Options {
  readonly seed?: number
  /** Its window in tokens. Default 512. */
  readonly context?: number
}

type Value =
  | { readonly type: "u32" | "f32"; readonly value: number }
  | { readonly type: "bool"; readonly value: boolean }
  | { readonly type: "text"; readonly value: string }
  | { readonly type: "texts"; readonly value: ReadonlyArray<string> }
  | { readonly type: "f32s" | "i32s"; readonly value: ReadonlyArray<number> }

interface Tensor {
  readonly name: string
  /** Columns first, as GGUF has it. */
  readonly dims: ReadonlyArray<number>
  readonly data: Float32Array
}

const codes = { u32: 4, i32: 5, f32: 6, bool: 7, text: 8, array: 9 }
const alignment = 32
const aligned = (size: number): number => Math.ceil(size / alignment) * alignment

/** Bytes in little-endian order, appended one after another. */
class Bytes {
  readonly #parts: Array<Buffer> = []
  length = 0

  raw(part: Buffer): this {
    this.#parts.push(part)
    this.length += part.length
    return this
  }
  u32(value: number): this {
    const part = Buffer.alloc(4)
    part.writeUInt32LE(value)
    return this.raw(part)
  }
  i32(value: number): this {
    const part = Buffer.alloc(4)
    part.writeInt32LE(value)
    return this.raw(part)
  }
  u64(value: number): this {
    const part = Buffer.alloc(8)
    part.writeBigUInt64LE(BigInt(value))
    return this.raw(part)
  }
  f32(value: number): this {
    const part = Buffer.alloc(4)
    part.writeFloatLE(value)
    return this.raw(part)
  }
  text(value: string): this {
    const part = Buffer.from(value)
    return this.u64(part.length).raw(part)
  }
  pad(): this {
    return this.raw(Buffer.alloc(aligned(this.length) - this.length))
  }
  whole(): Buffer {
    return Buffer.concat(this.#parts)
  }
}

const writeValue = (out: Bytes, given: Value): void => {
  switch (given.type) {
    case "u32":
      return void out.u32(codes.u32).u32(given.value)
    case "f32":
      return void out.u32(codes.f32).f32(given.value)
    case "bool":
      return void out.u32(codes.bool).raw(Buffer.of(given.value ? 1 : 0))
    case "text":
      return void out.u32(codes.text).text(given.value)
    case "texts":
      out.u32(codes.array).u32(codes.text).u64(given.value.length)
      for (const one of given.value) out.text(one)
      return
    case "f32s":
      out.u32(codes.array).u32(codes.f32).u64(given.value.length)
      for (const one of given.value) out.f32(one)
      return
    case "i32s":
      out.u32(codes.array).u32(codes.i32).u64(given.value.length)
      for (const one of given.value) out.i32(one)
      return
  }
}

/** A GGUF file of version 3: header, facts, the table of tensors, then their data, each at a multiple of the alignment. */
const write = (facts: ReadonlyArray<readonly [key: string, value: Value]>, tensors: ReadonlyArray<Tensor>): Buffer => {
  const out = new Bytes().raw(Buffer.from("GGUF")).u32(3).u64(tensors.length).u64(facts.length)
  for (const [key, value] of facts) writeValue(out.text(key), value)
  let offset = 0
  for (const { data, dims, name } of tensors) {
    out.text(name).u32(dims.length)
    for (const dim of dims) out.u64(dim)
    // Type 0: 32-bit floats.
    out.u32(0).u64(offset)
    offset += aligned(data.byteLength)
  }
  out.pad()
  for (const { data } of tensors) out.raw(Buffer.from(data.buffer, data.byteOffset, data.byteLength)).pad()
  return out.whole()
}

const shape = { width: 64, hidden: 128, layers: 2, heads: 4 }

/** What a vocabulary entry is, in the numbers of the format. */
const kind = { normal: 1, unknown: 2, control: 3, byte: 6 }

const hex = (byte: number): string => byte.toString(16).toUpperCase().padStart(2, "0")

const vocabulary: ReadonlyArray<readonly [text: string, kind: number]> = [
  ["<unk>", kind.unknown],
  ["<s>", kind.control],
  ["</s>", kind.control],
  ...Array.from({ length: 256 }, (_, byte) => [`<0x${hex(byte)}>`, kind.byte] as const),
  ["<|im_start|>", kind.control],
  ["<|im_end|>", kind.control],
  ["\u2581", kind.normal]
]

const u32 = (value: number): Value => ({ type: "u32", value })
const f32 = (value: number): Value => ({ type: "f32", value })
const text = (value: string): Value => ({ type: "text", value })
const bool = (value: boolean): Value => ({ type: "bool", value })

const facts = (context: number): ReadonlyArray<readonly [string, Value]> => [
  ["general.architecture", text("llama")],
  ["general.name", text("random bytes")],
  ["general.file_type", u32(0)],
  ["llama.context_length", u32(context)],
  ["llama.embedding_length", u32(shape.width)],
  ["llama.block_count", u32(shape.layers)],
  ["llama.feed_forward_length", u32(shape.hidden)],
  ["llama.attention.head_count", u32(shape.heads)],
  ["llama.attention.head_count_kv", u32(shape.heads)],
  ["llama.attention.layer_norm_rms_epsilon", f32(1e-5)],
  ["llama.rope.dimension_count", u32(shape.width / shape.heads)],
  ["llama.rope.freq_base", f32(10_000)],
  ["llama.vocab_size", u32(vocabulary.length)],
  ["tokenizer.ggml.model", text("llama")],
  ["tokenizer.ggml.pre", text("default")],
  ["tokenizer.ggml.tokens", { type: "texts", value: vocabulary.map(([word]) => word) }],
  ["tokenizer.ggml.scores", { type: "f32s", value: vocabulary.map(() => 0) }],
  ["tokenizer.ggml.token_type", { type: "i32s", value: vocabulary.map(([, type]) => type) }],
  ["tokenizer.ggml.bos_token_id", u32(1)],
  ["tokenizer.ggml.eos_token_id", u32(2)],
  ["tokenizer.ggml.eot_token_id", u32(vocabulary.length - 2)],
  ["tokenizer.ggml.unknown_token_id", u32(0)],
  ["tokenizer.ggml.add_bos_token", bool(true)],
  ["tokenizer.ggml.add_eos_token", bool(false)],
  ["tokenizer.ggml.add_space_prefix", bool(false)]
]

/** The bytes of the file, about half a megabyte. */
export const make = (options: Options = {}): Uint8Array => {
  const random = seeded(options.seed ?? 1)
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const matrix = (name: string, columns: number, rows: number): Tensor => ({
    name: `${name}.weight`,
    dims: [columns, rows],
    data: Float32Array.from({ length: columns * rows }, () => normal() / Math.sqrt(columns))
  })
  const ones = (name: string): Tensor => ({
    name: `${name}.weight`,
    dims: [shape.width],
    data: new Float32Array(shape.width).fill(1)
  })
  const layer = (at: number): ReadonlyArray<Tensor> => [
    ones(`blk.${at}.attn_norm`),
    ...["attn_q", "attn_k", "attn_v", "attn_output"].map((name) =>
      matrix(`blk.${at}.${name}`, shape.width, shape.width)
    ),
    ones(`blk.${at}.ffn_norm`),
    matrix(`blk.${at}.ffn_gate`, shape.width, shape.hidden),
    matrix(`blk.${at}.ffn_up`, shape.width, shape.hidden),
    matrix(`blk.${at}.ffn_down`, shape.hidden, shape.width)
  ]
  return write(facts(options.context ?? 512), [
    matrix("token_embd", shape.width, vocabulary.length),
    ones("output_norm"),
    matrix("output", shape.width, vocabulary.length),
    ...Array.from({ length: shape.layers }, (_, at) => layer(at)).flat()
  ])
}
