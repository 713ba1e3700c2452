/** How a chat-completions backend is configured, checked once. Nothing here, and nothing made from it, prints a secret. */
import type * as Json from "@settle/core/model/Json"
import * as Refusal from "@settle/core/model/Refusal"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Failures from "../Failures.ts"
import * as Sse from "../Sse.ts"
import * as Dialect from "./Dialect.ts"

export interface Options {
  /** Up to and without `/chat/completions`: `http://127.0.0.1:8080/v1`. */
  readonly baseUrl: string
  readonly model: string
  /** Sent as a bearer token. May be left out for a server that wants none. */
  readonly apiKey?: Redacted.Redacted<string> | undefined
  /** Further request headers; a secret one is `Redacted`. */
  readonly headers?: Readonly<Record<string, string | Redacted.Redacted<string>>>
  /** Completion cap of every request. Default: none is sent. */
  readonly maxTokens?: number | undefined
  /** Ask for usage on the stream (X-WIRE-05). Default: only of hosts known to take it. */
  readonly includeUsage?: boolean | undefined
  /** Further members of the body: temperature, stop, seed. */
  readonly params?: Json.JsonObject
  /** Whether earlier reasoning goes back (F8). Default: as the host wants it; an unknown host gets none. */
  readonly replayReasoning?: Dialect.ReplayReasoning | undefined
  /** This server sends the arguments of a call from the start in each fragment (D6). Default false. */
  readonly cumulativeArguments?: boolean
  /** Whether it can hold a reply to a JSON schema. Default true. */
  readonly canConstrain?: boolean
  /** Until headers. Default 60 seconds. */
  readonly headersTimeout?: Duration.Input
  /** Longest silence of the connection, not of the answer. Default 120 seconds. */
  readonly idleBytesTimeout?: Duration.Input
  /** Characters of one event. Default 8 Mi. */
  readonly maxEventSize?: number
  /** Characters of a whole reply. Default 64 Mi. */
  readonly maxReplySize?: number
}

export interface Checked {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly dialect: Dialect.Dialect
  readonly scrub: (text: string) => string
  readonly headersTimeout: Duration.Duration
  readonly idleBytesTimeout: Duration.Duration
  readonly maxEventSize: number
  readonly maxReplySize: number
}

const refuse = (setting: string, problem: string, remedy: string): Result.Result<never, Refusal.Refusal> =>
  Result.fail(Refusal.refuse(new Refusal.InvalidSetting({ setting, problem, remedy })))

const endpoint = (baseUrl: string): Result.Result<URL, Refusal.Refusal> => {
  const url = URL.parse(baseUrl)
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    return refuse("baseUrl", "it is not an http or https address", `Write it like "http://127.0.0.1:8080/v1"`)
  }
  if (url.username !== "" || url.password !== "") {
    return refuse("baseUrl", "it holds credentials", "Give the key as apiKey, or a header of its own")
  }
  const path = url.pathname.replace(/\/+$/, "")
  url.pathname = path.endsWith("/chat/completions") ? path : `${path}/chat/completions`
  url.hash = ""
  return Result.succeed(url)
}

// eslint-disable-next-line no-control-regex
const unsendable = /[^\t\x20-\x7e\x80-\xff]/

const headerNames = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/

const headersOf = (
  options: Options,
  key: string | undefined
): Result.Result<Record<string, string>, Refusal.Refusal> => {
  const headers = new Map([
    ["content-type", "application/json"],
    ["accept", "text/event-stream, application/json"]
  ])
  if (key !== undefined) headers.set("authorization", `Bearer ${key}`)
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    const plain = Redacted.isRedacted(value) ? Redacted.value(value) : value
    if (!headerNames.test(name))
      return refuse("headers", `"${name}" is no header name`, "Use letters, digits and dashes")
    if (unsendable.test(plain))
      return refuse(`headers.${name}`, "its value cannot be sent", "Remove line breaks from it")
    headers.set(name.toLowerCase(), plain)
  }
  return Result.succeed(Object.fromEntries(headers))
}

const positive = (setting: string, given: Duration.Input): Result.Result<Duration.Duration, Refusal.Refusal> => {
  const duration = Option.getOrUndefined(Duration.fromInput(given))
  return duration !== undefined && Duration.toMillis(duration) > 0 && Number.isFinite(Duration.toMillis(duration))
    ? Result.succeed(duration)
    : refuse(setting, `${String(given)} is not a duration above zero`, `Write it like "60 seconds"`)
}

const size = (setting: string, given: number | undefined, fallback: number): Result.Result<number, Refusal.Refusal> => {
  const value = given ?? fallback
  return Number.isInteger(value) && value > 0
    ? Result.succeed(value)
    : refuse(setting, `${value} is not a whole number above zero`, `Leave it out for ${fallback}`)
}

/** `keyName`: where a user would put the key, for the text that says it is missing. */
export const check = (options: Options, keyName = "apiKey"): Result.Result<Checked, Refusal.Refusal> =>
  Result.gen(function* () {
    const url = yield* endpoint(options.baseUrl)
    if (options.model.trim() === "") {
      return yield* refuse("model", "it is empty", "Name the model as the server knows it")
    }
    const maxTokens = options.maxTokens
    if (maxTokens !== undefined && !(Number.isInteger(maxTokens) && maxTokens > 0)) {
      return yield* refuse("maxTokens", `${maxTokens} is not a whole number above zero`, "Leave it out for no cap")
    }
    const dialect = Dialect.of(url.hostname)
    const key = options.apiKey === undefined ? undefined : Redacted.value(options.apiKey).trim()
    const ownAuthorization = Object.keys(options.headers ?? {}).some((name) =>
      /^(authorization|(x-)?api-key)$/i.test(name)
    )
    if ((key === undefined || key === "") && dialect.needsKey && !ownAuthorization) {
      return yield* refuse(
        keyName,
        `there is no API key, and ${url.hostname} answers nobody without one`,
        `Set ${keyName}`
      )
    }
    if (key !== undefined && unsendable.test(key)) {
      return yield* refuse(
        keyName,
        "the API key holds characters that cannot be sent",
        "Copy it again, without line breaks"
      )
    }
    const redacted = Object.values(options.headers ?? {}).filter((value) => Redacted.isRedacted(value))
    return {
      url,
      headers: yield* headersOf(options, key === "" ? undefined : key),
      dialect: {
        ...dialect,
        includeUsage: options.includeUsage ?? dialect.includeUsage,
        replayReasoning: options.replayReasoning ?? dialect.replayReasoning
      },
      scrub: Failures.scrubber([
        ...(key === undefined ? [] : [key]),
        ...redacted.map((value) => Redacted.value(value))
      ]),
      headersTimeout: yield* positive("headersTimeout", options.headersTimeout ?? "60 seconds"),
      idleBytesTimeout: yield* positive("idleBytesTimeout", options.idleBytesTimeout ?? "120 seconds"),
      maxEventSize: yield* size("maxEventSize", options.maxEventSize, Sse.defaultMaxEventSize),
      maxReplySize: yield* size("maxReplySize", options.maxReplySize, 64 * 1024 * 1024)
    }
  })
