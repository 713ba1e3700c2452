/**
 * What a provider's error says: one account of it from any of the shapes in use, and the `Refused` that the engine classifies.
 *
 * R1. Total: a body of any text, JSON or not, gives an account.
 * R2. Status first, then code, then type, text last (F10).
 * R3. A secret never appears in what leaves here, whole, quoted back or cut short (X-SAFE-05).
 */
import { overflow } from "@settle/core/decide/Overflow"
import * as Json from "@settle/core/model/Json"
import * as Backend from "@settle/core/port/Backend"
import * as RetryAfter from "./RetryAfter.ts"

export interface Account {
  readonly detail: string
  /** The provider's own code or type. */
  readonly code?: string
  /** The HTTP status the body names, 400 to 599. */
  readonly status?: number
  readonly retryAfterMs?: number
}

const longestDetail = 2000

/** Takes every given secret out of a text. Very short ones are left: they would hide the text and nothing else. */
export const scrubber = (secrets: ReadonlyArray<string>): ((text: string) => string) => {
  const forms = secrets
    .filter((secret) => secret.length >= 3)
    .flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)])
    .sort((a, b) => b.length - a.length)
  return (text) => forms.reduce((clean, secret) => clean.replaceAll(secret, "[secret]"), text)
}

const text = (value: Json.Json | undefined): string | undefined =>
  typeof value === "string" && value.trim() !== "" ? value.trim() : undefined

const field = (value: Json.Json | undefined, key: string): Json.Json | undefined =>
  Json.isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined

const statusOf = (value: Json.Json | undefined): number | undefined => {
  const number = typeof value === "string" && /^\d{3}$/.test(value.trim()) ? Number(value) : value
  return typeof number === "number" && Number.isInteger(number) && number >= 400 && number <= 599 ? number : undefined
}

const firstText = (...values: ReadonlyArray<Json.Json | undefined>): string | undefined => {
  for (const value of values) {
    const found = text(value)
    if (found !== undefined) return found
  }
  return undefined
}

/** A list of faults, as validators answer: `[{ msg }]`, `[{ message }]`, `["…"]`. */
const listed = (value: Json.Json | undefined): string | undefined => {
  if (!Array.isArray(value)) return undefined
  const texts = value.map((item: Json.Json) => text(item) ?? text(field(item, "message")) ?? text(field(item, "msg")))
  const found = texts.filter((item) => item !== undefined)
  return found.length === 0 ? undefined : found.join("; ")
}

/** An error, or what it wraps: JSON inside a string, an upstream's answer inside `metadata.raw`. */
const inner = (value: Json.Json | undefined, depth: number): Account | undefined => {
  const raw = text(value)
  if (raw === undefined) return Json.isObject(value) ? account(value, depth + 1) : undefined
  const parsed = raw.startsWith("{") || raw.startsWith("[") ? Json.parse(raw) : undefined
  return parsed === undefined ? { detail: raw } : account(parsed, depth + 1)
}

/** The first word that names the fault; a number only when there is no word, and never one that is the HTTP status. */
const codeOf = (values: ReadonlyArray<Json.Json | undefined>): string | undefined => {
  const given = values
    .map((value) => (typeof value === "number" ? String(value) : text(value)))
    .filter((value) => value !== undefined && value !== "error" && statusOf(value) === undefined)
  return given.find((value) => value !== undefined && !/^\d+$/.test(value)) ?? given[0]
}

const deepest = 4

const account = (given: Json.Json, depth: number): Account => {
  if (depth > deepest) return { detail: JSON.stringify(given) }
  if (typeof given === "string") return inner(given, depth) ?? { detail: "" }
  if (Array.isArray(given) && given[0] !== undefined) return account(given[0], depth + 1)
  const error = field(given, "error")
  const said = Json.isObject(error) ? error : given
  const message = inner(
    firstText(field(said, "message"), error, field(given, "message"), field(given, "detail"), field(said, "msg")),
    depth
  )
  const lists = listed(field(given, "errors")) ?? listed(field(given, "detail")) ?? listed(field(said, "details"))
  const wrapped = inner(field(field(said, "metadata"), "raw"), depth)
  const detail = [message?.detail ?? lists, wrapped?.detail].filter((part) => part !== undefined).join(": ")
  const code =
    wrapped?.code ??
    message?.code ??
    codeOf([field(said, "code"), field(said, "type"), field(given, "code"), field(said, "status")])
  const status =
    [
      field(said, "status_code"),
      field(said, "status"),
      field(said, "code"),
      field(given, "status"),
      field(given, "code")
    ]
      .map(statusOf)
      .find((found) => found !== undefined) ??
    wrapped?.status ??
    message?.status
  const wait =
    RetryAfter.fromDetails(field(said, "details")) ??
    RetryAfter.fromText(detail) ??
    wrapped?.retryAfterMs ??
    message?.retryAfterMs
  return {
    detail: detail === "" ? JSON.stringify(given) : detail,
    ...(code === undefined ? {} : { code }),
    ...(status === undefined ? {} : { status }),
    ...(wait === undefined ? {} : { retryAfterMs: wait })
  }
}

