/** How a messages backend is configured, checked once. */
import type * as Refusal from "@settle/core/model/Refusal"
import * as Result from "effect/Result"
import * as Common from "../Options.ts"
import * as Settings from "../Settings.ts"

export interface Options extends Common.Options {
  /** Up to and without `/v1/messages`. Default `https://api.anthropic.com`. The key is sent as `x-api-key`. */
  readonly baseUrl?: string | undefined
  /** Completion cap of every request: the protocol wants one. Default 8192, for the Claude 3 family 4096. */
  readonly maxTokens?: number | undefined
  /** Whether the model sees pictures (M13); those it is not sent are said to be left out. Default true. */
  readonly vision?: boolean | undefined
  /** Mark what is stable for the provider's prompt cache. Default true. */
  readonly promptCache?: boolean
  /**
   * Whether the thinking of an earlier turn goes back: when nothing before it was changed since (a signature is bound to what it
   * followed), always, or never. Default `unchanged`.
   */
  readonly replayThinking?: "unchanged" | "always" | "never"
}

export interface Checked extends Common.Checked {
  readonly maxTokens: number
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

const fallbackCap = (model: string): number => (/claude-3-(opus|sonnet|haiku)/.test(model) ? 4096 : 8192)

/** `keyName`: where a user would put the key, for the text that says it is missing. */
export const check = (options: Options, keyName = "apiKey"): Result.Result<Checked, Refusal.Refusal> =>
  Result.gen(function* () {
    const url = yield* endpoint(options.baseUrl ?? defaultBaseUrl)
    const checked = yield* Common.check(options, {
      url,
      // its own hosts answer nobody without a key
      needsKey: Common.isAt(url, "anthropic.com"),
      keyName,
      keyHeaders: /^(authorization|x-api-key)$/i,
      authorize: (key) => ["x-api-key", key],
      headers: [["anthropic-version", version]]
    })
    return {
      ...checked,
      maxTokens: yield* Settings.size("maxTokens", options.maxTokens, fallbackCap(options.model))
    }
  })
