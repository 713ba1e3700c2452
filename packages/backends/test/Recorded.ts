/** Recorded bodies of real providers with the facts a client must get out of them. They are not part of this repository. */
import { Schema } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const nullable = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const Call = Schema.Struct({
  id: Schema.NullOr(Schema.String),
  name: Schema.String,
  arguments_raw: Schema.optionalKey(Schema.String),
  /** Absent where the call carries free text. */
  arguments: Schema.optionalKey(Schema.Json)
})

const Usage = Schema.Struct({
  input_tokens: nullable(Schema.Finite),
  output_tokens: nullable(Schema.Finite),
  total_tokens: nullable(Schema.Finite),
  cached_input_tokens: nullable(Schema.Finite),
  cache_write_tokens: nullable(Schema.Finite),
  reasoning_tokens: nullable(Schema.Finite),
  cost: nullable(Schema.Finite),
  cost_in_usd_ticks: nullable(Schema.Finite)
})

const Expected = Schema.Struct({
  text_sha256: Schema.optionalKey(Schema.String),
  reasoning_sha256: Schema.optionalKey(Schema.String),
  refusal_sha256: Schema.optionalKey(Schema.String),
  refusal_len_utf16: Schema.optionalKey(Schema.Finite),
  tool_calls: Schema.optionalKey(Schema.Array(Call)),
  finish_reason: nullable(Schema.String),
  usage: nullable(Usage),
  models: Schema.optionalKey(Schema.Array(Schema.String)),
  message: nullable(Schema.String),
  type: nullable(Schema.String),
  code: nullable(Schema.Union([Schema.String, Schema.Finite]))
})

const File = Schema.Struct({
  file: Schema.String,
  bytes: Schema.Finite,
  protocol: Schema.String,
  stream: Schema.Boolean,
  outcome: Schema.String,
  http: Schema.Struct({
    status: Schema.NullOr(Schema.Finite),
    headers: Schema.Record(Schema.String, Schema.String)
  }),
  expected: Schema.Unknown
})

const Index = Schema.Struct({ files: Schema.Array(File) })

export interface Recorded extends Omit<typeof File.Type, "expected"> {
  readonly expected: typeof Expected.Type
  readonly body: Buffer
}

const find = (): string | undefined => {
  const given = process.env["SETTLE_STREAMS"]
  if (given !== undefined) return existsSync(join(given, "index.json")) ? given : undefined
  for (let at = dirname(fileURLToPath(import.meta.url)); at !== dirname(at); at = dirname(at)) {
    const candidate = join(at, "shared", "streams")
    if (existsSync(join(candidate, "index.json"))) return candidate
  }
  return undefined
}

export const folder = find()

export const missing = "recorded streams not found: set SETTLE_STREAMS to their folder to run these"

export const files = (protocol: string): ReadonlyArray<Recorded> => {
  if (folder === undefined) return []
  const place = folder
  const index = Schema.decodeUnknownSync(Index)(JSON.parse(readFileSync(join(place, "index.json"), "utf8")))
  return index.files
    .filter((file) => file.protocol === protocol)
    .map((file) => ({
      ...file,
      expected: Schema.decodeUnknownSync(Expected)(file.expected),
      body: readFileSync(join(place, file.file))
    }))
}

const Overflow = Schema.Struct({
  context_overflow: Schema.Array(
    Schema.Struct({ provider: Schema.String, status: Schema.Unknown, match: Schema.String, example: Schema.String })
  ),
  not_overflow: Schema.Array(
    Schema.Struct({ provider: Schema.String, status: Schema.Unknown, example: Schema.String, meaning: Schema.String })
  )
})

export const errorTexts = (): typeof Overflow.Type =>
  folder === undefined
    ? { context_overflow: [], not_overflow: [] }
    : Schema.decodeUnknownSync(Overflow)(JSON.parse(readFileSync(join(folder, "errors.json"), "utf8")))