const page = (html: string): string => {
  const title = /<(title|h1)[^>]*>([^<]*)</i.exec(html)?.[2]?.trim()
  return title === undefined || title === ""
    ? "an HTML page, not an answer of the API"
    : `an HTML page titled "${title}"`
}

/** Reads an error body of any kind. */
export const read = (body: string): Account => {
  const trimmed = body.trim()
  if (trimmed === "") return { detail: "the body is empty" }
  if (trimmed.startsWith("<")) return { detail: page(trimmed) }
  return account(Json.parse(trimmed) ?? trimmed, 0)
}

export const readJson = (body: Json.Json): Account => account(body, 0)

const named: ReadonlyArray<readonly [RegExp, number]> = [
  [
    /^(insufficient_quota|exceeded_current_quota|rate_?limit|too_?many_?requests|resource_exhausted|throttl|tokens$|requests$)/i,
    429
  ],
  [/capacity_exceeded|rate_limit/i, 429],
  [/insufficient_(balance|credits|funds)|billing|payment/i, 402],
  [/overloaded/i, 529],
  [/unavailable/i, 503],
  [/deadline_exceeded|timeout|timed_out/i, 504],
  [/invalid_?api_?key|authentication|unauthenticated|unauthorized/i, 401],
  [/permission|forbidden/i, 403],
  [/not_found/i, 404],
  [/request_too_large/i, 413],
  [/context_length|context_size|content_filter|content_policy|tool_use_failed|^invalid_|failed_precondition/i, 400],
  [/server_error|api_error|internal|bad_gateway/i, 500]
]

/** The HTTP status that a code names; `undefined` when it names none (X-WIRE-02). */
export const statusOfCode = (code: string): number | undefined =>
  statusOf(code) ?? named.find(([pattern]) => pattern.test(code))?.[1]

/** A code that comes inside a stream: the status it stands for. Nothing known reads as a fault of the server. */
const statusInStream = (said: Account): number =>
  said.status ??
  (said.code === undefined ? undefined : statusOfCode(said.code)) ??
  (overflow(said.detail, said.code) ? 400 : 500)

const clean = (said: Account, scrub: (text: string) => string) => ({
  detail: shorten(scrub(Json.wellFormed(said.detail))),
  ...(said.code === undefined ? {} : { code: shorten(scrub(Json.wellFormed(said.code))) })
})

const shorten = (value: string): string =>
  value.length <= longestDetail
    ? value
    : `${Json.wellFormed(value.slice(0, longestDetail))}… (${value.length} characters)`

export interface HttpAnswer {
  readonly status: number
  readonly body: string
  readonly header: (name: string) => string | undefined
  readonly nowMs: number
}

/** An answer with an HTTP status that is no success. */
export const fromHttp = (answer: HttpAnswer, scrub: (text: string) => string): Backend.Refused => {
  const said = read(answer.body)
  const wait = RetryAfter.fromHeaders(answer.header, answer.nowMs) ?? said.retryAfterMs
  return new Backend.Refused({
    status: answer.status,
    ...clean(said, scrub),
    inStream: false,
    ...(wait === undefined ? {} : { retryAfterMs: wait })
  })
}

/** An error that came with status 200, inside the stream or instead of it (S9). */
export const fromStream = (said: Account, scrub: (text: string) => string): Backend.Refused =>
  new Backend.Refused({
    status: statusInStream(said),
    ...clean(said, scrub),
    inStream: true,
    ...(said.retryAfterMs === undefined ? {} : { retryAfterMs: said.retryAfterMs })
  })
