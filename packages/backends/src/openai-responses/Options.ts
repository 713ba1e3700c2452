/** How a responses backend is configured, checked once. */
import type * as Refusal from "@settle/core/model/Refusal"
import * as Result from "effect/Result"
import * as Common from "../Options.ts"
import * as Settings from "../Settings.ts"

export interface Options extends Common.Options {
  /** Up to and without `/responses`. Default `https://api.openai.com/v1`. The key is sent as a bearer token. */
  readonly baseUrl?: string | undefined
  /** Completion cap of every request, reasoning included. Default: none is sent. */
  readonly maxTokens?: number | undefined
  /**
   * Ask for the reasoning in encrypted form, to send it back with its turn: nothing is stored at the provider. Default: unless the
   * model's name is one that does not reason and refuses to be asked.
   */
  readonly encryptedReasoning?: boolean | undefined
}

export interface Checked extends Common.Checked {
  readonly encryptedReasoning: boolean
}

export const defaultBaseUrl = "https://api.openai.com/v1"

const endpoint = (baseUrl: string): Result.Result<URL, Refusal.Refusal> =>
  Result.map(Settings.address(baseUrl, defaultBaseUrl), (url) => {
    const path = url.pathname.replace(/\/+$/, "")
    url.pathname = path.endsWith("/responses") ? path : `${path}/responses`
    return url
  })

/** Families that answer 400 when they are asked for reasoning they do not have. */
const plain = /^(openai\/)?(ft:)?(gpt-3|gpt-4|chatgpt-4)/

/** `keyName`: where a user would put the key, for the text that says it is missing. */
export const check = (options: Options, keyName = "apiKey"): Result.Result<Checked, Refusal.Refusal> =>
  Result.gen(function* () {
    const url = yield* endpoint(options.baseUrl ?? defaultBaseUrl)
    yield* Common.cap(options.maxTokens)
    const checked = yield* Common.check(options, {
      url,
      needsKey: Common.isAt(url, "openai.com"),
      keyName,
      keyHeaders: /^(authorization|(x-)?api-key)$/i,
      authorize: (key) => ["authorization", `Bearer ${key}`]
    })
    return { ...checked, encryptedReasoning: options.encryptedReasoning ?? !plain.test(options.model) }
  })
