/**
 * A GGUF file (version 3, little endian): its metadata, and its tensors as floats.
 *
 * G1. No byte outside the file is read, and nothing is made larger than the file can fill: a damaged file is a `GgufError`.
 * G2. Names come from the file, so they are keys of a Map and never of an object.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

export class NotGguf extends Schema.TaggedError<NotGguf>()("NotGguf", { detail: Schema.String }) {
  override get message(): string {
    return `it is not a GGUF file: ${this.detail}`
  }
}

export class Truncated extends Schema.TaggedError<Truncated>()("Truncated", {
  what: Schema.String,
  /** Bytes that `what` would need the file to have. */
  needed: Schema.Finite,
  size: Schema.Finite
}) {
  override get message(): string {
    return `it ends too early: ${this.what} needs ${this.needed} bytes and the file has ${this.size}`
  }
}

export class Unsupported extends Schema.TaggedError<Unsupported>()("Unsupported", { detail: Schema.String }) {
  override get message(): string {
    return `it is not supported: ${this.detail}`
  }
}

export class Missing extends Schema.TaggedError<Missing>()("Missing", { what: Schema.String }) {
  override get message(): string {
    return `it lacks ${this.what}`
  }
}

export class GgufError extends Schema.TaggedError<GgufError>()("GgufError", {
  reason: Schema.Union([NotGguf, Truncated, Unsupported, Missing])
}) {
  override readonly cause = this.reason
  override get message(): string {
    return `The model file cannot be used, ${this.reason.message}.`
  }
}

export type Value = number | string | boolean | ReadonlyArray<Value>

export interface Tensor {
  readonly type: number
  /** Fastest dimension first, as the file has it. */
  readonly shape: ReadonlyArray<number>
  readonly size: number
  /** Byte position in the file. */
  readonly offset: number
}

export interface Gguf {
  readonly bytes: Uint8Array
  readonly metadata: ReadonlyMap<string, Value>
  readonly tensors: ReadonlyMap<string, Tensor>
}

const magic = 0x46554747
const header = 24
const maxDepth = 4
const F32 = 0
const F16 = 1
const Q8_0 = 8
/** One Q8_0 block: a half-precision scale, then 32 signed bytes. */
const block = 32
const blockBytes = 34

/** Reads the directory of a file; the weights themselves are read by `floats`. */
export const read = (bytes: Uint8Array): Result.Result<Gguf, GgufError> => {
  const cursor: Cursor = { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), at: 0 }
  const file = readFile(cursor)
  return cursor.fault === undefined ? Result.succeed(file) : Result.fail(new GgufError({ reason: cursor.fault }))
}

export const missing = (what: string): GgufError => new GgufError({ reason: new Missing({ what }) })
export const unsupported = (detail: string): GgufError => new GgufError({ reason: new Unsupported({ detail }) })

export const number = (self: Gguf, key: string): Result.Result<number, GgufError> => {
  const value = self.metadata.get(key)
  return typeof value === "number" ? Result.succeed(value) : Result.fail(missing(`the number ${key}`))
}

export const text = (self: Gguf, key: string): Result.Result<string, GgufError> => {
  const value = self.metadata.get(key)
  return typeof value === "string" ? Result.succeed(value) : Result.fail(missing(`the text ${key}`))
}

const isText = (value: Value): value is string => typeof value === "string"
const isNumber = (value: Value): value is number => typeof value === "number"

export const texts = (self: Gguf, key: string): Result.Result<ReadonlyArray<string>, GgufError> => {
  const value = self.metadata.get(key)
  return Array.isArray(value) && value.every(isText) ? Result.succeed(value) : Result.fail(missing(`the texts ${key}`))
}

export const numbers = (self: Gguf, key: string): Result.Result<ReadonlyArray<number>, GgufError> => {
  const value = self.metadata.get(key)
  return Array.isArray(value) && value.every(isNumber)
    ? Result.succeed(value)
    : Result.fail(missing(`the numbers ${key}`))
}

