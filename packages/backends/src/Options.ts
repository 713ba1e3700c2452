/** What every backend over HTTP is configured with, checked once. Nothing here, and nothing made from it, prints a secret. */
import type * as Json from "@settle/core/model/Json"
import type * as Refusal from "@settle/core/model/Refusal"
import type * as Duration from "effect/Duration"
import type * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Failures from "./Failures.ts"
import * as Settings from "./Settings.ts"
import * as Sse from "./Sse.ts"
import type * as Streaming from "./Streaming.ts"

export interface Options {
  readonly model: string
  /** May be left out for a server that wants none, or with a header of its own. */
  readonly apiKey?: Redacted.Redacted<string> | undefined
  /** Further request headers; a secret one is `Redacted`. */
  readonly headers?: Settings.Headers
  /** Further members of the body. What the protocol itself sets cannot be overruled here. */
  readonly params?: Json.JsonObject
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
  readonly maxEventSize: number
  readonly maxReplySize: number
}

/** How one protocol goes to its server. */
export interface Access {
  readonly url: URL
  /** This server answers nobody without a key. */
  readonly needsKey: boolean
  /** Where a user would put the key, for the text that says it is missing. */
  readonly keyName: string
  /** Names of headers that stand for a key. */
  readonly keyHeaders: RegExp
  /** The header that carries the key. */
  readonly authorize: (key: string) => readonly [name: string, value: string]
  readonly headers?: ReadonlyArray<readonly [name: string, value: string]>
}

/** `undefined` for no cap. */
export const cap = (maxTokens: number | undefined): Result.Result<number | undefined, Refusal.Refusal> =>
  maxTokens === undefined || (Number.isInteger(maxTokens) && maxTokens > 0)
    ? Result.succeed(maxTokens)
    : Settings.refuse("maxTokens", `${maxTokens} is not a whole number above zero`, "Leave it out for no cap")

export const check = (options: Options, access: Access): Result.Result<Checked, Refusal.Refusal> =>
  Result.gen(function* () {
    const { keyName, url } = access
    if (options.model.trim() === "") {
      return yield* Settings.refuse("model", "it is empty", "Name the model as the server knows it")
    }
    const headers = options.headers ?? {}
    const key = yield* Settings.key(options.apiKey, keyName)
    const ownKey = Object.keys(headers).some((name) => access.keyHeaders.test(name))
    if (key === undefined && access.needsKey && !ownKey) {
      const problem = `there is no API key, and ${url.hostname} answers nobody without one`
      return yield* Settings.refuse(keyName, problem, `Set ${keyName}`)
    }
    const own: ReadonlyArray<readonly [string, string]> = [
      ["content-type", "application/json"],
      ["accept", "text/event-stream, application/json"],
      ...(access.headers ?? []),
      ...(key === undefined ? [] : [access.authorize(key)])
    ]
    return {
      url,
      headers: yield* Settings.headers(own, headers),
      scrub: Failures.scrubber(Settings.secrets(key, headers)),
      headersTimeout: yield* Settings.patience("headersTimeout", options.headersTimeout ?? "60 seconds"),
      idleBytesTimeout: yield* Settings.duration("idleBytesTimeout", options.idleBytesTimeout ?? "120 seconds"),
      maxEventSize: yield* Settings.size("maxEventSize", options.maxEventSize, Sse.defaultMaxEventSize),
      maxReplySize: yield* Settings.size("maxReplySize", options.maxReplySize, 64 * 1024 * 1024)
    }
  })

/** Is this host that domain, or under it? */
export const isAt = (url: URL, domain: string): boolean =>
  url.hostname === domain || url.hostname.endsWith(`.${domain}`)
