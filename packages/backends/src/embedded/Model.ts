/** The demonstration model, read from its file: weights, vocabulary, and the sentences and sizes it was trained with. */
import * as Result from "effect/Result"
import * as Json from "@settle/core/model/Json"
import * as Gguf from "./Gguf.ts"
import * as Llama from "./Llama.ts"
import * as Tokenizer from "./Tokenizer.ts"

export interface Model {
  readonly llama: Llama.Llama
  readonly tokenizer: Tokenizer.Tokenizer
  readonly limits: Limits
  /** Sentences by the last tool; `start` before any result, `*` for tools it does not know. */
  readonly answers: ReadonlyMap<string, ReadonlyArray<string>>
  /** Spoken kinds of file and their endings: `markdown` is `md`. */
  readonly extensions: ReadonlyMap<string, string>
  readonly marks: Marks
}

/** Sizes in UTF-8 bytes; `steps` is how many results a turn may have. From the model file. */
export interface Limits {
  readonly user: number
  readonly last: number
  readonly old: number
  readonly text: number
  readonly steps: number
}

/** Tokens that are structure. */
interface Marks {
  readonly begin: number
  readonly user: number
  readonly action: number
  readonly result: number
  readonly end: number
  /** `{"tool":"` */
  readonly open: number
  /** `","arguments":{` */
  readonly arguments: number
  readonly quote: number
  /** `":"` */
  readonly colon: number
  /** `","` */
  readonly comma: number
  /** `"}}` */
  readonly close: number
}

/** Reads a model file. One that is a llama but not this model lacks what is named in the error. */
export const read = (bytes: Uint8Array): Result.Result<Model, Gguf.GgufError> =>
  Result.gen(function* () {
    const file = yield* Gguf.read(bytes)
    const tokenizer = yield* Tokenizer.make(file)
    return {
      llama: yield* Llama.make(file),
      tokenizer,
      limits: yield* limits(file),
      answers: yield* dictionary(file, "settle.answers", readTexts),
      extensions: yield* dictionary(file, "settle.extensions", readText),
      marks: yield* marks(tokenizer)
    }
  })

const marks = (tokenizer: Tokenizer.Tokenizer): Result.Result<Marks, Gguf.GgufError> =>
  Result.gen(function* () {
    const id = (text: string) => Tokenizer.id(tokenizer, text)
    return {
      begin: yield* id("<s>"),
      user: yield* id("<|user|>"),
      action: yield* id("<|action|>"),
      result: yield* id("<|result|>"),
      end: yield* id("<|end|>"),
      open: yield* id('{"tool":"'),
      arguments: yield* id('","arguments":{'),
      quote: tokenizer.byteIds['"'.charCodeAt(0)] ?? 0,
      colon: yield* id('":"'),
      comma: yield* id('","'),
      close: yield* id('"}}')
    }
  })

const readText = (value: Json.Json): string | undefined => (typeof value === "string" ? value : undefined)

const readTexts = (value: Json.Json): ReadonlyArray<string> | undefined =>
  Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "string") ? value : undefined

const readCount = (value: Json.Json): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : undefined

const dictionary = <A>(
  file: Gguf.Gguf,
  key: string,
  item: (value: Json.Json) => A | undefined
): Result.Result<ReadonlyMap<string, A>, Gguf.GgufError> =>
  Result.gen(function* () {
    const json = Json.parse(yield* Gguf.text(file, key))
    if (!Json.isObject(json)) return yield* Result.fail(Gguf.unsupported(`${key} is not a JSON object`))
    const out = new Map<string, A>()
    for (const [name, value] of Object.entries(json)) {
      const read = item(value)
      if (read === undefined) return yield* Result.fail(Gguf.unsupported(`${key} has a wrong value under ${name}`))
      out.set(name, read)
    }
    return out
  })

const limits = (file: Gguf.Gguf): Result.Result<Limits, Gguf.GgufError> =>
  Result.gen(function* () {
    const sizes = yield* dictionary(file, "settle.limits", readCount)
    const size = (name: string) => {
      const value = sizes.get(name)
      return value === undefined
        ? Result.fail(Gguf.missing(`the size ${name} in settle.limits`))
        : Result.succeed(value)
    }
    return {
      user: yield* size("user"),
      last: yield* size("last"),
      old: yield* size("old"),
      text: yield* size("text"),
      steps: yield* size("steps")
    }
  })