/** The tensor's values, row after row. It must have exactly this shape, fastest dimension first. */
export const floats = (
  self: Gguf,
  name: string,
  shape: ReadonlyArray<number>
): Result.Result<Float32Array, GgufError> => {
  const tensor = self.tensors.get(name)
  if (tensor === undefined) return Result.fail(missing(`the tensor ${name}`))
  if (tensor.shape.length !== shape.length || tensor.shape.some((length, i) => length !== shape[i])) {
    return Result.fail(unsupported(`the tensor ${name} is ${tensor.shape.join("x")} and not ${shape.join("x")}`))
  }
  return Result.succeed(decode(self.bytes, tensor))
}

const decode = (bytes: Uint8Array, { offset, size, type }: Tensor): Float32Array => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const out = new Float32Array(size)
  switch (type) {
    case F32:
      for (let i = 0; i < size; i++) out[i] = view.getFloat32(offset + i * 4, true)
      return out
    case F16:
      for (let i = 0; i < size; i++) out[i] = half(view.getUint16(offset + i * 2, true))
      return out
    default:
      for (let i = 0, at = offset; i < size; i += block, at += blockBytes) {
        const scale = half(view.getUint16(at, true))
        for (let j = 0; j < block; j++) out[i + j] = scale * view.getInt8(at + 2 + j)
      }
      return out
  }
}

const half = (bits: number): number => {
  const sign = (bits & 0x8000) === 0 ? 1 : -1
  const exponent = (bits >> 10) & 0x1f
  const fraction = bits & 0x3ff
  if (exponent === 0) return sign * fraction * 2 ** -24
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}

/** After the first fault every read answers zero and moves nothing, so that loops end and one check at the end is enough. */
interface Cursor {
  readonly bytes: Uint8Array
  readonly view: DataView
  at: number
  fault?: GgufError["reason"]
}

const fail = (self: Cursor, fault: GgufError["reason"]): void => {
  self.fault ??= fault
}

/** The position of `size` bytes, stepped over; -1 after a fault. */
const take = (self: Cursor, size: number, what: string): number => {
  const needed = self.at + size
  if (needed > self.bytes.length) fail(self, new Truncated({ what, needed, size: self.bytes.length }))
  if (self.fault !== undefined) return -1
  const at = self.at
  self.at = needed
  return at
}

const readU32 = (self: Cursor, what: string): number => {
  const at = take(self, 4, what)
  return at < 0 ? 0 : self.view.getUint32(at, true)
}

const readU64 = (self: Cursor, what: string): number => {
  const at = take(self, 8, what)
  return at < 0 ? 0 : self.view.getUint32(at, true) + self.view.getUint32(at + 4, true) * 2 ** 32
}

/** A count of things of at least `least` bytes each: one that the rest of the file cannot hold is a fault (G1). */
const readCount = (self: Cursor, least: number, what: string): number => {
  const count = readU64(self, what)
  const needed = self.at + count * least
  if (needed > self.bytes.length) fail(self, new Truncated({ what, needed, size: self.bytes.length }))
  return self.fault === undefined ? count : 0
}

const utf8 = new TextDecoder()

const readText = (self: Cursor, what: string): string => {
  const length = readCount(self, 1, what)
  const at = take(self, length, what)
  return at < 0 ? "" : utf8.decode(self.bytes.subarray(at, at + length))
}

const scalars: ReadonlyMap<number, readonly [bytes: number, get: (view: DataView, at: number) => Value]> = new Map([
  [0, [1, (view: DataView, at: number): Value => view.getUint8(at)]],
  [1, [1, (view: DataView, at: number): Value => view.getInt8(at)]],
  [2, [2, (view: DataView, at: number): Value => view.getUint16(at, true)]],
  [3, [2, (view: DataView, at: number): Value => view.getInt16(at, true)]],
  [4, [4, (view: DataView, at: number): Value => view.getUint32(at, true)]],
  [5, [4, (view: DataView, at: number): Value => view.getInt32(at, true)]],
  [6, [4, (view: DataView, at: number): Value => view.getFloat32(at, true)]],
  [7, [1, (view: DataView, at: number): Value => view.getUint8(at) !== 0]],
  [10, [8, (view: DataView, at: number): Value => Number(view.getBigUint64(at, true))]],
  [11, [8, (view: DataView, at: number): Value => Number(view.getBigInt64(at, true))]],
  [12, [8, (view: DataView, at: number): Value => view.getFloat64(at, true)]]
])

