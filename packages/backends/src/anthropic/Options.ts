/** How a messages backend is configured, checked once. Nothing here, and nothing made from it, prints a secret. */
import type * as Json from "@settle/core/model/Json"
import type * as Refusal from "@settle/core/model/Refusal"
import type * as Duration from "effect/Duration"
import type * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Failures from "../Failures.ts"
import * as Settings from "../Settings.ts"
import * as Sse from "../Sse.ts"
import type * as Streaming from "../Streaming.ts"

export interface Options {
  /** Up to and without `/v1/messages`. Default `https://api.anthropic.com`. */
  readonly baseUrl?: string | undefined
  readonly model: string
  /** Sent as `x-api-key`. May be left out for a server that wants none, or with an `authorization` header. */
  readonly apiKey?: Redacted.Redacted<string> | undefined
  /** Further request headers, `anthropic-beta` among them; a secret one is `Redacted`. */
  readonly headers?: Settings.Headers
  /** Completion cap of every request: the protocol wants one. Default 8192, for the Claude 3 family 4096. */
  readonly maxTokens?: number | undefined
  /** Further members of the body: thinking, temperature, stop_sequences, metadata. */
  readonly params?: Json.JsonObject
  /** Mark what is stable for the provider's prompt cache. Default true. */
  readonly promptCache?: boolean
  /**
   * Whether the thinking of an earlier turn goes back: when nothing before it was changed since (a signature is bound to what it
   * followed), always, or never. Default `unchanged`.
   */
  readonly replayThinking?: "unchanged" | "always" | "never"
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

export interface Checked extends Streaming.Endpoint {
  readonly maxTokens: number
  readonly maxEventSize: number
  readonly maxReplySize: number
}

export const defaultBaseUrl = "https://api.anthropic.com"
const version = "2023-06-01"

const endpoint = (baseUrl: string): Result.Result<URL, Refusal.Refusal> =>
  Result.map(Settings.address(baseUrl, defaultBaseUrl), (url) => {
    const path = url.pathname.replace(/\/+$/, "")
    if (path.endsWith("/messages")) url.pathname = path
    else url.pathname = path.endsWith("/v1") ? `${path}/messages` : `${path}/v1/messages`
    return url
  })

/** Anthropic's own hosts answer nobody without a key. */
const needsKey = (url: URL): boolean => url.hostname === "anthropic.com" || url.hostname.endsWith(".anthropic.com")

const fallbackCap = (model: string): number => (/claude-3-(opus|sonnet|haiku)/.test(model) ? 4096 : 8192)

/** `keyName`: where a user would put the key, for the text that says it is missing. */
export const check = (options: Options, keyName = "apiKey"): Result.Result<Checked, Refusal.Refusal> =>
  Result.gen(function* () {
    const url = yield* endpoint(options.baseUrl ?? defaultBaseUrl)
    if (options.model.trim() === "") {
      return yield* Settings.refuse("model", "it is empty", "Name the model as the server knows it")
    }
    const headers = options.headers ?? {}
    const key = yield* Settings.key(options.apiKey, keyName)
    const ownKey = Object.keys(headers).some((name) => /^(authorization|x-api-key)$/i.test(name))
    if (key === undefined && needsKey(url) && !ownKey) {
      const problem = `there is no API key, and ${url.hostname} answers nobody without one`
      return yield* Settings.refuse(keyName, problem, `Set ${keyName}`)
    }
    const own: ReadonlyArray<readonly [string, string]> = [
      ["content-type", "application/json"],
      ["accept", "text/event-stream, application/json"],
      ["anthropic-version", version],
      ...(key === undefined ? [] : [["x-api-key", key] as const])
    ]
    return {
      url,
      headers: yield* Settings.headers(own, headers),
      maxTokens: yield* Settings.size("maxTokens", options.maxTokens, fallbackCap(options.model)),
      scrub: Failures.scrubber(Settings.secrets(key, headers)),
      headersTimeout: yield* Settings.duration("headersTimeout", options.headersTimeout ?? "60 seconds"),
      idleBytesTimeout: yield* Settings.duration("idleBytesTimeout", options.idleBytesTimeout ?? "120 seconds"),
      maxEventSize: yield* Settings.size("maxEventSize", options.maxEventSize, Sse.defaultMaxEventSize),
      maxReplySize: yield* Settings.size("maxReplySize", options.maxReplySize, 64 * 1024 * 1024)
    }
  })
