/** How a Gemini backend is configured, checked once. The key goes in a header and never into an address. */
import type * as Json from "@settle/core/model/Json"
import type * as Refusal from "@settle/core/model/Refusal"
import * as Result from "effect/Result"
import * as Common from "../Options.ts"
import * as Settings from "../Settings.ts"

export interface Options extends Common.Options {
  /**
   * Up to and without `/models`. Default `https://generativelanguage.googleapis.com/v1beta`. The key is sent as `x-goog-api-key`; a
   * server that wants a token gets it as an `authorization` header.
   */
  readonly baseUrl?: string | undefined
  /** Completion cap of every request, thoughts included. Default: none is sent. */
  readonly maxTokens?: number | undefined
  /** As the API takes them: `[{ category, threshold }]`. Default: none are sent, and the provider's own hold. */
  readonly safetySettings?: ReadonlyArray<Json.JsonObject> | undefined
}

export const defaultBaseUrl = "https://generativelanguage.googleapis.com/v1beta"

const keyParameter = /^(key|api_?key|access_token|token)$/i

/** `models/…` is added unless the name says where the model is; each piece of a name is encoded. */
const pathOf = (model: string): string => {
  const path = model.split("/").map(encodeURIComponent).join("/")
  return model.includes("/") ? path : `models/${path}`
}

const endpoint = (baseUrl: string, model: string): Result.Result<URL, Refusal.Refusal> =>
  Result.flatMap(Settings.address(baseUrl, defaultBaseUrl), (url) => {
    if ([...url.searchParams.keys()].some((name) => keyParameter.test(name))) {
      return Settings.refuse("baseUrl", "it holds a key", "Give the key as apiKey, or a header of its own")
    }
    url.pathname = `${url.pathname.replace(/\/+$/, "")}/${pathOf(model.trim())}:streamGenerateContent`
    url.searchParams.set("alt", "sse")
    return Result.succeed(url)
  })

/** `keyName`: where a user would put the key, for the text that says it is missing. */
export const check = (options: Options, keyName = "apiKey"): Result.Result<Common.Checked, Refusal.Refusal> =>
  Result.gen(function* () {
    const url = yield* endpoint(options.baseUrl ?? defaultBaseUrl, options.model)
    yield* Common.cap(options.maxTokens)
    return yield* Common.check(options, {
      url,
      needsKey: Common.isAt(url, "googleapis.com"),
      keyName,
      keyHeaders: /^(authorization|x-goog-api-key)$/i,
      authorize: (key) => ["x-goog-api-key", key]
    })
  })