const readValue = (self: Cursor, type: number, key: string, depth = 0): Value => {
  if (type === 8) return readText(self, `the text ${key}`)
  if (type === 9 && depth < maxDepth) {
    const item = readU32(self, `the list ${key}`)
    const values: Array<Value> = []
    for (let left = readCount(self, 1, `the list ${key}`); left > 0 && self.fault === undefined; left--) {
      values.push(readValue(self, item, key, depth + 1))
    }
    return values
  }
  const scalar = scalars.get(type)
  if (scalar === undefined) {
    fail(self, new Unsupported({ detail: `the metadata ${key} has the type ${type}` }))
    return 0
  }
  const at = take(self, scalar[0], `the value ${key}`)
  return at < 0 ? 0 : scalar[1](self.view, at)
}

const readFile = (self: Cursor): Gguf => {
  const metadata = new Map<string, Value>()
  const tensors = new Map<string, Tensor>()
  const file = { bytes: self.bytes, metadata, tensors }
  if (self.bytes.length < header || self.view.getUint32(0, true) !== magic) {
    fail(self, new NotGguf({ detail: "it does not begin with GGUF" }))
    return file
  }
  self.at = 4
  const version = readU32(self, "the header")
  if (version !== 3) fail(self, new Unsupported({ detail: `version ${version}; only version 3 is` }))
  const tensorCount = readCount(self, 24, "the list of tensors")
  for (let left = readCount(self, 13, "the metadata"); left > 0 && self.fault === undefined; left--) {
    const key = readText(self, "a metadata key")
    metadata.set(key, readValue(self, readU32(self, `the type of ${key}`), key))
  }
  const named: Array<readonly [string, Tensor]> = []
  for (let left = tensorCount; left > 0 && self.fault === undefined; left--) named.push(readTensor(self))
  const alignment = metadata.get("general.alignment")
  const step = typeof alignment === "number" && alignment >= 1 ? alignment : 32
  const base = Math.ceil(self.at / step) * step
  for (const [name, tensor] of named) tensors.set(name, placed(self, name, { ...tensor, offset: base + tensor.offset }))
  return file
}

const readTensor = (self: Cursor): readonly [string, Tensor] => {
  const name = readText(self, "a tensor's name")
  const rank = readU32(self, `the shape of ${name}`)
  if (rank > 4) fail(self, new Unsupported({ detail: `the tensor ${name} has ${rank} dimensions` }))
  const shape: Array<number> = []
  for (let i = 0; i < rank && self.fault === undefined; i++) shape.push(readU64(self, `the shape of ${name}`))
  const type = readU32(self, `the type of ${name}`)
  return [
    name,
    { type, shape, size: shape.reduce((a, b) => a * b, 1), offset: readU64(self, `the position of ${name}`) }
  ]
}

const bytesOf = (tensor: Tensor): number | undefined => {
  switch (tensor.type) {
    case F32:
      return tensor.size * 4
    case F16:
      return tensor.size * 2
    case Q8_0:
      return tensor.size % block === 0 ? (tensor.size / block) * blockBytes : undefined
    default:
      return undefined
  }
}

const placed = (self: Cursor, name: string, tensor: Tensor): Tensor => {
  const bytes = bytesOf(tensor)
  if (bytes === undefined) {
    const detail = `the tensor ${name} has the type ${tensor.type}; only F32, F16 and whole Q8_0 blocks are`
    fail(self, new Unsupported({ detail }))
  } else if (tensor.offset + bytes > self.bytes.length) {
    fail(self, new Truncated({ what: `the tensor ${name}`, needed: tensor.offset + bytes, size: self.bytes.length }))
  }
  return tensor
}
