/**
 * The weights of a llama, shaped for the forward pass. They never change, so any number of memories may share them.
 *
 * M1. Every matrix has the shape that the numbers of the file demand, or `make` fails: no loop reads outside an array.
 */
import * as Result from "effect/Result"
import * as Gguf from "./Gguf.ts"
import * as Kernel from "./Kernel.ts"

export interface Layer {
  readonly attentionNorm: Float32Array
  readonly query: Kernel.Product
  readonly key: Kernel.Product
  readonly value: Kernel.Product
  readonly output: Kernel.Product
  readonly feedNorm: Float32Array
  readonly gate: Kernel.Product
  readonly up: Kernel.Product
  readonly down: Kernel.Product
}

export interface Llama {
  readonly width: number
  readonly hidden: number
  readonly heads: number
  readonly keyHeads: number
  readonly headSize: number
  readonly epsilon: number
  /** Most positions. */
  readonly context: number
  readonly vocabulary: number
  readonly embedding: Float32Array
  readonly norm: Float32Array
  readonly logits: Kernel.Product
  readonly layers: ReadonlyArray<Layer>
  /** Cosine and sine for each position and pair of a head. */
  readonly cosine: Float32Array
  readonly sine: Float32Array
}

const largestContext = 65_536
export const make = (file: Gguf.Gguf): Result.Result<Llama, Gguf.GgufError> =>
  Result.gen(function* () {
    const architecture = yield* Gguf.text(file, "general.architecture")
    if (architecture !== "llama") {
      return yield* Result.fail(Gguf.unsupported(`the architecture ${architecture}; only llama is`))
    }
    const width = yield* size(file, "embedding_length")
    const hidden = yield* size(file, "feed_forward_length")
    const heads = yield* size(file, "attention.head_count")
    const keyHeads = yield* size(file, "attention.head_count_kv")
    const context = yield* size(file, "context_length")
    const epsilon = yield* Gguf.number(file, "llama.attention.layer_norm_rms_epsilon")
    const headSize = width / heads
    if (width % heads !== 0 || headSize % 2 !== 0 || heads % keyHeads !== 0 || context > largestContext) {
      const detail = `${heads} heads over ${keyHeads} of a width of ${width}, with a context of ${context}`
      return yield* Result.fail(Gguf.unsupported(detail))
    }
    const vocabulary = (yield* Gguf.texts(file, "tokenizer.ggml.tokens")).length
    const embedding = yield* Gguf.floats(file, "token_embd.weight", [width, vocabulary])
    const tied = !file.tensors.has("output.weight")
    const weights = tied ? embedding : yield* Gguf.floats(file, "output.weight", [width, vocabulary])
    const layers: Array<Layer> = []
    for (let i = yield* size(file, "block_count"); i > 0; i--) {
      layers.push(yield* layer(file, layers.length, { width, hidden, keyWidth: keyHeads * headSize }))
    }
    return {
      width,
      hidden,
      heads,
      keyHeads,
      headSize,
      epsilon,
      context,
      vocabulary,
      embedding,
      norm: yield* Gguf.floats(file, "output_norm.weight", [width]),
      logits: { weights, columns: width, rows: vocabulary },
      layers,
      ...rotation(context, headSize, file.metadata.get("llama.rope.freq_base"))
    }
  })

const size = (file: Gguf.Gguf, key: string): Result.Result<number, Gguf.GgufError> =>
  Result.flatMap(Gguf.number(file, `llama.${key}`), (value) =>
    Number.isSafeInteger(value) && value > 0
      ? Result.succeed(value)
      : Result.fail(Gguf.unsupported(`${key} is ${value}`))
  )

interface Sizes {
  readonly width: number
  readonly hidden: number
  readonly keyWidth: number
}

const layer = (file: Gguf.Gguf, index: number, { hidden, keyWidth, width }: Sizes) =>
  Result.gen(function* () {
    const vector = (name: string) => Gguf.floats(file, `blk.${index}.${name}.weight`, [width])
    const matrix = (name: string, columns: number, rows: number) =>
      Result.map(Gguf.floats(file, `blk.${index}.${name}.weight`, [columns, rows]), (weights): Kernel.Product => ({
        weights,
        columns,
        rows
      }))
    const made: Layer = {
      attentionNorm: yield* vector("attn_norm"),
      query: yield* matrix("attn_q", width, width),
      key: yield* matrix("attn_k", width, keyWidth),
      value: yield* matrix("attn_v", width, keyWidth),
      output: yield* matrix("attn_output", width, width),
      feedNorm: yield* vector("ffn_norm"),
      gate: yield* matrix("ffn_gate", width, hidden),
      up: yield* matrix("ffn_up", width, hidden),
      down: yield* matrix("ffn_down", hidden, width)
    }
    return made
  })

const rotation = (context: number, headSize: number, base: Gguf.Value | undefined) => {
  const theta = typeof base === "number" ? base : 10_000
  const pairs = headSize / 2
  const cosine = new Float32Array(context * pairs)
  const sine = new Float32Array(context * pairs)
  for (let pair = 0; pair < pairs; pair++) {
    const frequency = theta ** ((-2 * pair) / headSize)
    for (let position = 0; position < context; position++) {
      cosine[position * pairs + pair] = Math.cos(position * frequency)
      sine[position * pairs + pair] = Math.sin(position * frequency)
    }
  }
  return { cosine, sine }
}
