/** How a chat-completions backend is configured, checked once. Nothing here, and nothing made from it, prints a secret. */
import type * as Json from "@settle/core/model/Json"
import type * as Refusal from "@settle/core/model/Refusal"
import type * as Duration from "effect/Duration"
import type * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Failures from "../Failures.ts"
import * as Settings from "../Settings.ts"
import * as Sse from "../Sse.ts"
import type * as Streaming from "../Streaming.ts"
import * as Dialect from "./Dialect.ts"

export interface Options {
  /** Up to and without `/chat/completions`: `http://127.0.0.1:8080/v1`. */
  readonly baseUrl: string
  readonly model: string
  /** Sent as a bearer token. May be left out for a server that wants none. */
  readonly apiKey?: Redacted.Redacted<string> | undefined
  /** Further request headers; a secret one is `Redacted`. */
  readonly headers?: Settings.Headers
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
  /** Until headers; `Duration.infinity` waits for ever. Default 60 seconds. */
  readonly headersTimeout?: Duration.Input
  /** Longest silence of the connection, not of the answer. Default 120 seconds. */
  readonly idleBytesTimeout?: Duration.Input
  /** Characters of one event. Default 8 Mi. */
  readonly maxEventSize?: number
  /** Characters of a whole reply. Default 64 Mi. */
  readonly maxReplySize?: number
}

export interface Checked extends Streaming.Endpoint {
  readonly dialect: Dialect.Dialect
  readonly maxEventSize: number
  readonly maxReplySize: number
  readonly cumulative: boolean
}

const endpoint = (baseUrl: string): Result.Result<URL, Refusal.Refusal> =>
  Result.map(Settings.address(baseUrl, "http://127.0.0.1:8080/v1"), (url) => {
    const path = url.pathname.replace(/\/+$/, "")
    url.pathname = path.endsWith("/chat/completions") ? path : `${path}/chat/completions`
    return url
  })

/** `keyName`: where a user would put the key, for the text that says it is missing. */
export const check = (options: Options, keyName = "apiKey"): Result.Result<Checked, Refusal.Refusal> =>
  Result.gen(function* () {
    const url = yield* endpoint(options.baseUrl)
    if (options.model.trim() === "") {
      return yield* Settings.refuse("model", "it is empty", "Name the model as the server knows it")
    }
    const maxTokens = options.maxTokens
    if (maxTokens !== undefined && !(Number.isInteger(maxTokens) && maxTokens > 0)) {
      return yield* Settings.refuse(
        "maxTokens",
        `${maxTokens} is not a whole number above zero`,
        "Leave it out for no cap"
      )
    }
    const dialect = Dialect.of(url.hostname)
    const headers = options.headers ?? {}
    const key = yield* Settings.key(options.apiKey, keyName)
    const ownKey = Object.keys(headers).some((name) => /^(authorization|(x-)?api-key)$/i.test(name))
    if (key === undefined && dialect.needsKey && !ownKey) {
      const problem = `there is no API key, and ${url.hostname} answers nobody without one`
      return yield* Settings.refuse(keyName, problem, `Set ${keyName}`)
    }
    const own: ReadonlyArray<readonly [string, string]> = [
      ["content-type", "application/json"],
      ["accept", "text/event-stream, application/json"],
      ...(key === undefined ? [] : [["authorization", `Bearer ${key}`] as const])
    ]
    return {
      url,
      headers: yield* Settings.headers(own, headers),
      dialect: {
        ...dialect,
        includeUsage: options.includeUsage ?? dialect.includeUsage,
        replayReasoning: options.replayReasoning ?? dialect.replayReasoning
      },
      scrub: Failures.scrubber(Settings.secrets(key, headers)),
      headersTimeout: yield* Settings.patience("headersTimeout", options.headersTimeout ?? "60 seconds"),
      idleBytesTimeout: yield* Settings.duration("idleBytesTimeout", options.idleBytesTimeout ?? "120 seconds"),
      maxEventSize: yield* Settings.size("maxEventSize", options.maxEventSize, Sse.defaultMaxEventSize),
      maxReplySize: yield* Settings.size("maxReplySize", options.maxReplySize, 64 * 1024 * 1024),
      cumulative: options.cumulativeArguments ?? false
    }
  })
