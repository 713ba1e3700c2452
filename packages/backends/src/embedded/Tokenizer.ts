/**
 * Text into tokens and back, by the vocabulary of the model file.
 *
 * T1. Encoding is total and loses nothing: the bytes of the tokens are the bytes of the text (a lone surrogate as U+FFFD).
 * T2. User-defined tokens are cut out first, the longest ones first; in the rest the neighbours with the best score are merged,
 *     the leftmost first; what is no token becomes bytes.
 * T3. No piece joins a letter with anything else, so a word has the same tokens wherever it stands.
 */
import * as Result from "effect/Result"
import * as Gguf from "./Gguf.ts"

export interface Tokenizer {
  /** The bytes that each token stands for. */
  readonly bytes: ReadonlyArray<Uint8Array>
  /** Tokens that never stand for text: role marks, the end. */
  readonly control: ReadonlySet<number>
  readonly byteIds: ReadonlyArray<number>
  readonly ids: ReadonlyMap<string, number>
  readonly cut: ReadonlyArray<readonly [text: string, id: number]>
  readonly pieces: ReadonlyMap<string, Piece>
}

interface Piece {
  readonly id: number
  readonly score: number
}

const kinds = { normal: 1, userDefined: 4, byte: 6 } as const
const space = "\u2581"
const utf8 = new TextEncoder()

export const make = (file: Gguf.Gguf): Result.Result<Tokenizer, Gguf.GgufError> =>
  Result.gen(function* () {
    const tokens = yield* Gguf.texts(file, "tokenizer.ggml.tokens")
    const types = yield* Gguf.numbers(file, "tokenizer.ggml.token_type")
    const scores = yield* Gguf.numbers(file, "tokenizer.ggml.scores")
    const bytes: Array<Uint8Array> = []
    const control = new Set<number>()
    const byteIds = new Array<number>(256).fill(-1)
    const ids = new Map<string, number>()
    const cut: Array<readonly [string, number]> = []
    const pieces = new Map<string, Piece>()
    for (const [id, raw] of tokens.entries()) {
      const text = raw.replaceAll(space, " ")
      const type = types[id]
      ids.set(text, id)
      if (type === kinds.byte) {
        const value = Number.parseInt(raw.slice(3, 5), 16)
        bytes.push(Uint8Array.of(value))
        byteIds[value] = id
        continue
      }
      bytes.push(utf8.encode(text))
      if (type === kinds.userDefined) cut.push([text, id])
      else if (type === kinds.normal) pieces.set(text, { id, score: scores[id] ?? -Infinity })
      else control.add(id)
    }
    const lacking = byteIds.indexOf(-1)
    if (lacking >= 0) return yield* Result.fail(Gguf.missing(`a token for the byte ${lacking}`))
    cut.sort((a, b) => b[0].length - a[0].length)
    return { bytes, control, byteIds, ids, cut, pieces }
  })

/** The token of exactly this text. */
export const id = (self: Tokenizer, text: string): Result.Result<number, Gguf.GgufError> => {
  const found = self.ids.get(text)
  return found === undefined ? Result.fail(Gguf.missing(`the token ${text}`)) : Result.succeed(found)
}

export const encode = (self: Tokenizer, text: string): Array<number> => {
  let parts: ReadonlyArray<string | number> = [text]
  for (const [word, id] of self.cut) parts = parts.flatMap((part) => around(part, word, id))
  const out: Array<number> = []
  for (const part of parts) {
    if (typeof part === "number") out.push(part)
    else for (const run of part.match(/[A-Za-z]{1,1024}|[^A-Za-z]/gu) ?? []) merge(self, run, out)
  }
  return out
}

/** Number of tokens of a text, without framing. */
export const count = (self: Tokenizer, text: string): number => encode(self, text).length

/** The bytes of tokens as text; a character that is not whole at either end becomes U+FFFD. */
export const decode = (self: Tokenizer, tokens: ReadonlyArray<number>): string => {
  const bytes = tokens.flatMap((token) => [...(self.bytes[token] ?? [])])
  return new TextDecoder().decode(Uint8Array.from(bytes))
}

const around = (part: string | number, word: string, id: number): ReadonlyArray<string | number> => {
  if (typeof part === "number" || !part.includes(word)) return [part]
  return part.split(word).flatMap((text, i) => (i === 0 ? [text] : [id, text]))
}

/** A run is at most 1024 letters, since merging looks at every neighbour for every merge. Merges one run in place: `scores[i]` is what joining `texts[i]` with its right neighbour would bring. */
const merge = (self: Tokenizer, run: string, out: Array<number>): void => {
  const texts = [...run]
  const score = (i: number): number => self.pieces.get(`${texts[i]}${texts[i + 1]}`)?.score ?? -Infinity
  const scores = texts.slice(1).map((_, i) => score(i))
  for (;;) {
    let best = -1
    for (let i = 0; i < scores.length; i++) {
      if (scores[i]! > (best < 0 ? -Infinity : scores[best]!)) best = i
    }
    if (best < 0) break
    texts.splice(best, 2, `${texts[best]}${texts[best + 1]}`)
    scores.splice(best, 1)
    if (best > 0) scores[best - 1] = score(best - 1)
    if (best < scores.length) scores[best] = score(best)
  }
  for (const text of texts) {
    const piece = self.pieces.get(text)
    if (piece !== undefined) out.push(piece.id)
    else for (const byte of utf8.encode(text)) out.push(self.byteIds[byte]!)
  }
}
